/* format_lines.c - a text per line; fastText's lines, which begin with their label */
#include "data/formats.h"

#include "data/records.h"

#include <stdlib.h>
#include <string.h>

static const char prefix[] = "__label__";
#define PREFIX (sizeof prefix - 1)

typedef rf_status (*take_line)(rf_rows *rows, rf_field line, size_t number,
                               rf_error *err);

static rf_status each_line(rf_source *s, rf_rows *rows, take_line take, rf_error *err)
{
    rf_records *r = malloc(sizeof *r);
    if (!r)
        return rf_fail_nomem(err, sizeof *r, "reading lines");
    bool found = true;
    rf_status st = RF_OK;
    rf_records_init(r, s, RF_NO_SEPARATOR, false);
    while (st == RF_OK && (st = rf_records_next(r, &found, err)) == RF_OK && found)
        st = take(rows, r->n_fields ? r->fields[0] : rf_text_field("", 0), r->line, err);
    free(r);
    return st;
}

/* ---- Lines of text ----------------------------------------------------------------- */

static rf_status take_text(rf_rows *rows, rf_field line, size_t number, rf_error *err)
{
    return rf_rows_pair(rows, line, (rf_field){0}, number, err);
}

rf_status rf_read_lines(const rf_format *f, rf_source *s, rf_rows *rows, rf_error *err)
{
    if (!rows->options->texts_only)
        return rf_fail(err, RF_ERR_FORMAT, 0,
                       "%s: %s has no labels, wanted texts with labels", s->name,
                       f->title);
    return each_line(s, rows, take_text, err);
}

/* ---- fastText ---------------------------------------------------------------------- */

static size_t blanks(rf_field f)
{
    size_t n = 0;
    while (n < f.len && (f.data[n] == ' ' || f.data[n] == '\t'))
        n++;
    return n;
}

/* Takes "__label__x " off the front of a line. */
static bool take_label(rf_field *line, rf_field *label)
{
    if (line->len < PREFIX || memcmp(line->data, prefix, PREFIX) != 0)
        return false;
    size_t n = PREFIX;
    while (n < line->len && line->data[n] != ' ' && line->data[n] != '\t')
        n++;
    *label = rf_text_field(line->data + PREFIX, n - PREFIX);
    line->data += n;
    line->len -= n;
    n = blanks(*line);
    line->data += n;
    line->len -= n;
    return true;
}

static rf_status take_labelled(rf_rows *rows, rf_field line, size_t number, rf_error *err)
{
    rf_field label, other;
    if (blanks(line) == line.len)
        return RF_OK;
    if (!take_label(&line, &label))
        return rf_rows_bad(rows, RF_ERR_FORMAT, number, err,
                           "no %s at its start, wanted __label__x and a text", prefix);
    if (take_label(&line, &other))
        return rf_rows_bad(rows, RF_ERR_FORMAT, number, err,
                           "several labels: \"%.*s\", \"%.*s\"; wanted one",
                           label.len < 60 ? (int)label.len : 60, label.data,
                           other.len < 60 ? (int)other.len : 60, other.data);
    return rf_rows_pair(rows, line, label, number, err);
}

rf_status rf_read_fasttext(const rf_format *f, rf_source *s, rf_rows *rows, rf_error *err)
{
    (void)f;
    return each_line(s, rows, take_labelled, err);
}
