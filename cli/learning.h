/* learning.h - what update and accept share: progress, saving, and what changed */
#ifndef RF_CLI_LEARNING_H
#define RF_CLI_LEARNING_H

#include "base/error.h"

/* For rf_update_options.progress: a line on the terminal, and stop requests. */
int learning_progress(void *user, const rf_train_event *event);

/* Saves the updated model as the one before it was: with or without encoder and texts. */
rf_status learning_save(const rf_model *before, const rf_model *after, const char *path,
                        rf_error *err);

/* Prints the report of rf_update, as text or as it is, and about the file. */
rf_status learning_show(const char *report, bool json, const rf_model *after,
                        const char *path, rf_error *err);

#endif
