/* log.h - one line to standard error, whole, whoever writes at the same time */
#ifndef RF_SERVE_LOG_H
#define RF_SERVE_LOG_H

#include <stddef.h>

/* "ringfence: ..." */
void log_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Bytes as they are, with a line end. */
void log_raw(const char *bytes, size_t len);

#endif
