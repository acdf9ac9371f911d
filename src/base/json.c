/* json.c - parsing and writing JSON by jansson */
#include "base/json.h"

#include <stdio.h>
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

rf_json_fit rf_json_shape(const char *text, size_t len, size_t max_depth,
                          size_t max_values)
{
    size_t depth = 0, values = 1;
    bool in_string = false;
    for (size_t i = 0; i < len; i++) {
        char c = text[i];
        if (in_string) {
            i += c == '\\';
            in_string = c != '"';
        } else if (c == '"')
            in_string = true;
        else if (c == ']' || c == '}')
            depth -= depth > 0;
        else if ((c == '[' || c == '{') && ++depth > max_depth)
            return RF_JSON_TOO_DEEP;
        else if ((c == ',' || c == '[' || c == '{') && ++values > max_values)
            return RF_JSON_TOO_MANY;
    }
    return RF_JSON_FITS;
}

bool rf_json_ran_out(const json_error_t *e, const char *text)
{
    if (e->text[0] == '\0' || json_error_code(e) == json_error_out_of_memory)
        return true;
    return e->position > 0 && text[e->position - 1] == '"' &&
           (strncmp(e->text, "invalid token", 13) == 0 ||
            strncmp(e->text, "string or '}' expected", 22) == 0);
}

/* line is the line of the file that text is, 0 if text is the whole file. */
static json_t *parse(const char *text, size_t len, size_t flags, const char *name,
                     size_t line, rf_error *err)
{
    json_error_t e;
    char where[32] = "";
    if (line)
        snprintf(where, sizeof where, "line %zu: ", line);
    rf_json_fit fit = rf_json_shape(text, len, RF_JSON_MAX_DEPTH, RF_JSON_MAX_VALUES);
    if (fit != RF_JSON_FITS) {
        rf_fail(err, RF_ERR_LIMIT, line,
                fit == RF_JSON_TOO_DEEP ? "%s: %sJSON nested deeper than %zu"
                                        : "%s: %sJSON of more than %zu values",
                name, where,
                fit == RF_JSON_TOO_DEEP ? (size_t)RF_JSON_MAX_DEPTH : RF_JSON_MAX_VALUES);
        return NULL;
    }
    json_t *root = json_loadb(text, len, JSON_REJECT_DUPLICATES | flags, &e);
    if (!root && rf_json_ran_out(&e, text)) {
        rf_fail(err, RF_ERR_NOMEM, line, "%s: %scannot allocate memory to parse it", name,
                where);
        return NULL;
    }
    if (!root && line) {
        rf_fail(err, RF_ERR_FORMAT, line, "%s: %snot valid JSON at column %d: %s", name,
                where, e.column, e.text);
        return NULL;
    }
    if (!root) {
        rf_fail(err, RF_ERR_FORMAT, (size_t)(e.position > 0 ? e.position : 0),
                "%s: not valid JSON at line %d, column %d: %s", name, e.line, e.column,
                e.text);
        return NULL;
    }
    if (!json_is_object(root)) {
        rf_fail(err, RF_ERR_FORMAT, line, "%s: %sholds %s, wanted an object", name, where,
                rf_json_type(root));
        json_decref(root);
        return NULL;
    }
    return root;
}

json_t *rf_json_object(const char *text, size_t len, const char *name, rf_error *err)
{
    return parse(text, len, 0, name, 0, err);
}

json_t *rf_json_line(const char *text, size_t len, const char *name, size_t line,
                     rf_error *err)
{
    return parse(text, len, JSON_ALLOW_NUL, name, line, err);
}

typedef struct writing {
    rf_buffer *out;
    rf_error *err;
    rf_status status;
} writing;

static void add(writing *w, const char *text, size_t len)
{
    if (w->status == RF_OK) /* jansson 2.14 does not report when copying a key fails */
        w->status = rf_buffer_add(w->out, text, len, w->err);
}

/* jansson leaves U+007F to U+009F as they are, and terminals obey them. It never divides
 * a character between two calls. */
static int write_some(const char *text, size_t len, void *user)
{
    writing *w = user;
    const unsigned char *p = (const unsigned char *)text;
    size_t plain = 0, i = 0;
    while (i < len) {
        size_t n = p[i] == 0xc2 && i + 1 < len && p[i + 1] < 0xa0 ? 2 : 1;
        if (n == 1 && p[i] != 0x7f) {
            i++;
            continue;
        }
        char escape[8];
        snprintf(escape, sizeof escape, "\\u%04x", p[i + n - 1]);
        add(w, text + plain, i - plain);
        add(w, escape, 6);
        plain = i += n;
    }
    add(w, text + plain, len - plain);
    return w->status == RF_OK ? 0 : -1;
}

rf_status rf_json_write_as(const json_t *value, size_t flags, rf_buffer *out,
                           rf_error *err)
{
    writing w = {out, err, RF_OK};
    int rc = json_dump_callback(value, write_some, &w, flags | JSON_ENCODE_ANY);
    if (w.status == RF_OK && rc != 0)
        w.status = rf_fail_nomem(err, out->len, out->what);
    return w.status;
}

rf_status rf_json_write(const json_t *value, rf_buffer *out, rf_error *err)
{
    return rf_json_write_as(value, JSON_COMPACT, out, err);
}
