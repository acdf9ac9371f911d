/* out_of_fold.c - folds of rows, a prior for each, scores of the rows left out */
#include "check/out_of_fold.h"

#include "ans/prior.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

typedef struct work {
    const rf_encoded *e;
    rf_team *team;
    rf_outside_view *views;
    unsigned char *fold; /* [n] */
    /* Of the current fold */
    float *z;           /* [rows, width] rows to fit */
    uint32_t *class_of; /* [rows] numbers among the classes that have such rows */
    uint32_t *number;   /* [classes] that number, NONE without rows */
    uint32_t *class_at; /* [classes] and back */
    uint32_t *held;     /* [n_held] rows to score */
    size_t rows, classes, n_held;
    const rf_prior *prior;
    float *scores, *scratch; /* [threads] of RF_JUDGE_ROWS rows */
} work;

/* ---- Folds ------------------------------------------------------------------------- */

static int by_text(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

/* Rows of a class go to the folds in turn, in order of their texts; copies of a text
 * follow the first of them. */
static rf_status choose_folds(work *w, rf_error *err)
{
    const rf_encoded *e = w->e;
    uint64_t *order = calloc(e->n + 1, sizeof *order);
    size_t *next = calloc(e->classes + 1, sizeof *next);
    if (!order || !next) {
        free(order);
        free(next);
        return rf_fail_nomem(err, e->n * sizeof *order, "folds");
    }
    for (size_t i = 0; i < e->n; i++)
        order[i] = (uint64_t)e->text_of[i] << 32 | i;
    qsort(order, e->n, sizeof *order, by_text);
    for (size_t i = 0; i < e->n; i++) {
        uint32_t row = (uint32_t)order[i];
        bool copy = i > 0 && order[i] >> 32 == order[i - 1] >> 32;
        w->fold[row] = copy ? w->fold[(uint32_t)order[i - 1]]
                            : (unsigned char)(next[e->class_of[row]]++ % RF_CHECK_FOLDS);
    }
    free(order);
    free(next);
    return RF_OK;
}

/* Gathers the rows to fit and those to score. */
static void gather(work *w, size_t fold, const bool *left_out)
{
    const rf_encoded *e = w->e;
    w->rows = w->classes = w->n_held = 0;
    memset(w->number, 0xff, e->classes * sizeof *w->number);
    for (size_t i = 0; i < e->n; i++) {
        uint32_t k = e->class_of[i];
        if (w->fold[i] == fold) {
            w->held[w->n_held++] = (uint32_t)i;
            continue;
        }
        if (left_out && left_out[i])
            continue;
        if (w->number[k] == NONE) {
            w->class_at[w->classes] = k;
            w->number[k] = (uint32_t)w->classes++;
        }
        memcpy(w->z + w->rows * e->width, e->z + i * e->width, e->width * sizeof *w->z);
        w->class_of[w->rows++] = w->number[k];
    }
}

/* ---- Scores ------------------------------------------------------------------------ */

static rf_outside_view view_of(const work *w, const float *scores, uint32_t own)
{
    rf_outside_view v = {NAN, NAN, 0};
    if (own != NONE)
        v.own = scores[own];
    for (size_t k = 0; k < w->classes; k++)
        if (k != own && !(scores[k] <= v.best)) { /* also if best is NAN */
            v.best = scores[k];
            v.other = w->class_at[k];
        }
    return v;
}

static void score_some(void *arg, size_t member, size_t members)
{
    const work *w = arg;
    size_t d = w->e->width;
    size_t floats = rf_prior_scratch(d) + RF_JUDGE_ROWS * d;
    float *scores = w->scores + member * RF_JUDGE_ROWS * w->classes;
    float *scratch = w->scratch + member * floats, *z = scratch + rf_prior_scratch(d);
    for (size_t from = member * RF_JUDGE_ROWS; from < w->n_held;
         from += members * RF_JUDGE_ROWS) {
        size_t n = w->n_held - from < RF_JUDGE_ROWS ? w->n_held - from : RF_JUDGE_ROWS;
        for (size_t i = 0; i < n; i++)
            memcpy(z + i * d, w->e->z + w->held[from + i] * d, d * sizeof *z);
        rf_prior_score(w->prior, z, n, scores, scratch);
        for (size_t i = 0; i < n; i++) {
            uint32_t row = w->held[from + i];
            w->views[row] =
                view_of(w, scores + i * w->classes, w->number[w->e->class_of[row]]);
        }
    }
}

static rf_status fit_and_score(work *w, rf_error *err)
{
    size_t d = w->e->width;
    rf_class_stats stats = {0};
    rf_method_state state = {.width = d, .classes = w->classes};
    rf_fit in = {.rows = w->rows,
                 .width = d,
                 .classes = w->classes,
                 .z = w->z,
                 .class_of = w->class_of,
                 .stats = &stats,
                 .team = w->team};
    rf_prior *prior = NULL;
    rf_status st =
        rf_class_stats_init(&stats, w->z, w->class_of, w->rows, d, w->classes, err);
    if (st == RF_OK)
        st = rf_prior_fit(&state, 0, &in, err);
    if (st == RF_OK && !(prior = rf_prior_new(&state, 0, err)))
        st = err->code;
    if (st == RF_OK) {
        w->prior = prior;
        rf_team_run(w->team, score_some, w);
    }
    rf_prior_free(prior);
    rf_method_state_release(&state);
    rf_class_stats_release(&stats);
    return st;
}

/* ---- All folds --------------------------------------------------------------------- */

static rf_status room(work *w, rf_error *err)
{
    const rf_encoded *e = w->e;
    size_t d = e->width, threads = rf_team_size(w->team), floats;
    if (!rf_size_mul(e->n + 1, d, &floats))
        floats = SIZE_MAX / 8;
    w->fold = calloc(e->n + 1, 1);
    w->z = rf_floats_new(floats);
    w->class_of = calloc(e->n + 1, sizeof *w->class_of);
    w->number = calloc(e->classes + 1, sizeof *w->number);
    w->class_at = calloc(e->classes + 1, sizeof *w->class_at);
    w->held = calloc(e->n + 1, sizeof *w->held);
    w->scores = rf_floats_new(threads * RF_JUDGE_ROWS * (e->classes + 1));
    w->scratch = rf_floats_new(threads * (rf_prior_scratch(d) + RF_JUDGE_ROWS * d));
    return w->fold && w->z && w->class_of && w->number && w->class_at && w->held &&
                   w->scores && w->scratch
               ? RF_OK
               : rf_fail_nomem(err, floats * sizeof *w->z, "folds");
}

static void release(work *w)
{
    free(w->fold);
    free(w->z);
    free(w->class_of);
    free(w->number);
    free(w->class_at);
    free(w->held);
    free(w->scores);
    free(w->scratch);
}

rf_status rf_out_of_fold(const rf_encoded *e, const bool *left_out, rf_team *team,
                         rf_outside_view *views, rf_error *err)
{
    work w = {.e = e, .team = team, .views = views};
    rf_status st = room(&w, err);
    for (size_t i = 0; i < e->n; i++)
        views[i] = (rf_outside_view){NAN, NAN, 0};
    if (st == RF_OK)
        st = choose_folds(&w, err);
    for (size_t fold = 0; fold < RF_CHECK_FOLDS && st == RF_OK; fold++) {
        gather(&w, fold, left_out);
        if (w.n_held > 0 && w.classes > 1)
            st = fit_and_score(&w, err);
    }
    release(&w);
    return st;
}
