/*
 * json_read.h - values of an object that is to be shown: what is missing is "?" or 0
 */
#ifndef RF_CLI_JSON_READ_H
#define RF_CLI_JSON_READ_H

#include "base/json.h"

const char *json_read_word(const json_t *object, const char *key);
size_t json_read_count(const json_t *object, const char *key);
double json_read_number(const json_t *object, const char *key);

#endif
