/*
 * test_cross_fit.c - folds that hide classes and hold out rows: the plan, that nothing
 * leaks, the whole run
 */
#include "base/rng.h"
#include "folds/cross_fit.h"
#include "stages/fence_line.h"
#include "stages/train_settings.h"
#include "methods/methods.h"
#include "scratch.h"
#include "training_rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TINY GOLDEN_DIR "/tiny/encoder"
#define MOST_ROWS 125 /* of a class that a cross-fit uses */

/* ---- The plan ---------------------------------------------------------------------- */

static void check_plan(const rows *r, const rf_fold_plan *p)
{
    size_t classes = r->t.model->classes, n = r->t.train.n - r->t.train.n_open;
    size_t fewest = classes, largest = 0;
    assert_int_equal(p->folds, classes < 5 ? classes : 5);
    assert_int_equal(p->classes, classes);
    assert_true(p->effort > 0.0 && p->effort < 1.0);
    for (size_t f = 0; f < p->folds; f++) {
        size_t hidden = 0;
        for (size_t c = 0; c < classes; c++)
            hidden += p->hidden[f * classes + c];
        fewest = hidden < fewest ? hidden : fewest;
        largest = hidden > largest ? hidden : largest;
        assert_true(hidden > 0 && classes - hidden >= 2);
    }
    assert_true(largest - fewest <= 1);
    size_t open[RF_CROSS_FOLDS] = {0};
    for (size_t i = n; i < r->t.train.n; i++) {
        assert_true(p->row_fold[i] < p->folds);
        open[p->row_fold[i]]++;
    }
    for (size_t f = 0; f < p->folds; f++)
        assert_true(open[f] == r->t.train.n_open / p->folds ||
                    open[f] == r->t.train.n_open / p->folds + 1);
    for (size_t c = 0; c < classes; c++) {
        size_t times = 0, held[RF_CROSS_FOLDS] = {0}, unused = 0, always = 0;
        for (size_t f = 0; f < p->folds; f++)
            times += p->hidden[f * classes + c];
        assert_int_equal(times, 1);
        for (size_t i = 0; i < n; i++) {
            if (r->class_of[i] != c)
                continue;
            if (p->row_fold[i] < p->folds)
                held[p->row_fold[i]]++;
            else if (p->row_fold[i] == RF_ROW_UNUSED)
                unused++;
            else
                always++;
        }
        size_t used = r->count[c] < MOST_ROWS ? r->count[c] : MOST_ROWS;
        assert_int_equal(unused, r->count[c] - used);
        assert_int_equal(always, r->count[c] == 1);
        for (size_t f = 0; f < p->folds && r->count[c] > 1; f++) {
            assert_true(held[f] == used / p->folds || held[f] == used / p->folds + 1);
            assert_true(held[f] < used); /* something is left to learn from */
        }
    }
}

static void plans_hide_and_hold_out_once(void **state)
{
    (void)state;
    rf_rng rng = rf_rng_open(1);
    for (size_t classes = 3; classes <= 40; classes += 1 + classes / 6)
        for (size_t round = 0; round < 4; round++) {
            size_t sizes[40];
            rows r;
            rf_fold_plan p;
            for (size_t c = 0; c < classes; c++)
                sizes[c] = 1 + rf_rng_below(&rng, round == 3 ? 40 : 3 + 5 * round);
            sizes[0] = 2;
            sizes[1] = 1;
            sizes[2] = round == 0 ? 124 : round == 1 ? 125 : round == 2 ? 126 : 300;
            rows_make(&r, sizes, classes, round * 7, classes);
            assert_int_equal(rf_fold_plan_cross(&p, &r.t, NULL), RF_OK);
            check_plan(&r, &p);
            rf_fold_plan_release(&p);
            rf_fold_plan_release(&p);
            rows_release(&r);
        }
}

static void plans_depend_on_the_seed(void **state)
{
    (void)state;
    const size_t sizes[] = {40, 20, 30, 2, 5, 9, 130};
    rows a, b;
    rf_fold_plan p, q, other;
    rows_make(&a, sizes, 7, 3, 8);
    rows_make(&b, sizes, 7, 3, 9);
    size_t n = a.t.train.n - 3;
    assert_int_equal(rf_fold_plan_cross(&p, &a.t, NULL), RF_OK);
    assert_int_equal(rf_fold_plan_cross(&q, &a.t, NULL), RF_OK);
    assert_int_equal(rf_fold_plan_cross(&other, &b.t, NULL), RF_OK);
    assert_memory_equal(p.hidden, q.hidden, p.folds * 7 * sizeof *p.hidden);
    assert_memory_equal(p.row_fold, q.row_fold, n + 3);
    assert_memory_not_equal(p.hidden, other.hidden, p.folds * 7 * sizeof *p.hidden);
    assert_memory_not_equal(p.row_fold, other.row_fold, n);
    rf_fold_plan_release(&p);
    rf_fold_plan_release(&q);
    rf_fold_plan_release(&other);
    rows_release(&a);
    rows_release(&b);
}

/* Rows in clumps: features are given, as of an encoder without live layers. */
static void texts_that_are_alike_are_held_out_together(void **state)
{
    (void)state;
    enum { CLUMPS = 5, EACH = 4, SIZE = CLUMPS * EACH };
    const size_t sizes[] = {SIZE, 7, 2, 1, 130};
    rows r;
    rf_fold_plan before, p;
    rows_make(&r, sizes, 5, 4, 3);
    r.t.team = rf_team_new(2, NULL);
    assert_int_equal(rf_model_use_encoder(r.t.model, TINY, NULL), RF_OK);
    size_t n = r.t.train.n, width = r.t.model->encoder->config.width, seen = 0;
    rf_activations *a = &r.t.train.a;
    *a = (rf_activations){.n_texts = n, .width = width, .n_tokens = n, .longest = 1};
    a->layer = r.t.model->encoder->config.layers;
    a->offsets = calloc(n + 1, sizeof *a->offsets);
    a->states = calloc(n * width, sizeof *a->states);
    assert_true(a->offsets && a->states && width > CLUMPS);
    rf_rng rng = rf_rng_open(4);
    size_t clump_of[2000];
    for (size_t i = 0; i < n; i++) {
        a->offsets[i + 1] = i + 1;
        clump_of[i] = r.class_of[i] == 0 ? seen++ % CLUMPS : 0;
        a->states[i * width + clump_of[i]] = 1.0f;
        for (size_t j = 0; j < width; j++)
            a->states[i * width + j] += 0.02f * rf_rng_uniform(&rng);
    }
    assert_int_equal(rf_fold_plan_cross(&before, &r.t, NULL), RF_OK);
    assert_int_equal(rf_fold_plan_cross(&p, &r.t, NULL), RF_OK);
    assert_int_equal(rf_fold_plan_chain(&p, &r.t, NULL), RF_OK);
    check_plan(&r, &p); /* as even as before */
    bool apart = false;
    for (size_t i = 0; i < n; i++) {
        if (before.row_fold[i] >= before.folds || r.class_of[i] == 5)
            assert_int_equal(p.row_fold[i], before.row_fold[i]);
        for (size_t k = 0; k < i && r.class_of[i] == 0; k++)
            if (r.class_of[k] == 0) {
                assert_int_equal(p.row_fold[i] == p.row_fold[k],
                                 clump_of[i] == clump_of[k]);
                apart |= clump_of[i] == clump_of[k] &&
                         before.row_fold[i] != before.row_fold[k];
            }
    }
    assert_true(apart); /* without the chain they were not together */
    rf_fold_plan_release(&before);
    rf_fold_plan_release(&p);
    rf_activations_release(a);
    rf_team_free(r.t.team);
    rows_release(&r);
}

/* ---- A training whose rows are encoded --------------------------------------------- */

#define CLASSES 6
#define KNOWN (130 + 12 + 2 + 1 + 9 + 55)
#define OPEN 13 /* texts of no class, at the end */
#define ROWS (KNOWN + OPEN)
static const size_t sizes[CLASSES] = {130, 12, 2, 1, 9, 55};

typedef struct bench {
    rf_training t;
    rf_error err;
    char text[ROWS][64];
} bench;

/* Texts of rows with changed[i] end in other words; changed may be NULL. */
static void bench_make(bench *b, size_t threads, const bool *changed)
{
    static const char *const labels[CLASSES] = {"c0", "c1", "c2", "c3", "c4", "c5"};
    static const char *const words[CLASSES] = {"refund", "order", "hello",
                                               "cancel", "where", "thank"};
    rf_train_options o = rf_train_options_default();
    o.threads = threads;
    *b = (bench){.t = {.o = o, .s = rf_settings_default()}};
    assert_int_equal(rf_settings_parse(&b->t.s,
                                       "epochs=3 batch=32 known_rate=0.01 "
                                       "encoder_rate=0.001 head_steps=6 "
                                       "head_negatives=16",
                                       NULL),
                     RF_OK);
    rf_training *t = &b->t;
    t->err = &b->err;
    t->model = rf_model_new(NULL);
    assert_non_null(t->model);
    t->model->method = rf_method_find("ans");
    assert_int_equal(rf_model_set_labels(t->model, labels, CLASSES, NULL), RF_OK);
    assert_int_equal(rf_model_use_encoder(t->model, TINY, NULL), RF_OK);
    assert_int_equal(
        rf_train_resolve(&t->o, &t->s, &t->model->encoder->config, KNOWN, CLASSES, NULL),
        RF_OK);
    assert_int_equal(rf_part_room(&t->train, ROWS, NULL), RF_OK);
    for (size_t i = 0; i < sizes[0]; i++)
        for (size_t c = 0; c < CLASSES; c++) {
            size_t n = t->train.n;
            if (i >= sizes[c])
                continue;
            snprintf(b->text[n], sizeof b->text[n], "please %s my %s %zu %s", words[c],
                     words[(c + i) % CLASSES], i,
                     changed && changed[n] ? "thank you very much" : "now");
            t->train.texts[n] = b->text[n];
            t->train.lens[n] = strlen(b->text[n]);
            t->train.class_of[n] = (uint32_t)c;
            t->train.n++;
        }
    for (size_t i = 0; i < OPEN; i++) {
        size_t n = t->train.n++;
        snprintf(b->text[n], sizeof b->text[n], "%zu is it %s", i,
                 changed && changed[n] ? "here" : "there?");
        t->train.texts[n] = b->text[n];
        t->train.lens[n] = strlen(b->text[n]);
        t->train.class_of[n] = CLASSES;
    }
    t->train.n_open = OPEN;
    assert_int_equal(t->train.n, ROWS);
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

/* ---- No leaks ---------------------------------------------------------------------- */

/* Everything that a fold has learnt. */
typedef struct learnt {
    float *block;
    size_t floats;
} learnt;

static void append(learnt *l, const float *x, size_t n)
{
    l->block = realloc(l->block, (l->floats + n) * sizeof *x);
    assert_non_null(l->block);
    memcpy(l->block + l->floats, x, n * sizeof *x);
    l->floats += n;
}

static learnt learn(bench *b, const rf_fold_plan *plan, size_t number, float answers[2])
{
    learnt l = {0};
    rf_fold f;
    rf_outcomes o;
    assert_int_equal(rf_fold_begin(&f, &b->t, plan, number, NULL, NULL), RF_OK);
    assert_int_equal(rf_fold_try(&f, &f.t.s, &o), RF_OK);
    const rf_model *m = f.t.model;
    const rf_config *c = &m->encoder->config;
    rf_upper_layers now = {0};
    assert_int_equal(rf_upper_layers_copy(&now, m->encoder, c->layers, NULL), RF_OK);
    append(&l, now.block,
           c->layers * (4 * c->width * c->width + 2 * c->width * c->inner));
    rf_upper_layers_release(&now);
    append(&l, m->known.block, m->known.floats);
    for (size_t i = 0, n; i < m->method->n_arrays; i++)
        for (size_t k = 0; k < rf_method_state_pieces(&m->state, i); k++) {
            const float *x = rf_method_state_piece(&m->state, i, k, &n);
            append(&l, x, n);
        }
    answers[0] = answers[1] = 0.0f; /* to texts of classes, to open ones */
    for (size_t i = 0; i < o.n; i++)
        answers[0] += o.row[i].margin[0];
    for (size_t i = 0; i < o.n_given; i++)
        answers[1] += o.given[i].margin[0];
    rf_outcomes_release(&o);
    rf_fold_end(&f);
    return l;
}

/* Texts of hidden classes, held-out texts, open ones too, and those beyond the most of a
 * class may change: a fold learns the same bits. Any other text matters; an open one if
 * there is a head, which class 0 alone has in a fold. */
static void folds_learn_only_from_their_rows(void **state)
{
    (void)state;
    enum { FIRST, LAST, OPEN_ONE, UNSEEN, CHANGES };
    bench plain;
    rf_fold_plan plan;
    bench_make(&plain, 1, NULL);
    assert_int_equal(rf_fold_plan_cross(&plan, &plain.t, NULL), RF_OK);
    for (size_t fold = 0; fold < plan.folds; fold++) {
        const bool *hidden = plan.hidden + fold * CLASSES;
        float answers[2], other_answers[2];
        learnt want = learn(&plain, &plan, fold, answers);
        bool changed[CHANGES][ROWS] = {{false}};
        size_t first = ROWS, last = 0, open = 0;
        for (size_t i = 0; i < ROWS; i++) {
            bool unseen = (i < KNOWN && hidden[plain.t.train.class_of[i]]) ||
                          plan.row_fold[i] == fold || plan.row_fold[i] == RF_ROW_UNUSED;
            changed[UNSEEN][i] = unseen;
            if (unseen)
                continue;
            first = first == ROWS ? i : first;
            last = i < KNOWN ? i : last;
            open = i;
        }
        assert_true(first < last && last < KNOWN && open >= KNOWN);
        changed[FIRST][first] = changed[LAST][last] = changed[OPEN_ONE][open] = true;
        for (size_t which = 0; which < CHANGES; which++) {
            bench other;
            bench_make(&other, 1, changed[which]);
            learnt got = learn(&other, &plan, fold, other_answers);
            assert_int_equal(got.floats, want.floats);
            bool same =
                memcmp(got.block, want.block, want.floats * sizeof *want.block) == 0;
            bool expected = which == UNSEEN || (which == OPEN_ONE && hidden[0]);
            assert_int_equal(same, expected);
            if (which != OPEN_ONE) /* the change does reach the answers */
                assert_true(answers[0] != other_answers[0] &&
                            answers[1] != other_answers[1]);
            free(got.block);
            bench_release(&other);
        }
        free(want.block);
    }
    rf_fold_plan_release(&plan);
    bench_release(&plain);
}

/* Which rows are answered, and that the answers are those of the fold's model. */
static void outcomes_are_those_of_the_plan(void **state)
{
    (void)state;
    bench b;
    rf_fold_plan plan;
    bench_make(&b, 2, NULL);
    assert_int_equal(rf_fold_plan_cross(&plan, &b.t, NULL), RF_OK);
    size_t as_known[ROWS] = {0}, as_open[ROWS] = {0};
    for (size_t fold = 0; fold < plan.folds; fold++) {
        rf_fold f;
        rf_outcomes o;
        assert_int_equal(rf_fold_begin(&f, &b.t, &plan, fold, NULL, NULL), RF_OK);
        assert_int_equal(rf_fold_try(&f, &f.t.s, &o), RF_OK);
        size_t known = o.n - o.n_hidden, at = 0;
        assert_int_equal(known, f.n_held);
        float margins[ROWS];
        uint32_t classes[ROWS];
        assert_int_equal(rf_fence_margins(f.t.model, f.held_z, known, b.t.team, margins,
                                          classes, NULL),
                         RF_OK);
        assert_int_equal(rf_fence_margins(f.t.model, f.hidden_z, o.n_hidden, b.t.team,
                                          margins + known, classes + known, NULL),
                         RF_OK);
        for (size_t i = 0; i < KNOWN; i++) {
            uint32_t c = b.t.train.class_of[i];
            if (plan.hidden[fold * CLASSES + c] || plan.row_fold[i] != fold)
                continue;
            assert_int_equal(f.held[at], i);
            assert_int_equal(o.row[at].truth, c);
            as_known[i]++;
            at++;
        }
        assert_int_equal(at, known);
        for (size_t i = 0; i < KNOWN; i++) {
            uint32_t c = b.t.train.class_of[i];
            if (!plan.hidden[fold * CLASSES + c] || plan.row_fold[i] == RF_ROW_UNUSED)
                continue;
            assert_int_equal(o.row[at].truth, c);
            as_open[i]++;
            at++;
        }
        assert_int_equal(at, o.n);
        at = 0;
        for (size_t i = KNOWN; i < ROWS; i++)
            if (plan.row_fold[i] == fold) {
                assert_int_equal(f.held[f.n_held + at++], i);
                as_open[i]++;
            }
        assert_int_equal(o.n_given, at);
        float open_margins[OPEN];
        uint32_t open_classes[OPEN];
        const float *open_z = f.held_z + known * f.t.model->known.width;
        assert_int_equal(rf_fence_margins(f.t.model, open_z, at, b.t.team, open_margins,
                                          open_classes, NULL),
                         RF_OK);
        for (size_t i = 0; i < at; i++) {
            assert_true(o.given[i].hidden && o.given[i].margin[0] == open_margins[i]);
            assert_int_equal(o.given[i].head[0], f.visible[open_classes[i]]);
        }
        for (size_t i = 0; i < o.n; i++) {
            assert_int_equal(o.row[i].hidden, i >= known);
            assert_int_equal(o.row[i].head[0], f.visible[classes[i]]);
            assert_true(o.row[i].margin[0] == margins[i]);
        }
        rf_outcomes_release(&o);
        rf_fold_end(&f);
    }
    for (size_t i = 0; i < KNOWN; i++) {
        uint32_t c = b.t.train.class_of[i];
        bool used = plan.row_fold[i] != RF_ROW_UNUSED;
        assert_int_equal(as_open[i], used);
        bool held = used && sizes[c] > 1 && !plan.hidden[plan.row_fold[i] * CLASSES + c];
        assert_int_equal(as_known[i], held);
    }
    for (size_t i = KNOWN; i < ROWS; i++)
        assert_true(as_open[i] == 1 && as_known[i] == 0);
    rf_fold_plan_release(&plan);
    bench_release(&b);
}

/* ---- The whole run ----------------------------------------------------------------- */

static void assert_same_outcomes(const rf_cross_fit *a, const rf_cross_fit *b)
{
    assert_int_equal(a->folds, b->folds);
    for (size_t f = 0; f < a->folds; f++) {
        const rf_outcomes *x = &a->outcomes[f], *y = &b->outcomes[f];
        assert_true(x->n == y->n && x->n_hidden == y->n_hidden);
        for (size_t i = 0; i < x->n; i++) {
            assert_int_equal(x->row[i].truth, y->row[i].truth);
            assert_memory_equal(x->row[i].head, y->row[i].head, sizeof x->row[i].head);
            assert_memory_equal(x->row[i].margin, y->row[i].margin,
                                sizeof x->row[i].margin);
        }
        assert_int_equal(x->n_given, y->n_given);
        for (size_t i = 0; i < x->n_given; i++)
            assert_memory_equal(x->given[i].margin, y->given[i].margin,
                                sizeof x->given[i].margin);
    }
}

static void threads_change_nothing(void **state)
{
    (void)state;
    bench one, three;
    rf_cross_fit a, b;
    bench_make(&one, 1, NULL);
    bench_make(&three, 3, NULL);
    assert_int_equal(rf_cross_fit_run(&a, &one.t), RF_OK);
    assert_int_equal(rf_cross_fit_run(&b, &three.t), RF_OK);
    assert_same_outcomes(&a, &b);
    assert_true(a.offset == b.offset && one.t.fence == three.t.fence);
    assert_true(one.t.s.blend == three.t.s.blend);
    float offset;
    assert_int_equal(
        rf_best_fence(a.outcomes, a.folds, CLASSES, 0.5, &offset, NULL, NULL), RF_OK);
    assert_true(offset == a.offset);
    rf_cross_fit_release(&a);
    rf_cross_fit_release(&a);
    rf_cross_fit_release(&b);
    bench_release(&one);
    bench_release(&three);
}

/* Of all pairs of a known and an open text, hidden or given, the share in which the known
 * one gets its class with the larger margin, in per cent. */
static double count_pairs(const rf_outcomes *folds, size_t n)
{
    double right = 0.0, pairs = 0.0;
    for (size_t f = 0; f < n; f++)
        for (size_t i = 0; i < folds[f].n - folds[f].n_hidden; i++)
            for (size_t g = 0; g < n; g++)
                for (size_t k = 0; k < folds[g].n_hidden + folds[g].n_given; k++) {
                    const rf_outcome *first =
                        folds[g].row + folds[g].n - folds[g].n_hidden;
                    const rf_outcome *b = k < folds[g].n_hidden
                                              ? first + k
                                              : folds[g].given + k - folds[g].n_hidden;
                    const rf_outcome *a = &folds[f].row[i];
                    right += a->head[0] == a->truth && a->margin[0] > b->margin[0];
                    pairs += 1.0;
                }
    return 100.0 * right / pairs;
}

/* With few rows the folds choose between tuned layers and the encoder as it came: after
 * two folds, or after all. The second rate teaches the layers so much nonsense that they
 * lose. */
static void tuned_layers_must_be_better(void **state)
{
    (void)state;
    static const float rates[] = {0.0003f, 0.03f};
    size_t frozen = 0;
    for (size_t r = 0; r < 2; r++) {
        bench b;
        rf_cross_fit c;
        rf_fold_plan plan;
        rf_outcomes with[2][RF_CROSS_FOLDS] = {0};
        bench_make(&b, 2, NULL);
        b.t.s.encoder_rate = rates[r];
        assert_int_equal(rf_fold_plan_cross(&plan, &b.t, NULL), RF_OK);
        assert_int_equal(rf_fold_plan_chain(&plan, &b.t, NULL), RF_OK);
        for (size_t f = 0; f < plan.folds; f++) {
            rf_fold fold;
            assert_int_equal(rf_fold_begin(&fold, &b.t, &plan, f, NULL, NULL), RF_OK);
            for (size_t i = 0; i < 2; i++) {
                rf_settings s = b.t.s;
                s.blend = i == 0 ? 0.5f : 0.0f;
                assert_int_equal(rf_fold_try(&fold, &s, &with[i][f]), RF_OK);
            }
            rf_fold_end(&fold);
        }
        double early = count_pairs(with[0], 2) - count_pairs(with[1], 2);
        double gain = count_pairs(with[0], plan.folds) - count_pairs(with[1], plan.folds);
        assert_true(fabs(early - 0.5) > 1e-3); /* the rule is not on the edge */
        assert_true(fabs(gain - 0.5) > 1e-3);
        assert_int_equal(rf_cross_fit_run(&c, &b.t), RF_OK);
        bool tuned = early > 0.5 && gain > 0.5;
        assert_true(b.t.s.blend == (tuned ? 0.5f : 0.0f));
        assert_true((b.t.s.train_layers > 0) == tuned);
        frozen += !tuned;
        for (size_t f = 0; f < plan.folds; f++) /* also those that tuned no layers */
            for (size_t i = 0; i < c.outcomes[f].n; i++)
                assert_memory_equal(c.outcomes[f].row[i].margin,
                                    with[!tuned][f].row[i].margin,
                                    sizeof with[0][f].row[i].margin);
        for (size_t f = 0; f < plan.folds; f++) {
            rf_outcomes_release(&with[0][f]);
            rf_outcomes_release(&with[1][f]);
        }
        rf_cross_fit_release(&c);
        rf_fold_plan_release(&plan);
        bench_release(&b);
    }
    assert_int_equal(frozen, 1); /* both happened */
}

/* The more open texts are expected, the stricter the fence and the less sure it is that a
 * text is known: by Bayes' rule the odds change by those of the shares. */
static void the_expected_share_of_open_texts_counts(void **state)
{
    (void)state;
    static const float share[3] = {0.1f, 0.5f, 0.9f};
    bench b[3];
    rf_cross_fit c[3];
    for (size_t i = 0; i < 3; i++) {
        bench_make(&b[i], 1, NULL);
        b[i].t.s.open_share = share[i];
        assert_int_equal(rf_cross_fit_run(&c[i], &b[i].t), RF_OK);
        assert_same_outcomes(&c[0], &c[i]);
        assert_true(i == 0 || c[i].offset < c[i - 1].offset);
    }
    for (size_t i = 0; i < 3; i++) { /* at the same fence */
        c[i].offset = c[1].offset;
        assert_int_equal(rf_cross_fit_calibrate(&c[i], &b[i].t), RF_OK);
    }
    const rf_calibration *half = &b[1].t.model->calibration;
    for (size_t i = 0; i < 3; i += 2) {
        const rf_calibration *other = &b[i].t.model->calibration;
        double odds = (1.0 - (double)share[i]) / (double)share[i];
        assert_true(other->slope == half->slope);
        assert_true(fabs((double)other->bias - (double)half->bias - log(odds)) < 1e-5);
    }
    for (size_t i = 0; i < 3; i++) {
        rf_cross_fit_release(&c[i]);
        bench_release(&b[i]);
    }
}

/* fence_offset moves the fence that the folds found: confidence and expectations are for
 * the place where it ends up. */
static void a_requested_offset_counts(void **state)
{
    (void)state;
    bench plain, moved;
    rf_cross_fit a, b;
    bench_make(&plain, 1, NULL);
    bench_make(&moved, 1, NULL);
    moved.t.s.fence_offset = 1.5f;
    assert_int_equal(rf_cross_fit_run(&a, &plain.t), RF_OK);
    assert_int_equal(rf_cross_fit_run(&b, &moved.t), RF_OK);
    assert_same_outcomes(&a, &b);
    assert_true(plain.t.fence == a.offset);
    assert_true(moved.t.fence == a.offset);
    assert_true(b.offset == a.offset + 1.5f);
    rf_cross_fit_release(&a);
    rf_cross_fit_release(&b);
    bench_release(&plain);
    bench_release(&moved);
}

static void reasons_against_folds(void **state)
{
    (void)state;
    bench b;
    rf_cross_fit c;
    bench_make(&b, 1, NULL);
    b.t.model->classes = 2;
    assert_int_equal(rf_cross_fit_run(&c, &b.t), RF_OK);
    assert_string_equal(c.why_not, "2 classes: hiding one would leave one");
    assert_int_equal(c.folds, 0);
    json_t *json = rf_cross_fit_json(&c, b.t.model);
    assert_string_equal(json_string_value(json_object_get(json, "why_not")), c.why_not);
    json_decref(json);
    rf_cross_fit_release(&c);
    b.t.model->classes = CLASSES;
    bench_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_hide_and_hold_out_once),
        cmocka_unit_test(plans_depend_on_the_seed),
        cmocka_unit_test(texts_that_are_alike_are_held_out_together),
        cmocka_unit_test(folds_learn_only_from_their_rows),
        cmocka_unit_test(outcomes_are_those_of_the_plan),
        cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(tuned_layers_must_be_better),
        cmocka_unit_test(the_expected_share_of_open_texts_counts),
        cmocka_unit_test(a_requested_offset_counts),
        cmocka_unit_test(reasons_against_folds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
