/* json.h - jansson, with our limits and our words */
#ifndef RF_BASE_JSON_H
#define RF_BASE_JSON_H

#include "base/error.h"

#include <jansson.h>

/* Parse a whole text that must be one object; duplicate keys are refused. NULL on
 * failure. The result is released with json_decref. */
json_t *rf_json_object(const char *text, size_t len, const char *name, rf_error *err);

/* "a string", "null", ...; "missing" for NULL. */
const char *rf_json_type(const json_t *value);

#endif
