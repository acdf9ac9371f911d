/* run_json.h - a run to a line of JSON and back */
#ifndef RF_LAB_RUN_JSON_H
#define RF_LAB_RUN_JSON_H

#include "lab/results.h"

/* Appends the run and a newline to out. Refuses a run that could not be read back. */
rf_status rf_run_write(const rf_run *run, rf_buffer *out, rf_error *err);

/* Fills *run from one line without its newline; file and line are for messages. On
 * failure there is nothing to release. */
rf_status rf_run_read(rf_run *run, const char *text, size_t len, const char *file,
                      size_t line, rf_error *err);

#endif
