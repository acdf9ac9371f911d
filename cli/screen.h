/* screen.h - for people: complaints always, progress on a terminal only, tidy text */
#ifndef RF_CLI_SCREEN_H
#define RF_CLI_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

/* To stderr: "ringfence: " + message + newline */
void screen_complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* A line about long work that overwrites itself, at most five times a second. */
void screen_progress(const char *what, size_t done);
/* The same with words of the caller's; `always` shows it however short ago the last was.
 * Does nothing unless stderr is a terminal. */
void screen_progress_line(bool always, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Remove that line. */
void screen_progress_end(void);

/* Text as one harmless line: control characters become spaces, and what does not fit into
 * out (cap > 4) is cut off between two characters. Returns out. */
char *screen_one_line(char *out, size_t cap, const char *text, size_t len);

/* The same to stdout as the cell of a table, cut or filled to this many characters. */
void screen_put_cell(const char *text, size_t characters);

#define SCREEN_TIME 24
/* "0.7 s", "12 s", "3 min 20 s", "1 h 05 min" */
char *screen_time(char out[SCREEN_TIME], double seconds);

#endif
