/* screen.h - what goes to stderr: complaints always, progress on a terminal only */
#ifndef RF_CLI_SCREEN_H
#define RF_CLI_SCREEN_H

#include <stddef.h>

/* "ringfence: " + message + newline */
void screen_complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* A line about long work that overwrites itself, at most five times a second. */
void screen_progress(const char *what, size_t done);
/* Remove that line. */
void screen_progress_end(void);

#endif
