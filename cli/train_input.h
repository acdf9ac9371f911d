/*
 * train_input.h - how train and tune begin and end: paths looked at, log open, data read
 */
#ifndef RF_CLI_TRAIN_INPUT_H
#define RF_CLI_TRAIN_INPUT_H

#include "train_options.h"
#include "train_progress.h"

typedef struct train_input {
    train_request ask;
    train_progress progress;
    rf_dataset *train, *dev, *open;
} train_input;

/* Sees that what will be written can be, and is none of the files that are read; then
 * opens the log and reads the data. `what` is to be written: "the model". */
rf_status train_input_read(train_input *t, const char *what, rf_error *err);

/* Closes all of it, and complains of st, unless it is RF_OK or RF_ERR_STOPPED, about
 * which the caller has its own words; returns the exit code. */
int train_input_end(train_input *t, rf_status st, const rf_error *err);

#endif
