/*
 * format_delimited.c - TSV and CSV: records of fields, the first of which may be names
 */
#include "data/formats.h"

#include "data/columns.h"
#include "data/delimiter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST ((size_t)64 << 10) /* bytes that show the separator */

typedef struct table {
    rf_rows *rows;
    rf_records records;
    rf_columns columns;
    size_t n_columns;  /* fields of a record; 0: none read yet */
    size_t first_line; /* where that was decided */
    char *header;      /* its names, one after another */
    rf_field *names;   /* [n_columns]; NULL without a header */
} table;

static rf_status choose_separator(rf_source *s, const rf_format *f,
                                  const rf_data_options *o, char *separator,
                                  rf_error *err)
{
    size_t len;
    *separator = o->delimiter ? o->delimiter : '\t';
    if (f->format == RF_DATA_TSV || o->delimiter)
        return RF_OK;
    rf_status st = rf_source_want(s, FIRST, err);
    const char *p = rf_source_data(s, &len);
    *separator = rf_delimiter_find(p, len < FIRST ? len : FIRST, s->at_end);
    return st;
}

/* ---- The header -------------------------------------------------------------------- */

/* Copies the names: the record does not stay. */
static rf_status keep_names(table *t, rf_error *err)
{
    const rf_records *r = &t->records;
    size_t n = 0;
    for (size_t i = 0; i < r->n_fields; i++)
        n += r->fields[i].len;
    t->header = malloc(n + 1);
    t->names = malloc(r->n_fields * sizeof *t->names);
    if (!t->header || !t->names)
        return rf_fail_nomem(err, n + r->n_fields * sizeof *t->names, "a header");
    char *to = t->header;
    for (size_t i = 0; i < r->n_fields; i++) {
        if (r->fields[i].len)
            memcpy(to, r->fields[i].data, r->fields[i].len);
        t->names[i] = rf_text_field(to, r->fields[i].len);
        to += r->fields[i].len;
    }
    return RF_OK;
}

static rf_status first_record(table *t, rf_error *err)
{
    char place[RF_PATH_MAX + 32];
    const rf_records *r = &t->records;
    snprintf(place, sizeof place, "%s: line %zu", r->source->name, r->line);
    if (r->n_fields < 2 && !t->rows->options->texts_only)
        return rf_fail(err, RF_ERR_FORMAT, r->line,
                       "%s: found 1 column, wanted at least 2 with a %s between them",
                       place, rf_separator_name(r->separator));
    t->n_columns = r->n_fields;
    t->first_line = r->line;
    rf_status st = rf_columns_of_record(&t->columns, r->fields, r->n_fields,
                                        t->rows->options, place, r->line, err);
    return st == RF_OK && t->columns.header ? keep_names(t, err) : st;
}

/* Files that were joined end to end have it again. */
static bool repeats_header(const table *t)
{
    if (!t->names)
        return false;
    for (size_t i = 0; i < t->n_columns; i++) {
        rf_field a = t->names[i], b = t->records.fields[i];
        if (a.len != b.len || (a.len && memcmp(a.data, b.data, a.len) != 0))
            return false;
    }
    return true;
}

/* ---- Rows -------------------------------------------------------------------------- */

static rf_status take_row(table *t, rf_error *err)
{
    const rf_records *r = &t->records;
    if (r->n_fields != t->n_columns && t->rows->options->raw_tsv) {
        t->rows->end.dropped++;
        return RF_OK;
    }
    if (r->n_fields != t->n_columns)
        return rf_rows_bad(t->rows, RF_ERR_FORMAT, r->line, err,
                           "found %zu columns, wanted %zu as in line %zu", r->n_fields,
                           t->n_columns, t->first_line);
    if (repeats_header(t))
        return rf_rows_bad(t->rows, RF_ERR_FORMAT, r->line, err,
                           "the header of line %zu again; files that are joined must be "
                           "given one by one",
                           t->first_line);
    rf_table_row row = {.line = r->line,
                        .n = r->n_fields,
                        .names = t->names,
                        .fields = r->fields,
                        .text = t->columns.text,
                        .label = t->columns.label};
    return rf_rows_take(t->rows, &row, err);
}

static rf_status take_record(table *t, rf_error *err)
{
    if (t->records.n_fields == 0 && (t->n_columns == 0 || !t->rows->options->raw_tsv))
        return RF_OK; /* an empty line; among raw rows it is one with a wrong count */
    if (t->n_columns == 0) {
        rf_status st = first_record(t, err);
        if (st != RF_OK || t->columns.header)
            return st;
    }
    return take_row(t, err);
}

rf_status rf_read_delimited(const rf_format *f, rf_source *s, rf_rows *rows,
                            rf_error *err)
{
    char separator = 0;
    bool found = true;
    table *t = calloc(1, sizeof *t);
    rf_status st = t ? choose_separator(s, f, rows->options, &separator, err)
                     : rf_fail_nomem(err, sizeof *t, "reading a table");
    if (st == RF_OK) {
        t->rows = rows;
        rf_records_init(&t->records, s, separator, !rows->options->raw_tsv);
    }
    while (st == RF_OK && (st = rf_records_next(&t->records, &found, err)) == RF_OK &&
           found)
        st = take_record(t, err);
    if (st == RF_OK && t->n_columns > 0 && rows->end.rows == 0 && !rows->end.skipped)
        st = rf_fail(err, RF_ERR_FORMAT, t->first_line,
                     "%s: no rows after the header in line %zu (%zu dropped), wanted "
                     "text and label",
                     s->name, t->first_line, rows->end.dropped);
    if (t) {
        free(t->header);
        free(t->names);
    }
    free(t);
    return st;
}
