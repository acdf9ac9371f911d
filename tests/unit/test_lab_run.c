/*
 * The lab as a whole with the tiny encoder: every method's figures equal those of
 * training on the same rows, saving, loading and evaluating; sharing, stopping, resuming
 * and the number of threads change nothing; and what it refuses.
 */
#include "ans/heads.h"
#include "base/file.h"
#include "base/memory.h"
#include "lab/head_view.h"
#include "lab/results.h"
#include "lab/split.h"
#include "methods/methods.h"

#include "lab_toy.h"
#include "scratch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void run_lab(const rf_lab_options *o)
{
    rf_error err = {0};
    if (rf_lab_run(o, NULL, NULL, &err) != RF_OK)
        fail_msg("%s", err.msg);
}

/* ---- Figures ----------------------------------------------------------------------- */

/* Trains on the split's rows as a user would, by way of a file. */
static void train_and_evaluate(const place *p, const rf_run *run,
                               const rf_lab_options *lab, rf_evaluation *out)
{
    rf_error err = {0};
    char path[RF_PATH_MAX];
    rf_dataset *train = read_part(p, "train.tsv"), *dev = read_part(p, "dev.tsv");
    rf_dataset *test = read_part(p, "test.tsv");
    rf_dataset *open = rf_dataset_read_texts(p->open, &err);
    rf_split split;
    const rf_split_options so = {.ratio = run->ratio, .seed = run->seed};
    assert_int_equal(rf_split_make(&split, train, dev, test, &so, &err), RF_OK);
    rf_dataset *own = choose(train, &split.train), *own_dev = choose(dev, &split.dev);

    rf_train_options o = rf_train_options_default();
    o.settings = lab->settings;
    o.encoder = TINY;
    o.method = run->method;
    o.seed = run->seed;
    o.threads = 2;
    o.open_texts = strcmp(run->method, "selfsup") == 0 ? open : NULL;
    rf_model *made = rf_train(own, own_dev, &o, &err);
    if (!made)
        fail_msg("%s: %s", run->method, err.msg);
    scratch_path(path, p->dir, "model.rf");
    assert_int_equal(rf_model_save(made, path, NULL, &err), RF_OK);
    rf_model *m = rf_model_load(path, &err);
    if (!m)
        fail_msg("%s: %s", run->method, err.msg);
    rf_session *s = rf_session_new(m, 2, &err);
    assert_non_null(s);
    assert_int_equal(rf_evaluate(s, test, out, &err), RF_OK);
    rf_session_free(s);
    rf_model_free(m);
    rf_model_free(made);
    rf_split_release(&split);
    rf_dataset *all[] = {train, dev, test, open, own, own_dev};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        rf_dataset_free(all[i]);
}

/* The number of different stages 1; each is trained once. */
static size_t objectives(void)
{
    const rf_method *const *all = rf_methods();
    size_t n = 0;
    for (size_t i = 0, k; all[i]; i++) {
        for (k = 0; strcmp(rf_method_objective(all[k]), rf_method_objective(all[i])) != 0;
             k++)
            ;
        n += k == i;
    }
    return n;
}

/* The best fence is no worse than the method's own. */
static void check_ranking(const rf_run *run)
{
    if (!(run->best_f1 >= run->f1 - 1e-9 && run->best_accuracy >= run->accuracy - 1e-9 &&
          run->closed >= 0.0 && run->closed <= 100.0 && run->auroc >= 0.0 &&
          run->auroc <= 100.0 && run->best_f1 <= 100.0 && run->best_accuracy <= 100.0))
        fail_msg("%s: closed %g, AUROC %g, F1 %g of %g, accuracy %g of %g", run->method,
                 run->closed, run->auroc, run->f1, run->best_f1, run->accuracy,
                 run->best_accuracy);
}

/* Whether folds chose the encoder as it came, so that stage 1 is not that of others. */
static bool chose_no_tuning(const rf_run *run)
{
    json_t *known = json_object_get(run->settings, "known");
    return json_number_value(json_object_get(known, "blend")) == 0.0;
}

static void every_method_as_by_train_and_eval(void **state)
{
    (void)state;
    place p;
    rf_run *runs;
    size_t n, methods = 0, shared = 0, not_tuned = 0;
    rf_error err = {0};
    place_make(&p);
    rf_lab_options o = quick(&p);
    run_lab(&o);
    assert_int_equal(rf_runs_load(p.out, &runs, &n, &err), RF_OK);
    while (rf_method_name(methods, NULL, NULL))
        methods++;
    assert_int_equal(n, methods);
    for (size_t i = 0; i < n; i++) {
        rf_evaluation e = {0};
        train_and_evaluate(&p, &runs[i], &o, &e);
        if (fabs(e.accuracy - runs[i].accuracy) > 1e-9 || fabs(e.f1 - runs[i].f1) > 1e-9)
            fail_msg("%s: lab %.4f %.4f, train and evaluate %.4f %.4f", runs[i].method,
                     runs[i].accuracy, runs[i].f1, e.accuracy, e.f1);
        assert_true(fabs(e.f1_open - runs[i].f1_open) < 1e-9);
        check_ranking(&runs[i]);
        assert_int_equal(runs[i].test_rows, CLASSES * 6);
        assert_int_equal(runs[i].known_classes, 3);
        shared += runs[i].shared_known;
        not_tuned += chose_no_tuning(&runs[i]);
        rf_evaluation_release(&e);
    }
    assert_int_equal(shared, methods - objectives() - not_tuned);
    rf_runs_free(runs, n);
    scratch_remove(p.dir);
}

/* ---- Interruptions, threads -------------------------------------------------------- */

typedef struct stopper {
    size_t after, seen, finished, before;
} stopper;

static int stop(void *user, const rf_lab_event *e)
{
    stopper *s = user;
    s->finished += e->finished;
    s->before += e->before;
    return s->seen++ >= s->after;
}

static bool same_figures(const rf_run *a, const rf_run *b)
{
    return rf_run_compare(a, b) == 0 && a->accuracy == b->accuracy && a->f1 == b->f1 &&
           a->f1_known == b->f1_known && a->f1_open == b->f1_open &&
           a->closed == b->closed && a->auroc == b->auroc && a->best_f1 == b->best_f1 &&
           a->best_accuracy == b->best_accuracy &&
           json_equal(a->confusions, b->confusions);
}

/* Stopped at many places, each time by its progress, also inside a training. */
static void stopped_and_resumed(void **state)
{
    (void)state;
    place p, q;
    rf_run *a, *b;
    size_t n, m, stops = 0;
    rf_error err = {0};
    place_make(&p);
    place_make(&q);
    rf_lab_options o = quick(&p), other = quick(&q);
    o.methods = other.methods = "msp,ans,doc";
    o.seeds = other.seeds = "0-1";
    other.threads = 3;
    run_lab(&o);
    for (stopper s = {.after = 1};; s = (stopper){.after = s.after + 9}) {
        rf_status st = rf_lab_run(&other, stop, &s, &err);
        if (st == RF_OK)
            break;
        assert_error(&err, RF_ERR_STOPPED, "stopped");
        assert_true(++stops < 100);
    }
    assert_true(stops > 2);
    assert_int_equal(rf_runs_load(p.out, &a, &n, &err), RF_OK);
    assert_int_equal(rf_runs_load(q.out, &b, &m, &err), RF_OK);
    assert_int_equal(n, 6);
    assert_int_equal(m, 6);
    for (size_t i = 0; i < n; i++)
        assert_true(same_figures(&a[i], rf_runs_find(b, m, &a[i])));
    rf_runs_free(a, n);
    rf_runs_free(b, m);

    stopper all = {.after = SIZE_MAX}; /* nothing is done again */
    assert_int_equal(rf_lab_run(&o, stop, &all, &err), RF_OK);
    assert_int_equal(all.before, 6);
    assert_int_equal(all.finished, 0);
    scratch_remove(p.dir);
    scratch_remove(q.dir);
}

static void plan_reports_and_runs_nothing(void **state)
{
    (void)state;
    place p;
    rf_error err = {0};
    place_make(&p);
    rf_lab_options o = quick(&p);
    o.variants = "radius=1,2 ablation=baseline,ascent rows=3";
    o.methods = "ans";
    stopper s = {.after = SIZE_MAX};
    assert_int_equal(rf_lab_plan(&o, stop, &s, &err), RF_OK);
    assert_int_equal(s.seen, 5);
    assert_int_equal(s.finished + s.before, 0);
    assert_false(rf_file_exists(p.out));
    scratch_remove(p.dir);
}

/* What has the name of a finished run but was asked for otherwise is not that run. */
static void other_settings_are_refused(void **state)
{
    (void)state;
    place p;
    rf_error err = {0};
    place_make(&p);
    rf_lab_options o = quick(&p);
    o.methods = "lof,selfsup";
    run_lab(&o);
    rf_lab_options other = o;
    other.methods = "lof,lof"; /* twice is once */
    run_lab(&other);
    other.settings = QUICK "neighbours=4";
    assert_int_equal(rf_lab_run(&other, NULL, NULL, &err), RF_ERR_ARG);
    assert_error(&err, RF_ERR_ARG, "runs.jsonl", "lof", "other settings");
    other = o;
    other.settings = QUICK "epochs=2";
    assert_int_equal(rf_lab_plan(&other, NULL, NULL, &err), RF_ERR_ARG);
    scratch_write(p.dir, "open.txt", "another text\n", 13);
    assert_int_equal(rf_lab_run(&o, NULL, NULL, &err), RF_ERR_ARG);
    assert_error(&err, RF_ERR_ARG, "selfsup");
    scratch_remove(p.dir);
}

static int hear(void *user, const rf_lab_event *e)
{
    size_t *failed = user;
    *failed += e->error != NULL;
    return 0;
}

/* One that diverges does not keep the others from being done. */
static void a_failing_run_is_skipped(void **state)
{
    (void)state;
    place p;
    rf_run *runs;
    size_t n, failed = 0;
    rf_error err = {0};
    place_make(&p);
    rf_lab_options o = quick(&p);
    o.methods = "ans,msp";
    o.variants = "lambda=1e6 classes=2,99"; /* of 99 classes there are not enough */
    o.settings = QUICK "head_rate=1 head_steps=40";
    rf_status st = rf_lab_run(&o, hear, &failed, &err);
    assert_int_equal(rf_runs_load(p.out, &runs, &n, &err), RF_OK);
    assert_int_equal(n + failed, 4);
    assert_int_equal(st, failed ? RF_ERR_NUMERIC : RF_OK);
    rf_runs_free(runs, n);
    scratch_remove(p.dir);
}

static void variants_change_the_run(void **state)
{
    (void)state;
    place p;
    rf_run *runs;
    size_t n;
    rf_error err = {0};
    place_make(&p);
    rf_lab_options o = quick(&p);
    o.methods = "heads,ovr";
    run_lab(&o);
    o.methods = "heads";
    o.variants = "ablation=baseline rows=3 classes=2";
    run_lab(&o);
    assert_int_equal(rf_runs_load(p.out, &runs, &n, &err), RF_OK);
    assert_int_equal(n, 5);
    /* heads, ovr, then the variants; heads without negatives are ovr */
    assert_true(runs[2].accuracy == runs[1].accuracy && runs[2].f1 == runs[1].f1);
    assert_string_equal(runs[2].variant, "ablation=baseline");
    assert_int_equal(runs[3].train_rows, 9);
    assert_int_equal(runs[4].known_classes, 2);
    rf_runs_free(runs, n);
    scratch_remove(p.dir);
}

/* With uneven rows there are no dev rows, and equal numbers of rows do not make two draws
 * share a stage 1. */
static void uneven_rows_are_runs_of_their_own(void **state)
{
    (void)state;
    place p;
    rf_run *runs;
    size_t n;
    rf_error err = {0};
    place_make(&p);
    rf_lab_options o = quick(&p);
    o.methods = "nearest-text,ans";
    o.variants = "rows=4,lognormal:4:0,lognormal:6:0.9";
    run_lab(&o);
    assert_int_equal(rf_runs_load(p.out, &runs, &n, &err), RF_OK);
    assert_int_equal(n, 6);
    for (size_t i = 0; i < n; i++) {
        bool even = strcmp(runs[i].variant, "rows=4") == 0;
        assert_int_equal(runs[i].dev_rows, even ? 12 : 0);
        assert_int_equal(runs[i].test_rows, CLASSES * 6);
        assert_int_equal(runs[i].shared_known, i >= 3 && !chose_no_tuning(&runs[i]));
        if (i % 3 == 1)
            assert_int_equal(runs[i].train_rows, runs[i - 1].train_rows);
    }
    assert_string_equal(runs[2].variant, "rows=lognormal:6:0.9");
    rf_runs_free(runs, n);
    o.variants = "rows=lognormal:4:0.9 rows=lognormal:6:0.9";
    stopper s = {.after = SIZE_MAX};
    assert_int_equal(rf_lab_plan(&o, stop, &s, &err), RF_OK);
    assert_int_equal(s.before, 2);
    scratch_remove(p.dir);
}

/* ---- Views of heads ---------------------------------------------------------------- */

/* The margins in a view are those of the model's head. */
static void view_has_the_margins_of_the_head(void **state)
{
    (void)state;
    place p;
    rf_lab_context context;
    rf_error err = {0};
    place_make(&p);
    rf_lab_options o = quick(&p);
    o.settings = QUICK "ascent_steps=3";
    rf_experiment t = {.ratio = 0.5, .method = rf_method_find("heads"), .variant = ""};
    assert_int_equal(rf_lab_context_open(&context, &o, NULL, NULL, &err), RF_OK);
    assert_int_equal(rf_lab_context_use(&context, "toy", &err), RF_OK);
    assert_int_equal(rf_experiment_begin(&context, &t, &err), RF_OK);
    rf_model *m = rf_experiment_fit(&context, &t, &err);
    assert_non_null(m);
    for (size_t c = 0; c < t.split.classes; c++) {
        rf_head_view q;
        size_t kinds[RF_VIEW_KINDS] = {0};
        float *scratch = rf_floats_new(RF_SCORE_SCRATCH), margins[3];
        assert_non_null(scratch);
        assert_int_equal(rf_head_view_make(&q, &t, m, c, 100, &err), RF_OK);
        assert_string_equal(q.label, m->labels[c]);
        for (size_t i = 0; i < q.n; i++) {
            kinds[q.kind[i]]++;
            if (q.kind[i] == RF_VIEW_SYNTHETIC)
                continue;
            const float *z = t.stage1.z[RF_LAB_TEST] + q.row[i] * t.stage1.width;
            rf_heads_score(&m->state, z, 1, c, c + 1, margins, scratch);
            assert_true(margins[c] == q.margin[i]);
        }
        assert_int_equal(kinds[RF_VIEW_OWN], 6);
        assert_int_equal(kinds[RF_VIEW_OTHER], 12);
        assert_int_equal(kinds[RF_VIEW_OPEN], 18);
        assert_int_equal(kinds[RF_VIEW_SYNTHETIC], 14);
        rf_head_view_release(&q);
        free(scratch);
    }
    rf_model_free(m);
    rf_experiment_end(&t);
    rf_lab_context_close(&context);
    scratch_remove(p.dir);
}

/* ---- What it refuses --------------------------------------------------------------- */

static void bad_options_are_refused(void **state)
{
    (void)state;
    place p;
    rf_error err = {0};
    place_make(&p);
    const rf_lab_options good = quick(&p);
    rf_lab_options o = good;
#define REFUSES(change, code, ...)                                                       \
    do {                                                                                 \
        o = good;                                                                        \
        change;                                                                          \
        assert_int_equal(rf_lab_run(&o, NULL, NULL, &err), code);                        \
        assert_error(&err, code, __VA_ARGS__);                                           \
    } while (0)
    REFUSES(o.sets = "nowhere", RF_ERR_MISSING, "nowhere", "train");
    REFUSES(o.sets = "../x", RF_ERR_ARG, "../x");
    REFUSES(o.sets = "", RF_ERR_ARG, "no sets");
    REFUSES(o.ratios = "0.5,2", RF_ERR_ARG, "\"2\"", "at most 1");
    REFUSES(o.ratios = "nan", RF_ERR_ARG, "nan");
    REFUSES(o.seeds = "3-1", RF_ERR_ARG, "3-1");
    REFUSES(o.seeds = "-1", RF_ERR_ARG, "-1");
    REFUSES(o.seeds = "1x", RF_ERR_ARG, "1x");
    REFUSES(o.methods = "ans,magic", RF_ERR_ARG, "magic");
    REFUSES(o.variants = "radius", RF_ERR_ARG, "radius");
    REFUSES(o.variants = "radius=wide", RF_ERR_ARG, "radius=wide");
    REFUSES(o.variants = "radius=0", RF_ERR_ARG, "radius=0");
    REFUSES(o.variants = "gamma=0.5", RF_ERR_ARG, "gamma is 0.5, wanted 1 to");
    REFUSES(o.variants = "train_layers=1", RF_ERR_ARG, "--train-layers");
    REFUSES(o.settings = "epoch=3", RF_ERR_ARG, "no setting \"epoch\"");
    REFUSES(o.variants = "rows=0", RF_ERR_ARG, "rows=0");
    REFUSES(o.variants = "rows=lognormal:0:1", RF_ERR_ARG, "rows=lognormal:0:1");
    REFUSES(o.variants = "rows=lognormal:10", RF_ERR_ARG, "lognormal:MEDIAN:SPREAD");
    REFUSES(o.variants = "rows=lognormal:10:-1", RF_ERR_ARG, "lognormal:10:-1");
    REFUSES(o.variants = "rows=lognormal:10:nan", RF_ERR_ARG, "lognormal:10:nan");
    REFUSES(o.variants = "ablation=all", RF_ERR_ARG, "ablation=all");
    REFUSES(o.data = NULL, RF_ERR_ARG, "directory");
    REFUSES((o.open_texts = NULL, o.methods = "selfsup"), RF_ERR_ARG, "selfsup");
    REFUSES(o.encoder = "nothing-of-that-name", RF_ERR_MISSING, "nothing-of-that-name");
#undef REFUSES
    scratch_remove(p.dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_method_as_by_train_and_eval),
        cmocka_unit_test(stopped_and_resumed),
        cmocka_unit_test(plan_reports_and_runs_nothing),
        cmocka_unit_test(other_settings_are_refused),
        cmocka_unit_test(a_failing_run_is_skipped),
        cmocka_unit_test(variants_change_the_run),
        cmocka_unit_test(uneven_rows_are_runs_of_their_own),
        cmocka_unit_test(view_has_the_margins_of_the_head),
        cmocka_unit_test(bad_options_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
