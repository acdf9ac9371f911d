/* screen.h - output for people: error messages, progress on a terminal, table cells */
#ifndef RF_CLI_SCREEN_H
#define RF_CLI_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

/* Prints "ringfence: ", the message and a newline to stderr. */
void screen_complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Shows "N texts, M per second" on a line that overwrites itself, at most five times a
 * second, and only if stderr is a terminal and stdout is not. */
void screen_progress(const char *what, size_t done);
/* The same with the caller's text, if stderr is a terminal; `always`: without the limit
 * of five times a second. */
void screen_progress_line(bool always, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Removes that line. */
void screen_progress_end(void);

/* Copies text as one harmless line: control characters become spaces, and text that does
 * not fit into out (cap > 4) is cut between two characters. Returns out. */
char *screen_one_line(char *out, size_t cap, const char *text, size_t len);

/* Prints text to stdout as a table cell, cut or padded to this many characters. */
void screen_put_cell(const char *text, size_t characters);

#define SCREEN_TIME 24
/* "0.7 s", "12 s", "3 min 20 s", "1 h 05 min" */
char *screen_time(char out[SCREEN_TIME], double seconds);

#endif
