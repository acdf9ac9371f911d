/*
 * lab.c - carries out a plan, run by run: split, stage 1, method, test, record
 *
 * Each run uses all threads. What runs share is cached (lab_set.h, stage1.h), and a
 * finished run is a line of runs.jsonl. So a stopped lab resumes from the last of these,
 * and a second lab over the same directory does only what is new.
 */
#include "base/clock.h"
#include "lab/experiment.h"
#include "lab/estimate.h"
#include "lab/lab_settings.h"
#include "lab/plan.h"
#include "lab/ranking.h"
#include "lab/results.h"
#include "lab/shard.h"
#include "answer/judge.h"
#include "answer/metrics.h"
#include "stages/train_settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONFUSIONS 30 /* kept in a run's line */

typedef struct lab {
    const rf_lab_options *o;
    rf_lab_progress progress;
    void *user;
    rf_plan plan;
    rf_run *before; /* runs finished by earlier calls */
    size_t n_before;
    bool *impossible; /* [plan.n] wants more classes than the set has */
    rf_lab_context context;

    char key[RF_RUN_KEY]; /* of the current run */
    rf_lab_event event;
    rf_estimate estimate;
    rf_error *err;
} lab;

rf_lab_options rf_lab_options_default(void)
{
    return (rf_lab_options){.sets = "banking,oos,stackoverflow",
                            .ratios = "0.25,0.5,0.75",
                            .seeds = "0",
                            .methods = "ans",
                            .from = 0.25,
                            .to = 0.75,
                            .every = 10,
                            .batch = 1000};
}

/* ---- Progress ---------------------------------------------------------------------- */

static int report(lab *l)
{
    l->event.run = l->key;
    l->event.seconds_left = rf_estimate_left(&l->estimate);
    l->event.scaled = rf_estimate_scaled(&l->estimate);
    return l->progress ? l->progress(l->user, &l->event) : 0;
}

static int training_event(void *user, const rf_train_event *event)
{
    lab *l = user;
    l->event.training = event;
    int stop = report(l);
    l->event.training = NULL;
    return stop;
}

/* ---- One run ----------------------------------------------------------------------- */

static void name_run(const lab *l, const rf_planned *p, rf_run *run)
{
    *run = (rf_run){.ratio = p->ratio, .seed = p->seed};
    snprintf(run->set, sizeof run->set, "%s", l->plan.sets[p->set]);
    snprintf(run->method, sizeof run->method, "%s", p->method->name);
    snprintf(run->encoder, sizeof run->encoder, "%s", l->context.encoder);
    snprintf(run->variant, sizeof run->variant, "%s", p->variant);
}

typedef struct tally {
    rf_evaluation *e;
    const rf_model *m;
    const rf_split_rows *rows;
    rf_ranked *ranked; /* [rows->n] */
} tally;

static void count_answers(void *user, const rf_judge *j, size_t from, size_t n)
{
    const tally *t = user;
    for (size_t i = 0; i < n; i++) {
        uint32_t truth = t->rows->class_index[from + i];
        const rf_verdict *v = &j->verdicts[i];
        t->ranked[from + i] =
            (rf_ranked){j->margins[i * t->m->classes + v->fence], v->nearest, truth};
        rf_evaluation_add(t->e, truth < t->m->classes ? truth : RF_OPEN,
                          rf_judge_answer(j, t->m, i));
    }
}

static rf_status test_model(lab *l, const rf_model *m, const rf_experiment *t,
                            rf_evaluation *e, rf_ranking *ranking)
{
    size_t n = t->split.test.n;
    tally all = {e, m, &t->split.test, malloc((n + 1) * sizeof *all.ranked)};
    rf_status st = all.ranked ? rf_evaluation_init(e, m->classes, n, l->err)
                              : rf_fail_nomem(l->err, n * sizeof *all.ranked, "margins");
    if (st == RF_OK)
        st = rf_judge_all(m, t->stage1.z[RF_LAB_TEST], n, false, l->context.team,
                          count_answers, &all, l->err);
    if (st == RF_OK)
        st = rf_ranking_make(ranking, all.ranked, n, m->classes, l->err);
    if (st == RF_OK)
        rf_evaluation_finish(e);
    free(all.ranked);
    return st;
}

static const char *name_of(const rf_model *m, size_t id)
{
    return rf_model_label(m, id < m->classes ? id : RF_OPEN);
}

/* The most frequent ones as [[truth, answer, count], ...]. */
static rf_status list_confusions(const rf_evaluation *e, const rf_model *m, json_t **out,
                                 rf_error *err)
{
    rf_confusion *all;
    size_t n;
    rf_status st = rf_evaluation_confusions(e, &all, &n, err);
    if (st != RF_OK)
        return st;
    *out = json_array();
    bool ok = *out != NULL;
    for (size_t i = 0; ok && i < n && i < CONFUSIONS; i++) {
        json_t *item = json_pack("[s, s, I]", name_of(m, all[i].truth),
                                 name_of(m, all[i].answer), (json_int_t)all[i].count);
        ok = json_array_append_new(*out, item) == 0;
    }
    free(all);
    return ok ? RF_OK : rf_fail_nomem(err, n * sizeof *all, "the confusions");
}

static rf_status record(lab *l, rf_run *run, const rf_planned *p, const rf_experiment *t,
                        const rf_evaluation *e, const rf_ranking *ranking)
{
    const rf_split *split = &t->split;
    char asked[RF_SHA256_HEX];
    rf_status st =
        rf_lab_asked(&l->context, p->method, p->seed, p->variant, asked, l->err);
    if (st != RF_OK)
        return st;
    run->known_classes = split->classes;
    run->train_rows = split->train.n;
    run->dev_rows = split->dev.n;
    run->test_rows = split->test.n;
    memcpy(run->classes_sha256, split->classes_sha256, sizeof run->classes_sha256);
    run->accuracy = e->accuracy;
    run->f1 = e->f1;
    run->f1_known = e->f1_known;
    run->f1_open = e->f1_open;
    run->closed = ranking->closed;
    run->auroc = ranking->auroc;
    run->best_f1 = ranking->best_f1;
    run->best_accuracy = ranking->best_accuracy;
    run->seconds.encode = l->context.set.seconds;
    run->seconds.known = t->stage1.seconds;
    run->shared_known = t->stage1.found;
    run->threads = rf_team_size(l->context.team);
    snprintf(run->version, sizeof run->version, "%s", rf_version());
    snprintf(run->kernels, sizeof run->kernels, "%s", rf_kernels_name());
    run->settings = rf_train_settings_json(&t->o, &t->s);
    if (!run->settings ||
        json_object_set_new(run->settings, "asked", json_string(asked)) != 0)
        return rf_fail_nomem(l->err, 1024, "the settings");
    return rf_run_append(l->o->out, run, l->err);
}

static rf_status do_run(lab *l, const rf_planned *p, rf_run *run)
{
    rf_experiment t = {
        .ratio = p->ratio, .seed = p->seed, .method = p->method, .variant = p->variant};
    rf_status st = rf_lab_context_use(&l->context, l->plan.sets[p->set], l->err);
    if (st == RF_OK)
        st = rf_experiment_begin(&l->context, &t, l->err);
    if (st != RF_OK)
        return st;
    rf_evaluation e = {0};
    rf_ranking ranking = {0};
    double start = rf_clock_seconds();
    rf_model *m = rf_experiment_fit(&l->context, &t, l->err);
    double fitted = rf_clock_seconds();
    run->seconds.open = fitted - start;
    st = m ? test_model(l, m, &t, &e, &ranking) : l->err->code;
    run->seconds.test = rf_clock_seconds() - fitted;
    if (st == RF_OK)
        st = list_confusions(&e, m, &run->confusions, l->err);
    if (st == RF_OK)
        st = record(l, run, p, &t, &e, &ranking);
    l->event.seconds = run->seconds.open + (t.stage1.found ? 0.0 : t.stage1.seconds);
    rf_evaluation_release(&e);
    rf_model_free(m);
    rf_experiment_end(&t);
    return st;
}

/* ---- All runs ------------------------------------------------------------------- */

/* Estimates every run's time, and finds the impossible ones. */
static rf_status estimate_runs(lab *l)
{
    rf_status st = rf_estimate_init(&l->estimate, l->plan.n, l->err);
    for (size_t i = 0; i < l->plan.n && st == RF_OK; i++) {
        const rf_planned *p = &l->plan.runs[i];
        rf_run run;
        rf_settings s = l->context.settings;
        rf_estimate_input in = {.set = &l->context.set,
                                .split = {.ratio = p->ratio, .seed = p->seed},
                                .method = p->method,
                                .threads = rf_team_size(l->context.team)};
        name_run(l, p, &run);
        in.done = rf_runs_find(l->before, l->n_before, &run);
        st = rf_lab_context_use(&l->context, l->plan.sets[p->set], l->err);
        if (st == RF_OK)
            st = rf_variant_apply(p->variant, &s, &in.split, l->err);
        if (st != RF_OK)
            return st;
        in.epochs = s.epochs;
        for (size_t k = 0; k < i && !in.shared; k++)
            in.shared = rf_planned_share(p, &l->plan.runs[k]);
        size_t classes = rf_dataset_classes(l->context.set.data[RF_LAB_TRAIN]);
        l->impossible[i] = in.split.n_classes > classes;
        if (!l->impossible[i])
            rf_estimate_run(&l->estimate, i, &in);
    }
    return st;
}

static rf_status prepare_lab(lab *l)
{
    rf_status st = rf_lab_context_open(&l->context, l->o, training_event, l, l->err);
    if (st == RF_OK)
        st = rf_plan_make(&l->plan, l->o, l->err);
    if (st == RF_OK)
        st = rf_plan_shard(&l->plan, l->o->shard, l->err);
    if (st == RF_OK)
        st = rf_runs_load(l->o->out, &l->before, &l->n_before, l->err);
    if (st != RF_OK)
        return st;
    l->impossible = calloc(l->plan.n + 1, sizeof *l->impossible);
    return l->impossible ? estimate_runs(l)
                         : rf_fail_nomem(l->err, l->plan.n, "the plan");
}

/* A finished run of the same name with other settings or texts is not the one requested.
 * (Lines of an earlier version have no "asked".) */
static rf_status check_same(lab *l, const rf_planned *p, const rf_run *done)
{
    char asked[RF_SHA256_HEX];
    const char *was = json_string_value(json_object_get(done->settings, "asked"));
    rf_status st = rf_lab_context_use(&l->context, l->plan.sets[p->set], l->err);
    if (st == RF_OK)
        st = rf_lab_asked(&l->context, p->method, p->seed, p->variant, asked, l->err);
    if (st == RF_OK && was && strcmp(was, asked) != 0)
        st = rf_fail(l->err, RF_ERR_ARG, 0,
                     "%s/%s has a run \"%s\" with other settings or other data; "
                     "wanted another directory for results, or a variant",
                     l->o->out, RF_RUNS_FILE, l->key);
    return st;
}

/* Failures that concern one run only: the others continue. */
static bool is_own_failure(rf_status st)
{
    return st == RF_ERR_NUMERIC || st == RF_ERR_LIMIT;
}

static rf_status do_runs(lab *l, bool only_report)
{
    rf_status st = RF_OK, first = RF_OK;
    rf_error failure = {0};
    l->event.total = l->plan.n;
    for (size_t i = 0; i < l->plan.n && st == RF_OK; i++) {
        const rf_planned *p = &l->plan.runs[i];
        rf_run run;
        l->event.done = i + 1;
        if (l->impossible[i])
            continue;
        name_run(l, p, &run);
        rf_run_key(&run, l->key);
        const rf_run *done = rf_runs_find(l->before, l->n_before, &run);
        bool doing = !done && !only_report;
        l->event.done = i;
        l->event.before = done != NULL;
        l->event.finished = false;
        l->event.error = NULL;
        l->event.seconds = done ? done->seconds.open + done->seconds.known
                                : rf_estimate_of(&l->estimate, i);
        rf_estimate_begin(&l->estimate);
        if (done)
            st = check_same(l, p, done);
        else if (doing)
            st = do_run(l, p, &run);
        if (doing && is_own_failure(st)) {
            l->event.error = l->err->msg;
            if (first == RF_OK) {
                first = st;
                failure = *l->err;
            }
            st = RF_OK;
        }
        l->event.finished = doing && st == RF_OK && !l->event.error;
        const rf_run *figures = done ? done : &run;
        l->event.accuracy = figures->accuracy;
        l->event.f1 = figures->f1;
        l->event.done = i + 1;
        rf_estimate_end(&l->estimate, i, l->event.finished ? l->event.seconds : -1.0);
        if (st == RF_OK && report(l) != 0)
            st = rf_fail(l->err, RF_ERR_STOPPED, 0, "the lab was stopped");
        rf_run_release(&run);
    }
    if (st == RF_OK && first != RF_OK)
        *l->err = failure;
    return st == RF_OK ? first : st;
}

static rf_status run_lab(const rf_lab_options *o, rf_lab_progress progress, void *user,
                         bool only_report, rf_error *err)
{
    rf_error local;
    lab l = {.o = o, .progress = progress, .user = user, .err = err ? err : &local};
    rf_status st = prepare_lab(&l);
    if (st == RF_OK)
        st = do_runs(&l, only_report);
    rf_lab_context_close(&l.context);
    rf_plan_release(&l.plan);
    rf_runs_free(l.before, l.n_before);
    rf_estimate_release(&l.estimate);
    free(l.impossible);
    return st;
}

rf_status rf_lab_run(const rf_lab_options *o, rf_lab_progress progress, void *user,
                     rf_error *err)
{
    return run_lab(o, progress, user, false, err);
}

rf_status rf_lab_plan(const rf_lab_options *o, rf_lab_progress progress, void *user,
                      rf_error *err)
{
    return run_lab(o, progress, user, true, err);
}
