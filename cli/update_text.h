/* update_text.h - the report of an update, for people */
#ifndef RF_CLI_UPDATE_TEXT_H
#define RF_CLI_UPDATE_TEXT_H

#include "base/json.h"

/* Prints the report of rf_update to stdout. */
void update_text_put(const json_t *report);

#endif
