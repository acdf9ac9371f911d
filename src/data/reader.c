/*
 * reader.c - labelled data from a file: TSV, CSV, JSON Lines
 *
 * bytes -> records -> columns -> rows. Every error names the file and the line.
 */
#include "data/dataset.h"

#include "base/json.h"
#include "base/options.h"
#include "data/columns.h"
#include "data/records.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define FIRST_LINE ((size_t)64 << 10) /* bytes that decide the format */

typedef struct reader {
    const rf_data_options *options;
    rf_dataset *data;
    rf_columns columns;
    size_t n_columns;  /* fields of a record; 0: none read yet */
    size_t first_line; /* where that was decided */
    json_t *first;     /* the first object: its keys are the next two */
    const char *text_key, *label_key;
    rf_records records;
} reader;

void rf_data_options_init(rf_data_options *options, size_t struct_size)
{
    const rf_data_options defaults = {0};
    rf_options_give(options, struct_size, &defaults, sizeof defaults);
}

/* Adds "file: line 7: " to the error of a row. */
static rf_status at_line(const reader *r, rf_status st, rf_error *err)
{
    char words[sizeof err->msg];
    if (st == RF_OK || st == RF_ERR_NOMEM || !err)
        return st;
    memcpy(words, err->msg, sizeof words);
    return rf_fail(err, st, r->records.line, "%s: line %zu: %s", r->records.source->name,
                   r->records.line, words);
}

static void place_of(const reader *r, char place[RF_PATH_MAX + 32])
{
    snprintf(place, RF_PATH_MAX + 32, "%s: line %zu", r->records.source->name,
             r->records.line);
}

/* ---- Formats ----------------------------------------------------------------------- */

static bool ends_in(const char *name, size_t len, const char *ending)
{
    size_t n = strlen(ending);
    return len > n && strncasecmp(name + len - n, ending, n) == 0;
}

rf_data_format rf_format_of_name(const char *name)
{
    if (!name)
        return RF_DATA_AUTO;
    size_t len = strlen(name);
    if (ends_in(name, len, ".gz"))
        len -= 3;
    else if (ends_in(name, len, ".zst"))
        len -= 4;
    if (ends_in(name, len, ".tsv") || ends_in(name, len, ".tab"))
        return RF_DATA_TSV;
    if (ends_in(name, len, ".csv"))
        return RF_DATA_CSV;
    if (ends_in(name, len, ".jsonl") || ends_in(name, len, ".ndjson") ||
        ends_in(name, len, ".json"))
        return RF_DATA_JSONL;
    return RF_DATA_AUTO;
}

/* By the first line: { starts JSON, a tab means TSV. */
static rf_status format_of_content(rf_source *s, rf_data_format *format, rf_error *err)
{
    size_t i = 0, len;
    *format = RF_DATA_CSV;
    for (bool blank = true;; i++) {
        rf_status st = rf_source_want(s, i + 1, err);
        const char *p = rf_source_data(s, &len);
        if (st != RF_OK || i >= len || i >= FIRST_LINE)
            return st;
        if (blank && p[i] == '{')
            *format = RF_DATA_JSONL;
        if (p[i] == '\t')
            *format = RF_DATA_TSV;
        if (*format != RF_DATA_CSV || (p[i] == '\n' && !blank))
            return RF_OK;
        blank = blank && (p[i] == ' ' || p[i] == '\r' || p[i] == '\n');
    }
}

/* ---- Rows of fields ---------------------------------------------------------------- */

static rf_status first_record(reader *r, bool *is_row, rf_error *err)
{
    char place[RF_PATH_MAX + 32];
    const rf_records *rec = &r->records;
    place_of(r, place);
    if (rec->n_fields < 2)
        return rf_fail(err, RF_ERR_FORMAT, rec->line,
                       "%s: found 1 column, wanted at least 2 with a %s between them",
                       place, rec->separator == '\t' ? "tab" : "comma");
    r->n_columns = rec->n_fields;
    r->first_line = rec->line;
    rf_status st = rf_columns_of_record(&r->columns, rec->fields, rec->n_fields,
                                        r->options, place, rec->line, err);
    *is_row = !r->columns.header;
    return st;
}

static rf_status take_record(reader *r, rf_error *err)
{
    const rf_records *rec = &r->records;
    bool is_row = true;
    rf_status st = RF_OK;
    if (rec->n_fields == 0 && (r->n_columns == 0 || !r->options->raw_tsv))
        return RF_OK; /* an empty line; among raw rows it is one with a wrong count */
    if (r->n_columns == 0)
        st = first_record(r, &is_row, err);
    if (st != RF_OK || !is_row)
        return st;
    if (rec->n_fields != r->n_columns && r->options->raw_tsv) {
        r->data->dropped++;
        return RF_OK;
    }
    if (rec->n_fields != r->n_columns)
        return rf_fail(err, RF_ERR_FORMAT, rec->line,
                       "%s: line %zu: found %zu columns, wanted %zu as in line %zu",
                       rec->source->name, rec->line, rec->n_fields, r->n_columns,
                       r->first_line);
    rf_field text = rec->fields[r->columns.text], label = rec->fields[r->columns.label];
    return at_line(r,
                   rf_dataset_add_at(r->data, text.data, text.len, label.data, label.len,
                                     rec->line, err),
                   err);
}

/* ---- Rows of objects --------------------------------------------------------------- */

static rf_status first_object(reader *r, json_t *object, rf_error *err)
{
    char place[RF_PATH_MAX + 32];
    rf_field keys[RF_MAX_COLUMNS];
    size_t n = 0;
    const char *key;
    json_t *value;
    place_of(r, place);
    if (json_object_size(object) > RF_MAX_COLUMNS)
        return rf_fail(err, RF_ERR_LIMIT, r->records.line,
                       "%s: found %zu keys, wanted at most %d", place,
                       json_object_size(object), RF_MAX_COLUMNS);
    json_object_foreach(object, key, value) keys[n++] = (rf_field){key, strlen(key)};
    rf_status st =
        rf_columns_of_keys(&r->columns, keys, n, r->options, place, r->records.line, err);
    if (st != RF_OK)
        return st;
    r->first = json_incref(object);
    r->text_key = keys[r->columns.text].data;
    r->label_key = keys[r->columns.label].data;
    r->n_columns = n;
    return RF_OK;
}

static rf_status wrong_value(const reader *r, const char *key, const json_t *value,
                             const char *wanted, rf_error *err)
{
    return rf_fail(err, RF_ERR_FORMAT, r->records.line,
                   "%s: line %zu: \"%.40s\" is %s, wanted %s", r->records.source->name,
                   r->records.line, key, rf_json_type(value), wanted);
}

static rf_status take_values(reader *r, json_t *object, rf_error *err)
{
    char digits[32];
    if (r->n_columns == 0) {
        rf_status st = first_object(r, object, err);
        if (st != RF_OK)
            return st;
    }
    const json_t *text = json_object_get(object, r->text_key);
    const json_t *label = json_object_get(object, r->label_key);
    if (!json_is_string(text))
        return wrong_value(r, r->text_key, text, "a string", err);
    rf_field name = {json_string_value(label), json_string_length(label)};
    if (json_is_integer(label)) {
        int n = snprintf(digits, sizeof digits, "%" JSON_INTEGER_FORMAT,
                         json_integer_value(label));
        name = (rf_field){digits, (size_t)n};
    } else if (!json_is_string(label)) {
        return wrong_value(r, r->label_key, label, "a string or an integer", err);
    }
    return at_line(r,
                   rf_dataset_add_at(r->data, json_string_value(text),
                                     json_string_length(text), name.data, name.len,
                                     r->records.line, err),
                   err);
}

static bool is_blank(const rf_records *rec)
{
    for (size_t i = 0; rec->n_fields && i < rec->fields[0].len; i++)
        if (!strchr(" \t\r", rec->fields[0].data[i]) || !rec->fields[0].data[i])
            return false;
    return true;
}

static rf_status take_object(reader *r, rf_error *err)
{
    rf_error local = {0};
    const rf_records *rec = &r->records;
    if (is_blank(rec))
        return RF_OK;
    err = err ? err : &local; /* which says why there is no object */
    json_t *object = rf_json_line(rec->fields[0].data, rec->fields[0].len,
                                  rec->source->name, rec->line, err);
    if (!object)
        return err->code;
    rf_status st = take_values(r, object, err);
    json_decref(object);
    return st;
}

/* ---- Whole files ------------------------------------------------------------------- */

static rf_status choose_format(const reader *r, rf_source *s, const char *file_name,
                               rf_data_format *format, rf_error *err)
{
    const rf_data_options *o = r->options;
    *format = o->format;
    if ((unsigned)o->format > RF_DATA_JSONL || (unsigned)o->header > RF_HEADER_NO)
        return rf_fail(err, RF_ERR_ARG, 0, "%s: format %d, header %d: no such option",
                       s->name, (int)o->format, (int)o->header);
    if (o->raw_tsv && o->format != RF_DATA_AUTO && o->format != RF_DATA_TSV)
        return rf_fail(err, RF_ERR_ARG, 0, "%s: raw TSV is a reading of TSV, not of %s",
                       s->name, o->format == RF_DATA_CSV ? "CSV" : "JSON Lines");
    if (*format == RF_DATA_AUTO && o->raw_tsv)
        *format = RF_DATA_TSV;
    if (*format == RF_DATA_AUTO)
        *format = rf_format_of_name(file_name);
    return *format == RF_DATA_AUTO ? format_of_content(s, format, err) : RF_OK;
}

static rf_status read_all(reader *r, rf_source *s, const char *file_name, rf_error *err)
{
    rf_data_format format;
    rf_status st = rf_source_begin(s, err);
    if (st == RF_OK)
        st = choose_format(r, s, file_name, &format, err);
    if (st != RF_OK)
        return st;
    char separator = format == RF_DATA_TSV   ? '\t'
                     : format == RF_DATA_CSV ? ','
                                             : RF_NO_SEPARATOR;
    rf_records_init(&r->records, s, separator,
                    format != RF_DATA_JSONL && !r->options->raw_tsv);
    for (;;) {
        bool found;
        st = rf_records_next(&r->records, &found, err);
        if (st != RF_OK || !found)
            break;
        st = format == RF_DATA_JSONL ? take_object(r, err) : take_record(r, err);
        if (st != RF_OK)
            break;
    }
    if (st != RF_OK || rf_dataset_rows(r->data) > 0)
        return st;
    if (r->n_columns == 0)
        return rf_fail(err, RF_ERR_FORMAT, 0, "%s: empty, wanted rows of text and label",
                       s->name);
    return rf_fail(err, RF_ERR_FORMAT, r->first_line,
                   "%s: no rows after the header in line %zu (%zu dropped), wanted text "
                   "and label",
                   s->name, r->first_line, r->data->dropped);
}

rf_dataset *rf_dataset_read_from(rf_source *source, const char *file_name,
                                 const rf_data_options *options, rf_error *err)
{
    rf_data_options usual = rf_data_options_default();
    reader *r = calloc(1, sizeof *r);
    if (!r) {
        rf_fail_nomem(err, sizeof *r, "reading");
        return NULL;
    }
    r->options = options ? options : &usual;
    r->data = rf_dataset_new(err);
    if (r->data && read_all(r, source, file_name, err) != RF_OK) {
        rf_dataset_free(r->data);
        r->data = NULL;
    }
    rf_dataset *data = r->data;
    json_decref(r->first); /* accepts NULL */
    free(r);
    return data;
}

rf_dataset *rf_dataset_read(const char *path, const rf_data_options *options,
                            rf_error *err)
{
    rf_source source;
    rf_data_options o = rf_data_options_default();
    if (rf_options_take(&o, sizeof o, options, "rf_data_options", err) != RF_OK ||
        rf_source_open(&source, path, err) != RF_OK)
        return NULL;
    rf_dataset *data = rf_dataset_read_from(&source, path, &o, err);
    rf_source_close(&source);
    return data;
}
