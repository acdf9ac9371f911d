/*
 * settings_file.h - the settings that tuning chooses, as JSON and back
 *
 *   {"settings": {"blend": 0.5, ...}, "tuning": {...}}
 *
 * "tuning" records how they were found and is ignored on reading.
 */
#ifndef RF_FOLDS_SETTINGS_FILE_H
#define RF_FOLDS_SETTINGS_FILE_H

#include "settings/settings.h"

/* The inner object; NULL without memory. */
json_t *rf_tuned_settings_json(const rf_settings *s);

#endif
