/* test_pseudo_open.c - folds: what they hide, that hidden texts are never learnt from,
 * and their outcomes */
#include "ans/heads.h"
#include "base/rng.h"
#include "stages/fence_line.h"
#include "folds/pseudo_open.h"
#include "methods/methods.h"
#include "stages/train_settings.h"
#include "scratch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TINY GOLDEN_DIR "/tiny/encoder"
#define CLASSES 5
#define EACH 12
#define DEV_EACH 3

/* ---- Plans ------------------------------------------------------------------------- */

static size_t hidden_by(const rf_fold_plan *p, size_t fold)
{
    size_t n = 0;
    for (size_t c = 0; c < p->classes; c++)
        n += p->hidden[fold * p->classes + c];
    return n;
}

static void every_class_is_hidden_once(void **state)
{
    (void)state;
    for (size_t classes = 3; classes < 30; classes++) {
        rf_fold_plan p;
        assert_int_equal(rf_fold_plan_make(&p, classes, RF_TUNE_QUICK, classes, NULL),
                         RF_OK);
        assert_int_equal(p.folds, 3);
        for (size_t c = 0; c < classes; c++)
            assert_int_equal(
                p.hidden[c] + p.hidden[classes + c] + p.hidden[2 * classes + c], 1);
        for (size_t i = 0; i < 3; i++) {
            size_t n = hidden_by(&p, i);
            assert_true(n == classes / 3 || n == (classes + 2) / 3);
            assert_true(classes - n >= 2);
        }
        rf_fold_plan_release(&p);
    }
}

static void thorough_uses_two_partitions(void **state)
{
    (void)state;
    for (size_t classes = 3; classes < 12; classes++) {
        rf_fold_plan p;
        assert_int_equal(rf_fold_plan_make(&p, classes, RF_TUNE_THOROUGH, 7, NULL),
                         RF_OK);
        assert_int_equal(p.folds, classes == 3 ? 3 : 6); /* 3 classes have only one */
        bool differ =
            false; /* some two classes are hidden together in only one of them */
        for (size_t a = 0; a < classes && p.folds == 6; a++)
            for (size_t b = 0; b < a; b++) {
                bool together[2] = {false, false};
                for (size_t i = 0; i < 6; i++)
                    together[i / 3] |=
                        p.hidden[i * classes + a] && p.hidden[i * classes + b];
                differ |= together[0] != together[1];
            }
        assert_int_equal(differ, classes > 3);
        rf_fold_plan_release(&p);
    }
}

static void partitions_depend_on_the_seed(void **state)
{
    (void)state;
    rf_fold_plan a, b, c;
    assert_int_equal(rf_fold_plan_make(&a, 20, RF_TUNE_THOROUGH, 1, NULL), RF_OK);
    assert_int_equal(rf_fold_plan_make(&b, 20, RF_TUNE_THOROUGH, 1, NULL), RF_OK);
    assert_int_equal(rf_fold_plan_make(&c, 20, RF_TUNE_THOROUGH, 2, NULL), RF_OK);
    assert_memory_equal(a.hidden, b.hidden, 120 * sizeof *a.hidden);
    assert_memory_not_equal(a.hidden, c.hidden, 120 * sizeof *a.hidden);
    rf_fold_plan_release(&a);
    rf_fold_plan_release(&b);
    rf_fold_plan_release(&c);
    rf_error err;
    assert_int_equal(rf_fold_plan_make(&a, 2, RF_TUNE_QUICK, 0, &err), RF_ERR_ARG);
}

/* ---- A training whose rows are encoded --------------------------------------------- */

typedef struct bench {
    rf_training t;
    rf_error err;
    char text[CLASSES * (EACH + DEV_EACH)][64];
} bench;

/* The texts of class `odd` end in other words. */
static void add_rows(bench *b, rf_part *p, size_t each, size_t from, size_t odd)
{
    static const char *const words[CLASSES] = {"refund", "order", "hello", "cancel",
                                               "where"};
    assert_int_equal(rf_part_room(p, CLASSES * each, NULL), RF_OK);
    for (size_t i = 0; i < CLASSES * each; i++) {
        size_t c = i % CLASSES;
        char *text = b->text[from + i];
        snprintf(text, sizeof b->text[0], "please %s my %s %zu %s", words[c],
                 words[(c + i / CLASSES) % CLASSES], i / CLASSES,
                 c == odd ? "thank you" : "now");
        p->texts[p->n] = text;
        p->lens[p->n] = strlen(text);
        p->class_of[p->n++] = (uint32_t)c;
    }
}

static void bench_make(bench *b, size_t threads, size_t odd)
{
    static const char *const labels[CLASSES] = {"c0", "c1", "c2", "c3", "c4"};
    rf_train_options o = rf_train_options_default();
    o.threads = threads;
    *b = (bench){.t = {.o = o, .s = rf_settings_default()}};
    assert_int_equal(rf_settings_parse(&b->t.s,
                                       "epochs=3 batch=8 known_rate=0.01 "
                                       "encoder_rate=0.001 head_steps=10 "
                                       "head_negatives=16",
                                       NULL),
                     RF_OK);
    rf_training *t = &b->t;
    t->err = &b->err;
    t->model = rf_model_new(NULL);
    assert_non_null(t->model);
    assert_int_equal(rf_model_set_labels(t->model, labels, CLASSES, NULL), RF_OK);
    assert_int_equal(rf_model_use_encoder(t->model, TINY, NULL), RF_OK);
    assert_int_equal(rf_train_resolve(&t->o, &t->s, &t->model->encoder->config,
                                      CLASSES * EACH, CLASSES, NULL),
                     RF_OK);
    add_rows(b, &t->train, EACH, 0, odd);
    add_rows(b, &t->dev, DEV_EACH, CLASSES * EACH, odd);
    t->team = rf_team_new(threads, NULL);
    assert_non_null(t->team);
    assert_int_equal(rf_training_encode(t), RF_OK);
}

static void bench_release(bench *b)
{
    rf_training_release(&b->t);
    rf_team_free(b->t.team);
    rf_model_free(b->t.model);
}

/* Everything that a fold has learnt, and its answers. */
typedef struct learnt {
    float *block;
    size_t floats;
    rf_outcomes outcomes;
} learnt;

static void append(learnt *l, const float *x, size_t n)
{
    l->block = realloc(l->block, (l->floats + n) * sizeof *x);
    assert_non_null(l->block);
    memcpy(l->block + l->floats, x, n * sizeof *x);
    l->floats += n;
}

static learnt learn(bench *b, const rf_fold_plan *plan, size_t fold)
{
    learnt l = {0};
    rf_fold f;
    assert_int_equal(rf_fold_begin(&f, &b->t, plan, fold, NULL, NULL), RF_OK);
    assert_int_equal(rf_fold_try(&f, &f.t.s, &l.outcomes), RF_OK);
    const rf_model *m = f.t.model;
    rf_upper_layers now = {0};
    size_t layers = m->encoder->config.layers;
    assert_int_equal(rf_upper_layers_copy(&now, m->encoder, layers, NULL), RF_OK);
    const rf_config *c = &m->encoder->config;
    append(&l, now.block, layers * (4 * c->width * c->width + 2 * c->width * c->inner));
    append(&l, m->known.block, m->known.floats);
    append(&l, m->state.block, m->state.held * rf_head_floats(m->state.width));
    rf_upper_layers_release(&now);
    rf_fold_end(&f);
    return l;
}

static void learnt_release(learnt *l)
{
    free(l->block);
    rf_outcomes_release(&l->outcomes);
}

/* ---- Folds ------------------------------------------------------------------------- */

/* Changing the texts of a hidden class leaves the bits alone; of a visible class, it
 * does not. */
static void hidden_texts_are_never_learnt_from(void **state)
{
    (void)state;
    bench plain;
    rf_fold_plan plan;
    bench_make(&plain, 1, CLASSES);
    assert_int_equal(rf_fold_plan_make(&plan, CLASSES, RF_TUNE_QUICK, 3, NULL), RF_OK);
    for (size_t fold = 0; fold < plan.folds; fold++) {
        learnt want = learn(&plain, &plan, fold);
        for (size_t odd = 0; odd < CLASSES; odd++) {
            bench other;
            bench_make(&other, 1, odd);
            learnt got = learn(&other, &plan, fold);
            bool hidden = plan.hidden[fold * CLASSES + odd];
            assert_int_equal(got.floats, want.floats);
            assert_int_equal(
                memcmp(got.block, want.block, want.floats * sizeof *want.block) == 0,
                hidden);
            bool same_outcomes = memcmp(got.outcomes.row, want.outcomes.row,
                                        want.outcomes.n * sizeof *want.outcomes.row) == 0;
            assert_false(same_outcomes); /* the change does reach the answers */
            learnt_release(&got);
            bench_release(&other);
        }
        learnt_release(&want);
    }
    rf_fold_plan_release(&plan);
    bench_release(&plain);
}

static void threads_change_nothing(void **state)
{
    (void)state;
    bench one, three;
    rf_fold_plan plan;
    bench_make(&one, 1, CLASSES);
    bench_make(&three, 3, CLASSES);
    assert_int_equal(rf_fold_plan_make(&plan, CLASSES, RF_TUNE_QUICK, 0, NULL), RF_OK);
    learnt a = learn(&one, &plan, 0), b = learn(&three, &plan, 0);
    assert_int_equal(a.floats, b.floats);
    assert_memory_equal(a.block, b.block, a.floats * sizeof *a.block);
    assert_int_equal(a.outcomes.n, b.outcomes.n);
    for (size_t i = 0; i < a.outcomes.n; i++) {
        assert_int_equal(a.outcomes.row[i].truth, b.outcomes.row[i].truth);
        assert_memory_equal(a.outcomes.row[i].head, b.outcomes.row[i].head,
                            sizeof a.outcomes.row[i].head);
        assert_memory_equal(a.outcomes.row[i].margin, b.outcomes.row[i].margin,
                            sizeof a.outcomes.row[i].margin);
    }
    learnt_release(&a);
    learnt_release(&b);
    rf_fold_plan_release(&plan);
    bench_release(&one);
    bench_release(&three);
}

/* Compares rows and margins with the fold's model, queried directly. */
static void outcomes_match_the_model_of_the_fold(void **state)
{
    (void)state;
    bench b;
    rf_fold_plan plan;
    rf_fold f;
    rf_outcomes o;
    bench_make(&b, 2, CLASSES);
    assert_int_equal(rf_fold_plan_make(&plan, CLASSES, RF_TUNE_QUICK, 1, NULL), RF_OK);
    size_t n_hidden = hidden_by(&plan, 0), n_visible = CLASSES - n_hidden;
    assert_int_equal(rf_fold_begin(&f, &b.t, &plan, 0, NULL, NULL), RF_OK);
    assert_int_equal(f.t.model->classes, n_visible);
    rf_settings options = f.t.s;
    options.fence_reject = 0.0f; /* both are ignored */
    options.fence_offset = 9.0f;
    assert_int_equal(rf_fold_try(&f, &options, &o), RF_OK);
    assert_int_equal(o.n_hidden, n_hidden * (EACH + DEV_EACH));
    assert_int_equal(o.n, o.n_hidden + n_visible * DEV_EACH);
    float margins[CLASSES * (EACH + DEV_EACH)];
    uint32_t classes[CLASSES * (EACH + DEV_EACH)];
    size_t known = o.n - o.n_hidden;
    assert_int_equal(
        rf_fence_margins(f.t.model, f.t.dev.z, known, b.t.team, margins, classes, NULL),
        RF_OK);
    assert_int_equal(rf_fence_margins(f.t.model, f.hidden_z, o.n_hidden, b.t.team,
                                      margins + known, classes + known, NULL),
                     RF_OK);
    for (size_t i = 0; i < o.n; i++) {
        const rf_outcome *row = &o.row[i];
        assert_int_equal(row->hidden, i >= known);
        assert_int_equal(row->hidden, plan.hidden[row->truth]);
        assert_int_equal(row->head[0], f.visible[classes[i]]);
        assert_true(row->margin[0] == margins[i]);
        for (size_t k = 1; k < RF_OUTCOME_HEADS; k++) {
            assert_true(row->margin[k] <= row->margin[k - 1]);
            assert_int_equal(isinf(row->margin[k]) != 0, k >= n_visible);
        }
    }
    /* another blend and back gives the same */
    rf_outcomes other, again;
    options.blend = 1.0f;
    assert_int_equal(rf_fold_try(&f, &options, &other), RF_OK);
    options.blend = f.whole->s.blend;
    assert_int_equal(rf_fold_try(&f, &options, &again), RF_OK);
    assert_true(other.row[0].margin[0] != o.row[0].margin[0]);
    for (size_t i = 0; i < o.n; i++)
        assert_true(again.row[i].margin[0] == o.row[i].margin[0]);
    rf_outcomes_release(&o);
    rf_outcomes_release(&other);
    rf_outcomes_release(&again);
    rf_fold_end(&f);
    rf_fold_plan_release(&plan);
    bench_release(&b);
}

static int stop_at_half(void *user, double done)
{
    size_t *calls = user;
    ++*calls;
    return done >= 0.5;
}

static void a_fold_can_be_stopped(void **state)
{
    (void)state;
    bench b;
    rf_fold_plan plan;
    rf_fold f;
    size_t calls = 0;
    bench_make(&b, 1, CLASSES);
    assert_int_equal(rf_fold_plan_make(&plan, CLASSES, RF_TUNE_QUICK, 1, NULL), RF_OK);
    assert_int_equal(rf_fold_begin(&f, &b.t, &plan, 0, stop_at_half, &calls),
                     RF_ERR_STOPPED);
    assert_true(calls > 1);
    rf_fold_plan_release(&plan);
    bench_release(&b);
}

static void reasons_against_folds(void **state)
{
    (void)state;
    char why[RF_WHY];
    bench b;
    bench_make(&b, 1, CLASSES);
    assert_false(rf_folds_impossible(&b.t, why));
    size_t n = b.t.dev.n;
    b.t.dev.n = 0;
    assert_true(rf_folds_impossible(&b.t, why));
    assert_non_null(strstr(why, "no dev texts"));
    b.t.dev.n = n;
    b.t.model->classes = 2;
    assert_true(rf_folds_impossible(&b.t, why));
    assert_string_equal(why, "2 classes: hiding one would leave one");
    b.t.model->classes = CLASSES;
    const rf_method *method = b.t.model->method;
    b.t.model->method = rf_method_find("msp");
    assert_true(rf_folds_impossible(&b.t, why));
    assert_non_null(strstr(why, "the fences of method msp cannot be moved"));
    b.t.model->method = method;
    bench_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_class_is_hidden_once),
        cmocka_unit_test(thorough_uses_two_partitions),
        cmocka_unit_test(partitions_depend_on_the_seed),
        cmocka_unit_test(hidden_texts_are_never_learnt_from),
        cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(outcomes_match_the_model_of_the_fold),
        cmocka_unit_test(a_fold_can_be_stopped),
        cmocka_unit_test(reasons_against_folds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
