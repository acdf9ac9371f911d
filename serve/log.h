/*
 * log.h - lines to standard error, whole, without waiting
 *
 * A reader that has stopped (a pager, a full pipe) must not stop the service: a thread of
 * the log's own writes, and what does not fit into its memory is counted and dropped.
 * There is one standard error, and so one log.
 */
#ifndef RF_SERVE_LOG_H
#define RF_SERVE_LOG_H

#include "base/error.h"

/* Until log_start, and after log_stop, lines are written at once. */
rf_status log_start(rf_error *err);
void log_stop(void); /* writes what is left, within a second */

/* "ringfence: ..." */
void log_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Bytes as they are, with a line end. */
void log_raw(const char *bytes, size_t len);

/* Lines that were dropped since the start. */
unsigned long long log_lost(void);

#endif
