/*
 * lines.h - reads a file or stdin as a stream of lines, in pieces
 *
 * Lines end at LF only; a last line without one counts. Lines are not buffered, so one
 * may be larger than memory.
 */
#ifndef RF_CLI_LINES_H
#define RF_CLI_LINES_H

#include "base/error.h"

typedef struct line_sink {
    void *user;
    rf_status (*piece)(void *user, const char *bytes, size_t len, rf_error *err);
    rf_status (*end)(void *user, rf_error *err);  /* the line is complete */
    rf_status (*idle)(void *user, rf_error *err); /* no input is waiting: flush */
} line_sink;

/* path NULL or "-": stdin. */
rf_status lines_read(const char *path, const line_sink *sink, rf_error *err);

#endif
