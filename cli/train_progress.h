/*
 * train_progress.h - a training while it runs: what a person sees, what a program reads,
 * and how it is stopped
 *
 * On a terminal one line that overwrites itself; elsewhere a line per epoch and one per
 * tenth of the heads. The log has one JSON object per line, flushed at once.
 */
#ifndef RF_CLI_TRAIN_PROGRESS_H
#define RF_CLI_TRAIN_PROGRESS_H

#include "base/error.h"

#include <stdio.h>

typedef struct train_progress {
    bool quiet;
    const char *log_path; /* NULL: no log */
    FILE *log;
    rf_train_event last; /* what was heard last; total 0: nothing yet */
    size_t tenths;       /* of the heads, shown so far */
} train_progress;

/* Opens the log, to go on at its end if `more`. */
rf_status train_progress_open(train_progress *p, bool quiet, const char *log_path,
                              bool more, rf_error *err);

/* From now on SIGINT, SIGTERM and SIGHUP are the wish to stop, which train_progress_tell
 * passes on; one that comes half a second later or more ends the program at once, as
 * usual. That nobody reads the progress any more does not stop anything. */
void train_progress_take_signals(void);

/* An rf_train_progress; user is the train_progress. */
int train_progress_tell(void *user, const rf_train_event *event);

/* A line of the log that is not about an event: begin it with its stage, add fields to
 * p->log if there is one, and end it. */
bool train_progress_begin(train_progress *p, const char *stage);
void train_progress_end(train_progress *p);

/* The signal that asked to stop, 0 if none did. */
int train_progress_signal(void);

/* Removes the line, closes the log and sees that all of it was written. */
rf_status train_progress_close(train_progress *p, rf_error *err);

#endif
