/*
 * train_settings.h - a training's options, checked and completed from the data
 */
#ifndef RF_MODEL_TRAIN_SETTINGS_H
#define RF_MODEL_TRAIN_SETTINGS_H

#include "base/json.h"
#include "encoder/config.h"
#include "known/tune.h"
#include "open/ans.h"

/* Checks o and replaces what was left to the data: rows and classes of the training set.
 */
rf_status rf_train_resolve(rf_train_options *o, const rf_config *c, size_t rows,
                           size_t classes, rf_error *err);

/* The parts of resolved options that the two stages take. */
rf_tune_options rf_train_tune_options(const rf_train_options *o);
rf_ans_options rf_train_ans_options(const rf_train_options *o);

/* Resolved options as a JSON object: all that changes the result. NULL without memory. */
json_t *rf_train_settings_json(const rf_train_options *o);

#endif
