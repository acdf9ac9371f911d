/* train_input.h - what ringfence train and tune do before and after training: check
 * paths, open the log, read the data, and clean up
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

/* Checks that the outputs can be written and overwrite no input, then opens the log and
 * reads the data. `what` names the output in messages: "the model". */
rf_status train_input_read(train_input *t, const char *what, rf_error *err);

/* Closes the log, frees the data and returns the exit code. Prints err unless st is RF_OK
 * or RF_ERR_STOPPED, which the caller reports. */
int train_input_end(train_input *t, rf_status st, const rf_error *err);

#endif
