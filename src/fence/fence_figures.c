/*
 * fence_figures.c - accuracy, F1 and the two error rates, with intervals
 *
 * An interval must hold the figure of as many other rows, so it is sqrt(2) times as wide
 * as one for the mean. Texts of one label resemble each other, and the texts to come may
 * be of other labels: rates vary by label (folds/rates.h) and by row, and the wider
 * interval counts, since a handful of labels cannot show how much labels differ. F1 comes
 * from a bootstrap; the classes of the model stay the same, open labels are drawn as a
 * whole.
 */
#include "fence/fence_figures.h"

#include "folds/rates.h"
#include "base/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DRAWS 1000
#define TAIL_DRAWS 25 /* draws beyond each end: 2.5 % */
#define OTHER_ROWS 1.4142135623730951
#define NORMAL_95 1.959963984540054

/* ---- Rates ------------------------------------------------------------------------- */

typedef enum kind { KNOWN, OPEN, EVERY } kind;

static bool is_right(const rf_fence_rows *r, const uint32_t *answer, size_t i)
{
    const rf_outcome *row = &r->all.row[i];
    return answer[i] == (row->hidden ? r->classes : row->truth);
}

/* Widens *low and *high to an interval that takes every row on its own. */
static void widen_by_rows(double *low, double *high, const rf_rate *rate)
{
    double n = (double)rate->n, p = rate->rate, least = rf_rate_smallest(rate->n);
    double half = OTHER_ROWS * NORMAL_95 * sqrt(p * (1.0 - p) / n);
    *low = fmin(*low, p - half);
    *high = fmax(*high, p + half);
    if (rate->hits == 0)
        *high = fmax(*high, least);
    if (rate->hits == rate->n)
        *low = fmin(*low, 1.0 - least);
    *low = fmax(*low, 0.0);
    *high = fmin(*high, 1.0);
}

static rf_status measure_rate(rf_figure *out, const rf_fence_rows *r, kind of,
                              const bool *hit, uint64_t key, rf_error *err)
{
    rf_rate rate;
    size_t *hits = calloc(2 * r->labels + 1, sizeof *hits);
    if (!hits)
        return rf_fail_nomem(err, 2 * r->labels * sizeof *hits, "the labels");
    size_t *n = hits + r->labels;
    for (size_t i = 0; i < r->all.n; i++) {
        if (of != EVERY && r->all.row[i].hidden != (of == OPEN))
            continue;
        hits[r->label[i]] += hit[i];
        n[r->label[i]]++;
    }
    rf_status st = rf_rate_of_classes(&rate, hits, n, r->labels, key, err);
    free(hits);
    if (st != RF_OK)
        return st;
    *out = (rf_figure){NAN, NAN, NAN};
    if (rate.n > 0) {
        widen_by_rows(&rate.low, &rate.high, &rate);
        *out = (rf_figure){100.0 * rate.rate, 100.0 * rate.low, 100.0 * rate.high};
    }
    return RF_OK;
}

static rf_status measure_rates(rf_fence_figures *out, const rf_fence_rows *r,
                               const uint32_t *answer, uint64_t key, rf_error *err)
{
    size_t n = r->all.n;
    bool *hit = calloc(n + 1, sizeof *hit);
    if (!hit)
        return rf_fail_nomem(err, n, "the answers");
    for (size_t i = 0; i < n; i++)
        hit[i] = is_right(r, answer, i);
    rf_status st = measure_rate(&out->accuracy, r, EVERY, hit, key, err);
    for (size_t i = 0; i < n; i++)
        hit[i] = r->all.row[i].hidden == (answer[i] < r->classes);
    if (st == RF_OK)
        st = measure_rate(&out->known_as_open, r, KNOWN, hit, key, err);
    if (st == RF_OK)
        st = measure_rate(&out->open_let_in, r, OPEN, hit, key, err);
    free(hit);
    return st;
}

/* ---- F1 ---------------------------------------------------------------------------- */

double rf_fence_f1(const rf_fence_rows *r, const uint32_t *answer, const uint32_t *weight,
                   double *room)
{
    size_t ids = r->classes + 1, present = 0;
    double *support = room, *predicted = room + ids, *correct = predicted + ids,
           sum = 0.0;
    memset(room, 0, 3 * ids * sizeof *room);
    for (size_t i = 0; i < r->all.n; i++) {
        const rf_outcome *row = &r->all.row[i];
        size_t truth = row->hidden ? r->classes : row->truth;
        support[truth] += weight[i];
        predicted[answer[i]] += weight[i];
        if (answer[i] == truth)
            correct[truth] += weight[i];
    }
    for (size_t c = 0; c < ids; c++)
        if (support[c] > 0.0) {
            sum += 2.0 * correct[c] / (support[c] + predicted[c]);
            present++;
        }
    return present ? sum / (double)present : 0.0;
}

/* What a draw takes as a whole: a row, or all rows of an open label. Known and open units
 * are drawn apart, so that their shares stay. */
typedef struct units {
    uint32_t *of_row;  /* [rows] unit of a row */
    size_t known, all; /* the known ones come first */
    uint32_t *count;   /* [all] times drawn */
    uint32_t *weight;  /* [rows] */
} units;

static void release_units(units *u)
{
    free(u->of_row);
    free(u->count);
    free(u->weight);
}

/* Release them even after a failure. */
static rf_status make_units(units *u, const rf_fence_rows *r, bool by_label,
                            rf_error *err)
{
    size_t n = r->all.n;
    uint32_t *unit_of = calloc(r->labels + 1, sizeof *unit_of); /* 0: none yet */
    *u = (units){.of_row = calloc(n + 1, sizeof *u->of_row),
                 .count = calloc(n + 1, sizeof *u->count),
                 .weight = calloc(n + 1, sizeof *u->weight)};
    if (!unit_of || !u->of_row || !u->count || !u->weight) {
        free(unit_of);
        return rf_fail_nomem(err, n * sizeof *u->of_row, "the draws");
    }
    for (size_t i = 0; i < n; i++)
        if (!r->all.row[i].hidden)
            u->of_row[i] = (uint32_t)u->known++;
    u->all = u->known;
    for (size_t i = 0; i < n; i++) {
        if (!r->all.row[i].hidden)
            continue;
        uint32_t *unit = &unit_of[r->label[i]];
        if (!by_label || *unit == 0)
            *unit = (uint32_t)++u->all;
        u->of_row[i] = *unit - 1;
    }
    free(unit_of);
    return RF_OK;
}

static void draw(units *u, size_t rows, rf_rng *rng)
{
    size_t open = u->all - u->known;
    memset(u->count, 0, u->all * sizeof *u->count);
    for (size_t i = 0; i < u->known; i++)
        u->count[rf_rng_below(rng, u->known)]++;
    for (size_t i = 0; i < open; i++)
        u->count[u->known + rf_rng_below(rng, open)]++;
    for (size_t i = 0; i < rows; i++)
        u->weight[i] = u->count[u->of_row[i]];
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Widens the interval of F1, 0 to 1, by draws of these units. The draws are taken by
 * their distance from their own mean: F1 of a draw, in which texts are repeated and
 * others missing, is off on one side. */
static rf_status widen_f1(rf_figure *f1, const rf_fence_rows *r, const uint32_t *answer,
                          bool by_label, uint64_t key, double *room, rf_error *err)
{
    units u;
    double values[DRAWS], mean = 0.0;
    rf_status st = make_units(&u, r, by_label, err);
    if (st == RF_OK) {
        rf_rng rng = rf_rng_open(key);
        for (size_t i = 0; i < DRAWS; i++) {
            draw(&u, r->all.n, &rng);
            values[i] = rf_fence_f1(r, answer, u.weight, room);
            mean += values[i] / DRAWS;
        }
        qsort(values, DRAWS, sizeof *values, ascending);
        f1->low = fmin(f1->low, f1->value - OTHER_ROWS * (mean - values[TAIL_DRAWS]));
        f1->high = fmax(f1->high,
                        f1->value + OTHER_ROWS * (values[DRAWS - 1 - TAIL_DRAWS] - mean));
    }
    release_units(&u);
    return st;
}

static rf_status measure_f1(rf_figure *out, const rf_fence_rows *r,
                            const uint32_t *answer, uint64_t key, rf_error *err)
{
    size_t n = r->all.n, numbers = 3 * (r->classes + 1);
    double *room = calloc(numbers, sizeof *room);
    uint32_t *once = calloc(n + 1, sizeof *once);
    rf_status st =
        room && once ? RF_OK : rf_fail_nomem(err, numbers * sizeof *room, "the draws");
    if (st == RF_OK) {
        for (size_t i = 0; i < n; i++)
            once[i] = 1;
        double value = rf_fence_f1(r, answer, once, room);
        *out = (rf_figure){value, value, value};
        st = widen_f1(out, r, answer, false, key, room, err);
    }
    if (st == RF_OK)
        st = widen_f1(out, r, answer, true, key, room, err);
    *out = (rf_figure){100.0 * out->value, 100.0 * fmax(out->low, 0.0),
                       100.0 * fmin(out->high, 1.0)};
    free(room);
    free(once);
    return st;
}

rf_status rf_fence_measure(rf_fence_figures *out, const rf_fence_rows *r,
                           const uint32_t *answer, uint64_t key, rf_error *err)
{
    *out = (rf_fence_figures){0};
    rf_status st = measure_rates(out, r, answer, key, err);
    return st == RF_OK ? measure_f1(&out->f1, r, answer, key, err) : st;
}
