/*
 * train_progress.h - progress of a training on stderr and in a JSON log, and stopping it
 * by signal
 *
 * On a terminal, progress is one line that overwrites itself; elsewhere a line per epoch
 * and one per tenth of the heads. The log has one JSON object per line, flushed at once.
 */
#ifndef RF_CLI_TRAIN_PROGRESS_H
#define RF_CLI_TRAIN_PROGRESS_H

#include "base/error.h"

#include <stdio.h>

typedef struct train_progress {
    bool quiet;
    const char *log_path; /* NULL: no log */
    FILE *log;
    rf_train_event last; /* the latest event; total 0: none yet */
    size_t tenths;       /* of the heads, shown so far */
} train_progress;

/* Opens the log; `append`: keeps what it holds. */
rf_status train_progress_open(train_progress *p, bool quiet, const char *log_path,
                              bool append, rf_error *err);

/* From now on SIGINT, SIGTERM and SIGHUP are stop requests, which train_progress_report
 * passes on; a second one, half a second later or more, ends the program at once. SIGPIPE
 * is ignored: a closed stderr does not stop the training. */
void train_progress_catch_signals(void);

/* An rf_train_progress; user is the train_progress. */
int train_progress_report(void *user, const rf_train_event *event);

/* A line of the log that is not an event: begin it with its stage and, if that returns
 * true (there is a log), add fields to p->log and end it. */
bool train_progress_begin(train_progress *p, const char *stage);
void train_progress_end(train_progress *p);

/* The signal of the stop request, 0 if there was none. */
int train_progress_signal(void);

/* Removes the progress line and closes the log; fails if not all of it was written. */
rf_status train_progress_close(train_progress *p, rf_error *err);

#endif
