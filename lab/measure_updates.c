/*
 * measure_updates.c - rf_lab_update: models that learn after training, measured beside
 * models that are trained again
 *
 * A chain is a set and a seed: one model that grows (growing.h). Its points are measured
 * in order, each a line of updates.jsonl. The line is written before the model is saved,
 * so a chain that was killed continues from the point before at the latest, and finds the
 * line.
 */
#include "answer/labelled.h"
#include "answer/metrics.h"
#include "base/clock.h"
#include "lab/estimate.h"
#include "lab/growing.h"
#include "lab/plan.h"
#include "lab/ranking.h"
#include "lab/update_points.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A point to be. */
typedef struct planned_point {
    size_t chain;   /* index into rf_plan.runs */
    size_t classes; /* to be known */
} planned_point;

typedef struct measuring {
    rf_lab_options o; /* with one ratio and method, for the plan */
    rf_lab_progress progress;
    void *user;
    rf_plan plan; /* its runs are chains */
    planned_point *points;
    size_t n_points;
    rf_update_point *before; /* measured by earlier calls */
    size_t n_before;
    rf_lab_context context;

    char key[160]; /* of the current point */
    rf_lab_event event;
    rf_estimate estimate;
    rf_error *err;
} measuring;

/* ---- Progress ---------------------------------------------------------------------- */

static int report(measuring *m)
{
    m->event.run = m->key;
    m->event.seconds_left = rf_estimate_left(&m->estimate);
    m->event.scaled = rf_estimate_scaled(&m->estimate);
    return m->progress ? m->progress(m->user, &m->event) : 0;
}

static int training_event(void *user, const rf_train_event *event)
{
    measuring *m = user;
    m->event.training = event;
    int stop = report(m);
    m->event.training = NULL;
    return stop;
}

/* ---- The plan ---------------------------------------------------------------------- */

static void name_point(const measuring *m, const planned_point *p, rf_update_point *out)
{
    const rf_planned *chain = &m->plan.runs[p->chain];
    *out = (rf_update_point){
        .from = chain->ratio, .seed = chain->seed, .classes = p->classes};
    snprintf(out->set, sizeof out->set, "%s", m->plan.sets[chain->set]);
    snprintf(out->method, sizeof out->method, "%s", chain->method->name);
    snprintf(out->encoder, sizeof out->encoder, "%s", m->context.encoder);
}

/* The measured point of an earlier call, NULL: none. */
static const rf_update_point *find_before(const measuring *m, const planned_point *p)
{
    rf_update_point like;
    name_point(m, p, &like);
    return rf_update_points_find(m->before, m->n_before, &like);
}

static rf_status add_point(measuring *m, size_t chain, size_t classes)
{
    planned_point *more =
        realloc(m->points, (m->n_points + 1) * sizeof *more); /* a few hundred */
    if (!more)
        return rf_fail_nomem(m->err, (m->n_points + 1) * sizeof *more, "the plan");
    m->points = more;
    m->points[m->n_points++] = (planned_point){chain, classes};
    return RF_OK;
}

static rf_status use_set(measuring *m, size_t chain)
{
    return rf_lab_context_use(&m->context, m->plan.sets[m->plan.runs[chain].set], m->err);
}

/* At first, after every so many classes, and at last. */
static rf_status list_points(measuring *m)
{
    rf_status st = RF_OK;
    for (size_t i = 0; i < m->plan.n && st == RF_OK; i++) {
        if ((st = use_set(m, i)) != RF_OK)
            return st;
        size_t all = rf_dataset_classes(m->context.set.data[RF_LAB_TRAIN]);
        size_t last = rf_split_known(all, m->o.to);
        size_t at = rf_split_known(all, m->o.from);
        for (; at < last && st == RF_OK; at += m->o.every)
            st = add_point(m, i, at);
        if (st == RF_OK)
            st = add_point(m, i, last);
    }
    return st;
}

/* A training of as many classes gives the proportions; the updates between two points
 * take a fraction of it. */
static rf_status estimate_points(measuring *m)
{
    rf_status st = rf_estimate_init(&m->estimate, m->n_points, m->err);
    for (size_t i = 0; i < m->n_points && st == RF_OK; i++) {
        const planned_point *p = &m->points[i];
        const rf_planned *chain = &m->plan.runs[p->chain];
        const rf_update_point *before = find_before(m, p);
        st = use_set(m, p->chain);
        rf_run run = {0};
        rf_estimate_input in = {.set = &m->context.set,
                                .split = {.n_classes = p->classes, .seed = chain->seed},
                                .method = chain->method,
                                .epochs = m->context.settings.epochs,
                                .threads = rf_team_size(m->context.team),
                                .done = before ? &run : NULL};
        if (before) {
            run.threads = before->threads;
            run.seconds.open = before->updates.seconds + before->train_seconds;
        }
        if (st == RF_OK)
            rf_estimate_run(&m->estimate, i, &in);
    }
    return st;
}

static rf_status check_options(const measuring *m)
{
    const rf_lab_options *o = &m->o;
    if (!(o->from > 0.0 && o->from < o->to && o->to <= 1.0))
        return rf_fail(m->err, RF_ERR_ARG, 0,
                       "from %g to %g of the classes: wanted shares above 0 and at most "
                       "1, the second larger",
                       o->from, o->to);
    return o->every > 0 ? RF_OK
                        : rf_fail(m->err, RF_ERR_ARG, 0,
                                  "measured after every 0 updates: wanted at least 1");
}

static rf_status prepare(measuring *m)
{
    char ratio[RF_RATIO_TEXT];
    rf_status st = check_options(m);
    m->o.ratios = rf_ratio_text(m->o.from, ratio);
    m->o.methods = "ans";
    m->o.variants = m->o.open_texts = NULL;
    if (st == RF_OK)
        st = rf_lab_context_open(&m->context, &m->o, training_event, m, m->err);
    if (st == RF_OK)
        st = rf_plan_make(&m->plan, &m->o, m->err);
    m->o.ratios = NULL;
    if (st == RF_OK)
        st = rf_update_points_load(m->o.out, &m->before, &m->n_before, m->err);
    if (st == RF_OK)
        st = list_points(m);
    return st == RF_OK ? estimate_points(m) : st;
}

/* ---- Measuring --------------------------------------------------------------------- */

typedef struct answers {
    rf_evaluation e;
    rf_ranked *ranked; /* [rows] */
    size_t classes;
} answers;

static rf_status count_answer(void *user, size_t row, size_t truth, const rf_decision *d,
                              rf_error *err)
{
    (void)err;
    answers *a = user;
    a->ranked[row] = (rf_ranked){d->margin, (uint32_t)d->nearest,
                                 (uint32_t)(truth == RF_OPEN ? a->classes : truth)};
    rf_evaluation_add(&a->e, truth, d->class_index);
    return RF_OK;
}

/* Figures of a model on the test file, as `ringfence eval` has them. */
static rf_status measure(measuring *m, const rf_model *model, rf_point_figures *out)
{
    const rf_dataset *test = m->context.set.data[RF_LAB_TEST];
    size_t n = rf_dataset_rows(test);
    rf_ranking ranking;
    answers a = {.ranked = malloc((n + 1) * sizeof *a.ranked),
                 .classes = rf_model_classes(model)};
    rf_session *s = NULL;
    rf_status st = a.ranked ? rf_evaluation_init(&a.e, a.classes, n, m->err)
                            : rf_fail_nomem(m->err, n * sizeof *a.ranked, "margins");
    if (st == RF_OK) {
        s = rf_session_new(model, rf_team_size(m->context.team), m->err);
        st = s ? rf_classify_labelled(s, test, count_answer, &a, m->err) : m->err->code;
    }
    if (st == RF_OK)
        st = rf_ranking_make(&ranking, a.ranked, n, a.classes, m->err);
    if (st == RF_OK) {
        rf_evaluation_finish(&a.e);
        *out = (rf_point_figures){.accuracy = a.e.accuracy,
                                  .f1 = a.e.f1,
                                  .f1_known = a.e.f1_known,
                                  .f1_open = a.e.f1_open,
                                  .closed = ranking.closed,
                                  .auroc = ranking.auroc,
                                  .best_f1 = ranking.best_f1,
                                  .best_accuracy = ranking.best_accuracy};
    }
    rf_session_free(s);
    rf_evaluation_release(&a.e);
    free(a.ranked);
    return st;
}

/* The first point of a chain is its own training. */
static rf_status measure_training(measuring *m, const rf_growing *g,
                                  rf_update_point *point)
{
    if (point->classes == point->first_classes) {
        point->trained = point->updated;
        point->train_seconds = g->train_seconds;
        point->train_cpu = g->train_cpu;
        return RF_OK;
    }
    double start = rf_clock_seconds(), cpu = rf_clock_cpu();
    rf_model *again = rf_growing_train(g, point->classes, m->err);
    point->train_seconds = rf_clock_seconds() - start;
    point->train_cpu = rf_clock_cpu() - cpu;
    rf_status st = again ? measure(m, again, &point->trained) : m->err->code;
    rf_model_free(again);
    return st;
}

static rf_status describe(measuring *m, const rf_growing *g, rf_update_point *point)
{
    rf_split split;
    rf_status st = rf_growing_split(g, point->classes, &split, m->err);
    if (st != RF_OK)
        return st;
    point->first_classes = g->first;
    point->train_rows = split.train.n;
    memcpy(point->classes_sha256, split.classes_sha256, sizeof point->classes_sha256);
    rf_split_release(&split);
    point->updates.n = g->cost.n;
    point->updates.seconds = g->cost.seconds;
    point->updates.longest = g->cost.longest;
    point->updates.cpu = g->cost.cpu;
    point->updates.heads = g->cost.heads;
    point->updates.fitted = g->cost.fitted;
    point->updates.refits = g->cost.refits;
    point->threads = rf_team_size(m->context.team);
    snprintf(point->version, sizeof point->version, "%s", rf_version());
    snprintf(point->kernels, sizeof point->kernels, "%s", rf_kernels_name());
    memcpy(point->asked, g->trainer.asked, sizeof point->asked);
    return RF_OK;
}

/* ---- A chain ----------------------------------------------------------------------- */

/* Tells about a point that is done or, without figures, will be. */
static rf_status tell(measuring *m, size_t i, const rf_update_point *figures)
{
    m->event.done = i + 1;
    if (figures) {
        m->event.seconds = figures->updates.seconds + figures->train_seconds;
        m->event.accuracy = figures->updated.accuracy;
        m->event.f1 = figures->updated.f1;
        m->event.trained_accuracy = figures->trained.accuracy;
        m->event.trained_f1 = figures->trained.f1;
    }
    return report(m) == 0 ? RF_OK
                          : rf_fail(m->err, RF_ERR_STOPPED, 0, "the lab was stopped");
}

static void begin_point(measuring *m, size_t i)
{
    const planned_point *p = &m->points[i];
    const rf_planned *chain = &m->plan.runs[p->chain];
    snprintf(m->key, sizeof m->key, "%s seed %llu %s, %zu classes",
             m->plan.sets[chain->set], (unsigned long long)chain->seed,
             chain->method->name, p->classes);
    m->event.done = i;
    m->event.before = find_before(m, p) != NULL;
    m->event.finished = false;
    m->event.seconds = rf_estimate_of(&m->estimate, i);
}

/* Learns up to point i, measures and records it. */
static rf_status do_point(measuring *m, rf_growing *g, size_t i)
{
    rf_update_point point;
    name_point(m, &m->points[i], &point);
    rf_status st = describe(m, g, &point);
    if (st == RF_OK)
        st = measure(m, g->model, &point.updated);
    if (st == RF_OK)
        st = measure_training(m, g, &point);
    if (st == RF_OK)
        st = rf_update_point_append(m->o.out, &point, m->err);
    if (st == RF_OK)
        st = rf_growing_save(g, m->err);
    if (st != RF_OK)
        return st;
    m->event.finished = true;
    rf_estimate_end(&m->estimate, i, point.updates.seconds + point.train_seconds);
    return tell(m, i, &point);
}

/* What was measured under another request is not what is asked for now. */
static rf_status check_same(measuring *m, const rf_update_point *done)
{
    char asked[RF_SHA256_HEX];
    const rf_method *method = m->plan.runs[0].method; /* all have one */
    rf_status st = rf_lab_asked(&m->context, method, done->seed, "", asked, m->err);
    if (st == RF_OK && strcmp(asked, done->asked) != 0)
        st = rf_fail(m->err, RF_ERR_ARG, 0,
                     "%s/%s has \"%s\" with other settings or other data; wanted another "
                     "directory for results",
                     m->o.out, RF_UPDATES_FILE, m->key);
    return st;
}

/* Points from..to of one chain. */
static rf_status do_chain(measuring *m, size_t from, size_t to, bool only_report)
{
    const rf_planned *chain = &m->plan.runs[m->points[from].chain];
    size_t missing = from; /* the first point that is not measured yet */
    rf_growing g = {0};
    rf_status st = use_set(m, m->points[from].chain);
    while (missing < to && find_before(m, &m->points[missing]))
        missing++;
    for (size_t i = from; i < to && st == RF_OK; i++) {
        const rf_update_point *done = find_before(m, &m->points[i]);
        begin_point(m, i);
        if (i == missing && !only_report) {
            size_t usable = m->points[i].classes - (i > from); /* its updates count */
            rf_estimate_begin(&m->estimate);
            st = rf_growing_open(&g, &m->context, chain->ratio, chain->seed, usable,
                                 m->points[to - 1].classes, m->err);
        }
        while (g.model && g.classes < m->points[i].classes && st == RF_OK)
            st = rf_growing_learn(&g, m->err);
        if (st == RF_OK && done)
            st = check_same(m, done);
        if (st == RF_OK)
            st = done || only_report ? tell(m, i, done) : do_point(m, &g, i);
        g.cost = (rf_growing_cost){0};
    }
    rf_growing_close(&g);
    return st;
}

static rf_status measure_updates(const rf_lab_options *o, rf_lab_progress progress,
                                 void *user, bool only_report, rf_error *err)
{
    rf_error local;
    measuring m = {
        .o = *o, .progress = progress, .user = user, .err = err ? err : &local};
    rf_status st = prepare(&m);
    m.event.total = m.n_points;
    for (size_t from = 0, to; from < m.n_points && st == RF_OK; from = to) {
        for (to = from; to < m.n_points && m.points[to].chain == m.points[from].chain;)
            to++;
        st = do_chain(&m, from, to, only_report);
    }
    rf_lab_context_close(&m.context);
    rf_plan_release(&m.plan);
    rf_estimate_release(&m.estimate);
    free(m.points);
    free(m.before);
    return st;
}

rf_status rf_lab_update(const rf_lab_options *o, rf_lab_progress progress, void *user,
                        rf_error *err)
{
    return measure_updates(o, progress, user, false, err);
}

rf_status rf_lab_update_plan(const rf_lab_options *o, rf_lab_progress progress,
                             void *user, rf_error *err)
{
    return measure_updates(o, progress, user, true, err);
}
