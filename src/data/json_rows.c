/* json_rows.c - objects and pairs as rows */
#include "data/json_rows.h"

#include <stdio.h>
#include <string.h>

rf_status rf_json_check(rf_rows *rows, size_t line, const char *key, rf_field value,
                        bool is_label, bool *good, rf_error *err)
{
    *good = value.data && (value.kind == 0 || (is_label && value.kind == '0'));
    return *good ? RF_OK
                 : rf_rows_bad(rows, RF_ERR_FORMAT, line, err,
                               "\"%.40s\" is %s, wanted %s", key, rf_field_kind(value),
                               is_label ? "a string or an integer" : "a string");
}

rf_status rf_document_start(rf_json_cursor *c, rf_source *s, rf_error *err)
{
    size_t len;
    rf_status st = rf_source_rest(s, err);
    static char nothing[1]; /* of an empty file */
    char *bytes = rf_source_data(s, &len);
    rf_json_start(c, bytes ? bytes : nothing, len, s->name, 1);
    return st;
}

/* ---- Objects ----------------------------------------------------------------------- */

static rf_status read_members(rf_json_rows *j, rf_json_cursor *c, size_t *n,
                              rf_error *err)
{
    rf_json_list l = {0};
    bool more;
    rf_status st;
    *n = 0;
    while (true) {
        rf_field key;
        st = rf_json_member(c, &l, &key, &more, err);
        if (st != RF_OK || !more)
            return st;
        if (*n == RF_MAX_COLUMNS)
            return rf_fail(err, RF_ERR_LIMIT, c->line,
                           "%s: line %zu: found more than %d keys", c->name, c->line,
                           RF_MAX_COLUMNS);
        j->names[*n] = key;
        st = rf_json_value(c, &j->fields[*n], err);
        if (st != RF_OK)
            return st;
        ++*n;
    }
}

static rf_status keep_key(char to[RF_MAX_KEY + 1], rf_field key, size_t line,
                          const char *file, rf_error *err)
{
    if (key.len > RF_MAX_KEY)
        return rf_fail(err, RF_ERR_LIMIT, line,
                       "%s: line %zu: a key of %zu bytes, wanted at most %d", file, line,
                       key.len, RF_MAX_KEY);
    memcpy(to, key.data, key.len);
    to[key.len] = '\0';
    return RF_OK;
}

static rf_status choose_keys(rf_json_rows *j, size_t n, size_t line, const char *file,
                             rf_error *err)
{
    char place[RF_PATH_MAX + 32];
    rf_columns columns;
    snprintf(place, sizeof place, "%s: line %zu", file, line);
    rf_status st =
        rf_columns_of_keys(&columns, j->names, n, j->rows->options, place, line, err);
    if (st == RF_OK)
        st = keep_key(j->text_key, j->names[columns.text], line, file, err);
    j->label_key[0] = '\0';
    if (st == RF_OK && columns.label != SIZE_MAX)
        st = keep_key(j->label_key, j->names[columns.label], line, file, err);
    j->known = st == RF_OK;
    return st;
}

/* The member of this key; n if it is not there. A key that comes twice is an error. */
static rf_status find_key(const rf_json_rows *j, size_t n, const char *key, size_t line,
                          size_t *at, bool *twice, rf_error *err)
{
    *at = n;
    *twice = false;
    for (size_t i = 0; i < n && !*twice; i++) {
        if (!rf_field_is(j->names[i], key))
            continue;
        *twice = *at < n;
        *at = i;
    }
    return *twice ? rf_rows_bad(j->rows, RF_ERR_FORMAT, line, err,
                                "the key \"%.40s\" occurs twice", key)
                  : RF_OK;
}

static rf_status find_value(const rf_json_rows *j, size_t n, const char *key, size_t line,
                            bool is_label, size_t *at, bool *good, rf_error *err)
{
    bool twice;
    rf_status st = find_key(j, n, key, line, at, &twice, err);
    *good = st == RF_OK && !twice;
    if (!*good)
        return st;
    rf_field value = *at < n ? j->fields[*at] : (rf_field){0};
    return rf_json_check(j->rows, line, key, value, is_label, good, err);
}

rf_status rf_json_row(rf_json_rows *j, rf_json_cursor *c, rf_error *err)
{
    size_t n;
    bool good = true;
    (void)rf_json_peek(c);
    rf_table_row row = {
        .line = c->line, .names = j->names, .fields = j->fields, .label = SIZE_MAX};
    rf_status st = read_members(j, c, &n, err);
    if (st == RF_OK && !j->known)
        st = choose_keys(j, n, row.line, c->name, err);
    row.n = n;
    if (st == RF_OK)
        st = find_value(j, n, j->text_key, row.line, false, &row.text, &good, err);
    if (st == RF_OK && good && j->label_key[0] && !j->rows->options->texts_only)
        st = find_value(j, n, j->label_key, row.line, true, &row.label, &good, err);
    return st == RF_OK && good ? rf_rows_take(j->rows, &row, err) : st;
}

/* ---- Pairs ------------------------------------------------------------------------- */

rf_status rf_json_pair(rf_rows *rows, rf_json_cursor *c, rf_error *err)
{
    rf_field values[2] = {{0}};
    rf_json_list l = {0};
    size_t n = 0, line;
    bool more, good;
    rf_status st;
    (void)rf_json_peek(c);
    line = c->line;
    while ((st = rf_json_element(c, &l, &more, err)) == RF_OK && more) {
        rf_field value;
        st = rf_json_value(c, &value, err);
        if (st != RF_OK)
            return st;
        if (n < 2)
            values[n] = value;
        n++;
    }
    if (st == RF_OK && n != 2)
        return rf_rows_bad(rows, RF_ERR_FORMAT, line, err,
                           "an array of %zu values, wanted [text, label]", n);
    if (st == RF_OK)
        st = rf_json_check(rows, line, "text", values[0], false, &good, err);
    if (st == RF_OK && good)
        st = rf_json_check(rows, line, "label", values[1], true, &good, err);
    return st == RF_OK && good ? rf_rows_pair(rows, values[0], values[1], line, err) : st;
}
