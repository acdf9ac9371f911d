/* review_output.c - a review as a table, as JSON Lines, and in a few lines */
#include "review_output.h"

#include "base/file.h"
#include "base/json_text.h"
#include "base/plural.h"
#include "screen.h"

#include <stdio.h>
#include <string.h>

#define MAX_BYTES (SIZE_MAX / 4)
#define SHOWN_TEXT 72

static rf_status write_out(rf_text *t, const char *path, rf_error *err)
{
    rf_status st = t->status;
    rf_new_file file = {0};
    if (st != RF_OK) {
        st = rf_fail_nomem(err, t->buffer.len, "the review");
    } else if (strcmp(path, "-") == 0) {
        fwrite(t->buffer.data, 1, t->buffer.len, stdout); /* command_finish checks */
    } else {
        st = rf_new_file_open(&file, path, err);
        if (st == RF_OK)
            st = rf_new_file_add(&file, t->buffer.data, t->buffer.len, err);
        if (st == RF_OK)
            st = rf_new_file_commit(&file, err);
        rf_new_file_abandon(&file);
    }
    rf_text_release(t);
    return st;
}

/* ---- Table ------------------------------------------------------------------------- */

/* Quoted if it must be, as the readers of labelled data expect. */
static void put_cell(rf_text *t, const char *text, size_t len)
{
    bool quote = false;
    for (size_t i = 0; i < len && !quote; i++)
        quote = text[i] == '\t' || text[i] == '\n' || text[i] == '\r' || text[i] == '"';
    if (!quote) {
        rf_text_add(t, text, len);
        return;
    }
    rf_text_put(t, "\"");
    for (size_t i = 0; i < len; i++)
        rf_text_add(t, text[i] == '"' ? "\"\"" : &text[i], text[i] == '"' ? 2 : 1);
    rf_text_put(t, "\"");
}

static void put_row(rf_text *t, const rf_review *review, const rf_review_text *x)
{
    const char *nearest = rf_model_label(rf_review_model(review), x->class_index);
    if (x->kind == RF_REVIEW_GROUP) {
        const char *name = rf_review_group_at(review, x->group)->name;
        rf_text_format(t, "%zu\t", x->group + 1);
        put_cell(t, name, strlen(name));
    } else {
        rf_text_put(t, "\t");
    }
    rf_text_put(t, "\t\t");
    put_cell(t, x->text, x->len);
    rf_text_format(t, "\t%zu\t%.4f\t", x->count, (double)x->margin);
    put_cell(t, nearest, strlen(nearest));
    rf_text_format(t, "\t%s\n", rf_review_kind_name(x->kind));
}

rf_status review_write_tsv(const rf_review *review, const char *path, rf_error *err)
{
    rf_text t;
    rf_text_init(&t, MAX_BYTES, "the review");
    rf_text_put(&t, "group\tname\tlabel\ttext\tcount\tmargin\tnearest\tkind\n");
    for (size_t i = 0; i < rf_review_size(review); i++)
        put_row(&t, review, rf_review_text_at(review, i));
    return write_out(&t, path, err);
}

/* ---- JSON Lines -------------------------------------------------------------------- */

static void put_object(rf_text *t, const rf_review *review, const rf_review_text *x)
{
    const rf_review_group *g =
        x->kind == RF_REVIEW_GROUP ? rf_review_group_at(review, x->group) : NULL;
    rf_text_format(t, "{\"kind\": \"%s\", \"group\": ", rf_review_kind_name(x->kind));
    if (g) {
        rf_text_format(t, "%zu, \"name\": ", x->group + 1);
        rf_text_name(t, g->name);
        rf_text_put(t, ", \"cohesion\": ");
        rf_text_float(t, (float)g->cohesion);
    } else {
        rf_text_put(t, "null, \"name\": null, \"cohesion\": null");
    }
    rf_text_put(t, ", \"text\": ");
    rf_text_string(t, x->text, x->len);
    rf_text_format(t, ", \"count\": %zu, \"rows\": [", x->count);
    for (size_t i = 0; i < x->count; i++)
        rf_text_format(t, "%s%zu", i ? ", " : "", x->rows[i] + 1);
    rf_text_put(t, "], \"nearest\": ");
    rf_text_name(t, rf_model_label(rf_review_model(review), x->class_index));
    rf_text_format(t, ", \"rejected\": %s, \"margin\": ", x->rejected ? "true" : "false");
    rf_text_float(t, x->margin);
    rf_text_put(t, ", \"confidence\": ");
    rf_text_float(t, x->confidence);
    rf_text_put(t, ", \"fit\": ");
    rf_text_float(t, (float)x->fit);
    rf_text_put(t, "}\n");
}

rf_status review_write_json(const rf_review *review, const char *path, rf_error *err)
{
    rf_text t;
    rf_text_init(&t, MAX_BYTES, "the review");
    for (size_t i = 0; i < rf_review_size(review); i++)
        put_object(&t, review, rf_review_text_at(review, i));
    return write_out(&t, path, err);
}

/* ---- Summary ----------------------------------------------------------------------- */

static void put_group(const rf_review *review, size_t i)
{
    const rf_review_group *g = rf_review_group_at(review, i);
    const rf_review_text *central = rf_review_text_at(review, g->first);
    char line[SHOWN_TEXT];
    fprintf(stderr, "%5zu  %6zu  %4.0f %%  %-32s %s\n", i + 1, g->count,
            100.0 * g->cohesion, g->name,
            screen_one_line(line, sizeof line, central->text, central->len));
}

void review_put_summary(const rf_review *review, size_t most)
{
    rf_review_summary s = rf_review_summarize(review);
    size_t n = rf_review_groups(review);
    fprintf(stderr,
            "%zu %s: %zu rejected, %zu doubtful; %zu different, of which %zu in %zu %s, "
            "%zu probably known, %zu alone\n",
            s.texts, rf_plural(s.texts, "text", "texts"), s.rejected, s.doubtful,
            s.different, s.in_groups, n, rf_plural(n, "group", "groups"), s.known,
            s.alone);
    if (n)
        fputs("group   texts  cohesion  name, and the most central text\n", stderr);
    for (size_t i = 0; i < n && i < most; i++)
        put_group(review, i);
    if (n > most)
        fprintf(stderr, "and %zu more\n", n - most);
}
