/* store_export.c - writes rows of a store, one by one */
#include "store_export.h"

#include "base/file.h"
#include "base/json_text.h"
#include "screen.h"
#include "tsv_field.h"
#include "when.h"

#include <stdio.h>
#include <string.h>

#define LINE_MAX ((size_t)256 << 20) /* a text of 16 MiB, escaped */

typedef struct export
{
    export_format format;
    rf_new_file file; /* open: write to it */
    rf_text line;     /* also a buffer for fields */
    size_t *rows, *without;
}
export;

static rf_status write_line(export *e, rf_error *err)
{
    const rf_buffer *b = &e->line.buffer;
    if (e->file.open)
        return rf_new_file_add(&e->file, b->data, b->len, err);
    if (fwrite(b->data, 1, b->len, stdout) != b->len)
        return rf_fail_errno(err, "standard output: cannot write");
    return RF_OK;
}

/* What the text is, as far as we know: what a person said, else the answer. What is not
 * relevant is of no class. */
static const char *best_label(const store_row *r)
{
    const char *label = r->judged ? r->given : r->label;
    return label ? label : "open";
}

/* ---- TSV --------------------------------------------------------------------------- */

static const char tsv_head[] = "text\tlabel\tanswer\tconfidence\tmargin\tnearest\ttime\t"
                               "model\tsource\trow\n";

static rf_status add_tsv(export *e, const store_row *r, rf_error *err)
{
    char numbers[2][32], id[24], time[WHEN_TEXT];
    snprintf(numbers[0], sizeof numbers[0], "%.9g", (double)r->confidence);
    snprintf(numbers[1], sizeof numbers[1], "%.9g", (double)r->margin);
    snprintf(id, sizeof id, "%lld", (long long)r->id);
    const char *fields[] = {best_label(r),
                            r->label ? r->label : "open",
                            numbers[0],
                            numbers[1],
                            r->nearest,
                            when_write(time, r->time_ms),
                            r->model,
                            r->source,
                            id};
    size_t n = sizeof fields / sizeof *fields;
    rf_buffer *line = &e->line.buffer;
    rf_status st = tsv_add_field(line, r->text, r->text_len, '\t', err);
    for (size_t i = 0; i < n && st == RF_OK; i++)
        st = tsv_add_field(line, fields[i], strlen(fields[i]), i + 1 < n ? '\t' : '\n',
                           err);
    return st;
}

/* ---- JSON lines -------------------------------------------------------------------- */

static void put_name(rf_text *t, const char *key, const char *value)
{
    rf_text_format(t, ", \"%s\": ", key);
    if (value)
        rf_text_name(t, value);
    else
        rf_text_put(t, "null");
}

static rf_status add_json(export *e, const store_row *r, rf_error *err)
{
    rf_text *t = &e->line;
    char time[WHEN_TEXT];
    rf_text_put(t, "{\"text\": ");
    if (r->text)
        rf_text_string(t, r->text, r->text_len);
    else
        rf_text_put(t, "null");
    if (r->sha256)
        put_name(t, "sha256", r->sha256);
    put_name(t, "label", best_label(r));
    put_name(t, "answer", r->label ? r->label : "open");
    rf_text_put(t, r->label ? ", \"open\": false, \"confidence\": "
                            : ", \"open\": true, \"confidence\": ");
    rf_text_float(t, r->confidence);
    rf_text_put(t, ", \"margin\": ");
    rf_text_float(t, r->margin);
    put_name(t, "nearest", r->nearest);
    put_name(t, "time", when_write(time, r->time_ms));
    put_name(t, "model", r->model);
    put_name(t, "source", r->source);
    rf_text_format(t, ", \"row\": %lld", (long long)r->id);
    if (r->judged) {
        rf_text_put(t, ", \"judged\": {\"relevant\": ");
        rf_text_put(t, r->given ? "true" : "false");
        put_name(t, "label", r->given);
        put_name(t, "who", r->judge);
        put_name(t, "time", when_write(time, r->judged_ms));
        rf_text_put(t, "}");
    }
    rf_text_put(t, "}\n");
    return t->status == RF_OK
               ? RF_OK
               : rf_fail(err, t->status, 0, "no memory for row %lld", (long long)r->id);
}

/* ---- All rows ---------------------------------------------------------------------- */

static rf_status export_row(void *user, const store_row *r, rf_error *err)
{
    export *e = user;
    rf_buffer_clear(&e->line.buffer);
    if (!r->text && e->format == EXPORT_TSV) {
        ++*e->without;
        return RF_OK;
    }
    rf_status st = e->format == EXPORT_TSV ? add_tsv(e, r, err) : add_json(e, r, err);
    if (st == RF_OK)
        st = write_line(e, err);
    screen_progress("rows", ++*e->rows);
    return st;
}

rf_status store_export(store *s, const store_filter *filter, export_format format,
                       const char *output, size_t *rows, size_t *without, rf_error *err)
{
    export e = {.format = format, .rows = rows, .without = without};
    *rows = *without = 0;
    rf_text_init(&e.line, LINE_MAX, "a row");
    rf_status st = output ? rf_new_file_open(&e.file, output, err) : RF_OK;
    if (st == RF_OK && format == EXPORT_TSV) {
        rf_text_put(&e.line, tsv_head);
        st = e.line.status == RF_OK ? write_line(&e, err) : RF_ERR_NOMEM;
    }
    if (st == RF_OK)
        st = store_rows(s, filter, export_row, &e, err);
    screen_progress_end();
    if (st == RF_OK && output)
        st = rf_new_file_commit(&e.file, err);
    rf_new_file_abandon(&e.file);
    rf_text_release(&e.line);
    return st;
}
