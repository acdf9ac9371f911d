/* json.h - jansson with our limits and error messages */
#ifndef RF_BASE_JSON_H
#define RF_BASE_JSON_H

#include "base/buffer.h"

#include <jansson.h>

/* Of what is read from files: the largest vocabulary has a million entries. */
#define RF_JSON_MAX_VALUES ((size_t)2000000)
#define RF_JSON_MAX_DEPTH 64

typedef enum rf_json_fit { RF_JSON_FITS, RF_JSON_TOO_DEEP, RF_JSON_TOO_MANY } rf_json_fit;

/* A tree takes up to 75 times the memory of its text. So brackets and commas outside
 * strings are counted before it is built: is the text nested deeper than max_depth, or
 * may it have more than max_values values? Whether it is valid JSON is left open. */
rf_json_fit rf_json_shape(const char *text, size_t len, size_t max_depth,
                          size_t max_values);

/* Whether parsing `text` failed for lack of memory. jansson does not say so: it fails
 * without a message, or reports a valid string as unterminated. */
bool rf_json_ran_out(const json_error_t *e, const char *text);

/* Parses a whole text that must be one object; duplicate keys and what exceeds the
 * limits above are refused. NULL on failure. The result is released with json_decref. */
json_t *rf_json_object(const char *text, size_t len, const char *name, rf_error *err);

/* The same for one line of a file, counted from 1; strings may hold \u0000. */
json_t *rf_json_line(const char *text, size_t len, const char *name, size_t line,
                     rf_error *err);

/* Adds a value to a buffer as compact text, keys in the order in which they were set.
 * No control character is in it as such. */
rf_status rf_json_write(const json_t *value, rf_buffer *out, rf_error *err);
/* The same with flags of json_dump. */
rf_status rf_json_write_as(const json_t *value, size_t flags, rf_buffer *out,
                           rf_error *err);

/* "a string", "null", ...; "missing" for NULL. */
const char *rf_json_type(const json_t *value);

#endif
