/* drift_read.c - the hourly counts of a store as a table of blocks, and its report */
#include "drift.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

#define MAX_HOURS (10 * 366 * 24) /* that a table may span */

drift_options drift_options_default(void)
{
    return (drift_options){.now_ms = store_now_ms(),
                           .hours = 1,
                           .against_hours = 7 * 24,
                           .alpha = DRIFT_ALPHA};
}

/* ---- Labels ------------------------------------------------------------------------ */

/* Where the label is, or belongs. */
static size_t find_label(const drift_table *t, const char *label, bool *found)
{
    size_t low = 0, high = t->n_classes;
    *found = false;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(t->labels[middle], label);
        if (order == 0) {
            *found = true;
            return middle;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static rf_status add_label(void *user, const store_count *c, rf_error *err)
{
    drift_table *t = user;
    bool found;
    if (!c->label)
        return RF_OK;
    size_t at = find_label(t, c->label, &found);
    if (found)
        return RF_OK;
    char **labels = realloc(t->labels, (t->n_classes + 1) * sizeof *labels);
    if (labels)
        t->labels = labels;
    char *copy = labels ? strdup(c->label) : NULL;
    if (!copy)
        return rf_fail_nomem(err, strlen(c->label), "labels");
    memmove(labels + at + 1, labels + at, (t->n_classes - at) * sizeof *labels);
    labels[at] = copy;
    t->n_classes++;
    return RF_OK;
}

/* ---- Counts ------------------------------------------------------------------------ */

typedef struct filling {
    drift_table *table;
    int64_t from; /* the first hour of the table */
    size_t hours; /* per block */
} filling;

static rf_status add_count(void *user, const store_count *c, rf_error *err)
{
    filling *f = user;
    drift_table *t = f->table;
    size_t block = (size_t)(c->hour - f->from) / f->hours, column = t->n_classes;
    bool found = true;
    (void)err;
    if (c->label)
        column = find_label(t, c->label, &found);
    if (!found || block > t->n_blocks)
        return RF_OK; /* a label that came after the first look: next time */
    t->counts[block * (t->n_classes + 1) + column] += (double)c->n;
    if (c->label) {
        t->margin_sum[block] += c->margin_sum;
        t->margin_squares[block] += c->margin_squares;
    }
    return RF_OK;
}

static rf_status make_table(drift_table *t, rf_error *err)
{
    size_t rows = t->n_blocks + 1, cells;
    if (!rf_size_mul(rows, t->n_classes + 1, &cells))
        return rf_fail(err, RF_ERR_LIMIT, 0, "too many classes and hours");
    t->counts = calloc(cells, sizeof *t->counts);
    t->margin_sum = calloc(rows, sizeof *t->margin_sum);
    t->margin_squares = calloc(rows, sizeof *t->margin_squares);
    return t->counts && t->margin_sum && t->margin_squares
               ? RF_OK
               : rf_fail_nomem(err, cells * sizeof *t->counts, "counts of hours");
}

rf_status drift_run(store *s, const drift_options *o, drift_report *out, rf_error *err)
{
    rf_error ours = {0};
    err = err ? err : &ours;
    *out = (drift_report){.alpha = o->alpha};
    if (o->hours < 1 || o->against_hours < o->hours || o->against_hours > MAX_HOURS)
        return rf_fail(err, RF_ERR_ARG, 0,
                       "found %zu hours against %zu hours before, wanted at least as "
                       "many before, and at most %d",
                       o->hours, o->against_hours, MAX_HOURS);
    drift_table *t = &out->table;
    t->n_blocks = o->against_hours / o->hours;
    out->to = o->now_ms / STORE_HOUR_MS;
    out->from = out->to - (int64_t)o->hours;
    out->against_from = out->from - (int64_t)(t->n_blocks * o->hours);
    rf_status st = RF_OK;
    if (!o->model)
        st = store_main_model(s, out->from, out->to, out->model, err);
    else if (strlen(o->model) < sizeof out->model)
        strcpy(out->model, o->model);
    if (st == RF_OK && !out->model[0]) /* nothing recent: what there was before */
        st = store_main_model(s, out->against_from, out->from, out->model, err);
    if (st == RF_OK)
        st = store_counts(s, out->against_from, out->to, out->model, add_label, t, err);
    if (st == RF_OK)
        st = make_table(t, err);
    filling f = {t, out->against_from, o->hours};
    if (st == RF_OK)
        st = store_counts(s, out->against_from, out->to, out->model, add_count, &f, err);
    return st == RF_OK ? drift_judge(out, err) : st;
}

void drift_report_release(drift_report *r)
{
    drift_table *t = &r->table;
    for (size_t i = 0; i < t->n_classes; i++)
        free(t->labels[i]);
    free(t->labels);
    free(t->counts);
    free(t->margin_sum);
    free(t->margin_squares);
    *t = (drift_table){0};
    r->n_top = 0;
}
