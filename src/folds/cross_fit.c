/* cross_fit.c - run the folds, place the fence, fit confidence, say what to expect */
#include "folds/cross_fit.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/streams.h"
#include "num/vectors.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Up to this many rows per class the folds also try the encoder as it came: a handful of
 * texts may teach it the wrong thing. */
#define FEW_ROWS 60
/* Points of rank_outcomes by which tuned layers must be better than that. Where the two
 * are level, the encoder as it came has the better fence: folds train layers for a third
 * of the time, and place the fence for layers that are tuned less. */
#define TUNED_ADVANTAGE 0.5
/* After so many folds, layers that are not better by then are not tuned in the others:
 * where it is close, either will do, and tuning is most of the time of a fold. */
#define FIRST_LOOK 2

/* From so many open texts on that came with the training data, confidence and what to
 * expect of open texts are measured on them and not on hidden classes. */
#define ENOUGH_GIVEN 50

#define PRIOR_TEXTS 4.0 /* see expected_right */

#define PARTS_OF_A_FOLD 100 /* steps of the progress */

/* ---- Running the folds ------------------------------------------------------------- */

typedef struct fold_progress {
    rf_training *t;
    size_t fold, folds;
    double start;
} fold_progress;

static int report(const fold_progress *p, double part, bool end)
{
    const rf_train_options *o = &p->t->o;
    if (!o->progress)
        return 0;
    double now = rf_clock_seconds();
    size_t total = p->folds * PARTS_OF_A_FOLD;
    size_t done = p->fold * PARTS_OF_A_FOLD + (size_t)(part * PARTS_OF_A_FOLD);
    const rf_train_event e = {.stage = RF_STAGE_FOLDS,
                              .done = done,
                              .total = total,
                              .epoch = p->fold + (end ? 0 : 1),
                              .epochs = p->folds,
                              .epoch_end = end,
                              .dev_accuracy = -1.0,
                              .seconds = now - p->t->start,
                              .seconds_left = done ? (now - p->start) / (double)done *
                                                         (double)(total - done)
                                                   : -1.0};
    return o->progress(o->user, &e);
}

static int on_progress(void *user, double part)
{
    return report(user, 0.95 * part, false); /* mostly stage 1; what follows is short */
}

/* How many of n ascending values are below x. */
static size_t count_below(const float *values, size_t n, float x)
{
    size_t from = 0;
    while (from < n) {
        size_t middle = from + (n - from) / 2;
        if (values[middle] < x)
            from = middle + 1;
        else
            n = middle;
    }
    return from;
}

/* Of all pairs of a known and an open text, hidden or given, the share in which the known
 * one gets its class with a larger margin than the open one has, in per cent. It counts
 * both kinds of mistake without a fence, and chance moves it less than the value of the
 * best fence. */
static rf_status rank_outcomes(const rf_outcomes *folds, size_t n_folds, double *share,
                               rf_error *err)
{
    size_t n = 0, open = 0, known = 0;
    double before = 0.0;
    for (size_t f = 0; f < n_folds; f++)
        n += folds[f].n_hidden + folds[f].n_given;
    float *margins = rf_floats_new(n + 1);
    if (!margins)
        return rf_fail_nomem(err, n * sizeof *margins, "the outcomes");
    for (size_t f = 0; f < n_folds; f++) {
        const rf_outcome *hidden = folds[f].row + folds[f].n - folds[f].n_hidden;
        for (size_t i = 0; i < folds[f].n_hidden + folds[f].n_given; i++) {
            float m = i < folds[f].n_hidden
                          ? hidden[i].margin[0]
                          : folds[f].given[i - folds[f].n_hidden].margin[0];
            if (isfinite(m))
                margins[open++] = m;
        }
    }
    rf_sort(margins, open);
    for (size_t f = 0; f < n_folds; f++)
        for (size_t i = 0; i < folds[f].n - folds[f].n_hidden; i++) {
            const rf_outcome *row = &folds[f].row[i];
            if (!isfinite(row->margin[0]))
                continue;
            known++;
            if (row->head[0] == row->truth)
                before += (double)count_below(margins, open, row->margin[0]);
        }
    *share = known && open ? 100.0 * before / ((double)known * (double)open) : NAN;
    free(margins);
    return RF_OK;
}

/* The blends of tuned layers to try, and the answers of the folds with each. */
typedef struct trials {
    float blend[2];
    size_t first, end; /* those from first to end - 1 are tried */
    rf_outcomes outcomes[2][RF_MAX_FOLDS];
} trials;

static bool try_both(const trials *tried)
{
    return tried->end - tried->first == 2;
}

/* Whether tuned layers, the first trial, answer better than the encoder as it came, by
 * the folds so far. */
static rf_status tuning_helps(const trials *tried, size_t folds, bool *helps,
                              rf_error *err)
{
    double share[2] = {NAN, NAN};
    rf_status st = RF_OK;
    for (size_t i = 0; i < 2 && st == RF_OK; i++)
        st = rank_outcomes(tried->outcomes[i], folds, &share[i], err);
    *helps = !(share[1] > share[0] - TUNED_ADVANTAGE);
    return st;
}

/* Goes on with the encoder as it came, unless tuned layers are better by these folds. */
static rf_status drop_useless_tuning(trials *tried, size_t folds, rf_training *t)
{
    bool helps;
    rf_status st = tuning_helps(tried, folds, &helps, t->err);
    if (st != RF_OK || helps)
        return st;
    tried->first = 1;
    return t->s.train_layers > 0 ? rf_training_freeze(t) : RF_OK;
}

static rf_status run_fold(trials *tried, size_t number, rf_training *t,
                          const rf_fold_plan *plan, fold_progress *p)
{
    rf_fold fold;
    rf_status st = rf_fold_begin(&fold, t, plan, number, on_progress, p);
    if (st != RF_OK)
        return st;
    for (size_t i = tried->first; i < tried->end && st == RF_OK; i++) {
        rf_settings s = t->s;
        s.blend = tried->blend[i];
        st = rf_fold_try(&fold, &s, &tried->outcomes[i][number]);
    }
    rf_fold_end(&fold);
    return st;
}

static rf_status run_folds(trials *tried, rf_training *t, const rf_fold_plan *plan)
{
    fold_progress p = {.t = t, .folds = plan->folds, .start = rf_clock_seconds()};
    rf_status st = RF_OK;
    for (size_t f = 0; f < plan->folds && st == RF_OK; f++) {
        st = run_fold(tried, f, t, plan, &p);
        p.fold++;
        if (st == RF_OK && report(&p, 0.0, true) != 0)
            st = rf_fail(t->err, RF_ERR_STOPPED, 0, "training was stopped");
        if (st == RF_OK && try_both(tried) && p.fold == FIRST_LOOK)
            st = drop_useless_tuning(tried, p.fold, t);
    }
    return st;
}

static bool has_known(const rf_outcomes *folds, size_t n)
{
    size_t known = 0;
    for (size_t f = 0; f < n; f++)
        known += folds[f].n - folds[f].n_hidden;
    return known > 0;
}

rf_status rf_cross_fit_run(rf_cross_fit *c, rf_training *t)
{
    const size_t classes = t->model->classes;
    rf_fold_plan plan;
    *c = (rf_cross_fit){.classes = classes};
    if (rf_cross_fit_impossible(t, c->why_not))
        return RF_OK;
    rf_status st = rf_fold_plan_cross(&plan, t, t->err);
    if (st == RF_OK)
        st = rf_fold_plan_chain(&plan, t, t->err);
    if (st != RF_OK) {
        rf_fold_plan_release(&plan);
        return st;
    }
    bool few = (t->train.n - t->train.n_open) / classes < FEW_ROWS;
    bool tries_both = few && t->s.train_layers > 0 && t->s.blend > 0.0f;
    trials tried = {.blend = {t->s.blend, 0.0f}, .end = tries_both ? 2 : 1};
    st = run_folds(&tried, t, &plan);
    if (st == RF_OK && try_both(&tried))
        st = drop_useless_tuning(&tried, plan.folds, t);
    rf_outcomes *chosen = tried.outcomes[tried.first];
    if (st == RF_OK && !has_known(chosen, plan.folds))
        snprintf(c->why_not, sizeof c->why_not, "no class has two texts");
    else if (st == RF_OK)
        st = rf_best_fence(chosen, plan.folds, classes, (double)t->s.open_share,
                           &t->fence, NULL, t->err);
    if (st == RF_OK && !c->why_not[0]) {
        memcpy(c->outcomes, chosen, sizeof c->outcomes);
        memset(chosen, 0, sizeof c->outcomes);
        c->folds = plan.folds;
        t->s.blend = tried.blend[tried.first];
        c->offset = t->fence + t->s.fence_offset; /* where it ends up */
    }
    for (size_t i = 0; i < 2; i++)
        for (size_t f = 0; f < RF_MAX_FOLDS; f++)
            rf_outcomes_release(&tried.outcomes[i][f]);
    rf_fold_plan_release(&plan);
    return st;
}

void rf_cross_fit_release(rf_cross_fit *c)
{
    for (size_t f = 0; f < RF_MAX_FOLDS; f++)
        rf_outcomes_release(&c->outcomes[f]);
    free(c->by_class);
    *c = (rf_cross_fit){0};
}

/* ---- Confidence -------------------------------------------------------------------- */

static size_t count_given(const rf_cross_fit *c)
{
    size_t n = 0;
    for (size_t f = 0; f < c->folds; f++)
        n += c->outcomes[f].n_given;
    return n;
}

/* Copies the best margins of a known outcome. False if its class is not among them. */
static bool copy_best(const rf_outcome *row, float best[RF_OUTCOME_HEADS],
                      uint32_t *truth)
{
    bool found = false;
    for (size_t k = 0; k < RF_OUTCOME_HEADS; k++) {
        best[k] = isfinite(row->margin[k]) ? row->margin[k] : row->margin[0] - 1e3f;
        if (row->head[k] == row->truth && isfinite(row->margin[k])) {
            *truth = (uint32_t)k;
            found = true;
        }
    }
    return found;
}

rf_status rf_calibrate_outcomes(rf_calibration *c, const rf_outcome *const *rows,
                                size_t n, float offset, rf_error *err)
{
    size_t all = 0, known = 0;
    float *margin = rf_floats_new(n + 1);
    float *best = rf_floats_new((n + 1) * RF_OUTCOME_HEADS);
    uint8_t *is_known = calloc(n + 1, 1);
    uint32_t *truth = calloc(n + 1, sizeof *truth);
    rf_status st = margin && best && is_known && truth
                       ? RF_OK
                       : rf_fail_nomem(err, n * sizeof *best, "the outcomes");
    for (size_t i = 0; i < n && st == RF_OK; i++) {
        if (!isfinite(rows[i]->margin[0]))
            continue;
        is_known[all] = !rows[i]->hidden;
        margin[all++] = rows[i]->margin[0] + offset;
        if (!rows[i]->hidden)
            known += copy_best(rows[i], best + known * RF_OUTCOME_HEADS, &truth[known]);
    }
    if (st == RF_OK && all > 0)
        st = rf_calibration_fit_known(c, margin, is_known, all, err);
    if (st == RF_OK && known > 0)
        st = rf_calibration_fit_classes(c, best, truth, known, RF_OUTCOME_HEADS, err);
    free(margin);
    free(best);
    free(is_known);
    free(truth);
    return st;
}

rf_status rf_cross_fit_calibrate(const rf_cross_fit *c, rf_training *t)
{
    size_t n = 0;
    bool own = count_given(c) >= ENOUGH_GIVEN;
    for (size_t f = 0; f < c->folds; f++)
        n += c->outcomes[f].n + c->outcomes[f].n_given;
    const rf_outcome **rows = calloc(n + 1, sizeof *rows);
    if (!rows)
        return rf_fail_nomem(t->err, n * sizeof *rows, "the outcomes");
    n = 0;
    for (size_t f = 0; f < c->folds; f++)
        for (size_t i = 0; i < c->outcomes[f].n; i++)
            if (!own || !c->outcomes[f].row[i].hidden)
                rows[n++] = &c->outcomes[f].row[i];
    for (size_t f = 0; f < c->folds; f++)
        for (size_t i = 0; i < c->outcomes[f].n_given; i++)
            rows[n++] = &c->outcomes[f].given[i];
    rf_status st =
        rf_calibrate_outcomes(&t->model->calibration, rows, n, c->offset, t->err);
    if (st == RF_OK) { /* from half open texts to the share that is expected */
        double open = (double)t->s.open_share;
        t->model->calibration.bias += (float)log((1.0 - open) / open);
    }
    free(rows);
    return st;
}

/* ---- What to expect ---------------------------------------------------------------- */

/* The share of a class's texts that is answered right; a few texts prove little, so the
 * average counts like PRIOR_TEXTS more. */
static double expected_right(const rf_cross_fit *c, size_t k)
{
    const rf_class_expectation *e = &c->by_class[k];
    return ((double)e->right + PRIOR_TEXTS * c->right.rate) /
           ((double)e->n + PRIOR_TEXTS);
}

/* The class that texts of class k are most often taken for. counts is [classes]. */
static rf_worst_class describe_worst(const rf_cross_fit *c, size_t k, size_t *counts)
{
    rf_worst_class w = {.class_index = k};
    memset(counts, 0, c->classes * sizeof *counts);
    for (size_t f = 0; f < c->folds; f++)
        for (size_t i = 0; i < c->outcomes[f].n; i++) {
            const rf_outcome *row = &c->outcomes[f].row[i];
            if (!row->hidden && row->truth == k && row->head[0] != k &&
                row->margin[0] + c->offset >= 0.0f)
                counts[row->head[0]]++;
        }
    for (size_t o = 0; o < c->classes; o++)
        if (counts[o] > w.mistaken) {
            w.other = o;
            w.mistaken = counts[o];
        }
    return w;
}

/* The classes with the fewest right answers, worst first; counts is scratch. */
static void find_worst(rf_cross_fit *c, size_t *counts)
{
    c->n_worst = 0;
    while (c->n_worst < RF_WORST_CLASSES && c->n_worst < c->classes) {
        size_t worst = SIZE_MAX;
        for (size_t k = 0; k < c->classes; k++) {
            bool listed = c->by_class[k].right == c->by_class[k].n; /* nothing wrong */
            for (size_t i = 0; i < c->n_worst; i++)
                listed |= c->worst[i].class_index == k;
            if (!listed &&
                (worst == SIZE_MAX || expected_right(c, k) < expected_right(c, worst)))
                worst = k;
        }
        if (worst == SIZE_MAX)
            return;
        c->worst[c->n_worst++] = describe_worst(c, worst, counts);
    }
}

/* Replaces what to expect of open texts by the answers to those that came with the data;
 * each counts on its own, as they are of no class. */
static rf_status expect_of_given(rf_cross_fit *c, uint64_t key, rf_error *err)
{
    size_t n = count_given(c), at = 0, *hits = calloc(2 * n, sizeof *hits);
    if (!hits)
        return rf_fail_nomem(err, 2 * n * sizeof *hits, "the expectations");
    for (size_t f = 0; f < c->folds; f++)
        for (size_t i = 0; i < c->outcomes[f].n_given; i++, at++) {
            hits[at] = c->outcomes[f].given[i].margin[0] + c->offset >= 0.0f;
            hits[n + at] = 1;
        }
    c->given = n;
    rf_status st = rf_rate_of_classes(&c->accept, hits, hits + n, n, key, err);
    free(hits);
    return st;
}

rf_status rf_cross_fit_expect(rf_cross_fit *c, const rf_training *t)
{
    size_t classes = c->classes;
    size_t *counts = calloc(5 * classes + 1, sizeof *counts);
    c->by_class = calloc(classes + 1, sizeof *c->by_class);
    if (!counts || !c->by_class) {
        free(counts);
        return rf_fail_nomem(t->err, 5 * classes * sizeof *counts, "the expectations");
    }
    size_t *known = counts, *as_open = known + classes, *right = as_open + classes,
           *open = right + classes, *let_in = open + classes;
    for (size_t f = 0; f < c->folds; f++)
        for (size_t i = 0; i < c->outcomes[f].n; i++) {
            const rf_outcome *row = &c->outcomes[f].row[i];
            bool in = row->margin[0] + c->offset >= 0.0f;
            (row->hidden ? open : known)[row->truth]++;
            if (row->hidden)
                let_in[row->truth] += in;
            else
                as_open[row->truth] += !in;
            right[row->truth] += !row->hidden && in && row->head[0] == row->truth;
        }
    for (size_t k = 0; k < classes; k++)
        c->by_class[k] = (rf_class_expectation){
            .n = known[k], .right = right[k], .as_open = as_open[k]};
    for (size_t i = 0; i < t->train.n - t->train.n_open; i++)
        c->by_class[t->train.class_of[i]].rows++;
    uint64_t key = rf_stream_key(t->o.seed, RF_STREAM_CROSS_FIT, 0, 0);
    rf_status st = rf_rate_of_classes(&c->reject, as_open, known, classes, key, t->err);
    if (st == RF_OK)
        st = rf_rate_of_classes(&c->right, right, known, classes, key, t->err);
    if (st == RF_OK)
        st = rf_rate_of_classes(&c->accept, let_in, open, classes, key, t->err);
    if (st == RF_OK)
        find_worst(c, counts);
    free(counts);
    return st == RF_OK && count_given(c) >= ENOUGH_GIVEN ? expect_of_given(c, key, t->err)
                                                         : st;
}

static json_t *rate_json(const rf_rate *r)
{
    return json_pack("{s:f, s:f, s:f, s:I}", "rate", r->rate, "low", r->low, "high",
                     r->high, "texts", (json_int_t)r->n);
}

static json_t *class_json(const rf_cross_fit *c, const rf_model *m, size_t k)
{
    const rf_class_expectation *e = &c->by_class[k];
    return json_pack("{s:s, s:I, s:I, s:I, s:I}", "label", m->labels[k], "rows",
                     (json_int_t)e->rows, "texts", (json_int_t)e->n, "right",
                     (json_int_t)e->right, "as_open", (json_int_t)e->as_open);
}

static json_t *worst_json(const rf_cross_fit *c, const rf_model *m, size_t i)
{
    const rf_worst_class *w = &c->worst[i];
    json_t *json = class_json(c, m, w->class_index);
    if (json && w->mistaken > 0 &&
        (json_object_set_new(json, "mistaken_for", json_string(m->labels[w->other])) ||
         json_object_set_new(json, "mistaken", json_integer((json_int_t)w->mistaken)))) {
        json_decref(json);
        json = NULL;
    }
    return json;
}

json_t *rf_cross_fit_json(const rf_cross_fit *c, const rf_model *m)
{
    if (c->why_not[0])
        return json_pack("{s:s}", "why_not", c->why_not);
    json_t *all = json_array(), *worst = json_array();
    bool good = all && worst;
    for (size_t k = 0; k < c->classes && good; k++)
        good = json_array_append_new(all, class_json(c, m, k)) == 0;
    for (size_t i = 0; i < c->n_worst && good; i++)
        good = json_array_append_new(worst, worst_json(c, m, i)) == 0;
    if (!good) {
        json_decref(all);
        json_decref(worst);
        return NULL;
    }
    return json_pack("{s:I, s:I, s:f, s:o, s:o, s:o, s:o, s:o}", "folds",
                     (json_int_t)c->folds, "open_texts", (json_int_t)c->given, "fence",
                     -(double)c->offset, "known_as_open", rate_json(&c->reject),
                     "known_right", rate_json(&c->right), "open_let_in",
                     rate_json(&c->accept), "worst", worst, "classes", all);
}
