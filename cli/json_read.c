/* json_read.c - values of a JSON object, for display */
#include "json_read.h"

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
