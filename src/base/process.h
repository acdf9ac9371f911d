/* process.h - run another program and wait for it */
#ifndef RF_BASE_PROCESS_H
#define RF_BASE_PROCESS_H

#include "base/error.h"

/* Runs argv[0] (searched in PATH; argv ends with NULL) with no input, stdout and
 * stderr going to the file log_path. RF_ERR_MISSING if there is no such program,
 * RF_ERR_IO if it could not be run or ended by a signal; else RF_OK and its exit code. */
rf_status rf_process_run(const char *const argv[], const char *log_path, int *exit_code,
                         rf_error *err);

#endif
