/*
 * format_json.c - JSON Lines, arrays of rows, objects of such arrays, and columns
 *
 *   {"text": "a", "label": "x"}                    one object per line
 *   [{"text": "a", "label": "x"}, ["b", "y"]]      an array of objects or pairs
 *   {"train": [["a", "x"]], "test": [["b", "y"]]}  parts, as in CLINC's files
 *   {"text": ["a", "b"], "label": ["x", "y"]}      columns
 */
#include "data/formats.h"

#include "data/json_rows.h"
#include "data/records.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static rf_json_rows *rows_new(rf_rows *rows, rf_error *err)
{
    rf_json_rows *j = malloc(sizeof *j);
    if (!j) {
        rf_fail_nomem(err, sizeof *j, "reading JSON");
        return NULL;
    }
    j->rows = rows;
    j->known = false;
    return j;
}

/* ---- JSON Lines -------------------------------------------------------------------- */

static rf_status take_line(rf_json_rows *j, rf_records *r, rf_error *err)
{
    rf_json_cursor c;
    if (r->n_fields == 0)
        return RF_OK;
    /* The source's window is ours to change: the line was read from it. */
    rf_json_start(&c, (char *)(uintptr_t)r->fields[0].data, r->fields[0].len,
                  r->source->name, r->line);
    if (rf_json_peek(&c) == '\0' && c.p == c.end)
        return RF_OK; /* blank */
    if (rf_json_peek(&c) == '[' || rf_json_peek(&c) == '"')
        return rf_json_wrong(&c, "this", "an object", err);
    rf_status st = rf_json_row(j, &c, err);
    return st == RF_OK ? rf_json_finish(&c, err) : st;
}

rf_status rf_read_jsonl(const rf_format *f, rf_source *s, rf_rows *rows, rf_error *err)
{
    (void)f;
    bool found = true;
    rf_json_rows *j = rows_new(rows, err);
    rf_records *r = malloc(sizeof *r);
    rf_status st = j && r ? RF_OK : rf_fail_nomem(err, sizeof *r, "reading JSON");
    if (st == RF_OK)
        rf_records_init(r, s, RF_NO_SEPARATOR, false);
    while (st == RF_OK && (st = rf_records_next(r, &found, err)) == RF_OK && found)
        st = take_line(j, r, err);
    free(r);
    free(j);
    return st;
}

/* ---- Arrays of rows ---------------------------------------------------------------- */

static rf_status take_element(rf_json_rows *j, rf_json_cursor *c, rf_error *err)
{
    switch (rf_json_peek(c)) {
    case '{': return rf_json_row(j, c, err);
    case '[': return rf_json_pair(j->rows, c, err);
    default:
        return rf_json_wrong(c, "a row", "an object, or an array of text and label", err);
    }
}

static rf_status read_array(rf_json_rows *j, rf_json_cursor *c, rf_error *err)
{
    rf_json_list l = {0};
    bool more;
    rf_status st;
    while ((st = rf_json_element(c, &l, &more, err)) == RF_OK && more)
        if ((st = take_element(j, c, err)) != RF_OK)
            break;
    return st;
}

/* ---- Columns ----------------------------------------------------------------------- */

/* One value of each column in step, until they end together. */
static rf_status read_columns(rf_rows *rows, rf_json_cursor *text, rf_json_cursor *label,
                              rf_error *err)
{
    rf_json_list in_text = {0}, in_label = {0};
    for (;;) {
        bool more = false, more_labels = false, good;
        rf_field t, l = {0};
        rf_status st = rf_json_element(text, &in_text, &more, err);
        if (st == RF_OK && label)
            st = rf_json_element(label, &in_label, &more_labels, err);
        if (st == RF_OK && label && more != more_labels)
            return rf_fail(err, RF_ERR_FORMAT, text->line,
                           "%s: line %zu: there are %s texts than labels, wanted as many",
                           text->name, text->line, more ? "more" : "fewer");
        if (st != RF_OK || !more)
            return st;
        (void)rf_json_peek(text);
        size_t line = text->line;
        st = rf_json_value(text, &t, err);
        if (st == RF_OK && label)
            st = rf_json_value(label, &l, err);
        if (st == RF_OK)
            st = rf_json_check(rows, line, "text", t, false, &good, err);
        if (st == RF_OK && good && label)
            st = rf_json_check(rows, line, "label", l, true, &good, err);
        if (st == RF_OK && good)
            st = rf_rows_pair(rows, t, l, line, err);
        if (st != RF_OK)
            return st;
    }
}

/* ---- Objects ----------------------------------------------------------------------- */

typedef struct document {
    rf_json_rows *j;
    rf_field keys[RF_MAX_COLUMNS];         /* of arrays of scalars */
    rf_json_cursor starts[RF_MAX_COLUMNS]; /* these arrays */
    size_t n;
} document;

/* What an array holds: the first byte of its first element, 0 if it is empty. */
static char holds(const rf_json_cursor *at)
{
    rf_json_cursor c = *at;
    if (rf_json_peek(&c) != '[')
        return '\0';
    c.p++;
    char first = rf_json_peek(&c);
    return first == ']' ? '\0' : first;
}

/* An array of objects or pairs is a part; one of scalars may be a column; the rest of
 * the document is about something else. */
static rf_status take_member(document *d, rf_field key, rf_json_cursor *c, rf_error *err)
{
    char first = holds(c);
    if (first == '{' || first == '[') {
        if (rf_rows_wants(d->j->rows, key))
            return read_array(d->j, c, err);
    } else if (first && d->n < RF_MAX_COLUMNS) {
        d->keys[d->n] = key;
        d->starts[d->n++] = *c;
    }
    return rf_json_skip(c, err);
}

static rf_status find_columns(document *d, const rf_json_cursor *end, rf_error *err)
{
    char place[RF_PATH_MAX + 32];
    rf_columns columns;
    snprintf(place, sizeof place, "%s: line 1", end->name);
    rf_status st =
        rf_columns_of_keys(&columns, d->keys, d->n, d->j->rows->options, place, 1, err);
    if (st != RF_OK)
        return st;
    return read_columns(d->j->rows, &d->starts[columns.text],
                        columns.label == SIZE_MAX ? NULL : &d->starts[columns.label],
                        err);
}

static rf_status read_object(rf_json_rows *j, rf_json_cursor *c, rf_error *err)
{
    rf_json_list l = {0};
    rf_field key;
    bool more;
    rf_status st;
    document *d = malloc(sizeof *d);
    if (!d)
        return rf_fail_nomem(err, sizeof *d, "reading JSON");
    d->j = j;
    d->n = 0;
    while ((st = rf_json_member(c, &l, &key, &more, err)) == RF_OK && more)
        if ((st = take_member(d, key, c, err)) != RF_OK)
            break;
    if (st == RF_OK && j->rows->n_parts == 0 && d->n > 0)
        st = find_columns(d, c, err);
    else if (st == RF_OK && j->rows->n_parts == 0)
        st = rf_fail(err, RF_ERR_FORMAT, 1,
                     "%s: no rows found in this JSON, wanted an array of objects such as "
                     "{\"text\": ..., \"label\": ...} or of pairs",
                     c->name);
    free(d);
    return st;
}

rf_status rf_read_json(const rf_format *f, rf_source *s, rf_rows *rows, rf_error *err)
{
    (void)f;
    rf_json_cursor c;
    rf_json_rows *j = rows_new(rows, err);
    rf_status st = j ? rf_document_start(&c, s, err) : RF_ERR_NOMEM;
    if (st == RF_OK)
        st = rf_json_peek(&c) == '{' ? read_object(j, &c, err) : read_array(j, &c, err);
    if (st == RF_OK)
        st = rf_json_finish(&c, err);
    free(j);
    return st;
}
