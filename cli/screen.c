/* screen.c - prints error messages, progress lines and table cells */
#include "screen.h"

#include "base/clock.h"
#include "base/controls.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SCREEN_CELL 512 /* bytes of a table cell: more than any has characters */

static struct {
    bool shown;
    double began, last;
} progress;

void screen_complain(const char *fmt, ...)
{
    va_list ap;
    screen_progress_end();
    fputs("ringfence: ", stderr);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
}

/* Whether to redraw the progress line now. */
static bool redraw_due(double t, bool always)
{
    if (!isatty(STDERR_FILENO) || (!always && t - progress.last < 0.2))
        return false;
    progress.last = t;
    progress.shown = true;
    return true;
}

void screen_progress(const char *what, size_t done)
{
    double t = rf_clock_seconds();
    if (progress.began == 0.0)
        progress.began = progress.last = t;
    /* On a terminal that also shows results, the line would break them up. */
    if (isatty(STDOUT_FILENO) || !redraw_due(t, false))
        return;
    fprintf(stderr, "\r%zu %s, %.0f per second \033[K", done, what,
            (double)done / (t - progress.began));
    fflush(stderr);
}

void screen_progress_line(bool always, const char *fmt, ...)
{
    va_list ap;
    if (!redraw_due(rf_clock_seconds(), always))
        return;
    fputc('\r', stderr);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputs(" \033[K", stderr);
    fflush(stderr);
}

void screen_progress_end(void)
{
    if (progress.shown)
        fputs("\r\033[K", stderr);
    progress.shown = false;
}

char *screen_one_line(char *out, size_t cap, const char *text, size_t len)
{
    static const char more[] = "...";
    size_t n = len < cap ? len : cap - sizeof more;
    while (n < len && n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80)
        n--;
    memcpy(out, text, n);
    rf_replace_controls(out, n, ' ');
    if (n == len)
        out[n] = '\0';
    else
        memcpy(out + n, more, sizeof more);
    return out;
}

void screen_put_cell(const char *text, size_t characters)
{
    char cell[SCREEN_CELL];
    size_t n = 0, bytes = 0;
    for (; text[bytes] && bytes < sizeof cell;
         bytes++) { /* or the first that does not fit */
        bool begins = ((unsigned char)text[bytes] & 0xc0) != 0x80;
        if (begins && n == characters)
            break;
        n += begins;
        cell[bytes] = text[bytes];
    }
    fwrite(rf_replace_controls(cell, bytes, ' '), 1, bytes, stdout);
    for (; n < characters; n++)
        putchar(' ');
}

char *screen_time(char out[SCREEN_TIME], double seconds)
{
    unsigned s = seconds < 1e8 ? (unsigned)(seconds + 0.5) : 100000000;
    if (seconds < 9.95)
        snprintf(out, SCREEN_TIME, "%.1f s", seconds);
    else if (s < 60)
        snprintf(out, SCREEN_TIME, "%u s", s);
    else if (s < 3600)
        snprintf(out, SCREEN_TIME, "%u min %02u s", s / 60, s % 60);
    else
        snprintf(out, SCREEN_TIME, "%u h %02u min", s / 3600, s / 60 % 60);
    return out;
}
