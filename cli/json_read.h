/* json_read.h - values of a JSON object, for display: "?" or 0 if a key is missing */
#ifndef RF_CLI_JSON_READ_H
#define RF_CLI_JSON_READ_H

#include "base/json.h"

const char *json_read_word(const json_t *object, const char *key);
size_t json_read_count(const json_t *object, const char *key);
double json_read_number(const json_t *object, const char *key);

/* Replaces the control characters in all strings of a value, but not in its keys. */
rf_status json_make_plain(json_t *value, rf_error *err);

#endif
