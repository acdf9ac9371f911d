/* drift.c - the three tests of a table of answers, and their report as JSON */
#include "drift.h"

#include "base/plural.h"
#include "tails.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FEW 5.0 /* expected answers of a kind: below it, an approximation is poor */

static const char few_answers[] = "fewer than 30 answers in the recent hours";
static const char few_blocks[] = "fewer than 5 earlier periods with answers";
static const char one_class[] = "too few answers of more than one class";
_Static_assert(DRIFT_MIN_ANSWERS == 30 && DRIFT_MIN_BLOCKS == 5, "the words above");

static double sum_row(const double *row, size_t n)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++)
        sum += row[i];
    return sum;
}

/* Blocks with answers, among n columns of rows of this width. */
static size_t filled_blocks(const double *counts, size_t blocks, size_t n, size_t width)
{
    size_t filled = 0;
    for (size_t i = 0; i < blocks; i++)
        filled += sum_row(counts + i * width, n) > 0.0;
    return filled;
}

static const char *why_not(double recent, size_t blocks)
{
    return recent < DRIFT_MIN_ANSWERS  ? few_answers
           : blocks < DRIFT_MIN_BLOCKS ? few_blocks
                                       : NULL;
}

static drift_test no_test(const char *why, double before, double after)
{
    return (drift_test){
        .why_not = why, .before = before, .after = after, .p = 1.0, .p_holm = 1.0};
}

/* ---- The share of open answers ----------------------------------------------------- */

/* two: [blocks + 1, 2], known and open. */
static drift_test test_open(const double *two, size_t blocks)
{
    double work[2], known = 0.0, open = 0.0;
    const double *recent = two + 2 * blocks;
    double n1 = recent[0] + recent[1];
    for (size_t i = 0; i < blocks; i++) {
        known += two[2 * i];
        open += two[2 * i + 1];
    }
    double n0 = known + open, before = open / n0, after = recent[1] / n1;
    const char *why = why_not(n1, filled_blocks(two, blocks, 2, 2));
    if (why)
        return no_test(why, before, after);
    drift_test t = drift_shares(two, blocks, 2, work);
    t.before = before;
    t.after = after;
    double share = (open + recent[1]) / (n0 + n1);
    if (n1 * fmin(share, 1.0 - share) < FEW)
        t.p = fmax(t.p, tail_fisher(recent[1], n1, open, n0));
    return t;
}

/* ---- The shares of classes --------------------------------------------------------- */

/* cell_of[c]: the cell in which class c is counted. Classes with few expected answers
 * among n1 share the last cell, or the smallest other one if they are few together.
 * Returns the number of cells; *pooled: the cell of small classes, SIZE_MAX if there is
 * none. */
static size_t pool_classes(const drift_table *t, double n1, size_t *cell_of,
                           size_t *pooled)
{
    size_t width = t->n_classes + 1, cells = 0, smallest = SIZE_MAX, n_small = 0;
    double all = 0.0, rest = 0.0, least = INFINITY;
    for (size_t i = 0; i <= t->n_blocks; i++)
        all += sum_row(t->counts + i * width, t->n_classes);
    *pooled = SIZE_MAX;
    for (size_t c = 0; c < t->n_classes; c++) {
        double n = 0.0;
        for (size_t i = 0; i <= t->n_blocks; i++)
            n += t->counts[i * width + c];
        double want = all > 0.0 ? n1 * n / all : 0.0;
        cell_of[c] = SIZE_MAX;
        if (want >= FEW) {
            if (want < least) {
                least = want;
                smallest = cells;
            }
            cell_of[c] = cells++;
        } else {
            rest += want;
            n_small++;
        }
    }
    if (n_small == 0)
        return cells;
    size_t cell = rest >= FEW || smallest == SIZE_MAX ? cells++ : smallest;
    *pooled = cell;
    for (size_t c = 0; c < t->n_classes; c++)
        if (cell_of[c] == SIZE_MAX)
            cell_of[c] = cell;
    return cells;
}

/* The cells that contribute most to the statistic. before: [cells] sums. */
static void find_top(drift_report *r, const double *before, const double *recent,
                     size_t cells, const size_t *cell_of, size_t pooled)
{
    const drift_table *t = &r->table;
    double n0 = sum_row(before, cells), n1 = sum_row(recent, cells), all = 0.0;
    r->n_top = 0;
    for (size_t k = 0; k < cells; k++) {
        drift_class c = {NULL, before[k] / n0, recent[k] / n1, 0.0};
        double p = (before[k] + recent[k]) / (n0 + n1), d = c.after - c.before;
        for (size_t i = 0; i < t->n_classes && k != pooled; i++)
            if (cell_of[i] == k)
                c.label = t->labels[i];
        c.part = p > 0.0 ? d * d / p : 0.0;
        all += c.part;
        size_t at = r->n_top;
        while (at > 0 && r->top[at - 1].part < c.part)
            at--;
        if (at == DRIFT_TOP)
            continue;
        r->n_top += r->n_top < DRIFT_TOP;
        memmove(r->top + at + 1, r->top + at, (r->n_top - 1 - at) * sizeof c);
        r->top[at] = c;
    }
    for (size_t i = 0; i < r->n_top; i++)
        r->top[i].part = all > 0.0 ? r->top[i].part / all : 0.0;
}

/* Counts by cell, and their test. cells: [rows, n] and n more numbers. */
static drift_test test_cells(const drift_table *t, const size_t *cell_of, size_t n,
                             double *cells)
{
    size_t width = t->n_classes + 1, rows = t->n_blocks + 1;
    memset(cells, 0, rows * n * sizeof *cells);
    for (size_t i = 0; i < rows; i++)
        for (size_t c = 0; c < t->n_classes; c++)
            cells[i * n + cell_of[c]] += t->counts[i * width + c];
    return drift_shares(cells, t->n_blocks, n, cells + rows * n);
}

/* cell_of: [n_classes + 1], cells: [n_blocks + 2, n_classes + 1] */
static void judge_classes(drift_report *r, size_t *cell_of, double *cells)
{
    const drift_table *t = &r->table;
    size_t width = t->n_classes + 1, rows = t->n_blocks + 1, pooled, n = 0;
    double before = 0.0, after = sum_row(t->counts + t->n_blocks * width, t->n_classes);
    for (size_t i = 0; i < t->n_blocks; i++)
        before += sum_row(t->counts + i * width, t->n_classes);
    const char *why =
        why_not(after, filled_blocks(t->counts, t->n_blocks, t->n_classes, width));
    if (!why && (n = pool_classes(t, after, cell_of, &pooled)) > 1) {
        /* Correlated answers say as much as fewer independent ones: pool by those. */
        double rho = test_cells(t, cell_of, n, cells).spread;
        n = pool_classes(t, after / (1.0 + (after - 1.0) * rho), cell_of, &pooled);
    }
    if (n < 2) {
        r->classes = no_test(why ? why : one_class, before, after);
        return;
    }
    r->classes = test_cells(t, cell_of, n, cells);
    r->classes.before = before;
    r->classes.after = after;
    find_top(r, cells + rows * n, cells + t->n_blocks * n, n, cell_of, pooled);
}

static rf_status test_classes(drift_report *r, rf_error *err)
{
    size_t width = r->table.n_classes + 1, cells_n = (r->table.n_blocks + 2) * width;
    size_t *cell_of = calloc(width, sizeof *cell_of);
    double *cells = calloc(cells_n, sizeof *cells);
    bool ok = cell_of && cells;
    if (ok)
        judge_classes(r, cell_of, cells);
    free(cell_of);
    free(cells);
    return ok ? RF_OK : rf_fail_nomem(err, cells_n * sizeof *cells, "counts of classes");
}

/* ---- All three --------------------------------------------------------------------- */

/* Holm: the smallest p times the number of tests, the next one times one less, ... */
static void correct(drift_report *r)
{
    drift_test *all[3], *given[] = {&r->open, &r->margin, &r->classes};
    size_t n = 0;
    for (size_t i = 0; i < 3; i++) {
        if (given[i]->why_not)
            continue;
        size_t at = n++;
        for (; at > 0 && all[at - 1]->p > given[i]->p; at--)
            all[at] = all[at - 1];
        all[at] = given[i];
    }
    double least = 0.0;
    r->drifted = false;
    for (size_t i = 0; i < n; i++) {
        least = fmax(least, fmin(1.0, all[i]->p * (double)(n - i)));
        all[i]->p_holm = least;
        all[i]->drifted = least < r->alpha;
        r->drifted |= all[i]->drifted;
    }
}

rf_status drift_judge(drift_report *r, rf_error *err)
{
    const drift_table *t = &r->table;
    size_t width = t->n_classes + 1, rows = t->n_blocks + 1;
    double *two = calloc(3 * rows, sizeof *two), *known = two ? two + 2 * rows : NULL;
    if (!two)
        return rf_fail_nomem(err, 3 * rows * sizeof *two, "counts of hours");
    for (size_t i = 0; i < rows; i++) {
        const double *row = t->counts + i * width;
        known[i] = two[2 * i] = sum_row(row, t->n_classes);
        two[2 * i + 1] = row[t->n_classes];
    }
    r->answers = sum_row(two + 2 * t->n_blocks, 2);
    r->answers_before = sum_row(two, 2 * t->n_blocks);
    r->blocks = filled_blocks(two, t->n_blocks, 2, 2);
    r->open = test_open(two, t->n_blocks);
    const char *why =
        why_not(known[t->n_blocks], filled_blocks(known, t->n_blocks, 1, 1));
    r->margin = drift_mean(known, t->margin_sum, t->margin_squares, t->n_blocks);
    if (why)
        r->margin = no_test(why, r->margin.before, r->margin.after);
    rf_status st = test_classes(r, err);
    if (st == RF_OK)
        correct(r);
    free(two);
    return st;
}

/* ---- JSON -------------------------------------------------------------------------- */

static void put_hour(rf_text *out, const char *key, int64_t hour)
{
    time_t at = (time_t)(hour * 3600);
    struct tm utc;
    char text[40];
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&at, &utc));
    rf_text_format(out, "\"%s\": \"%s\", ", key, text);
}

/* Without answers there is no figure. */
static void put_figure(rf_text *out, const char *key, double v)
{
    if (isfinite(v))
        rf_text_format(out, "\"%s\": %.9g, ", key, v);
    else
        rf_text_format(out, "\"%s\": null, ", key);
}

static void put_test(rf_text *out, const char *key, const drift_test *t,
                     const char *statistic, bool figures)
{
    rf_text_format(out, "\"%s\": {", key);
    if (figures) {
        put_figure(out, "before", t->before);
        put_figure(out, "after", t->after);
    }
    if (t->why_not) {
        rf_text_put(out, "\"drift\": false, \"p\": null, \"why_not\": ");
        rf_text_name(out, t->why_not);
    } else
        rf_text_format(out,
                       "\"drift\": %s, \"p\": %.9g, \"p_corrected\": %.9g, "
                       "\"%s\": %.9g, \"df\": [%.9g, %.9g], \"spread\": %.9g",
                       t->drifted ? "true" : "false", t->p, t->p_holm, statistic,
                       t->statistic, t->df1, t->df2, t->spread);
    rf_text_put(out, "}");
}

void drift_write_json(const drift_report *r, rf_text *out)
{
    rf_text_format(out, "{\"drift\": %s, ", r->drifted ? "true" : "false");
    put_hour(out, "from", r->from);
    put_hour(out, "to", r->to);
    put_hour(out, "against_from", r->against_from);
    rf_text_put(out, "\"model\": ");
    if (r->model[0])
        rf_text_name(out, r->model);
    else
        rf_text_put(out, "null");
    rf_text_format(out,
                   ", \"alpha\": %.9g, \"answers\": %.0f, \"answers_before\": %.0f, "
                   "\"periods_before\": %zu, ",
                   r->alpha, r->answers, r->answers_before, r->blocks);
    put_test(out, "open_rate", &r->open, "f", true);
    rf_text_put(out, ", ");
    put_test(out, "margin", &r->margin, "t", true);
    rf_text_put(out, ", ");
    put_test(out, "classes", &r->classes, "f", false);
    rf_text_put(out, ", \"changed_most\": [");
    for (size_t i = 0; i < r->n_top; i++) {
        const drift_class *c = &r->top[i];
        rf_text_put(out, i ? ", {\"label\": " : "{\"label\": ");
        if (c->label)
            rf_text_name(out, c->label);
        else
            rf_text_put(out, "null");
        rf_text_format(out, ", \"before\": %.9g, \"after\": %.9g, \"part\": %.9g}",
                       c->before, c->after, c->part);
    }
    rf_text_put(out, "]}\n");
}
