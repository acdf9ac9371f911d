/*
 * settings_file.h - the settings that tuning chooses, as JSON and back
 *
 *   {"settings": {"blend": 0.5, ...}, "tuning": {...}}
 *
 * "tuning" says how they were found and is not read.
 */
#ifndef RF_MODEL_SETTINGS_FILE_H
#define RF_MODEL_SETTINGS_FILE_H

#include "base/json.h"

/* The inner object; NULL without memory. */
json_t *rf_settings_json(const rf_train_options *o);

/* Whether a setting of this name may have this value; a NaN may not. */
bool rf_setting_allowed(const char *name, double value);

#endif
