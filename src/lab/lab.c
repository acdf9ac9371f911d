/*
 * lab.c - runs one after another: material, split, stage 1, method, figures
 *
 * Each run uses all threads. Whatever can be shared is in the cache (material.h,
 * stage1.h); a finished run is a line of runs.jsonl. So a lab that is stopped anywhere
 * goes on from its last finished piece, and a second lab over the same directory does
 * only what is new.
 */
#include "lab/desk.h"
#include "lab/estimate.h"
#include "lab/plan.h"
#include "lab/results.h"
#include "model/judge.h"
#include "model/metrics.h"
#include "model/train_settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONFUSIONS 30 /* pairs that a run's line keeps */

typedef struct lab {
    const rf_lab_options *o;
    rf_lab_progress progress;
    void *user;
    rf_plan plan;
    rf_run *before; /* finished by earlier calls */
    size_t n_before;
    bool *impossible; /* [plan.n] asks for more classes than the set has */
    rf_desk desk;

    char key[RF_RUN_KEY]; /* of the run in hand */
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
                            .train = rf_train_options_default()};
}

/* ---- Progress ---------------------------------------------------------------------- */

static int tell(lab *l)
{
    l->event.run = l->key;
    l->event.seconds_left = rf_estimate_left(&l->estimate);
    return l->progress ? l->progress(l->user, &l->event) : 0;
}

static int training_event(void *user, const rf_train_event *event)
{
    lab *l = user;
    l->event.training = event;
    int stop = tell(l);
    l->event.training = NULL;
    return stop;
}

/* ---- One run ----------------------------------------------------------------------- */

static void name_run(const lab *l, const rf_planned *p, rf_run *run)
{
    *run = (rf_run){.ratio = p->ratio, .seed = p->seed};
    snprintf(run->set, sizeof run->set, "%s", l->plan.sets[p->set]);
    snprintf(run->method, sizeof run->method, "%s", p->method->name);
    snprintf(run->encoder, sizeof run->encoder, "%s", l->desk.encoder);
    snprintf(run->variant, sizeof run->variant, "%s", p->variant);
}

typedef struct tally {
    rf_evaluation *e;
    const rf_model *m;
    const rf_split_rows *rows;
} tally;

static void count(void *user, const rf_judge *j, size_t from, size_t n)
{
    const tally *t = user;
    for (size_t i = 0; i < n; i++) {
        size_t truth = t->rows->class_index[from + i];
        rf_evaluation_add(t->e, truth < t->m->classes ? truth : RF_OPEN,
                          rf_judge_answer(j, t->m, i));
    }
}

static rf_status test(lab *l, const rf_model *m, const rf_trial *t, rf_evaluation *e)
{
    tally all = {e, m, &t->split.test};
    rf_status st = rf_evaluation_init(e, m->classes, l->err);
    if (st == RF_OK)
        st = rf_judge_all(m, t->stage1.z[RF_LAB_TEST], t->split.test.n, l->desk.team,
                          count, &all, l->err);
    if (st == RF_OK)
        rf_evaluation_finish(e);
    return st;
}

/* The largest numbers off the diagonal, as [truth, answer, count]. */
static json_t *list_confusions(const rf_evaluation *e, const rf_model *m)
{
    json_t *list = json_array();
    size_t n = e->classes + 1, before = SIZE_MAX, at = 0;
    while (list && json_array_size(list) < CONFUSIONS) {
        size_t best = SIZE_MAX; /* the largest after (before, at), ties by place */
        for (size_t i = 0; i < n * n; i++) {
            size_t c = e->confusion[i];
            if (i / n == i % n || c == 0 || c > before || (c == before && i <= at))
                continue;
            if (best == SIZE_MAX || c > e->confusion[best])
                best = i;
        }
        if (best == SIZE_MAX)
            break;
        before = e->confusion[best];
        at = best;
        const char *truth = best / n < e->classes ? m->labels[best / n] : "open";
        const char *answer = best % n < e->classes ? m->labels[best % n] : "open";
        json_array_append_new(list,
                              json_pack("[s, s, I]", truth, answer, (json_int_t)before));
    }
    return list;
}

/* A hash of all that a run is asked to be: settings as given, texts. What is left to the
 * data is not in it, and follows from it. */
static rf_status hash_request(lab *l, const rf_planned *p, char hex[RF_SHA256_HEX])
{
    rf_train_options o = l->o->train;
    rf_split_options so = {0};
    rf_status st = rf_variant_apply(p->variant, &o, &so, l->err);
    if (st != RF_OK)
        return st;
    const rf_material *m = &l->desk.material;
    o.method = p->method->name;
    o.seed = p->seed;
    o.max_tokens = l->o->max_tokens;
    json_t *settings = rf_train_settings_json(&o);
    json_t *all =
        json_pack("{s:o?, s:s, s:s}", "settings", settings, "texts", m->texts_sha256,
                  "open", p->method->wants_open_texts ? m->open_sha256 : "");
    char *text = settings && all ? json_dumps(all, JSON_COMPACT) : NULL;
    if (text)
        rf_sha256_bytes(text, strlen(text), hex);
    else
        st = rf_fail_nomem(l->err, 1024, "the settings");
    json_decref(all);
    free(text);
    return st;
}

static rf_status record(lab *l, rf_run *run, const rf_planned *p, const rf_trial *t,
                        const rf_evaluation *e)
{
    const rf_split *split = &t->split;
    char asked[RF_SHA256_HEX];
    rf_status st = hash_request(l, p, asked);
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
    run->seconds.encode = l->desk.material.seconds;
    run->seconds.known = t->stage1.seconds;
    run->shared_known = t->stage1.found;
    run->threads = rf_team_size(l->desk.team);
    snprintf(run->version, sizeof run->version, "%s", rf_version());
    snprintf(run->kernels, sizeof run->kernels, "%s", rf_kernels_name());
    run->settings = rf_train_settings_json(&t->o);
    if (!run->settings ||
        json_object_set_new(run->settings, "asked", json_string(asked)) != 0)
        return rf_fail_nomem(l->err, 1024, "the settings");
    return rf_run_append(l->o->out, run, l->err);
}

static rf_status do_run(lab *l, const rf_planned *p, rf_run *run)
{
    rf_trial t = {
        .ratio = p->ratio, .seed = p->seed, .method = p->method, .variant = p->variant};
    rf_status st = rf_desk_take(&l->desk, l->plan.sets[p->set], l->err);
    if (st == RF_OK)
        st = rf_trial_begin(&l->desk, &t, l->err);
    if (st != RF_OK)
        return st;
    rf_evaluation e = {0};
    double start = rf_seconds();
    rf_model *m = rf_trial_fit(&l->desk, &t, l->err);
    double fitted = rf_seconds();
    run->seconds.open = fitted - start;
    st = m ? test(l, m, &t, &e) : l->err->code;
    run->seconds.test = rf_seconds() - fitted;
    if (st == RF_OK) {
        run->confusions = list_confusions(&e, m);
        st = record(l, run, p, &t, &e);
    }
    l->event.seconds = run->seconds.open + (t.stage1.found ? 0.0 : t.stage1.seconds);
    rf_evaluation_release(&e);
    rf_model_free(m);
    rf_trial_end(&t);
    return st;
}

/* ---- All of them ------------------------------------------------------------------- */

/* Two runs with the same stage 1. */
static bool share(const rf_planned *p, const rf_planned *q)
{
    bool other_rows = strncmp(p->variant, "rows=", 5) == 0 ||
                      strncmp(q->variant, "rows=", 5) == 0 ||
                      strncmp(p->variant, "classes=", 8) == 0 ||
                      strncmp(q->variant, "classes=", 8) == 0;
    const char *a = rf_method_objective(p->method), *b = rf_method_objective(q->method);
    if (q->set != p->set || q->ratio != p->ratio || q->seed != p->seed ||
        strcmp(a, b) != 0)
        return false;
    return strcmp(p->variant, q->variant) == 0 || (!other_rows && !p->method->objective);
}

/* What each run may take, from the sizes of the sets. */
static rf_status estimate(lab *l)
{
    rf_status st = rf_estimate_init(&l->estimate, l->plan.n, l->err);
    for (size_t i = 0; i < l->plan.n && st == RF_OK; i++) {
        const rf_planned *p = &l->plan.runs[i];
        rf_run run;
        rf_train_options o = l->o->train;
        rf_estimate_input in = {.material = &l->desk.material,
                                .split = {.ratio = p->ratio, .seed = p->seed},
                                .method = p->method,
                                .epochs = o.epochs,
                                .threads = rf_team_size(l->desk.team)};
        name_run(l, p, &run);
        in.done = rf_runs_find(l->before, l->n_before, &run);
        st = rf_desk_take(&l->desk, l->plan.sets[p->set], l->err);
        if (st == RF_OK)
            st = rf_variant_apply(p->variant, &o, &in.split, l->err);
        if (st != RF_OK)
            return st;
        for (size_t k = 0; k < i && !in.shared; k++)
            in.shared = share(p, &l->plan.runs[k]);
        size_t classes = rf_dataset_classes(l->desk.material.data[RF_LAB_TRAIN]);
        l->impossible[i] = in.split.n_classes > classes;
        if (!l->impossible[i])
            rf_estimate_run(&l->estimate, i, &in);
    }
    return st;
}

static rf_status start(lab *l)
{
    rf_status st = rf_desk_open(&l->desk, l->o, training_event, l, l->err);
    if (st == RF_OK)
        st = rf_plan_make(&l->plan, l->o, l->err);
    if (st == RF_OK)
        st = rf_runs_load(l->o->out, &l->before, &l->n_before, l->err);
    if (st != RF_OK)
        return st;
    l->impossible = calloc(l->plan.n + 1, sizeof *l->impossible);
    return l->impossible ? estimate(l) : rf_fail_nomem(l->err, l->plan.n, "the plan");
}

/* One that was made with other settings or other texts is not the run that is asked for,
 * though it has its name. (Lines without "asked" are of an earlier version.) */
static rf_status check_same(lab *l, const rf_planned *p, const rf_run *done)
{
    char asked[RF_SHA256_HEX];
    const char *was = json_string_value(json_object_get(done->settings, "asked"));
    rf_status st = rf_desk_take(&l->desk, l->plan.sets[p->set], l->err);
    if (st == RF_OK)
        st = hash_request(l, p, asked);
    if (st == RF_OK && was && strcmp(was, asked) != 0)
        st = rf_fail(l->err, RF_ERR_ARG, 0,
                     "%s/%s has a run \"%s\" that was made with other settings or "
                     "other data; wanted another directory for results, or a variant",
                     l->o->out, RF_RUNS_FILE, l->key);
    return st;
}

/* A run that fails for reasons of its own does not keep the others from being done. */
static bool goes_on(rf_status st)
{
    return st == RF_ERR_NUMERIC || st == RF_ERR_LIMIT;
}

static rf_status go_through(lab *l, bool only_tell)
{
    rf_status st = RF_OK, first = RF_OK;
    rf_error failure = {0};
    l->event.total = l->plan.n;
    for (size_t i = 0; i < l->plan.n && st == RF_OK; i++) {
        const rf_planned *p = &l->plan.runs[i];
        rf_run run;
        l->event.done = i + 1;
        if (l->impossible[i]) /* more classes than the set has */
            continue;
        name_run(l, p, &run);
        rf_run_key(&run, l->key);
        const rf_run *done = rf_runs_find(l->before, l->n_before, &run);
        bool doing = !done && !only_tell;
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
        if (doing && goes_on(st)) {
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
        if (st == RF_OK && tell(l) != 0)
            st = rf_fail(l->err, RF_ERR_STOPPED, 0, "the lab was stopped");
        rf_run_release(&run);
    }
    if (st == RF_OK && first != RF_OK)
        *l->err = failure;
    return st == RF_OK ? first : st;
}

static rf_status run_lab(const rf_lab_options *o, rf_lab_progress progress, void *user,
                         bool only_tell, rf_error *err)
{
    rf_error local;
    lab l = {.o = o, .progress = progress, .user = user, .err = err ? err : &local};
    rf_status st = start(&l);
    if (st == RF_OK)
        st = go_through(&l, only_tell);
    rf_desk_close(&l.desk);
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
