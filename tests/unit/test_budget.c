/* test_budget.c - rates and their intervals, fences that keep a budget, and budgets
 * that are refused; each against a plain count */
#include "ans/heads.h"
#include "base/rng.h"
#include "folds/budget.h"
#include "model/model.h"
#include "scratch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TINY GOLDEN_DIR "/tiny/encoder"

/* ---- Rates ------------------------------------------------------------------------- */

static void rows_needed_for_a_claim(void **state)
{
    (void)state;
    assert_int_equal(rf_rate_rows(0.01), 300);
    assert_int_equal(rf_rate_rows(0.05), 60);
    assert_int_equal(rf_rate_rows(0.001), 3000);
    assert_int_equal(rf_rate_rows(0.07), 43);
    assert_true(fabs(rf_rate_smallest(300) - 0.01) < 1e-12);
    assert_true(rf_rate_smallest(2) == 1.0);
    /* more than size_t can hold */
    assert_true(rf_rate_rows(1e-20) == SIZE_MAX && rf_rate_rows(0.0) == SIZE_MAX);
    assert_true(rf_rate_rows(1e-15) == (size_t)3000000000000000);
    for (double p = 0.5; p > 1e-4;
         p *= 0.9) /* no hit among this many: below p, at 95 % */
        assert_true(pow(1.0 - p, (double)rf_rate_rows(p)) < 0.05);
}

/* With many classes the interval is that of a ratio estimator. */
static void interval_of_many_classes(void **state)
{
    (void)state;
    enum { N = 400 };
    size_t hits[N], n[N];
    rf_rng rng = rf_rng_open(5);
    double sum_hits = 0.0, sum_n = 0.0;
    for (size_t i = 0; i < N; i++) {
        n[i] = 5 + rf_rng_below(&rng, 20);
        hits[i] = rf_rng_below(&rng, 3) == 0 ? rf_rng_below(&rng, n[i] + 1) : 0;
        sum_hits += (double)hits[i];
        sum_n += (double)n[i];
    }
    rf_rate r, again;
    assert_int_equal(rf_rate_of_classes(&r, hits, n, N, 9, NULL), RF_OK);
    double rate = sum_hits / sum_n, var = 0.0;
    for (size_t i = 0; i < N; i++) {
        double e = (double)hits[i] - rate * (double)n[i];
        var += e * e;
    }
    /* of the difference between this mean and that of as many new classes */
    double half = 1.96 * sqrt(2.0 * var) / sum_n;
    assert_true(fabs(r.rate - rate) < 1e-12);
    assert_true(fabs(r.low - (rate - half)) < 0.15 * half);
    assert_true(fabs(r.high - (rate + half)) < 0.15 * half);
    /* wider than with independent texts */
    assert_true(r.high - r.low > 2.0 * 1.96 * sqrt(rate * (1.0 - rate) / sum_n) * 1.3);
    assert_int_equal(rf_rate_of_classes(&again, hits, n, N, 9, NULL), RF_OK);
    assert_memory_equal(&r, &again, sizeof r);
    assert_int_equal(rf_rate_of_classes(&again, hits, n, N, 10, NULL), RF_OK);
    assert_true(r.low != again.low || r.high != again.high);
}

static void interval_of_no_hits_and_all_hits(void **state)
{
    (void)state;
    const size_t none[] = {0, 0, 0}, n[] = {20, 0, 40};
    rf_rate r;
    assert_int_equal(rf_rate_of_classes(&r, none, n, 3, 1, NULL), RF_OK);
    assert_true(r.rate == 0.0 && r.low == 0.0 && fabs(r.high - 0.05) < 1e-12);
    assert_int_equal(rf_rate_of_classes(&r, n, n, 3, 1, NULL), RF_OK);
    assert_true(r.rate == 1.0 && r.high == 1.0 && fabs(r.low - 0.95) < 1e-12);
    assert_int_equal(rf_rate_of_classes(&r, none, none, 3, 1, NULL), RF_OK);
    assert_true(r.n == 0 && r.low == 0.0 && r.high == 1.0);
}

/* ---- Offsets ----------------------------------------------------------------------- */

static size_t inside(const float *margins, size_t n, float offset)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += margins[i] + offset >= 0.0f;
    return count;
}

/* As many errors as (errors + 1) / (n + 1) <= share allows, and no fewer. */
static void offsets_use_what_the_budget_allows(void **state)
{
    (void)state;
    for (size_t n = 60; n < 400; n += 37)
        for (double share = 0.05; share < 0.5; share += 0.13) {
            float margins[400], sorted[400];
            rf_rng rng = rf_rng_open(n);
            for (size_t i = 0; i < n; i++)
                sorted[i] = margins[i] = 20.0f * rf_rng_uniform(&rng) - 10.0f;
            size_t allowed = 0;
            while ((double)(allowed + 2) / (double)(n + 1) <= share)
                allowed++;
            float out = rf_budget_loosest(sorted, n, share);
            assert_int_equal(inside(margins, n, out), allowed);
            float in = rf_budget_tightest(sorted, n, share);
            assert_int_equal(n - inside(margins, n, in), allowed);
        }
}

/* ---- Fences of made-up folds ------------------------------------------------------- */

#define CLASSES 6
#define KNOWN 40  /* texts of a class and fold */
#define HIDDEN 60 /* of a hidden class */

typedef struct made_up {
    rf_outcomes folds[3];
} made_up;

static float normal(rf_rng *rng)
{
    float sum = -6.0f;
    for (int i = 0; i < 12; i++)
        sum += rf_rng_uniform(rng);
    return sum;
}

/* Fold i hides classes i and i + 3. Class `greedy` accepts more hidden texts than any
 * other; known margins are around `level`. */
static made_up make_folds(uint32_t greedy, float level)
{
    made_up m = {0};
    rf_rng rng = rf_rng_open(77);
    for (uint32_t f = 0; f < 3; f++) {
        rf_outcomes *o = &m.folds[f];
        o->n_hidden = 2 * HIDDEN;
        o->n = (CLASSES - 2) * KNOWN + o->n_hidden;
        o->row = calloc(o->n, sizeof *o->row);
        assert_non_null(o->row);
        size_t at = 0;
        for (int hidden = 0; hidden < 2; hidden++)
            for (uint32_t c = 0; c < CLASSES; c++)
                for (int i = 0; (c % 3 == f) == hidden && i < (hidden ? HIDDEN : KNOWN);
                     i++) {
                    rf_outcome *row = &o->row[at++];
                    uint32_t own = hidden ? (uint32_t)rf_rng_below(&rng, CLASSES) : c;
                    while (own % 3 == f)
                        own = (own + 1) % CLASSES;
                    uint32_t next = own;
                    do
                        next = (next + 1) % CLASSES;
                    while (next % 3 == f);
                    float best =
                        (hidden ? own == greedy ? 1.0f : -2.0f : level) + normal(&rng);
                    *row =
                        (rf_outcome){.truth = c,
                                     .hidden = hidden,
                                     .head = {own, next},
                                     .margin = {best, best - 1.0f, -INFINITY, -INFINITY}};
                }
        assert_int_equal(at, o->n);
    }
    return m;
}

static void folds_release(made_up *m)
{
    for (size_t i = 0; i < 3; i++)
        rf_outcomes_release(&m->folds[i]);
}

/* The answer by a plain loop over all heads. */
static uint32_t plain_answer(const rf_budget *b, const rf_outcome *row)
{
    float margins[CLASSES];
    uint32_t best = 0;
    for (uint32_t c = 0; c < CLASSES; c++)
        margins[c] = -INFINITY;
    for (size_t k = 0; k < 2; k++)
        margins[row->head[k]] = row->margin[k] + b->own[row->head[k]] + b->common;
    for (uint32_t c = 1; c < CLASSES; c++)
        if (margins[c] > margins[best])
            best = c;
    return margins[best] >= 0.0f ? best : CLASSES;
}

static double let_in(const rf_budget *b, const made_up *m, bool hidden)
{
    size_t n = 0, count = 0;
    for (size_t f = 0; f < 3; f++)
        for (size_t i = 0; i < m->folds[f].n; i++) {
            const rf_outcome *row = &m->folds[f].row[i];
            n += row->hidden == hidden;
            count += row->hidden == hidden && plain_answer(b, row) < CLASSES;
        }
    return (double)count / (double)n;
}

static void one_offset_keeps_the_budget(void **state)
{
    (void)state;
    made_up m = make_folds(4, 0.0f);
    float own[CLASSES];
    for (double most = 0.02; most < 0.2; most += 0.06) {
        rf_budget b = {.max_accept = most, .classes = CLASSES, .own = own};
        own[4] = -1.0f; /* is cleared */
        assert_int_equal(rf_budget_fences(&b, m.folds, 3, NULL), RF_OK);
        double accepted = let_in(&b, &m, true);
        assert_true(accepted <= most && accepted > most - 3.0 / 360.0);
        for (uint32_t c = 0; c < CLASSES; c++)
            assert_true(own[c] == 0.0f);
        for (size_t i = 0; i < m.folds[1].n; i++)
            assert_int_equal(rf_budget_answer(&b, &m.folds[1].row[i]),
                             plain_answer(&b, &m.folds[1].row[i]));
        b.known_share = 0.5; /* folds that know half of the classes use half of it */
        assert_int_equal(rf_budget_fences(&b, m.folds, 3, NULL), RF_OK);
        accepted = let_in(&b, &m, true);
        assert_true(accepted <= most / 2.0 && accepted > most / 2.0 - 3.0 / 360.0);
    }
    folds_release(&m);
}

/* With known texts far inside, a wide budget is not used up. */
static void a_wide_budget_is_not_used_up_needlessly(void **state)
{
    (void)state;
    made_up m = make_folds(CLASSES, 30.0f);
    float own[CLASSES];
    rf_budget b = {.max_accept = 0.5, .classes = CLASSES, .own = own};
    assert_int_equal(rf_budget_fences(&b, m.folds, 3, NULL), RF_OK);
    assert_true(let_in(&b, &m, true) == 0.0);
    assert_true(let_in(&b, &m, false) >= 0.99);
    folds_release(&m);
}

/* ---- Through rf_train -------------------------------------------------------------- */

static rf_dataset *make_data(size_t classes, size_t each)
{
    static const char *const words[] = {"refund", "order", "hello", "cancel"};
    rf_dataset *data = rf_dataset_new(NULL);
    assert_non_null(data);
    for (size_t i = 0; i < classes * each; i++) {
        char text[64], label[8];
        int n = snprintf(text, sizeof text, "please %s my %s %zu", words[i % classes],
                         words[(i + i / classes) % classes], i);
        int m = snprintf(label, sizeof label, "c%zu", i % classes);
        assert_int_equal(rf_dataset_add(data, text, (size_t)n, label, (size_t)m, NULL),
                         RF_OK);
    }
    return data;
}

#define QUICK "epochs=4 batch=8 known_rate=0.01 head_steps=20 head_negatives=16 "

static rf_train_options quick(void)
{
    rf_train_options o = rf_train_options_default();
    o.encoder = TINY;
    o.threads = 1;
    o.settings = QUICK;
    o.dev_share = 0.5;
    o.method = "heads";
    return o;
}

static double number(const rf_model *m, const char *key)
{
    return json_number_value(json_object_get(json_object_get(m->summary, "budget"), key));
}

static void a_trained_model_keeps_its_budget(void **state)
{
    (void)state;
    rf_error err = {0};
    rf_dataset *data = make_data(4, 20);
    rf_train_options o = quick();
    o.max_false_accept = 0.2;
    o.settings = QUICK "blend=0"; /* else folds choose it */
    rf_model *m = rf_train(data, NULL, &o, &err);
    if (!m)
        fail_msg("%s", err.msg);
    assert_true(number(m, "expected_false_accept") <= 0.2);
    assert_int_equal((int)number(m, "open_rows"), 80);
    assert_int_equal((int)number(m, "hidden_classes"), 4);
    assert_null(json_object_get(m->summary, "tuning"));
    o.threads = 3;
    rf_model *again = rf_train(data, NULL, &o, &err);
    assert_non_null(again);
    assert_string_equal(rf_model_json(m), rf_model_json(again));
    /* the heads equal those of a training without loosening, moved by the offsets */
    o.max_false_accept = 0.0;
    o.settings = QUICK "blend=0 fence_reject=1";
    rf_model *plain = rf_train(data, NULL, &o, &err);
    assert_non_null(plain);
    json_t *classes = json_object_get(json_object_get(m->summary, "budget"), "classes");
    for (size_t c = 0; c < 4; c++) {
        double moved =
            json_number_value(json_object_get(json_array_get(classes, c), "offset"));
        float was = *rf_head_at(&plain->state, c).b3, is = *rf_head_at(&m->state, c).b3;
        assert_true(fabs((double)is - (double)was - moved) < 1e-5);
    }
    rf_model_free(m);
    rf_model_free(again);
    rf_model_free(plain);
    rf_dataset_free(data);
}

/* Outcomes moved by the fences of a budget: the answers of rf_budget_answer at offset 0.
 */
static void outcomes_follow_the_fences(void **state)
{
    (void)state;
    float own[3] = {0.0f, -2.0f, 0.0f};
    rf_budget b = {.classes = 3, .common = 0.5f, .own = own};
    rf_outcome rows[2] = {
        {.truth = 0, .head = {1, 0, 2}, .margin = {1.0f, -0.25f, -4.0f, -INFINITY}},
        {.truth = 2, .head = {2, 1}, .margin = {-1.0f, -2.0f, -INFINITY, -INFINITY}}};
    rf_outcomes fold = {.n = 2, .row = rows};
    const uint32_t want[2] = {rf_budget_answer(&b, &rows[0]),
                              rf_budget_answer(&b, &rows[1])};
    assert_true(want[0] == 0 && want[1] == 3);
    rf_budget_apply(&b, &fold, 1);
    assert_int_equal(rows[0].head[0], 0);
    assert_true(rows[0].margin[0] == 0.25f && rows[0].margin[1] == -0.5f);
    assert_int_equal(rows[0].head[1], 1);
    assert_true(rows[1].margin[0] == -0.5f && rows[1].head[0] == 2);
}

static void false_rejects_are_measured_on_held_out_texts(void **state)
{
    (void)state;
    rf_error err = {0};
    rf_dataset *data = make_data(4, 20);
    rf_train_options o = quick();
    for (double most = 0.1; most < 0.5; most += 0.15) {
        o.max_false_reject = most;
        rf_model *m = rf_train(data, data, &o, &err);
        if (!m)
            fail_msg("%s", err.msg);
        rf_session *s = rf_session_new(m, 1, NULL);
        rf_evaluation e;
        assert_non_null(s);
        assert_int_equal(rf_evaluate(s, data, &e, NULL), RF_OK);
        assert_true((double)e.scores[4].predicted <= most * 80.0);
        assert_true(number(m, "expected_false_reject") <= most);
        rf_evaluation_release(&e);
        rf_session_free(s);
        rf_model_free(m);
    }
    rf_dataset_free(data);
}

static void impossible_budgets_are_refused(void **state)
{
    (void)state;
    rf_error err = {0};
    rf_train_options o = quick();
    rf_dataset *data = make_data(4, 20);
    o.max_false_accept = 0.01;
    assert_null(rf_train(data, NULL, &o, &err));
    assert_error(&err, RF_ERR_ARG, "a budget of 1 % of false accepts", "80 texts",
                 "wanted 300", "220 are missing", "--max-false-accept 3.75%");
    o.max_false_accept = 0.0375; /* the suggested budget works */
    rf_model *m = rf_train(data, NULL, &o, &err);
    assert_non_null(m);
    rf_model_free(m);
    o = quick();
    o.max_false_reject = 0.03;
    assert_null(rf_train(data, NULL, &o, &err));
    assert_error(&err, RF_ERR_ARG, "false rejects", "80 texts to hold out", "wanted 100",
                 "20 are missing", "--max-false-reject 3.75%");
    o = quick();
    o.max_false_accept = 0.04;
    o.max_false_reject = 0.08;
    /* heads that have learnt almost nothing */
    o.settings = QUICK "head_steps=1 epochs=1 blend=0";
    m = rf_train(data, NULL, &o, &err);
    assert_null(m);
    assert_error(&err, RF_ERR_ARG, "cannot be kept together", "at most 4 %",
                 "at most 8 %");
    o = quick();
    o.max_false_accept = 0.1;
    o.method = "msp";
    assert_null(rf_train(data, NULL, &o, &err));
    assert_error(&err, RF_ERR_ARG, "the fences of method msp cannot be moved");
    o.method = NULL;
    o.max_false_accept = 0.7;
    assert_null(rf_train(data, NULL, &o, &err));
    assert_error(&err, RF_ERR_ARG, "max_false_accept is 0.7");
    rf_dataset_free(data);
    data = make_data(2, 20);
    o.max_false_accept = 0.1;
    assert_null(rf_train(data, NULL, &o, &err));
    assert_error(&err, RF_ERR_ARG, "2 classes: hiding one would leave one");
    rf_dataset_free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_needed_for_a_claim),
        cmocka_unit_test(interval_of_many_classes),
        cmocka_unit_test(interval_of_no_hits_and_all_hits),
        cmocka_unit_test(offsets_use_what_the_budget_allows),
        cmocka_unit_test(one_offset_keeps_the_budget),
        cmocka_unit_test(a_wide_budget_is_not_used_up_needlessly),
        cmocka_unit_test(a_trained_model_keeps_its_budget),
        cmocka_unit_test(outcomes_follow_the_fences),
        cmocka_unit_test(false_rejects_are_measured_on_held_out_texts),
        cmocka_unit_test(impossible_budgets_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
