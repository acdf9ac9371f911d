/*
 * json_cursor.h - walks through a JSON text in memory, and builds nothing
 *
 *   rf_json_list l = {0};
 *   while ((st = rf_json_member(c, &l, &key, &more, err)) == RF_OK && more)
 *       st = is(key, "text") ? rf_json_string(c, &text, err) : rf_json_skip(c, err);
 *
 * A tree of a file takes up to 75 times its size; this takes nothing. Strings are decoded
 * in place, so that a text is walked through once, and stay valid as long as the text.
 * JSON must be valid where it is walked through or skipped: RFC 8259, valid UTF-8, at
 * most RF_JSON_DEPTH levels.
 */
#ifndef RF_DATA_JSON_CURSOR_H
#define RF_DATA_JSON_CURSOR_H

#include "base/error.h"
#include "ringfence_data.h"

#define RF_JSON_DEPTH 256

typedef struct rf_json_cursor {
    char *p, *end;
    size_t line;            /* of p, from 1 */
    const char *line_start; /* for the column in messages */
    const char *name;       /* of the file; borrowed */
} rf_json_cursor;

/* How far an array or object was walked through; zeroed at its start. */
typedef struct rf_json_list {
    bool inside;
} rf_json_list;

void rf_json_start(rf_json_cursor *c, char *bytes, size_t len, const char *name,
                   size_t line);

/* The first byte of the next value, which tells its kind; 0 at the end. */
char rf_json_peek(rf_json_cursor *c);

/* Goes to the next element of an array; *more is false after the last. The caller then
 * reads or skips the element. */
rf_status rf_json_element(rf_json_cursor *c, rf_json_list *l, bool *more, rf_error *err);

/* The same for the next member of an object, and its key. */
rf_status rf_json_member(rf_json_cursor *c, rf_json_list *l, rf_field *key, bool *more,
                         rf_error *err);

/* A value that must be a string. */
rf_status rf_json_string(rf_json_cursor *c, rf_field *out, rf_error *err);

/* Any value: a string decoded, all others as they are written (rf_field.kind). */
rf_status rf_json_value(rf_json_cursor *c, rf_field *out, rf_error *err);

rf_status rf_json_skip(rf_json_cursor *c, rf_error *err);

/* After the last value: nothing but white space may follow. */
rf_status rf_json_finish(rf_json_cursor *c, rf_error *err);

/* "line 7: ..., found a string, wanted an array" */
rf_status rf_json_wrong(rf_json_cursor *c, const char *what, const char *wanted,
                        rf_error *err);

/* "a string", "an integer", ... */
const char *rf_field_kind(rf_field f);

static inline bool rf_field_is(rf_field f, const char *name)
{
    size_t i = 0;
    while (i < f.len && name[i] && f.data[i] == name[i])
        i++;
    return i == f.len && name[i] == '\0';
}

#endif
