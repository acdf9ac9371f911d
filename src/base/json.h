/* json.h - jansson with our limits and error messages */
#ifndef RF_BASE_JSON_H
#define RF_BASE_JSON_H

#include "base/buffer.h"

#include <jansson.h>

/* Parses a whole text that must be one object; duplicate keys are refused. NULL on
 * failure. The result is released with json_decref. */
json_t *rf_json_object(const char *text, size_t len, const char *name, rf_error *err);

/* The same for one line of a file, counted from 1; strings may hold \u0000. */
json_t *rf_json_line(const char *text, size_t len, const char *name, size_t line,
                     rf_error *err);

/* Adds a value to a buffer as compact text, keys in the order in which they were set. */
rf_status rf_json_write(const json_t *value, rf_buffer *out, rf_error *err);

/* "a string", "null", ...; "missing" for NULL. */
const char *rf_json_type(const json_t *value);

#endif
