/*
 * test_fence_rows.c - where labelled rows put the fences, and what they lead one to
 * expect: against plain loops written here
 */
#include "base/rng.h"
#include "fence/fence_figures.h"
#include "fence/fence_spot.h"
#include "folds/cross_fit.h"
#include "scratch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 600
#define CLASSES 6
#define TRIED 199 /* offsets: quantiles of the margins */

/* ---- Random rows ------------------------------------------------------------------- */

typedef struct bench {
    rf_fence_rows r;
    rf_outcome row[MOST];
    uint32_t label[MOST];
    const rf_outcome *list[MOST];
} bench;

static void set_margins(rf_outcome *o, uint32_t head, float margin)
{
    for (uint32_t k = 0; k < RF_OUTCOME_HEADS; k++) {
        o->head[k] = (head + k) % CLASSES;
        o->margin[k] = margin - 9.0f * (float)k;
    }
}

/* n rows of CLASSES known labels and `open` open ones; known rows have larger margins. */
static void bench_make(bench *b, size_t n, size_t open, double share_open, rf_rng *rng)
{
    memset(b, 0, sizeof *b);
    b->r = (rf_fence_rows){.classes = CLASSES,
                           .labels = CLASSES + open,
                           .all = {.n = n, .row = b->row},
                           .label = b->label};
    for (size_t i = 0; i < n; i++) {
        rf_outcome *o = &b->row[i];
        o->hidden = (double)rf_rng_uniform(rng) < share_open;
        uint32_t known = (uint32_t)rf_rng_below(rng, CLASSES);
        uint32_t other = (uint32_t)(CLASSES + rf_rng_below(rng, open ? open : 1));
        b->label[i] = o->hidden ? other : known;
        o->truth = o->hidden ? 0 : known;
        b->r.all.n_hidden += o->hidden;
        float at = 4.0f * rf_rng_uniform(rng) - (o->hidden ? 3.0f : 1.0f);
        bool wrong = rf_rng_below(rng, 10) == 0;
        set_margins(o, (known + wrong) % CLASSES, i % 3 ? at : floorf(2.0f * at) / 2.0f);
        b->list[i] = o;
    }
}

/* ---- The best offset --------------------------------------------------------------- */

static size_t answer_at(const rf_outcome *o, double fence)
{
    return (double)o->margin[0] >= fence ? o->head[0] : CLASSES;
}

/* F1 over the classes that have rows, or accuracy, 0 to 1. */
static double plain_value(const rf_outcome *const *rows, size_t n, bool f1, double fence)
{
    double sum = 0.0, right = 0.0;
    size_t present = 0;
    for (size_t c = 0; c <= CLASSES; c++) {
        size_t support = 0, predicted = 0, both = 0;
        for (size_t i = 0; i < n; i++) {
            size_t truth = rows[i]->hidden ? CLASSES : rows[i]->truth;
            size_t answer = answer_at(rows[i], fence);
            support += truth == c;
            predicted += answer == c;
            both += truth == c && answer == c;
        }
        right += (double)both;
        if (support > 0) {
            double precision = predicted ? (double)both / (double)predicted : 0.0;
            double recall = (double)both / (double)support;
            sum += both ? 2.0 * precision * recall / (precision + recall) : 0.0;
            present++;
        }
    }
    return f1 ? sum / (double)present : right / (double)n;
}

static int ascending(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* The fence with the best smoothed value, and that value. */
static double plain_best(const rf_outcome *const *rows, size_t n, bool f1, double *fence,
                         double smooth[TRIED], float tried[TRIED])
{
    static float sorted[MOST];
    double values[TRIED], best = -1.0;
    for (size_t i = 0; i < n; i++)
        sorted[i] = rows[i]->margin[0];
    qsort(sorted, n, sizeof *sorted, ascending);
    for (size_t i = 0; i < TRIED; i++) {
        double at = (double)(i + 1) / 200.0 * (double)(n - 1), low = floor(at);
        double x = (double)sorted[(size_t)low];
        double y = (double)sorted[(size_t)low + 1 < n ? (size_t)low + 1 : n - 1];
        tried[i] = (float)(x + (at - low) * (y - x));
        values[i] = plain_value(rows, n, f1, (double)tried[i]);
    }
    for (int i = 0; i < TRIED; i++) {
        double sum = 0.0, weights = 0.0;
        for (int k = i - 24; k <= i + 24; k++) {
            double w = exp(-(k - i) * (k - i) / 128.0);
            sum += w * values[k < 0 ? 0 : k >= TRIED ? TRIED - 1 : k];
            weights += w;
        }
        smooth[i] = sum / weights;
        if (smooth[i] > best) {
            best = smooth[i];
            *fence = (double)tried[i];
        }
    }
    return best;
}

static void the_best_offset_is_that_of_plain_loops(void **state)
{
    (void)state;
    static bench b;
    static const size_t counts[] = {20, 77, 400, 600};
    rf_rng rng = rf_rng_open(1);
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++)
        for (int f1 = 0; f1 < 2; f1++) {
            size_t n = counts[k];
            double smooth[TRIED], fence, found = -1.0;
            float tried[TRIED];
            bench_make(&b, n, 5, 0.2 + 0.15 * (double)k, &rng);
            double best = plain_best(b.list, n, f1, &fence, smooth, tried);
            float own[CLASSES];
            rf_budget spot = {.classes = CLASSES, .own = own};
            rf_fence_goal goal = {.f1_share = f1};
            assert_int_equal(rf_fence_spot(&spot, &goal, b.list, n, NULL), RF_OK);
            for (size_t i = 0; i < TRIED; i++) /* ties: any of the best will do */
                if (fabsf(tried[i] + spot.common) <= 1e-6f)
                    found = fmax(found, smooth[i]);
            assert_true(found >= best - 1e-9);
            for (size_t c = 0; c < CLASSES; c++)
                assert_true(own[c] == 0.0f);
        }
}

/* ---- Budgets ----------------------------------------------------------------------- */

static size_t count_inside(const bench *b, bool hidden, float offset)
{
    size_t n = 0;
    for (size_t i = 0; i < b->r.all.n; i++)
        n += b->row[i].hidden == hidden && b->row[i].margin[0] + offset >= 0.0f;
    return n;
}

static void budgets_are_kept_and_used(void **state)
{
    (void)state;
    static bench b;
    rf_rng rng = rf_rng_open(2);
    static const double limits[] = {0.02, 0.05, 0.2};
    for (size_t k = 0; k < 3; k++)
        for (int accept = 0; accept < 2; accept++) {
            float own[CLASSES];
            rf_fence_goal goal = {0};
            bench_make(&b, MOST, 7, 0.5, &rng);
            rf_budget spot = {.classes = CLASSES,
                              .own = own,
                              .max_accept = accept ? limits[k] : 0.0,
                              .max_reject = accept ? 0.0 : limits[k]};
            assert_int_equal(rf_fence_spot(&spot, &goal, b.list, MOST, NULL), RF_OK);
            size_t open = b.r.all.n_hidden, known = MOST - open;
            size_t n = accept ? open : known;
            size_t wrong = accept ? count_inside(&b, true, spot.common)
                                  : known - count_inside(&b, false, spot.common);
            /* The next text has each of n + 1 ranks: so many may be wrong. */
            double allowed = floor(limits[k] * (double)(n + 1)) - 1.0;
            assert_true((double)wrong <= allowed);
            /* Ties aside, a fence a little further would break it: the margins overlap,
             * so neither stops for lack of need. */
            float further = accept ? 0.02f : -0.02f;
            size_t then = accept ? count_inside(&b, true, spot.common + further)
                                 : known - count_inside(&b, false, spot.common + further);
            assert_true((double)then > allowed);
        }
}

/* ---- Offsets by class -------------------------------------------------------------- */

static void put_row(bench *b, bool open, uint32_t head, float margin)
{
    size_t i = b->r.all.n++;
    b->row[i] = (rf_outcome){.truth = open ? 0 : head, .hidden = open};
    b->label[i] = open ? CLASSES : head;
    b->list[i] = &b->row[i];
    b->r.all.n_hidden += open;
    set_margins(&b->row[i], head, margin);
}

/* Every class has 30 rows well inside and 20 open rows well outside. Class 0 also lets in
 * 20 open rows, class 1 calls 20 of its own open, class 2 lets in three. Rows close to 0
 * keep the common fence there. */
static void only_classes_with_enough_rows_get_an_offset(void **state)
{
    (void)state;
    static bench b;
    memset(&b, 0, sizeof b);
    b.r = (rf_fence_rows){.classes = CLASSES, .labels = CLASSES + 1};
    for (uint32_t c = 0; c < CLASSES; c++) {
        for (size_t i = 0; i < 30; i++)
            put_row(&b, false, c, 4.0f + 0.02f * (float)i);
        for (size_t i = 0; i < 20; i++)
            put_row(&b, true, c, -4.0f - 0.02f * (float)i);
        for (size_t i = 0; i < 15; i++) {
            put_row(&b, c == 0, c, (c == 0 ? -0.3f : 0.3f) + 0.001f * (float)i);
            put_row(&b, c != 1, c, (c != 1 ? -0.3f : 0.3f) + 0.001f * (float)i);
        }
    }
    for (size_t i = 0; i < 20; i++) {
        put_row(&b, true, 0, 1.5f + 0.01f * (float)i);
        put_row(&b, false, 1, -1.5f - 0.01f * (float)i);
    }
    for (size_t i = 0; i < 3; i++)
        put_row(&b, true, 2, 1.5f + 0.01f * (float)i);
    float own[CLASSES];
    rf_budget spot = {.classes = CLASSES, .own = own};
    rf_fence_goal goal = {.f1_share = 0.0, .per_class = true};
    float common;
    assert_int_equal(
        rf_best_fence_of_rows(b.list, b.r.all.n, CLASSES, 0.0, &common, NULL), RF_OK);
    assert_int_equal(rf_fence_spot(&spot, &goal, b.list, b.r.all.n, NULL), RF_OK);
    /* Half-way to the next row, and 20 / 30 of that: 20 rows gained, none lost. */
    float inwards = -(0.5f * (1.69f + 4.0f) + common) * 20.0f / 30.0f;
    float outwards = -(0.5f * (-1.69f - 4.0f) + common) * 20.0f / 30.0f;
    assert_true(common > -0.4f && common < 0.4f);
    assert_true(fabsf(own[0] - inwards) < 1e-4f);
    assert_true(fabsf(own[1] - outwards) < 1e-4f);
    for (size_t c = 2; c < CLASSES; c++)
        assert_true(own[c] == 0.0f);
    for (size_t i = 0; i < b.r.all.n; i++) /* and now they are right, but for the three */
        if (fabsf(b.row[i].margin[0]) > 1.0f && b.row[i].head[0] != 2)
            assert_int_equal(rf_budget_answer(&spot, &b.row[i]),
                             b.row[i].hidden ? CLASSES : b.row[i].truth);
}

/* ---- Folds ------------------------------------------------------------------------- */

static void rows_are_dealt_evenly(void **state)
{
    (void)state;
    static bench b;
    rf_rng rng = rf_rng_open(3);
    for (size_t n = 1; n <= MOST; n = 2 * n + 3) {
        uint8_t fold[MOST], again[MOST], other[MOST];
        bench_make(&b, n, 9, 0.4, &rng);
        assert_int_equal(rf_fence_rows_deal(&b.r, 5, 11, fold, NULL), RF_OK);
        assert_int_equal(rf_fence_rows_deal(&b.r, 5, 11, again, NULL), RF_OK);
        assert_int_equal(rf_fence_rows_deal(&b.r, 5, 12, other, NULL), RF_OK);
        assert_memory_equal(fold, again, n);
        if (n > 50)
            assert_memory_not_equal(fold, other, n);
        size_t all[5] = {0};
        for (size_t l = 0; l < b.r.labels; l++) {
            size_t count[5] = {0}, rows = 0;
            for (size_t i = 0; i < n; i++)
                if (b.label[i] == l) {
                    assert_true(fold[i] < 5);
                    count[fold[i]]++;
                    all[fold[i]]++;
                    rows++;
                }
            for (size_t f = 0; f < 5; f++)
                assert_true(count[f] == rows / 5 || count[f] == rows / 5 + 1);
        }
        for (size_t f = 0; f < 5; f++)
            assert_true(all[f] == n / 5 || all[f] == n / 5 + 1);
    }
}

/* ---- Figures ----------------------------------------------------------------------- */

static void answer_all(const bench *b, float offset, uint32_t *answer)
{
    for (size_t i = 0; i < b->r.all.n; i++)
        answer[i] = (uint32_t)answer_at(&b->row[i], (double)-offset);
}

static void assert_close(double got, double want)
{
    if (!(fabs(got - want) <= 1e-9))
        fail_msg("got %.12g, wanted %.12g", got, want);
}

static void assert_ordered(const rf_figure *f)
{
    assert_true(f->low >= 0.0 && f->low <= f->value && f->value <= f->high &&
                f->high <= 100.0);
}

static void figures_are_those_of_plain_loops(void **state)
{
    (void)state;
    static bench b;
    rf_rng rng = rf_rng_open(4);
    for (size_t round = 0; round < 6; round++) {
        uint32_t answer[MOST];
        rf_fence_figures f, again;
        bench_make(&b, 50 + 90 * round, 1 + 3 * round, 0.4, &rng);
        size_t n = b.r.all.n, open = b.r.all.n_hidden;
        answer_all(&b, 0.0f, answer);
        assert_int_equal(rf_fence_measure(&f, &b.r, answer, 5, NULL), RF_OK);
        assert_int_equal(rf_fence_measure(&again, &b.r, answer, 5, NULL), RF_OK);
        assert_memory_equal(&f, &again, sizeof f);
        assert_close(f.accuracy.value, 100.0 * plain_value(b.list, n, false, 0.0));
        assert_close(f.f1.value, 100.0 * plain_value(b.list, n, true, 0.0));
        double in = (double)count_inside(&b, true, 0.0f);
        double out = (double)(n - open - count_inside(&b, false, 0.0f));
        assert_close(f.open_let_in.value, 100.0 * in / (double)open);
        assert_close(f.known_as_open.value, 100.0 * out / (double)(n - open));
        assert_ordered(&f.accuracy);
        assert_ordered(&f.f1);
        assert_ordered(&f.known_as_open);
        assert_ordered(&f.open_let_in);
    }
}

/* One label shows nothing about labels: its rows alone make the interval. */
static void intervals_of_a_single_label(void **state)
{
    (void)state;
    static bench b;
    uint32_t answer[MOST];
    rf_fence_figures f;
    rf_rng rng = rf_rng_open(5);
    bench_make(&b, 300, 1, 1.0, &rng);
    for (size_t hits = 0; hits <= 300; hits += 75) {
        for (size_t i = 0; i < 300; i++)
            answer[i] = i < hits ? 0 : CLASSES;
        assert_int_equal(rf_fence_measure(&f, &b.r, answer, 5, NULL), RF_OK);
        double p = (double)hits / 300.0;
        double half = 1.959963984540054 * sqrt(2.0 * p * (1.0 - p) / 300.0);
        double low = hits == 300 ? 0.99 : fmax(p - half, 0.0); /* the rule of three */
        double high = hits == 0 ? 0.01 : fmin(p + half, 1.0);
        assert_close(f.open_let_in.value, 100.0 * p);
        assert_close(f.open_let_in.low, 100.0 * low);
        assert_close(f.open_let_in.high, 100.0 * high);
        assert_true(isnan(f.known_as_open.value) && isnan(f.known_as_open.low));
    }
}

/* Labels whose texts are all let in, or none: as many texts as labels, in truth. */
static void labels_that_differ_widen_the_interval(void **state)
{
    (void)state;
    static bench b;
    uint32_t answer[MOST];
    rf_fence_figures f;
    rf_rng rng = rf_rng_open(6);
    bench_make(&b, MOST, 60, 1.0, &rng);
    for (size_t i = 0; i < MOST; i++) {
        b.label[i] = (uint32_t)(CLASSES + i % 60);
        answer[i] = i % 60 < 18 ? 0 : CLASSES;
    }
    assert_int_equal(rf_fence_measure(&f, &b.r, answer, 5, NULL), RF_OK);
    double half = 100.0 * 1.96 * sqrt(2.0 * 0.3 * 0.7 / 60.0);
    assert_close(f.open_let_in.value, 30.0);
    assert_true(fabs(f.open_let_in.high - 30.0 - half) < 0.2 * half);
    assert_true(fabs(30.0 - f.open_let_in.low - half) < 0.2 * half);
}

/* Rows drawn twice from the same source: the second lot lies in the intervals of the
 * first about 95 times in 100. */
static void other_rows_lie_in_the_intervals(void **state)
{
    (void)state;
    static bench b, other;
    enum { ROUNDS = 100 };
    size_t within[4] = {0};
    rf_rng rng = rf_rng_open(7);
    for (size_t round = 0; round < ROUNDS; round++) {
        uint32_t answer[MOST];
        rf_fence_figures f, g;
        bench_make(&b, 200, 12, 0.4, &rng);
        bench_make(&other, 200, 12, 0.4, &rng);
        answer_all(&b, 0.0f, answer);
        assert_int_equal(rf_fence_measure(&f, &b.r, answer, round, NULL), RF_OK);
        answer_all(&other, 0.0f, answer);
        assert_int_equal(rf_fence_measure(&g, &other.r, answer, round, NULL), RF_OK);
        const rf_figure *mine[4] = {&f.accuracy, &f.f1, &f.known_as_open, &f.open_let_in};
        const rf_figure *seen[4] = {&g.accuracy, &g.f1, &g.known_as_open, &g.open_let_in};
        for (size_t k = 0; k < 4; k++)
            within[k] +=
                seen[k]->value >= mine[k]->low && seen[k]->value <= mine[k]->high;
    }
    for (size_t k = 0; k < 4; k++)
        if (within[k] < 90)
            fail_msg("figure %zu: within in %zu of %d rounds", k, within[k], ROUNDS);
    assert_true(within[1] < ROUNDS || within[0] < ROUNDS); /* not just anything */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_best_offset_is_that_of_plain_loops),
        cmocka_unit_test(budgets_are_kept_and_used),
        cmocka_unit_test(only_classes_with_enough_rows_get_an_offset),
        cmocka_unit_test(rows_are_dealt_evenly),
        cmocka_unit_test(figures_are_those_of_plain_loops),
        cmocka_unit_test(intervals_of_a_single_label),
        cmocka_unit_test(labels_that_differ_widen_the_interval),
        cmocka_unit_test(other_rows_lie_in_the_intervals),
    };
    return cmocka_run_group_tests_name("fence_rows", tests, NULL, NULL);
}
