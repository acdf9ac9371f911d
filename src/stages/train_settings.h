/*
 * train_settings.h - check the options and settings of a training and complete them from
 * the data
 */
#ifndef RF_STAGES_TRAIN_SETTINGS_H
#define RF_STAGES_TRAIN_SETTINGS_H

#include "encoder/config.h"
#include "settings/settings.h"

/* Folds that hide classes need at least this many. */
#define RF_FOLD_CLASSES 3

/* Checks both and fills in the automatic values from the size of the training set.
 * Uses s, not the text in o. Call it once: afterwards 0 in the options means "none". */
rf_status rf_train_resolve(rf_train_options *o, rf_settings *s, const rf_config *c,
                           size_t rows, size_t classes, rf_error *err);

/* Resolved options that affect the result, as a JSON object. NULL without memory. */
json_t *rf_train_settings_json(const rf_train_options *o, const rf_settings *s);

#endif
