/* lab_settings.h - from a run's line back to the settings it was made with */
#ifndef RF_REPORT_LAB_SETTINGS_H
#define RF_REPORT_LAB_SETTINGS_H

#include "base/json.h"
#include "ringfence_lab.h"

/* Puts what rf_train_settings_json wrote of a method with heads into o; what is missing
 * or of another type stays. */
void rf_lab_settings(const json_t *settings, rf_lab_options *o);

#endif
