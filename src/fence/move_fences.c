/*
 * move_fences.c - rf_model_move_fences: place the fences of a model by labelled rows, or
 * by hand
 *
 * The final fences come from all rows. What to expect of them is measured on rows that
 * had no part in it: each fifth is answered with fences that the other four place.
 */
#include "fence/fence_figures.h"
#include "fence/fence_spot.h"

#include "base/options.h"
#include "base/streams.h"
#include "folds/cross_fit.h"
#include "stages/fence_line.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FOLDS 5
#define FEWEST_ROWS 10 /* known, and open: below, the best fence is chance */
#define LARGEST_BUDGET 0.5

typedef struct moving {
    rf_model *model;
    rf_fence_options o;
    rf_fence_goal goal;
    rf_fence_rows rows;
    const rf_outcome **list; /* [rows.all.n] */
    rf_budget fences;
    rf_fence_result result;
    rf_error *err;
} moving;

void rf_fence_options_init(rf_fence_options *options, size_t struct_size)
{
    const rf_fence_options defaults = {0};
    rf_options_give(options, struct_size, &defaults, sizeof defaults);
}

/* ---- Refusing ---------------------------------------------------------------------- */

static rf_status check_limit(double *most, const char *name, rf_error *err)
{
    if (!(*most <= LARGEST_BUDGET))
        return rf_fail(err, RF_ERR_ARG, 0, "%s is %g, wanted a share of at most %g", name,
                       *most, LARGEST_BUDGET);
    *most = *most > 0.0 ? *most : 0.0;
    return RF_OK;
}

static rf_status check_fixed(const moving *m)
{
    const rf_fence_options *o = &m->o;
    if (!(fabs(o->offset) <= (double)RF_MAX_FENCE))
        return rf_fail(m->err, RF_ERR_ARG, 0, "offset is %g, wanted %g to %g", o->offset,
                       (double)-RF_MAX_FENCE, (double)RF_MAX_FENCE);
    if (o->max_false_accept > 0.0 || o->max_false_reject > 0.0 || o->per_class)
        return rf_fail(m->err, RF_ERR_ARG, 0,
                       "found a fixed offset with a budget or offsets by class, wanted "
                       "one or the other");
    return RF_OK;
}

static rf_status check_options(moving *m)
{
    if (!m->model->method->move_fence)
        return rf_fail(m->err, RF_ERR_ARG, 0,
                       "the fences of method %s cannot be moved: wanted a model that was "
                       "trained with ans, heads or ovr",
                       m->model->method->name);
    if (m->o.best != RF_FENCE_BEST_F1 && m->o.best != RF_FENCE_BEST_ACCURACY)
        return rf_fail(m->err, RF_ERR_ARG, 0, "rf_fence_options.best is %d",
                       (int)m->o.best);
    rf_status st = check_limit(&m->o.max_false_accept, "max_false_accept", m->err);
    if (st == RF_OK)
        st = check_limit(&m->o.max_false_reject, "max_false_reject", m->err);
    return st == RF_OK && m->o.fixed ? check_fixed(m) : st;
}

/* What the rows can support. */
static rf_status check_rows(const moving *m)
{
    size_t open = m->rows.all.n_hidden, known = m->rows.all.n - open;
    double accept = m->o.max_false_accept, reject = m->o.max_false_reject;
    rf_status st = RF_OK;
    if (accept > 0.0)
        st = rf_budget_enough(accept, "of false accepts", "--max-false-accept", open,
                              "open rows", m->err);
    if (st == RF_OK && reject > 0.0)
        st = rf_budget_enough(reject, "of false rejects", "--max-false-reject", known,
                              "rows of known classes", m->err);
    if (st == RF_OK && !m->o.fixed && accept == 0.0 && reject == 0.0 &&
        (known < FEWEST_ROWS || open < FEWEST_ROWS))
        st = rf_fail(m->err, RF_ERR_ARG, 0,
                     "found %zu rows of known classes and %zu open ones, wanted at least "
                     "%d of each to find the best fence",
                     known, open, FEWEST_ROWS);
    return st;
}

/* ---- Placing and measuring --------------------------------------------------------- */

static rf_status place_by(const moving *m, rf_budget *b, const rf_outcome *const *rows,
                          size_t n)
{
    if (!m->o.fixed)
        return rf_fence_spot(b, &m->goal, rows, n, m->err);
    b->common = (float)m->o.offset;
    return RF_OK;
}

/* Answers every row with fences that were placed without it. */
static rf_status answer_held_out(const moving *m, uint64_t key, uint32_t *answer)
{
    const rf_outcomes *all = &m->rows.all;
    rf_budget b = m->fences;
    uint8_t *fold = calloc(all->n + 1, sizeof *fold);
    const rf_outcome **others = calloc(all->n + 1, sizeof *others);
    b.own = calloc(b.classes, sizeof *b.own);
    rf_status st = fold && others && b.own
                       ? rf_fence_rows_deal(&m->rows, FOLDS, key, fold, m->err)
                       : rf_fail_nomem(m->err, all->n * sizeof *others, "the folds");
    for (size_t f = 0; f < FOLDS && st == RF_OK; f++) {
        size_t n = 0;
        for (size_t i = 0; i < all->n; i++)
            if (fold[i] != f)
                others[n++] = &all->row[i];
        st = place_by(m, &b, others, n);
        for (size_t i = 0; i < all->n && st == RF_OK; i++)
            if (fold[i] == f)
                answer[i] = rf_budget_answer(&b, &all->row[i]);
    }
    free(fold);
    free(others);
    free(b.own);
    return st;
}

static rf_status measure(moving *m)
{
    size_t n = m->rows.all.n;
    uint64_t keys[2];
    uint32_t *answer = calloc(n + 1, sizeof *answer);
    if (!answer)
        return rf_fail_nomem(m->err, n * sizeof *answer, "the answers");
    for (size_t i = 0; i < 2; i++)
        keys[i] = rf_stream_key(m->o.seed, RF_STREAM_FENCE_ROWS, i, 0);
    for (size_t i = 0; i < n; i++) /* nothing is moved yet */
        answer[i] = rf_budget_answer(&m->fences, &m->rows.all.row[i]);
    rf_status st = rf_fence_measure(&m->result.before, &m->rows, answer, keys[1], m->err);
    if (st == RF_OK)
        st = answer_held_out(m, keys[0], answer);
    if (st == RF_OK)
        st = rf_fence_measure(&m->result.expected, &m->rows, answer, keys[1], m->err);
    free(answer);
    return st;
}

static rf_status place(moving *m)
{
    rf_status st = m->rows.all.n > 0 ? measure(m) : RF_OK;
    if (st == RF_OK)
        st = place_by(m, &m->fences, m->list, m->rows.all.n);
    if (st == RF_OK && m->o.max_false_accept > 0.0 && m->o.max_false_reject > 0.0)
        st = rf_budget_check_both(&m->fences, &m->rows.all, 1, m->err);
    m->result.offset = (double)m->fences.common;
    for (size_t c = 0; c < m->fences.classes && st == RF_OK; c++)
        m->result.own_offsets += m->fences.own[c] != 0.0f;
    return st;
}

/* ---- What the model says about itself ---------------------------------------------- */

static json_t *estimate_json(const rf_figure *e)
{
    if (isnan(e->value))
        return json_null();
    return json_pack("{s:f, s:f, s:f}", "rate", e->value / 100.0, "low", e->low / 100.0,
                     "high", e->high / 100.0);
}

static json_t *figures_json(const rf_fence_figures *f)
{
    return json_pack("{s:o, s:o, s:o, s:o}", "accuracy", estimate_json(&f->accuracy),
                     "f1", estimate_json(&f->f1), "known_as_open",
                     estimate_json(&f->known_as_open), "open_let_in",
                     estimate_json(&f->open_let_in));
}

static json_t *own_json(const moving *m)
{
    json_t *list = json_array();
    bool good = list;
    for (size_t c = 0; c < m->fences.classes && good; c++)
        if (m->fences.own[c] != 0.0f)
            good = json_array_append_new(list, json_pack("{s:s, s:f}", "label",
                                                         m->model->labels[c], "offset",
                                                         (double)m->fences.own[c])) == 0;
    if (good)
        return list;
    json_decref(list);
    return NULL;
}

static json_t *limit_json(double most)
{
    return most > 0.0 ? json_real(most) : json_null();
}

static json_t *fence_json(const moving *m)
{
    const rf_fence_options *o = &m->o;
    bool chosen = !o->fixed && o->max_false_accept == 0.0 && o->max_false_reject == 0.0;
    const char *best = o->best == RF_FENCE_BEST_F1 ? "f1" : "accuracy";
    return json_pack("{s:I, s:I, s:o, s:o, s:o, s:f, s:o, s:o, s:o}", "rows",
                     (json_int_t)m->result.rows, "open_rows",
                     (json_int_t)m->result.open_rows, "best",
                     chosen ? json_string(best) : json_null(), "max_false_accept",
                     limit_json(o->max_false_accept), "max_false_reject",
                     limit_json(o->max_false_reject), "offset", m->result.offset, "own",
                     own_json(m), "before", figures_json(&m->result.before), "expected",
                     figures_json(&m->result.expected));
}

/* The summary without what was said of the old fences, with how the new ones came about.
 * NULL without memory. */
static json_t *new_summary(const moving *m)
{
    json_t *summary =
        m->model->summary ? json_deep_copy(m->model->summary) : json_object();
    json_t *heads = json_object_get(summary, "heads"), *head;
    size_t i;
    (void)json_object_del(summary, "expected");
    (void)json_object_del(summary, "budget");
    bool good = json_object_set_new(summary, "fence", fence_json(m)) == 0;
    json_array_foreach(heads, i, head)
    {
        good = good && json_object_set_new(head, "recall", json_null()) == 0 &&
               json_object_set_new(head, "dev_recall", json_null()) == 0;
    }
    if (good)
        return summary;
    json_decref(summary);
    return NULL;
}

/* Confidence at the new fences. Without rows of both kinds it stays what it was: margins
 * grow by the offset, so the bias shrinks. Moves the margins of m->rows. */
static rf_status calibrate(moving *m, rf_calibration *c)
{
    const rf_outcomes *all = &m->rows.all;
    *c = m->model->calibration;
    if (all->n_hidden == 0 || all->n_hidden == all->n) {
        c->bias -= c->slope * m->fences.common;
        return rf_calibration_check(c, m->err);
    }
    rf_budget_apply(&m->fences, &m->rows.all, 1);
    rf_status st = rf_calibrate_outcomes(c, m->list, all->n, 0.0f, m->err);
    c->from = RF_CALIBRATION_FROM_LABELLED;
    return st;
}

/* All that can fail comes first: the model changes as a whole or not at all. */
static rf_status change_model(moving *m)
{
    rf_model *model = m->model;
    rf_calibration old = model->calibration, new;
    float *offsets = calloc(model->classes, sizeof *offsets);
    json_t *summary = new_summary(m), *replaced = model->summary;
    rf_status st = offsets && summary ? calibrate(m, &new)
                                      : rf_fail_nomem(m->err, 4096, "the summary");
    if (st == RF_OK) {
        model->summary = summary;
        model->calibration = new;
        st = rf_model_describe(model, m->err);
        if (st != RF_OK) {
            model->summary = replaced;
            model->calibration = old;
        }
    }
    if (st == RF_OK) {
        for (size_t c = 0; c < model->classes; c++)
            offsets[c] = m->fences.common + m->fences.own[c];
        rf_fence_move(model, offsets, 0.0f);
    }
    json_decref(st == RF_OK ? replaced : summary);
    free(offsets);
    return st;
}

/* ---- The function ------------------------------------------------------------------ */

static rf_status make_room(moving *m)
{
    size_t n = m->rows.all.n, classes = m->model->classes;
    m->list = calloc(n + 1, sizeof *m->list);
    m->fences = (rf_budget){.max_accept = m->o.max_false_accept,
                            .max_reject = m->o.max_false_reject,
                            .classes = classes,
                            .own = calloc(classes, sizeof *m->fences.own)};
    if (!m->list || !m->fences.own)
        return rf_fail_nomem(m->err, n * sizeof *m->list, "the labelled rows");
    for (size_t i = 0; i < n; i++)
        m->list[i] = &m->rows.all.row[i];
    return RF_OK;
}

rf_status rf_model_move_fences(rf_model *model, const rf_dataset *rows,
                               const rf_fence_options *options, rf_fence_result *result,
                               rf_error *err)
{
    const rf_figure no_rows = {NAN, NAN, NAN};
    rf_error local = {0};
    moving m = {
        .model = model, .o = rf_fence_options_default(), .err = err ? err : &local};
    rf_status st = rf_options_take(&m.o, sizeof m.o, options, "rf_fence_options", m.err);
    if (st == RF_OK)
        st = check_options(&m);
    if (st == RF_OK && !rows && !m.o.fixed)
        st = rf_fail(m.err, RF_ERR_ARG, 0, "found no rows, wanted some, or `fixed`");
    if (st == RF_OK && rows)
        st = rf_fence_rows_read(&m.rows, model, rows, m.o.threads, m.o.progress, m.o.user,
                                m.err);
    if (st == RF_OK)
        st = check_rows(&m);
    if (st == RF_OK)
        st = make_room(&m);
    m.goal = (rf_fence_goal){m.o.best == RF_FENCE_BEST_F1 ? 1.0 : 0.0, m.o.per_class};
    m.result.before = m.result.expected =
        (rf_fence_figures){no_rows, no_rows, no_rows, no_rows};
    m.result.rows = m.rows.all.n;
    m.result.open_rows = m.rows.all.n_hidden;
    if (st == RF_OK)
        st = place(&m);
    if (st == RF_OK)
        st = change_model(&m);
    if (st == RF_OK && result)
        *result = m.result;
    rf_fence_rows_release(&m.rows);
    rf_budget_release(&m.fences);
    free(m.list);
    return st;
}
