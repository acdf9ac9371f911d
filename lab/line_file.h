/*
 * line_file.h - a file of results in a directory: one JSON object per line, only appended
 *
 * A line is appended with one write and flushed, so a crash can truncate only the last
 * line. Such a fragment is skipped when reading and cut off before the next append.
 * Several processes may append to the same file.
 */
#ifndef RF_LAB_LINE_FILE_H
#define RF_LAB_LINE_FILE_H

#include "base/buffer.h"

#define RF_LINE_MAX ((size_t)1 << 24) /* bytes */

/* Appends a line, which ends in a newline, to DIR/NAME, creating both if needed. A
 * failure leaves the existing lines unchanged. */
rf_status rf_lines_append(const char *dir, const char *name, const rf_buffer *line,
                          rf_error *err);

/* A line without its newline; file and number, from 1, are for messages. */
typedef rf_status (*rf_line_sink)(void *user, const char *line, size_t len,
                                  const char *file, size_t number, rf_error *err);

/* Gives the lines of DIR/NAME to the sink, in order, without blank ones and without a
 * fragment at the end. Without a file there are none. Anything but RF_OK from the sink
 * ends the call. */
rf_status rf_lines_read(const char *dir, const char *name, rf_line_sink sink, void *user,
                        rf_error *err);

#endif
