/*
 * lab.c - runs one after another: material, split, stage 1, method, figures
 *
 * Each run uses all threads. Whatever can be shared is in the cache (material.h,
 * stage1.h); a finished run is a line of runs.jsonl. So a lab that is stopped anywhere
 * goes on from its last finished piece, and a second lab over the same directory does
 * only what is new.
 */
#include "base/memory.h"
#include "lab/estimate.h"
#include "lab/material.h"
#include "lab/plan.h"
#include "lab/results.h"
#include "lab/stage1.h"
#include "model/judge.h"
#include "model/metrics.h"
#include "model/train_settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONFUSIONS 30 /* pairs that a run's line keeps */

typedef struct lab {
    const rf_lab_options *o;
    const char *encoder;
    rf_lab_progress progress;
    void *user;
    rf_plan plan;
    rf_run *before; /* finished by earlier calls */
    size_t n_before;
    char cache[RF_PATH_MAX];
    rf_team *team;

    rf_material material;
    size_t set; /* of material, SIZE_MAX: none */
    rf_config config;
    char encoder_sha256[RF_SHA256_HEX];

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

static int texts_done(void *user, size_t done)
{
    const rf_train_event event = {
        .stage = RF_STAGE_ENCODE, .done = done, .seconds_left = -1.0};
    return training_event(user, &event);
}

/* ---- Sets -------------------------------------------------------------------------- */

static rf_status open_set(lab *l, size_t set)
{
    if (l->set == set)
        return RF_OK;
    char dir[RF_PATH_MAX];
    rf_material_close(&l->material);
    l->set = SIZE_MAX;
    rf_material_options mo = {.dir = dir,
                              .data = l->o->format,
                              .open_texts = l->o->open_texts,
                              .max_tokens = l->o->max_tokens,
                              .cache = l->cache};
    rf_status st = rf_path_join(dir, l->o->data, l->plan.sets[set], l->err);
    if (st == RF_OK)
        st = rf_material_open(&l->material, &mo, l->err);
    if (st == RF_OK)
        l->set = set;
    return st;
}

/* The frozen layers of the set in hand, unless they are there. */
static rf_status freeze_set(lab *l)
{
    if (l->material.frozen[RF_LAB_TRAIN].states)
        return RF_OK;
    rf_material_options mo = {.cache = l->cache, .done = texts_done, .user = l};
    rf_model *m = rf_model_new(l->err);
    if (!m)
        return RF_ERR_NOMEM;
    rf_status st = rf_model_use_encoder(m, l->encoder, l->err);
    if (st == RF_OK) {
        const rf_config *c = &m->encoder->config;
        size_t live = l->o->train.train_layers;
        l->config = *c;
        memcpy(l->encoder_sha256, m->encoder_sha256, sizeof l->encoder_sha256);
        st = live <= c->layers
                 ? rf_material_freeze(&l->material, &mo, m->encoder, m->encoder_sha256,
                                      c->layers - live, l->team, l->err)
                 : rf_fail(l->err, RF_ERR_ARG, 0, "train_layers is %zu, wanted 0 to %zu",
                           live, c->layers);
    }
    rf_model_free(m);
    return st;
}

/* ---- One run ----------------------------------------------------------------------- */

static void name_run(const lab *l, const rf_planned *p, rf_run *run)
{
    *run = (rf_run){.ratio = p->ratio, .seed = p->seed};
    snprintf(run->set, sizeof run->set, "%s", l->plan.sets[p->set]);
    snprintf(run->method, sizeof run->method, "%s", p->method->name);
    snprintf(run->encoder, sizeof run->encoder, "%s", l->encoder);
    snprintf(run->variant, sizeof run->variant, "%s", p->variant);
}

/* The method on the features of stage 1; the model has no encoder. */
static rf_status fit(lab *l, rf_model *m, const rf_stage1 *s, const rf_split *split,
                     const rf_train_options *o)
{
    rf_training t = {
        .o = *o, .model = m, .team = l->team, .start = rf_seconds(), .err = l->err};
    /* Borrowed: these parts are not released. */
    t.train = (rf_part){.n = split->train.n,
                        .class_of = split->train.class_index,
                        .z = (float *)(uintptr_t)s->z[RF_LAB_TRAIN]};
    t.dev = (rf_part){.n = split->dev.n,
                      .class_of = split->dev.class_index,
                      .z = (float *)(uintptr_t)s->z[RF_LAB_DEV]};
    rf_status st = rf_model_set_labels(m, split->label, split->classes, l->err);
    if (st == RF_OK)
        st = rf_known_init(&m->known, s->width, s->known_classes, l->err);
    if (st == RF_OK) {
        m->known.form = m->method->form;
        memcpy(m->known.block, s->known, m->known.floats * sizeof(float));
        st = rf_training_open(&t);
    }
    free(t.reports);
    return st;
}

static rf_status test(lab *l, const rf_model *m, const rf_stage1 *s,
                      const rf_split_rows *rows, rf_evaluation *e)
{
    rf_judge judge;
    rf_status st = rf_evaluation_init(e, m->classes, l->err);
    if (st == RF_OK)
        st = rf_judge_init(&judge, m, SIZE_MAX, rf_team_size(l->team), l->err);
    if (st != RF_OK)
        return st;
    for (size_t from = 0; from < rows->n; from += judge.max_rows) {
        size_t n = rows->n - from < judge.max_rows ? rows->n - from : judge.max_rows;
        rf_judge_rows(&judge, m, s->z[RF_LAB_TEST] + from * s->width, n, l->team);
        for (size_t i = 0; i < n; i++) {
            size_t truth = rows->class_index[from + i];
            rf_evaluation_add(e, truth < m->classes ? truth : RF_OPEN,
                              rf_judge_answer(&judge, m, i));
        }
    }
    rf_evaluation_finish(e);
    rf_judge_release(&judge);
    return RF_OK;
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

static rf_status record(lab *l, rf_run *run, const rf_stage1 *s, const rf_split *split,
                        const rf_evaluation *e, const rf_train_options *o)
{
    run->known_classes = split->classes;
    run->train_rows = split->train.n;
    run->dev_rows = split->dev.n;
    run->test_rows = split->test.n;
    memcpy(run->classes_sha256, split->classes_sha256, sizeof run->classes_sha256);
    run->accuracy = e->accuracy;
    run->f1 = e->f1;
    run->f1_known = e->f1_known;
    run->f1_open = e->f1_open;
    run->seconds.encode = l->material.seconds;
    run->seconds.known = s->seconds;
    run->shared_known = s->found;
    run->threads = rf_team_size(l->team);
    snprintf(run->version, sizeof run->version, "%s", rf_version());
    snprintf(run->kernels, sizeof run->kernels, "%s", rf_kernels_name());
    run->settings = rf_train_settings_json(o);
    if (!run->settings)
        return rf_fail_nomem(l->err, 1024, "the settings");
    return rf_run_append(l->o->out, run, l->err);
}

static rf_status complete(lab *l, rf_run *run, const rf_planned *p,
                          const rf_train_options *options, const rf_split *split)
{
    rf_stage1_problem problem = {.material = &l->material,
                                 .split = split,
                                 .encoder = l->encoder,
                                 .method = p->method,
                                 .o = *options,
                                 .cache = l->cache,
                                 .team = l->team};
    rf_stage1 s;
    rf_status st = rf_stage1_get(&s, &problem, l->err);
    if (st != RF_OK)
        return st;
    rf_train_options o = *options;
    rf_evaluation e = {0};
    rf_model *m = rf_model_new(l->err);
    st = m ? rf_train_resolve(&o, &l->config, split->train.n, split->classes, l->err)
           : RF_ERR_NOMEM;
    double start = rf_seconds();
    if (st == RF_OK) {
        m->method = p->method;
        st = fit(l, m, &s, split, &o);
    }
    double fitted = rf_seconds();
    run->seconds.open = fitted - start;
    if (st == RF_OK)
        st = test(l, m, &s, &split->test, &e);
    run->seconds.test = rf_seconds() - fitted;
    if (st == RF_OK) {
        run->confusions = list_confusions(&e, m);
        st = record(l, run, &s, split, &e, &o);
    }
    l->event.seconds = run->seconds.open + (s.found ? 0.0 : s.seconds);
    rf_evaluation_release(&e);
    rf_model_free(m);
    rf_stage1_release(&s);
    return st;
}

static rf_status do_run(lab *l, const rf_planned *p, rf_run *run)
{
    rf_split_options so = {.ratio = p->ratio, .seed = p->seed};
    rf_train_options o = l->o->train;
    rf_split split;
    rf_status st;
    o.method = p->method->name;
    o.seed = p->seed;
    o.max_tokens = l->material.max_tokens;
    o.threads = rf_team_size(l->team);
    o.progress = training_event;
    o.user = l;
    if ((st = rf_variant_apply(p->variant, &o, &so, l->err)) != RF_OK ||
        (st = freeze_set(l)) != RF_OK)
        return st;
    rf_dataset *const *d = l->material.data;
    st = rf_split_make(&split, d[RF_LAB_TRAIN], d[RF_LAB_DEV], d[RF_LAB_TEST], &so,
                       l->err);
    if (st != RF_OK)
        return st;
    st = complete(l, run, p, &o, &split);
    rf_split_release(&split);
    return st;
}

/* ---- All of them ------------------------------------------------------------------- */

/* What each run may take, from the sizes of the sets. */
static rf_status estimate(lab *l)
{
    rf_status st = rf_estimate_init(&l->estimate, l->plan.n, l->err);
    for (size_t i = 0; i < l->plan.n && st == RF_OK; i++) {
        const rf_planned *p = &l->plan.runs[i];
        rf_run run;
        name_run(l, p, &run);
        const rf_run *done = rf_runs_find(l->before, l->n_before, &run);
        rf_split_options so = {.ratio = p->ratio, .seed = p->seed};
        rf_train_options o = l->o->train;
        if ((st = rf_variant_apply(p->variant, &o, &so, l->err)) == RF_OK)
            st = open_set(l, p->set);
        if (st != RF_OK)
            return st;
        size_t before = i; /* is there one before that shares its stage 1? */
        while (before-- > 0) {
            const rf_planned *q = &l->plan.runs[before];
            if (q->set == p->set && q->ratio == p->ratio && q->seed == p->seed &&
                (q->method == p->method ||
                 (!q->method->objective && !p->method->objective)) &&
                so.rows_per_class == 0 && so.n_classes == 0)
                break;
        }
        rf_estimate_run(&l->estimate, i, &l->material, &so, p->method,
                        rf_team_size(l->team), done, before != SIZE_MAX);
    }
    return st;
}

static rf_status start(lab *l)
{
    rf_status st = rf_plan_make(&l->plan, l->o, l->err);
    if (st == RF_OK)
        st = rf_path_join(l->cache, l->o->out, "cache", l->err);
    if (st == RF_OK)
        st = rf_runs_load(l->o->out, &l->before, &l->n_before, l->err);
    if (st != RF_OK)
        return st;
    l->team = rf_team_new(l->o->threads ? l->o->threads : rf_cpu_count(), l->err);
    return l->team ? estimate(l) : RF_ERR_NOMEM;
}

static rf_status go_through(lab *l, bool only_tell)
{
    rf_status st = RF_OK;
    l->event.total = l->plan.n;
    for (size_t i = 0; i < l->plan.n && st == RF_OK; i++) {
        const rf_planned *p = &l->plan.runs[i];
        rf_run run;
        name_run(l, p, &run);
        rf_run_key(&run, l->key);
        const rf_run *done = rf_runs_find(l->before, l->n_before, &run);
        l->event.before = done != NULL;
        l->event.finished = false;
        l->event.seconds = rf_estimate_of(&l->estimate, i);
        rf_estimate_begin(&l->estimate, i);
        if (!done && !only_tell) {
            if ((st = open_set(l, p->set)) == RF_OK)
                st = do_run(l, p, &run);
            l->event.finished = st == RF_OK;
        }
        const rf_run *figures = done ? done : &run;
        l->event.accuracy = figures->accuracy;
        l->event.f1 = figures->f1;
        l->event.done = i + 1;
        rf_estimate_end(&l->estimate, i, st == RF_OK && !done && !only_tell);
        if (st == RF_OK && tell(l) != 0)
            st = rf_fail(l->err, RF_ERR_STOPPED, 0, "the lab was stopped");
        rf_run_release(&run);
    }
    return st;
}

static rf_status run_lab(const rf_lab_options *o, rf_lab_progress progress, void *user,
                         bool only_tell, rf_error *err)
{
    rf_error local;
    lab l = {.o = o,
             .encoder = o->encoder ? o->encoder : "minilm",
             .progress = progress,
             .user = user,
             .set = SIZE_MAX,
             .err = err ? err : &local};
    if (!o->data || !o->out)
        return rf_fail(err, RF_ERR_ARG, 0, "wanted a directory of data and one for %s",
                       "results");
    if (strlen(l.encoder) >= sizeof((rf_run *)0)->encoder)
        return rf_fail(err, RF_ERR_LIMIT, 0, "%.100s...: the encoder's name is too long",
                       l.encoder);
    rf_status st = start(&l);
    if (st == RF_OK)
        st = go_through(&l, only_tell);
    rf_material_close(&l.material);
    rf_plan_release(&l.plan);
    rf_runs_free(l.before, l.n_before);
    rf_estimate_release(&l.estimate);
    rf_team_free(l.team);
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
