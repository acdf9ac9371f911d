/* loop.c - rf_lab_loop: rounds of review, labels and update, and what they lead to */
#include "lab/loop.h"

#include "answer/labelled.h"
#include "answer/metrics.h"
#include "base/clock.h"
#include "base/file.h"
#include "lab/lab_model.h"
#include "lab/oracle.h"
#include "lab/plan.h"
#include "lab/traffic.h"
#include "num/kernels.h"
#include "ringfence_improve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct lab_loop {
    rf_lab_options o;
    rf_lab_context context;
    rf_plan plan;          /* its runs are loops */
    rf_loop_point *before; /* measured by earlier calls */
    size_t n_before;
    rf_loop_done done;
    void *user;
    rf_error *err;
} lab_loop;

/* One of them. */
typedef struct looping {
    lab_loop *lab;
    const rf_dataset *train;
    rf_lab_trainer trainer;
    rf_traffic traffic;
    rf_oracle oracle;
    bool *learnt; /* [traffic.n] the model has it under its label */
    rf_model *model;
    rf_loop_point point; /* of the current round */
    rf_error *err;
} looping;

/* ---- Figures ----------------------------------------------------------------------- */

typedef struct answers {
    rf_evaluation e;     /* over the classes of the training file */
    size_t *class_of;    /* [classes of the model] there */
    const size_t *truth; /* [classes of the test file] there; RF_OPEN: none */
    const rf_dataset *test;
} answers;

static rf_status count_answer(void *user, size_t row, size_t truth, const rf_decision *d,
                              rf_error *err)
{
    (void)truth; /* among the classes of the model only */
    (void)err;
    answers *a = user;
    rf_evaluation_add(&a->e, a->truth[rf_dataset_class(a->test, row)],
                      d->class_index == RF_OPEN ? RF_OPEN : a->class_of[d->class_index]);
    return RF_OK;
}

static rf_status measure(const looping *l, const rf_model *model, rf_loop_figures *out)
{
    const rf_dataset *test = l->lab->context.set.data[RF_LAB_TEST];
    size_t known = rf_model_classes(model), labels = rf_dataset_classes(test);
    size_t *truth = calloc(labels + 1, sizeof *truth);
    answers a = {
        .class_of = calloc(known + 1, sizeof *a.class_of), .truth = truth, .test = test};
    rf_session *s = NULL;
    rf_status st = truth && a.class_of
                       ? rf_evaluation_init(&a.e, l->point.all_classes,
                                            rf_dataset_rows(test), l->err)
                       : rf_fail_nomem(l->err, labels * sizeof *truth, "classes");
    for (size_t c = 0; c < labels && st == RF_OK; c++)
        truth[c] = rf_lab_class(l->train, rf_dataset_label(test, c, NULL));
    for (size_t c = 0; c < known && st == RF_OK; c++)
        a.class_of[c] = rf_lab_class(l->train, rf_model_label(model, c));
    if (st == RF_OK) {
        s = rf_session_new(model, rf_team_size(l->lab->context.team), l->err);
        st = s ? rf_classify_labelled(s, test, count_answer, &a, l->err) : l->err->code;
    }
    if (st == RF_OK) {
        rf_evaluation_finish(&a.e);
        *out = (rf_loop_figures){a.e.accuracy, a.e.f1_known};
    }
    rf_session_free(s);
    rf_evaluation_release(&a.e);
    free(a.class_of);
    free(truth);
    return st;
}

/* ---- A round ----------------------------------------------------------------------- */

/* Reviews all texts that came and have no label, and labels groups. *enough: the budget
 * sufficed. */
static rf_status review(looping *l, bool *enough)
{
    size_t n = 0, came = l->point.texts;
    const char **texts = calloc(came + 1, sizeof *texts);
    size_t *lens = calloc(came + 1, sizeof *lens);
    uint32_t *number = calloc(came + 1, sizeof *number);
    rf_review_options o = rf_review_options_default();
    rf_status st = texts && lens && number
                       ? RF_OK
                       : rf_fail_nomem(l->err, came * sizeof *texts, "texts to review");
    o.threads = rf_team_size(l->lab->context.team);
    for (uint32_t i = 0; i < came && st == RF_OK; i++)
        if (l->oracle.label[i] == RF_NO_LABEL) {
            texts[n] = rf_dataset_text(l->train, l->traffic.row[i], &lens[n]);
            number[n++] = i;
        }
    rf_review *r =
        st == RF_OK ? rf_review_texts(l->model, texts, lens, n, &o, l->err) : NULL;
    if (r)
        *enough = rf_oracle_look(&l->oracle, r, number);
    else if (st == RF_OK)
        st = l->err->code;
    rf_review_free(r);
    free(texts);
    free(lens);
    free(number);
    return st;
}

/* Labels whose rows may be learnt: classes of the model, and those with enough rows. */
static bool *ready_labels(const looping *l)
{
    size_t classes = l->point.all_classes;
    size_t *rows = calloc(classes + 1, sizeof *rows);
    bool *ready = calloc(classes + 1, sizeof *ready);
    for (size_t i = 0; rows && i < l->point.texts; i++)
        if (l->oracle.label[i] != RF_NO_LABEL)
            rows[l->oracle.label[i]]++;
    for (size_t c = 0; rows && ready && c < classes; c++) {
        const char *label = rf_dataset_label(l->train, c, NULL);
        ready[c] = rows[c] >= RF_ORACLE_LEAST ||
                   rf_model_find(l->model, label, strlen(label)) != RF_OPEN;
    }
    if (!rows) {
        free(ready);
        ready = NULL;
    }
    free(rows);
    return ready;
}

/* Adds the labelled texts that can be learnt and are not, and marks them. */
static rf_status take_labelled(looping *l, rf_dataset *rows)
{
    bool *ready = ready_labels(l);
    rf_status st =
        ready ? RF_OK : rf_fail_nomem(l->err, l->point.all_classes, "labels of texts");
    for (size_t i = 0; i < l->point.texts && st == RF_OK; i++) {
        uint32_t label = l->oracle.label[i];
        if (l->learnt[i] || label == RF_NO_LABEL || !ready[label])
            continue;
        l->learnt[i] = true;
        l->point.rows++;
        l->point.wrong += label != l->traffic.truth[i];
        st = rf_lab_add_row(rows, l->train, l->traffic.row[i],
                            rf_dataset_label(l->train, label, NULL), l->err);
    }
    free(ready);
    return st;
}

static rf_status learn(looping *l)
{
    const rf_lab_context *c = &l->lab->context;
    rf_update_options o = rf_update_options_default();
    rf_dataset *rows = rf_dataset_new(l->err);
    rf_status st = rows ? take_labelled(l, rows) : RF_ERR_NOMEM;
    o.threads = rf_team_size(c->team);
    o.progress = c->progress;
    o.user = c->user;
    if (st == RF_OK && rf_dataset_rows(rows) > 0) {
        rf_model *next = rf_update(l->model, rows, &o, NULL, l->err);
        st = next ? RF_OK : l->err->code;
        if (next) {
            rf_model_free(l->model);
            l->model = next;
        }
    }
    rf_dataset_free(rows);
    return st;
}

static rf_status do_round(looping *l)
{
    rf_loop_point *p = &l->point;
    size_t named = l->oracle.named;
    bool enough = true;
    p->round++;
    p->texts = l->traffic.n - p->texts < p->batch ? l->traffic.n : p->texts + p->batch;
    double start = rf_clock_seconds();
    rf_status st = review(l, &enough);
    p->review_seconds = rf_clock_seconds() - start;
    start = rf_clock_seconds();
    if (st == RF_OK)
        st = learn(l);
    p->update_seconds = rf_clock_seconds() - start;
    p->labels = l->oracle.labels;
    p->named = l->oracle.named;
    p->skipped = l->oracle.skipped;
    p->classes = rf_model_classes(l->model);
    p->last = !enough || (p->texts == l->traffic.n && p->named == named);
    return st;
}

/* ---- Trainings --------------------------------------------------------------------- */

/* From the cache, or trained. */
static rf_status get_first(looping *l)
{
    char name[64], path[RF_PATH_MAX];
    const rf_lab_context *c = &l->lab->context;
    snprintf(name, sizeof name, "loop-%.16s.rf", l->trainer.hash);
    rf_status st = rf_path_join(path, c->cache, name, l->err);
    if (st != RF_OK)
        return st;
    if (rf_file_exists(path)) {
        l->model = rf_model_load(path, l->err);
        return l->model ? RF_OK : l->err->code;
    }
    double start = rf_clock_seconds();
    l->model = rf_lab_train(&l->trainer, l->traffic.first, NULL, l->err);
    l->point.train_seconds = rf_clock_seconds() - start;
    st = l->model ? rf_dir_make(c->cache, l->err) : l->err->code;
    return st == RF_OK ? rf_model_save(l->model, path, NULL, l->err) : st;
}

/* The first rows and those learnt since, at once. */
static rf_status train_again(looping *l)
{
    rf_dataset *rows = l->traffic.first; /* not needed any more */
    rf_status st = RF_OK;
    for (size_t i = 0; i < l->traffic.n && st == RF_OK; i++)
        if (l->learnt[i])
            st = rf_lab_add_row(rows, l->train, l->traffic.row[i],
                                rf_dataset_label(l->train, l->oracle.label[i], NULL),
                                l->err);
    if (st != RF_OK)
        return st;
    double start = rf_clock_seconds();
    rf_model *m = rf_lab_train(&l->trainer, rows, NULL, l->err);
    l->point.train_seconds = rf_clock_seconds() - start;
    st = m ? measure(l, m, &l->point.trained) : l->err->code;
    rf_model_free(m);
    return st;
}

/* ---- A loop ------------------------------------------------------------------------ */

static rf_status tell(const lab_loop *lab, const rf_loop_point *point)
{
    return !lab->done || lab->done(lab->user, point) == 0
               ? RF_OK
               : rf_fail(lab->err, RF_ERR_STOPPED, 0, "the lab was stopped");
}

/* Measures the current round, unless an earlier call did, and tells about it. */
static rf_status finish_round(looping *l)
{
    lab_loop *lab = l->lab;
    rf_loop_point *p = &l->point;
    const rf_loop_point *done = rf_loop_points_find(lab->before, lab->n_before, p);
    rf_status st = RF_OK;
    if (done) {
        p->first_f1 = done->first_f1;
        return tell(lab, done);
    }
    p->trained = (rf_loop_figures){-1.0, -1.0};
    st = measure(l, l->model, &p->updated);
    if (st == RF_OK && p->round == 0)
        p->first_f1 = p->updated.f1;
    if (st == RF_OK && p->last)
        st = train_again(l);
    if (st == RF_OK)
        st = rf_loop_point_append(lab->o.out, p, l->err);
    if (st == RF_OK)
        st = tell(lab, p);
    p->train_seconds = 0.0;
    return st;
}

static rf_status prepare(looping *l, double ratio)
{
    rf_dataset *const *data = l->lab->context.set.data;
    const rf_split_options so = {.ratio = ratio, .seed = l->point.seed};
    char what[32 + RF_RATIO_TEXT], text[RF_RATIO_TEXT];
    rf_split known;
    snprintf(what, sizeof what, "loop %s %d", rf_ratio_text(ratio, text),
             RF_TRAFFIC_KNOWN);
    rf_status st =
        rf_lab_trainer_init(&l->trainer, &l->lab->context,
                            rf_method_find(l->point.method), l->point.seed, what, l->err);
    if (st != RF_OK)
        return st;
    memcpy(l->point.asked, l->trainer.asked, sizeof l->point.asked);
    st = rf_split_make(&known, l->train, NULL, data[RF_LAB_TEST], &so, l->err);
    if (st != RF_OK)
        return st;
    l->point.first_classes = l->point.classes = known.classes;
    st = rf_traffic_make(&l->traffic, l->train, &known, l->point.seed, l->err);
    rf_split_release(&known);
    if (st == RF_OK)
        st = rf_oracle_init(&l->oracle, l->traffic.truth, l->traffic.n,
                            l->point.budget ? l->point.budget : SIZE_MAX, l->err);
    l->learnt = calloc(l->traffic.n + 1, sizeof *l->learnt);
    if (st == RF_OK && !l->learnt)
        st = rf_fail_nomem(l->err, l->traffic.n, "traffic");
    return st;
}

static rf_status do_rounds(looping *l, double ratio)
{
    rf_status st = prepare(l, ratio);
    if (st == RF_OK)
        st = get_first(l);
    if (st == RF_OK)
        st = finish_round(l);
    while (st == RF_OK && !l->point.last) {
        st = do_round(l);
        if (st == RF_OK)
            st = finish_round(l);
    }
    rf_model_free(l->model);
    rf_oracle_release(&l->oracle);
    rf_traffic_release(&l->traffic);
    free(l->learnt);
    return st;
}

/* Tells about the rounds of earlier calls if the loop was done to its end. */
static rf_status tell_finished(const lab_loop *lab, const rf_loop_point *like,
                               const char *asked, bool *finished)
{
    rf_status st = RF_OK;
    *finished = false;
    for (size_t i = 0; i < lab->n_before; i++) {
        const rf_loop_point *p = &lab->before[i];
        if (!rf_loop_point_same(p, like))
            continue;
        *finished |= p->last;
        if (strcmp(p->asked, asked) != 0)
            return rf_fail(lab->err, RF_ERR_ARG, 0,
                           "%s/%s has the loop of %s %g seed %llu with other settings or "
                           "other data; wanted another directory for results",
                           lab->o.out, RF_LOOP_FILE, p->set, p->ratio,
                           (unsigned long long)p->seed);
    }
    for (size_t i = 0; i < lab->n_before && *finished && st == RF_OK; i++)
        if (rf_loop_point_same(&lab->before[i], like))
            st = tell(lab, &lab->before[i]);
    return st;
}

static rf_status do_loop(lab_loop *lab, const rf_planned *p)
{
    char asked[RF_SHA256_HEX];
    bool finished = false;
    looping l = {.lab = lab, .err = lab->err};
    rf_loop_point *point = &l.point;
    *point = (rf_loop_point){.ratio = p->ratio,
                             .seed = p->seed,
                             .batch = lab->o.batch,
                             .budget = lab->o.labels,
                             .threads = rf_team_size(lab->context.team)};
    snprintf(point->set, sizeof point->set, "%s", lab->plan.sets[p->set]);
    snprintf(point->method, sizeof point->method, "%s", p->method->name);
    snprintf(point->encoder, sizeof point->encoder, "%s", lab->context.encoder);
    snprintf(point->version, sizeof point->version, "%s", rf_version());
    snprintf(point->kernels, sizeof point->kernels, "%s", rf_kernels_name());
    rf_status st = rf_lab_context_use(&lab->context, point->set, lab->err);
    if (st == RF_OK)
        st = rf_lab_asked(&lab->context, p->method, p->seed, "", asked, lab->err);
    if (st == RF_OK)
        st = tell_finished(lab, point, asked, &finished);
    if (st != RF_OK || finished)
        return st;
    l.train = lab->context.set.data[RF_LAB_TRAIN];
    point->all_classes = rf_dataset_classes(l.train);
    return do_rounds(&l, p->ratio);
}

rf_status rf_lab_loop(const rf_lab_options *options, rf_train_progress progress,
                      rf_loop_done done, void *user, rf_error *err)
{
    rf_error local = {0};
    lab_loop lab = {.o = *options, .done = done, .user = user, .err = err ? err : &local};
    lab.o.methods = "ans"; /* alone can be updated */
    lab.o.variants = lab.o.open_texts = NULL;
    rf_status st = lab.o.batch > 0 ? rf_plan_make(&lab.plan, &lab.o, lab.err)
                                   : rf_fail(lab.err, RF_ERR_ARG, 0,
                                             "batches of 0 texts, wanted at least 1");
    if (st == RF_OK)
        st = rf_lab_context_open(&lab.context, &lab.o, progress, user, lab.err);
    if (st == RF_OK)
        st = rf_loop_points_load(lab.o.out, &lab.before, &lab.n_before, lab.err);
    for (size_t i = 0; i < lab.plan.n && st == RF_OK; i++)
        st = do_loop(&lab, &lab.plan.runs[i]);
    rf_lab_context_close(&lab.context);
    rf_plan_release(&lab.plan);
    free(lab.before);
    return st;
}
