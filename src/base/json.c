#include "base/json.h"

#include <string.h>

const char *rf_json_type(const json_t *value)
{
    if (!value)
        return "missing";
    switch (json_typeof(value)) {
    case JSON_OBJECT: return "an object";
    case JSON_ARRAY: return "an array";
    case JSON_STRING: return "a string";
    case JSON_INTEGER: return "an integer";
    case JSON_REAL: return "a fraction";
    case JSON_TRUE:
    case JSON_FALSE: return "a boolean";
    case JSON_NULL: return "null";
    }
    return "unknown";
}

/* jansson does not tell when memory ran out: it fails without a word, or complains of a
 * string that ended well. */
static bool ran_out(const json_error_t *e, const char *text)
{
    if (e->text[0] == '\0' || json_error_code(e) == json_error_out_of_memory)
        return true;
    return e->position > 0 && text[e->position - 1] == '"' &&
           (strncmp(e->text, "invalid token", 13) == 0 ||
            strncmp(e->text, "string or '}' expected", 22) == 0);
}

json_t *rf_json_object(const char *text, size_t len, const char *name, rf_error *err)
{
    json_error_t e;
    json_t *root = json_loadb(text, len, JSON_REJECT_DUPLICATES, &e);
    if (!root && ran_out(&e, text)) {
        rf_fail(err, RF_ERR_NOMEM, 0, "%s: cannot have the memory to parse it", name);
        return NULL;
    }
    if (!root) {
        rf_fail(err, RF_ERR_FORMAT, (size_t)(e.position > 0 ? e.position : 0),
                "%s: not valid JSON at line %d, column %d: %s", name, e.line, e.column,
                e.text);
        return NULL;
    }
    if (!json_is_object(root)) {
        rf_fail(err, RF_ERR_FORMAT, 0, "%s: holds %s, wanted an object", name,
                rf_json_type(root));
        json_decref(root);
        return NULL;
    }
    return root;
}
