#include "screen.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static struct {
    bool shown;
    double began, last;
} progress;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

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

void screen_progress(const char *what, size_t done)
{
    double t = now();
    if (progress.began == 0.0)
        progress.began = progress.last = t;
    /* With results on the same terminal a moving line would only tear them apart. */
    if (t - progress.last < 0.2 || !isatty(STDERR_FILENO) || isatty(STDOUT_FILENO))
        return;
    progress.last = t;
    progress.shown = true;
    fprintf(stderr, "\r%zu %s, %.0f per second \033[K", done, what,
            (double)done / (t - progress.began));
    fflush(stderr);
}

void screen_progress_end(void)
{
    if (progress.shown)
        fputs("\r\033[K", stderr);
    progress.shown = false;
}
