/*
 * log.h - lines to standard error that never block the caller
 *
 * A reader that has stopped (a pager, a full pipe) must not stop the service. So a thread
 * of its own writes the log, from a buffer; lines that do not fit are counted and
 * dropped. There is one standard error, and so one log.
 */
#ifndef RF_SERVE_LOG_H
#define RF_SERVE_LOG_H

#include "base/error.h"

/* Before log_start and after log_stop, lines are written by the caller. */
rf_status log_start(rf_error *err);
void log_stop(void); /* writes the rest; gives up after a second */

/* "ringfence: ..." */
void log_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The bytes and a line end. */
void log_raw(const char *bytes, size_t len);

/* Lines dropped since the start. */
unsigned long long log_lost(void);

#endif
