/* json_read.c - values of a JSON object, for display */
#include "json_read.h"

#include "base/controls.h"

#include <stdlib.h>
#include <string.h>

const char *json_read_word(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "?";
}

size_t json_read_count(const json_t *object, const char *key)
{
    return (size_t)json_integer_value(json_object_get(object, key));
}

double json_read_number(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

static rf_status make_string_plain(json_t *value, rf_error *err)
{
    char *text = strdup(json_string_value(value));
    bool good =
        text && json_string_set(value, rf_replace_controls(text, strlen(text), ' ')) == 0;
    free(text);
    return good ? RF_OK : rf_fail_nomem(err, json_string_length(value), "a text");
}

rf_status json_make_plain(json_t *value, rf_error *err)
{
    rf_status st = RF_OK;
    const char *key;
    size_t i;
    json_t *part;
    if (json_is_string(value))
        return make_string_plain(value, err);
    json_object_foreach(value, key, part) if (st == RF_OK) st =
        json_make_plain(part, err);
    json_array_foreach(value, i, part) if (st == RF_OK) st = json_make_plain(part, err);
    return st;
}
