/* test_expected.c - from the answers of a cross-fit: where the fence goes, what to
 * expect, how confidence is fitted */
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

/* ---- Where the fence goes ---------------------------------------------------------- */

#define OFFSETS 199

static int ascending(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* Answers with a weight each, from all folds. */
typedef struct answer {
    size_t truth, best; /* truth: `classes` for open */
    float margin;
    double weight;
} answer;

/* Accuracy in per cent. */
static double value_at(const answer *a, size_t n, size_t classes, float fence)
{
    double right = 0.0;
    for (size_t i = 0; i < n; i++)
        if (a[i].truth == (a[i].margin >= fence ? a[i].best : classes))
            right += a[i].weight;
    return 100.0 * right;
}

/* Smoothed values at all offsets tried. */
static size_t curve(const rf_outcomes *folds, size_t n_folds, size_t classes,
                    double open_share, float fences[OFFSETS], double values[OFFSETS])
{
    static answer a[4000];
    static float sorted[4000];
    double total[2] = {0.0, 0.0}, plain[OFFSETS] = {0.0};
    double known = 0.0, with_rows = 0.0, open_mean = 0.0;
    size_t n = 0, drawn;
    for (size_t f = 0; f < n_folds; f++)
        for (size_t i = 0; i < folds[f].n; i++) {
            const rf_outcome *r = &folds[f].row[i];
            size_t same = 0; /* of its class and kind */
            if (!isfinite(r->margin[0]))
                continue;
            for (size_t g = 0; g < n_folds; g++)
                for (size_t k = 0; k < folds[g].n; k++)
                    same += folds[g].row[k].truth == r->truth &&
                            folds[g].row[k].hidden == r->hidden &&
                            isfinite(folds[g].row[k].margin[0]);
            sorted[n] = r->margin[0];
            a[n] = (answer){r->hidden ? classes : r->truth, r->head[0], r->margin[0],
                            pow((double)same, -0.5)};
            total[r->hidden] += a[n++].weight;
            if (r->hidden) {
                open_mean += (double)r->margin[0];
            } else {
                known += 1.0;
                with_rows += 1.0 / (double)same;
            }
        }
    drawn = n;
    /* known margins move towards the mean of the open ones: by 0.25, or half of that
     * with 24 texts per class */
    double pull = 0.25 / (1.0 + known / with_rows / 24.0),
           hidden_rows = (double)n - known;
    for (size_t i = 0; i < n && known > 0.0 && hidden_rows > 0.0; i++)
        if (a[i].truth != classes)
            sorted[i] = a[i].margin = (float)((1.0 - pull) * (double)a[i].margin +
                                              pull * open_mean / hidden_rows);
    for (size_t f = 0; f < n_folds; f++)
        for (size_t i = 0; i < folds[f].n_given; i++) {
            const rf_outcome *r = &folds[f].given[i];
            if (!isfinite(r->margin[0]))
                continue;
            sorted[n] = r->margin[0];
            a[n++] = (answer){classes, r->head[0], r->margin[0], 0.0};
        }
    /* of the open share m given texts have m / (m + 50) */
    double given = (double)(n - drawn), hidden = 50.0 / (given + 50.0);
    for (size_t i = 0; i < n; i++)
        a[i].weight = i >= drawn ? open_share * (1.0 - hidden) / given
                      : a[i].truth == classes
                          ? open_share * hidden * a[i].weight / total[1]
                          : (1.0 - open_share) * a[i].weight / total[0];
    qsort(sorted, n, sizeof *sorted, ascending);
    for (size_t i = 0; i < OFFSETS && n > 0; i++) {
        double at = (double)(i + 1) / 200.0 * (double)(n - 1), low = floor(at);
        double x = (double)sorted[(size_t)low];
        double y = (double)sorted[(size_t)low + 1 < n ? (size_t)low + 1 : n - 1];
        fences[i] = (float)(x + (at - low) * (y - x));
        plain[i] = value_at(a, n, classes, fences[i]);
    }
    for (int i = 0; i < OFFSETS; i++) {
        double sum = 0.0, weights = 0.0;
        for (int k = i - 24; k <= i + 24; k++) {
            double w = exp(-(k - i) * (k - i) / 128.0);
            sum += w * plain[k < 0 ? 0 : k >= OFFSETS ? OFFSETS - 1 : k];
            weights += w;
        }
        values[i] = sum / weights;
    }
    return n;
}

/* Random answers in two folds; `kinds`: 1 known, 2 hidden, 3 both. */
static void random_outcomes(rf_outcomes folds[2], rf_outcome *row, size_t n,
                            size_t classes, int kinds, rf_rng *rng)
{
    for (size_t i = 0; i < n; i++) {
        rf_outcome *r = &row[i];
        double open = (double)rf_rng_uniform(rng);
        *r = (rf_outcome){.truth = (uint32_t)rf_rng_below(rng, classes)};
        r->truth = r->truth * (uint32_t)rf_rng_below(rng, 2); /* class 0 is large */
        r->hidden = kinds == 2 || (kinds == 3 && open < 0.4);
        bool right = !r->hidden && rf_rng_below(rng, 5) > 0;
        for (size_t k = 0; k < RF_OUTCOME_HEADS; k++) {
            r->head[k] = (uint32_t)((r->truth + k + !right) % classes);
            r->margin[k] = k >= classes ? -INFINITY : -(float)k;
        }
        float at = 4.0f * rf_rng_uniform(rng) - (r->hidden ? 3.0f : 1.0f);
        if (i % 3 == 0) /* ties */
            at = floorf(at);
        for (size_t k = 0; k < RF_OUTCOME_HEADS; k++)
            r->margin[k] += at;
        if (i % 50 == 49) /* no head was finite */
            for (size_t k = 0; k < RF_OUTCOME_HEADS; k++)
                r->margin[k] = -INFINITY;
    }
    folds[0] = (rf_outcomes){.n = n / 3, .row = row};
    folds[1] = (rf_outcomes){.n = n - n / 3, .row = row + n / 3};
}

static void the_fence_is_where_answers_are_best(void **state)
{
    (void)state;
    static const size_t counts[] = {1, 2, 5, 30, 200, 600};
    static rf_outcome row[600], given[600];
    rf_rng rng = rf_rng_open(6);
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++)
        for (size_t classes = 3; classes <= 40; classes *= 3)
            for (int kinds = 1; kinds <= 4; kinds++) { /* 4: open texts given */
                rf_outcomes folds[2], open[2] = {{0}};
                float fences[OFFSETS], offset;
                double values[OFFSETS], value, best = 0.0, found = -1.0;
                random_outcomes(folds, row, counts[k], classes, kinds < 3 ? kinds : 3,
                                &rng);
                if (kinds == 4)
                    random_outcomes(open, given, counts[k] / 3 + 1, classes, 2, &rng);
                for (size_t f = 0; f < 2; f++) {
                    folds[f].given = open[f].row;
                    folds[f].n_given = open[f].n;
                }
                double share = 0.05 + 0.9 * (double)rf_rng_uniform(&rng);
                assert_true(curve(folds, 2, classes, share, fences, values) > 0);
                assert_int_equal(
                    rf_best_fence(folds, 2, classes, share, &offset, &value, NULL),
                    RF_OK);
                for (size_t i = 0; i < OFFSETS; i++) {
                    best = fmax(best, values[i]);
                    if (fabsf(fences[i] + offset) <= 1e-6f) /* it is one of them */
                        found = fmax(found, values[i]);
                }
                assert_true(fabs(value - best) <= 1e-9);
                assert_true(found >= best - 1e-9);
            }
}

static void without_answers_the_fence_stays(void **state)
{
    (void)state;
    rf_outcome row = {.margin = {-INFINITY, -INFINITY, -INFINITY, -INFINITY}};
    rf_outcomes none = {0}, odd = {.n = 1, .row = &row};
    float offset = 5.0f;
    assert_int_equal(rf_best_fence(&none, 1, 3, 0.5, &offset, NULL, NULL), RF_OK);
    assert_true(offset == 0.0f);
    offset = 5.0f;
    assert_int_equal(rf_best_fence(&odd, 1, 3, 0.5, &offset, NULL, NULL), RF_OK);
    assert_true(offset == 0.0f);
}

/* Known texts at 2 to 3, hidden ones at -3 to -2: the fence goes between. */
static void a_gap_is_found(void **state)
{
    (void)state;
    static rf_outcome row[200];
    for (size_t i = 0; i < 200; i++) {
        bool hidden = i >= 110;
        float at = (hidden ? -3.0f : 2.0f) + (float)(i % 10) / 10.0f;
        row[i] = (rf_outcome){.truth = (uint32_t)(i % 4), .hidden = hidden};
        row[i].head[0] = (uint32_t)(hidden ? (i + 1) % 4 : i % 4);
        row[i].margin[0] = at;
    }
    rf_outcomes all = {.n = 200, .n_hidden = 90, .row = row};
    float offset;
    double value;
    assert_int_equal(rf_best_fence(&all, 1, 4, 0.5, &offset, &value, NULL), RF_OK);
    assert_true(offset > -2.5f && offset < 2.5f);
    assert_true(value > 95.0);
}

/* ---- What to expect ---------------------------------------------------------------- */

/* truth, hidden, answer, margin of the answer */
static rf_outcome outcome(uint32_t truth, bool hidden, uint32_t head, float margin)
{
    return (rf_outcome){.truth = truth,
                        .hidden = hidden,
                        .head = {head, truth},
                        .margin = {margin, margin - 0.5f, -INFINITY, -INFINITY}};
}

/* 4 classes, offset 1: a margin of -1 is just inside.
 *            known texts  right  open  as another       hidden texts  let in
 *   class 0       10        9     1                          3           1
 *   class 1        6        1     1    3 as 2, 1 as 0        0           0
 *   class 2        4        1     3                          5           2
 *   class 3        0                                         2           2  */
static void fill_expected(rf_cross_fit *c, rf_outcome row[2][40])
{
    size_t n[2] = {0, 0};
    *c = (rf_cross_fit){.folds = 2, .classes = 4, .offset = 1.0f};
    for (size_t i = 0; i < 10; i++)
        row[i % 2][n[i % 2]++] = outcome(0, false, 0, i == 4 ? -1.5f : -1.0f + (float)i);
    for (size_t i = 0; i < 6; i++)
        row[i % 2][n[i % 2]++] = outcome(1, false,
                                         i == 0 || i == 5 ? 1
                                         : i == 1         ? 0
                                                          : 2,
                                         i == 5 ? -1.25f : 0.0f);
    for (size_t i = 0; i < 4; i++)
        row[i % 2][n[i % 2]++] = outcome(2, false, i == 3 ? 1 : 2, i == 0 ? 3.0f : -2.0f);
    for (size_t i = 0; i < 10; i++) {
        static const uint32_t truth[10] = {0, 0, 0, 2, 2, 2, 2, 2, 3, 3};
        bool in = i == 0 || i == 3 || i == 4 || i >= 8;
        row[1][n[1]++] = outcome(truth[i], true, 1, in ? -0.5f : -7.0f);
    }
    for (size_t f = 0; f < 2; f++)
        c->outcomes[f] = (rf_outcomes){.n = n[f], .n_hidden = f ? 10 : 0, .row = row[f]};
}

static void expectations_are_counts(void **state)
{
    (void)state;
    static const rf_class_expectation want[4] = {
        {11, 10, 9, 1}, {7, 6, 1, 1}, {5, 4, 1, 3}, {1, 0, 0, 0}};
    static const size_t rows_of[4] = {11, 7, 5, 1};
    rf_outcome row[2][40];
    rows r;
    rf_cross_fit c;
    static const char *const labels[] = {"a", "b", "c", "d"};
    rows_make(&r, rows_of, 4, 2, 3);
    r.t.model->classes = 0;
    assert_int_equal(rf_model_set_labels(r.t.model, labels, 4, NULL), RF_OK);
    fill_expected(&c, row);
    assert_int_equal(rf_cross_fit_expect(&c, &r.t), RF_OK);
    for (size_t k = 0; k < 4; k++) {
        assert_int_equal(c.by_class[k].rows, want[k].rows);
        assert_int_equal(c.by_class[k].n, want[k].n);
        assert_int_equal(c.by_class[k].right, want[k].right);
        assert_int_equal(c.by_class[k].as_open, want[k].as_open);
    }
    const rf_rate *rates[] = {&c.reject, &c.right, &c.accept};
    static const size_t hits[] = {5, 11, 5}, n[] = {20, 20, 10};
    for (size_t i = 0; i < 3; i++) {
        assert_true(rates[i]->hits == hits[i] && rates[i]->n == n[i]);
        assert_true(fabs(rates[i]->rate - (double)hits[i] / (double)n[i]) < 1e-12);
        assert_true(rates[i]->low <= rates[i]->rate && rates[i]->rate <= rates[i]->high);
        assert_true(rates[i]->low >= 0.0 && rates[i]->high <= 1.0);
    }
    /* (right + 4 * 0.55) / (n + 4): 0: 0.8, 1: 0.32, 2: 0.4; 3: nothing is wrong */
    assert_int_equal(c.n_worst, 3);
    assert_int_equal(c.worst[0].class_index, 1);
    assert_true(c.worst[0].other == 2 && c.worst[0].mistaken == 3);
    assert_int_equal(c.worst[1].class_index, 2);
    assert_int_equal(c.worst[1].mistaken, 0); /* called open, not another class */
    assert_int_equal(c.worst[2].class_index, 0);
    assert_int_equal(c.worst[2].mistaken, 0);
    assert_int_equal(c.given, 0);
    json_t *json = rf_cross_fit_json(&c, r.t.model);
    const char *label, *mistaken_for;
    double fence, rate;
    int folds, texts, mistaken;
    assert_int_equal(json_unpack(json, "{s:i, s:F, s:{s:F, s:i}, s:[{s:s, s:s, s:i}]}",
                                 "folds", &folds, "fence", &fence, "known_as_open",
                                 "rate", &rate, "texts", &texts, "worst", "label", &label,
                                 "mistaken_for", &mistaken_for, "mistaken", &mistaken),
                     0);
    assert_true(folds == 2 && fence == -1.0 && texts == 20 && mistaken == 3);
    assert_true(fabs(rate - 0.25) < 1e-12);
    assert_string_equal(label, "b");
    assert_string_equal(mistaken_for, "c");
    assert_null(json_object_get(json_array_get(json_object_get(json, "worst"), 1),
                                "mistaken_for"));
    assert_int_equal(json_array_size(json_object_get(json, "classes")), 4);
    json_decref(json);
    free(c.by_class);
    /* from 50 open texts of the user on, these say what to expect of open texts */
    rf_outcome open[50];
    for (size_t i = 0; i < 50; i++)
        open[i] = outcome(0, true, 1, i < 4 ? -1.0f : -1.5f);
    for (size_t n_open = 49; n_open <= 50; n_open++) {
        fill_expected(&c, row);
        c.outcomes[0].given = open;
        c.outcomes[0].n_given = 20;
        c.outcomes[1].given = open + 20;
        c.outcomes[1].n_given = n_open - 20;
        assert_int_equal(rf_cross_fit_expect(&c, &r.t), RF_OK);
        assert_int_equal(c.given, n_open < 50 ? 0 : 50);
        assert_int_equal(c.accept.n, n_open < 50 ? 10 : 50);
        assert_int_equal(c.accept.hits, n_open < 50 ? 5 : 4);
        assert_true(c.reject.hits == 5 && c.right.hits == 11);
        free(c.by_class);
    }
    rf_model_free(r.t.model);
}

/* Few texts prove little: a class of one wrong text is not the worst. The average, 60 of
 * 100, counts like 4 more texts: (9 + 2.4) / 34, (1 + 2.4) / 12, (0 + 2.4) / 5. */
static void a_few_wrong_answers_prove_little(void **state)
{
    (void)state;
    static const size_t texts[4] = {61, 30, 8, 1}, right[4] = {50, 9, 1, 0};
    static const size_t worst[3] = {2, 1, 3};
    static rf_outcome row[100];
    rows r;
    rf_cross_fit c = {.folds = 1, .classes = 4};
    size_t n = 0;
    for (uint32_t k = 0; k < 4; k++)
        for (size_t i = 0; i < texts[k]; i++)
            row[n++] = outcome(k, false, k, i < right[k] ? 1.0f : -1.0f);
    c.outcomes[0] = (rf_outcomes){.n = n, .row = row};
    rows_make(&r, texts, 4, 0, 3);
    assert_int_equal(rf_cross_fit_expect(&c, &r.t), RF_OK);
    assert_int_equal(c.n_worst, 3);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(c.worst[i].class_index, worst[i]);
    free(c.by_class);
    rows_release(&r);
}

/* ---- Confidence -------------------------------------------------------------------- */

static void confidence_is_fitted_to_the_outcomes(void **state)
{
    (void)state;
    enum { N = 300 };
    static rf_outcome row[N], given[50];
    static float margin[N + 50], best[N * RF_OUTCOME_HEADS];
    static uint8_t known[N + 50];
    static uint32_t truth[N];
    rf_rng rng = rf_rng_open(8);
    for (size_t round = 0; round < 9; round++) {
        size_t classes = 3 + 3 * (round % 3); /* 3: fewer than heads */
        size_t open = round / 3 == 0 ? 0 : round / 3 == 1 ? 49 : 50; /* of the user */
        rf_training t = {.model = rf_model_new(NULL)};
        rf_error err = {0};
        rf_cross_fit c = {.folds = 2, .classes = classes, .offset = 0.75f};
        size_t all = 0, with_truth = 0;
        assert_non_null(t.model);
        t.err = &err;
        t.s.open_share = 0.5f;
        random_outcomes(c.outcomes, row, N, classes, 3, &rng);
        rf_outcomes user[2];
        random_outcomes(user, given, open, classes, 2, &rng);
        for (size_t f = 0; f < 2; f++) {
            c.outcomes[f].given = user[f].row;
            c.outcomes[f].n_given = user[f].n;
        }
        for (size_t i = 0; i < N; i++) {
            const rf_outcome *r = &row[i];
            bool found = false;
            if (!isfinite(r->margin[0]) || (r->hidden && open >= 50))
                continue;
            known[all] = !r->hidden;
            margin[all++] = r->margin[0] + 0.75f;
            for (size_t k = 0; k < RF_OUTCOME_HEADS && !r->hidden; k++) {
                bool there = isfinite(r->margin[k]);
                best[with_truth * RF_OUTCOME_HEADS + k] =
                    there ? r->margin[k] : r->margin[0] - 1e3f;
                if (there && r->head[k] == r->truth) {
                    truth[with_truth] = (uint32_t)k;
                    found = true;
                }
            }
            with_truth += found;
        }
        for (size_t i = 0; i < open; i++)
            if (isfinite(given[i].margin[0])) {
                known[all] = 0;
                margin[all++] = given[i].margin[0] + 0.75f;
            }
        assert_true(with_truth > 50 && with_truth < all);
        rf_calibration want = t.model->calibration;
        assert_int_equal(rf_calibration_fit_known(&want, margin, known, all, NULL),
                         RF_OK);
        assert_int_equal(rf_calibration_fit_classes(&want, best, truth, with_truth,
                                                    RF_OUTCOME_HEADS, NULL),
                         RF_OK);
        if (rf_cross_fit_calibrate(&c, &t) != RF_OK)
            fail_msg("%s", err.msg);
        assert_memory_equal(&t.model->calibration, &want, sizeof want);
        assert_int_equal(want.from, RF_CALIBRATION_FROM_PSEUDO_OPEN);
        rf_model_free(t.model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_fence_is_where_answers_are_best),
        cmocka_unit_test(without_answers_the_fence_stays),
        cmocka_unit_test(a_gap_is_found),
        cmocka_unit_test(expectations_are_counts),
        cmocka_unit_test(a_few_wrong_answers_prove_little),
        cmocka_unit_test(confidence_is_fitted_to_the_outcomes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
