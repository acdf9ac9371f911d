/* error.h - filling an rf_error in one line */
#ifndef RF_BASE_ERROR_H
#define RF_BASE_ERROR_H

#include "ringfence.h"

/* Write code and message into err (which may be NULL) and return code, so that a caller
 * can say: return rf_fail(err, RF_ERR_FORMAT, line, "%s: expected 2 columns", path); */
rf_status rf_fail(rf_error *err, rf_status code, size_t pos, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* The same for a failed system call: appends the message for errno as it was on entry. */
rf_status rf_fail_errno(rf_error *err, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* "cannot allocate <n> bytes for <what>" */
rf_status rf_fail_nomem(rf_error *err, size_t bytes, const char *what);

#endif
