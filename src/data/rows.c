/* rows.c - checks that every format needs, on the way from a reader to a set */
#include "data/rows.h"

#include "data/encoding.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

rf_status rf_rows_bad(rf_rows *r, rf_status code, size_t line, rf_error *err,
                      const char *fmt, ...)
{
    char words[300];
    rf_error local, *to = r->options->skip_bad_rows ? &local : err;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(words, sizeof words, fmt, ap);
    va_end(ap);
    rf_fail(to, code, line, "%s: line %zu: %s", r->file, line, words);
    if (!r->options->skip_bad_rows)
        return code;
    if (r->end.skipped++ == 0)
        snprintf(r->end.skipped_why, sizeof r->end.skipped_why, "%s", local.msg);
    return RF_OK;
}

/* ---- Encodings --------------------------------------------------------------------- */

static bool takes_any_bytes(const rf_data_options *o)
{
    return o->raw_tsv || (o->encoding && strcmp(o->encoding, RF_ANY_BYTES) == 0);
}

static rf_status not_utf8(rf_rows *r, const rf_table_row *row, const char *what,
                          rf_field f, size_t at, rf_error *err)
{
    const char *guess = rf_encoding_guess(f.data, f.len);
    char hint[100] = "--encoding converts it, --skip-bad-rows leaves it out";
    if (guess)
        snprintf(hint, sizeof hint, "it looks like %s, which --encoding %s converts",
                 guess, guess);
    return rf_rows_bad(r, RF_ERR_FORMAT, row->line, err,
                       "the %s is not UTF-8 at its byte %zu (0x%02X); %s", what, at + 1,
                       (unsigned)(unsigned char)f.data[at], hint);
}

/* ---- Rows -------------------------------------------------------------------------- */

rf_status rf_rows_take(rf_rows *r, rf_table_row *row, rf_error *err)
{
    rf_field text = row->fields[row->text];
    row->file = r->file;
    if (!takes_any_bytes(r->options)) {
        size_t good = rf_utf8_length(text.data, text.len);
        if (good < text.len)
            return not_utf8(r, row, "text", text, good, err);
        rf_field label = {"", 0, 0};
        if (row->label != SIZE_MAX && !r->options->texts_only)
            label = row->fields[row->label];
        good = rf_utf8_length(label.data, label.len);
        if (good < label.len)
            return not_utf8(r, row, "label", label, good, err);
    }
    size_t skipped = r->end.skipped;
    rf_status st = r->take(r->user, row, err);
    r->end.rows += st == RF_OK && r->end.skipped == skipped;
    return st;
}

rf_status rf_rows_pair(rf_rows *r, rf_field text, rf_field label, size_t line,
                       rf_error *err)
{
    static const rf_field names[] = {{"text", 4, 0}, {"label", 5, 0}};
    const rf_field fields[] = {text, label};
    rf_table_row row = {.line = line,
                        .n = label.data ? 2 : 1,
                        .names = names,
                        .fields = fields,
                        .label = label.data ? 1 : SIZE_MAX};
    return rf_rows_take(r, &row, err);
}

/* ---- Parts ------------------------------------------------------------------------- */

/* Whether a list, separated by commas, has this name. */
static bool list_has(const char *list, rf_field name)
{
    for (const char *p = list; *p;) {
        p += strspn(p, ", ");
        size_t n = strcspn(p, ",");
        if (n == name.len && memcmp(p, name.data, n) == 0)
            return true;
        p += n;
    }
    return false;
}

/* Remembers a part that is new. Of many, some are shown. */
static void note_part(rf_rows *r, rf_field part)
{
    size_t used = strlen(r->parts);
    if (list_has(r->parts, part))
        return;
    if (used + part.len + 3 < sizeof r->parts)
        snprintf(r->parts + used, sizeof r->parts - used, "%s%.*s", used ? ", " : "",
                 (int)part.len, part.data);
    r->n_parts++;
}

bool rf_rows_wants(rf_rows *r, rf_field part)
{
    const char *wanted = r->options->part;
    if (r->n_parts == 0)
        snprintf(r->first_part, sizeof r->first_part, "%.*s",
                 part.len < sizeof r->first_part ? (int)part.len : 0, part.data);
    note_part(r, part);
    if (!wanted)
        return strlen(r->first_part) == part.len &&
               memcmp(r->first_part, part.data, part.len) == 0;
    bool wants = strcmp(wanted, "all") == 0 || list_has(wanted, part);
    r->part_read = r->part_read || wants;
    return wants;
}

rf_status rf_rows_end(rf_rows *r, const char *name, rf_error *err)
{
    if (r->n_parts > 1 && !r->options->part)
        return rf_fail(err, RF_ERR_FORMAT, 0,
                       "%s: which part? It has %s; --part %s reads one, --part all reads "
                       "all",
                       name, r->parts, r->first_part);
    if (r->options->part && r->n_parts > 0 && !r->part_read)
        return rf_fail(err, RF_ERR_FORMAT, 0, "%s: no part \"%.60s\"; it has %s", name,
                       r->options->part, r->parts);
    if (r->options->part && r->n_parts == 0 && strcmp(r->options->part, "all") != 0)
        return rf_fail(err, RF_ERR_FORMAT, 0,
                       "%s: no part \"%.60s\": a file of this format has no parts", name,
                       r->options->part);
    if (r->end.rows > 0)
        return RF_OK;
    if (r->end.skipped > 0)
        return rf_fail(err, RF_ERR_FORMAT, 0, "%s: no row is good; the first of %zu: %s",
                       name, r->end.skipped, r->end.skipped_why);
    return rf_fail(err, RF_ERR_FORMAT, 0, "%s: empty, wanted rows of text%s", name,
                   r->options->texts_only ? "" : " and label");
}
