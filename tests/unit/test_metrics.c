/*
 * Figures: cases worked out by hand from the definitions (those of sklearn's
 * precision_recall_fscore_support with zero_division=0, macro average), values of
 * scikit-learn, and a second implementation that counts over the rows themselves.
 */
#include "answer/metrics.h"

#include "base/rng.h"
#include "scratch.h"

#include <math.h>
#include <stdlib.h>

#define SAME(got, want) same(#got, got, want)

static void same(const char *what, double got, double want)
{
    if (!(fabs(got - want) <= 1e-9)) /* of 100: rounding in double only */
        fail_msg("%s is %.12f, wanted %.12f", what, got, want);
}

static rf_evaluation filled(size_t classes, const size_t *confusion)
{
    rf_evaluation e;
    size_t rows = 0;
    for (size_t i = 0; i < (classes + 1) * (classes + 1); i++)
        rows += confusion[i];
    assert_int_equal(rf_evaluation_init(&e, classes, rows, NULL), RF_OK);
    for (size_t i = 0; i <= classes; i++)
        for (size_t j = 0; j <= classes; j++)
            for (size_t n = confusion[i * (classes + 1) + j]; n > 0; n--)
                rf_evaluation_add(&e, i < classes ? i : RF_OPEN,
                                  j < classes ? j : RF_OPEN);
    rf_evaluation_finish(&e);
    size_t cells = 0;
    for (size_t i = 0; i < (classes + 1) * (classes + 1); i++) {
        size_t found = rf_evaluation_count(&e, i / (classes + 1), i % (classes + 1));
        assert_int_equal(found, confusion[i]);
        cells += found > 0;
    }
    assert_int_equal(e.n_confusion, cells);
    return e;
}

/* Two classes and open; rows are the truth.
 *           a  b  open   support
 *   a       3  1  1      5
 *   b       0  4  2      6
 *   open    2  0  7      9
 *   answers 5  5  10     20
 *   a:    p 3/5,  r 3/5, f 3/5       b: p 4/5, r 4/6, f 8/11
 *   open: p 7/10, r 7/9, f 14/19 */
static void by_hand(void **state)
{
    (void)state;
    static const size_t confusion[] = {3, 1, 1, 0, 4, 2, 2, 0, 7};
    rf_evaluation e = filled(2, confusion);
    assert_int_equal(e.n, 20);
    assert_int_equal(e.n_open, 9);
    assert_int_equal(e.classes, 2);
    SAME(e.accuracy, 70.0);
    SAME(e.scores[0].precision, 60.0);
    SAME(e.scores[0].recall, 60.0);
    SAME(e.scores[0].f1, 60.0);
    SAME(e.scores[1].precision, 80.0);
    SAME(e.scores[1].recall, 200.0 / 3);
    SAME(e.scores[1].f1, 800.0 / 11);
    SAME(e.scores[2].precision, 70.0);
    SAME(e.scores[2].recall, 700.0 / 9);
    SAME(e.scores[2].f1, 1400.0 / 19);
    SAME(e.f1_known, (60.0 + 800.0 / 11) / 2);
    SAME(e.f1_open, 1400.0 / 19);
    SAME(e.f1, (60.0 + 800.0 / 11 + 1400.0 / 19) / 3);
    assert_int_equal(e.scores[1].support, 6);
    assert_int_equal(e.scores[1].predicted, 5);
    assert_int_equal(e.scores[1].correct, 4);
    rf_evaluation_release(&e);
}

/* A class that neither occurs nor is answered counts 0 in the mean, and so does one that
 * is answered but never right. */
static void nothing_to_divide(void **state)
{
    (void)state;
    static const size_t confusion[] = {
        2, 0, 0, 2, /* a: p 2/2, r 2/4, f 2/3 */
        0, 0, 0, 0, /* b: nothing at all */
        0, 0, 0, 1, /* c: occurs, never answered */
        0, 1, 0, 0, /* open: answered 3 times, never right; the answer was b */
    };
    rf_evaluation e = filled(3, confusion);
    SAME(e.scores[0].f1, 200.0 / 3);
    SAME(e.scores[1].precision, 0.0);
    SAME(e.scores[1].recall, 0.0);
    SAME(e.scores[1].f1, 0.0);
    SAME(e.scores[2].f1, 0.0);
    SAME(e.scores[3].f1, 0.0);
    SAME(e.f1_known, 200.0 / 9);
    SAME(e.f1_open, 0.0);
    SAME(e.f1, 200.0 / 12);
    SAME(e.accuracy, 100.0 / 3);
    rf_evaluation_release(&e);
}

static void no_open_rows(void **state)
{
    (void)state;
    static const size_t confusion[] = {4, 0, 0, 0, 4, 0, 0, 0, 0};
    rf_evaluation e = filled(2, confusion);
    assert_int_equal(e.n_open, 0);
    SAME(e.accuracy, 100.0);
    SAME(e.f1_known, 100.0);
    SAME(e.f1_open, 0.0);
    SAME(e.f1, 200.0 / 3);
    rf_evaluation_release(&e);
}

static void nothing_but_open_rows(void **state)
{
    (void)state;
    static const size_t confusion[] = {0, 0, 0, 0, 0, 0, 1, 0, 3};
    rf_evaluation e = filled(2, confusion);
    SAME(e.accuracy, 75.0);
    SAME(e.f1_open, 600.0 / 7); /* p 1, r 3/4 */
    SAME(e.f1_known, 0.0);
    SAME(e.f1, 200.0 / 7);
    rf_evaluation_release(&e);
}

static void no_rows(void **state)
{
    (void)state;
    static const size_t confusion[4];
    rf_evaluation e = filled(1, confusion);
    assert_int_equal(e.n, 0);
    SAME(e.accuracy, 0.0);
    SAME(e.f1, 0.0);
    SAME(e.f1_tested, 0.0);
    SAME(e.mcc, 0.0);
    assert_true(isnan(e.auroc));
    rf_evaluation_release(&e);
    rf_evaluation_release(&e); /* twice is harmless */
    e = (rf_evaluation){0};
    rf_evaluation_release(&e);
}

/* Values of scikit-learn 1.2.1: matthews_corrcoef(t, p), and f1_score(t, p,
 * labels=sorted( set(t)), average="macro", zero_division=0). Tolerance: SAME's, for MCC
 * 1e-9 of 1. */
static void against_sklearn(void **state)
{
    (void)state;
    static const struct {
        size_t classes, confusion[25];
        double mcc, f1_tested;
    } cases[] = {
        {2, {3, 1, 1, 0, 4, 2, 2, 0, 7}, 0.5315619808967565, 68.80382775119615},
        {3,
         {2, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0},
         0.050251890762960605,
         22.22222222222222},
        {2, {4, 0, 0, 0, 4, 0, 0, 0, 0}, 1.0, 100.0},               /* no open rows */
        {2, {0, 0, 0, 0, 0, 0, 1, 0, 3}, 0.0, 85.71428571428571},   /* only open rows */
        {2, {0, 6, 0, 5, 0, 1, 0, 3, 0}, -0.6674165979762844, 0.0}, /* all wrong */
        {4,
         {120, 3, 0, 0, 17, 5, 9, 1,  0, 4, 0, 0,  1,
          0,   2, 0, 0, 0,  0, 0, 11, 0, 2, 1, 230},
         0.778025034318254,
         66.53694960788575},
        {2, {0, 0, 5, 0, 0, 6, 0, 0, 9}, 0.0, 20.689655172413794}, /* always "open" */
        {2, {5, 0, 0, 0, 6, 0, 0, 0, 9}, 1.0, 100.0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rf_evaluation e = filled(cases[i].classes, cases[i].confusion);
        SAME(e.mcc, cases[i].mcc);
        SAME(e.f1_tested, cases[i].f1_tested);
        assert_true(cases[i].mcc < 1.0 || e.mcc == 1.0); /* to the bit */
        assert_true(isnan(e.auroc));                     /* no margins */
        rf_evaluation_release(&e);
    }
}

/* Classes 0 and 1, then open. */
static void confusions_by_count_then_class(void **state)
{
    (void)state;
    static const size_t confusion[9] = {50, 2, 7, 0, 60, 2, 2, 1, 70};
    static const rf_confusion want[] = {
        {0, 2, 7}, {0, 1, 2}, {1, 2, 2}, {2, 0, 2}, {2, 1, 1}};
    static const size_t right[4] = {3, 0, 0, 4};
    rf_confusion *list = NULL;
    size_t n = 0;
    rf_evaluation e = filled(2, confusion);
    assert_int_equal(rf_evaluation_confusions(&e, &list, &n, NULL), RF_OK);
    assert_int_equal(n, 5);
    assert_memory_equal(list, want, sizeof want);
    free(list);
    rf_evaluation_release(&e);
    e = filled(1, right);
    assert_int_equal(rf_evaluation_confusions(&e, &list, &n, NULL), RF_OK);
    assert_int_equal(n, 0);
    free(list);
    rf_evaluation_release(&e);
}

/* The published numbers of one cell hold the identity to their two decimals; ours hold it
 * to rounding. */
static void assert_identity(const rf_evaluation *e)
{
    SAME(e->f1,
         ((double)e->classes * e->f1_known + e->f1_open) / (double)(e->classes + 1));
}

/* MCC from pairs of rows: a pair agrees if its two labels, or its two answers, are equal.
 * With indicator vectors x, y of labels and answers, cov(x, y) = mean of x_i y_i minus
 * mean of x_i y_j over all i, j. */
static double correlation(const size_t *truth, const size_t *answer, size_t n)
{
    double tt = 0.0, pp = 0.0, tp = 0.0, right = 0.0, pairs = (double)n * (double)n;
    for (size_t i = 0; i < n; i++) {
        right += truth[i] == answer[i];
        for (size_t j = 0; j < n; j++) {
            tt += truth[i] == truth[j];
            pp += answer[i] == answer[j];
            tp += truth[i] == answer[j];
        }
    }
    double vt = 1.0 - tt / pairs, vp = 1.0 - pp / pairs;
    return vt > 0.0 && vp > 0.0 ? (right / (double)n - tp / pairs) / sqrt(vt * vp) : 0.0;
}

/* F1 as twice the right answers over all that were wanted and all that were given, with
 * one pass over the rows per class. */
static void brute_force(const rf_evaluation *e, const size_t *truth, const size_t *answer,
                        size_t n)
{
    double sum = 0.0, of_tested = 0.0;
    size_t right = 0, open = 0, tested = 0;
    for (size_t c = 0; c <= e->classes; c++) {
        size_t id = c < e->classes ? c : RF_OPEN, tp = 0, fp = 0, fn = 0;
        for (size_t i = 0; i < n; i++) {
            tp += truth[i] == id && answer[i] == id;
            fp += truth[i] != id && answer[i] == id;
            fn += truth[i] == id && answer[i] != id;
        }
        double f1 = tp ? 200.0 * (double)tp / (double)(2 * tp + fp + fn) : 0.0;
        SAME(e->scores[c].f1, f1);
        SAME(e->scores[c].precision, tp ? 100.0 * (double)tp / (double)(tp + fp) : 0.0);
        SAME(e->scores[c].recall, tp ? 100.0 * (double)tp / (double)(tp + fn) : 0.0);
        assert_int_equal(e->scores[c].support, tp + fn);
        assert_int_equal(e->scores[c].predicted, tp + fp);
        assert_int_equal(e->scores[c].correct, tp);
        right += tp;
        tested += tp + fn > 0;
        of_tested += tp + fn > 0 ? f1 : 0.0;
        if (id == RF_OPEN) {
            SAME(e->f1_open, f1);
            open = tp + fn;
        } else {
            sum += f1;
        }
    }
    assert_int_equal(e->n, n);
    assert_int_equal(e->n_open, open);
    SAME(e->accuracy, 100.0 * (double)right / (double)n);
    SAME(e->f1_known, sum / (double)e->classes);
    SAME(e->f1_tested, of_tested / (double)tested);
    SAME(e->mcc, correlation(truth, answer, n));
}

static void random_answers(void **state)
{
    (void)state;
    rf_rng r = rf_rng_open(3);
    for (size_t round = 0; round < 300; round++) {
        size_t classes = 1 + rf_rng_next(&r) % 30, n = 1 + rf_rng_next(&r) % 400;
        size_t truth[400], answer[400];
        /* Sometimes only a few of the classes occur, and often the answer is right. */
        size_t occur = 1 + rf_rng_next(&r) % (classes + 1);
        rf_evaluation e;
        assert_int_equal(rf_evaluation_init(&e, classes, n, NULL), RF_OK);
        for (size_t i = 0; i < n; i++) {
            size_t t = rf_rng_next(&r) % occur, a = rf_rng_next(&r) % (classes + 1);
            truth[i] = t < classes ? t : RF_OPEN;
            answer[i] = rf_rng_next(&r) % 3 ? truth[i] : a < classes ? a : RF_OPEN;
            rf_evaluation_add(&e, truth[i], answer[i]);
            if (i == n / 2)
                rf_evaluation_finish(&e); /* may be asked in between */
        }
        rf_evaluation_finish(&e);
        brute_force(&e, truth, answer, n);
        assert_identity(&e);
        rf_evaluation_release(&e);
    }
}

static void too_many_classes(void **state)
{
    (void)state;
    rf_error err = {0};
    rf_evaluation e;
    const size_t sizes[2][2] = {{SIZE_MAX / 2, 1}, {1, SIZE_MAX / 2}};
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(rf_evaluation_init(&e, sizes[i][0], sizes[i][1], &err),
                         RF_ERR_NOMEM);
        assert_error(&err, RF_ERR_NOMEM, "the figures of an evaluation");
        assert_null(e.scores);
        assert_null(e.confusion);
    }
    /* A whole matrix would take 80 GB. */
    assert_int_equal(rf_evaluation_init(&e, 100000, 3, &err), RF_OK);
    rf_evaluation_add(&e, 99999, 5);
    rf_evaluation_add(&e, RF_OPEN, 99999);
    rf_evaluation_add(&e, 99999, 5);
    rf_evaluation_finish(&e);
    assert_int_equal(rf_evaluation_count(&e, 99999, 5), 2);
    assert_int_equal(e.scores[99999].predicted, 1);
    assert_int_equal(rf_evaluation_accepted(&e), 1);
    rf_evaluation_release(&e);
}

/* ---- AUROC ------------------------------------------------------------------------- */

/* Values of scikit-learn 1.2.1, 100 roc_auc_score. The first, by hand: of 25 pairs 5
 * + 4.5
 * + 4.5 + 3 + 2 in order. */
static void auroc_against_sklearn(void **state)
{
    (void)state;
    static const struct {
        size_t n_known, n_open;
        float known[5], open[5];
        double auroc;
    } cases[] = {
        {5, 5, {3.5f, 1, 1, 0, -2}, {0.5f, 1, -2, -2, -7}, 76.0},
        {3, 2, {1, 2, 3}, {-1, -2}, 100.0},
        {1, 2, {-1}, {1, 2}, 0.0},
        {3, 2, {0, 0, 0}, {0, -0.0f}, 50.0},
        {3, 4, {1e-30f, 1.0000001f, -3}, {1, -1e-30f, 2, -3}, 45.83333333333333},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rf_margin_row rows[10];
        size_t n = 0;
        for (size_t k = 0; k < cases[i].n_known; k++)
            rows[n++] = (rf_margin_row){cases[i].known[k], false};
        for (size_t k = 0; k < cases[i].n_open; k++)
            rows[n++] = (rf_margin_row){cases[i].open[k], true};
        SAME(rf_auroc(rows, n), cases[i].auroc);
    }
}

static void auroc_needs_both_kinds(void **state)
{
    (void)state;
    rf_margin_row rows[] = {{1, false}, {2, false}, {3, true}};
    assert_true(isnan(rf_auroc(rows, 0)));
    assert_true(isnan(rf_auroc(rows, 2)));
    assert_true(isnan(rf_auroc(rows + 2, 1)));
}

/* Over all pairs; few distinct margins, so many ties. The order of rows does not matter,
 * to the bit. */
static void auroc_of_pairs(void **state)
{
    (void)state;
    rf_rng r = rf_rng_open(rf_rng_key(6, 0, 0, 0));
    for (size_t round = 0; round < 200; round++) {
        size_t n = 2 + rf_rng_next(&r) % 200, levels = 1 + rf_rng_next(&r) % 50;
        rf_margin_row rows[202], reversed[202];
        double won = 0.0, pairs = 0.0;
        for (size_t i = 0; i < n; i++) {
            bool open = i < 2 ? i == 0 : rf_rng_next(&r) % 3 == 0;
            float margin = (float)(rf_rng_next(&r) % levels) / 7.0f - (float)open;
            rows[i] = reversed[n - 1 - i] = (rf_margin_row){margin, open};
        }
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++)
                if (!rows[i].open && rows[j].open) {
                    pairs++;
                    won += rows[i].margin > rows[j].margin    ? 1.0
                           : rows[i].margin == rows[j].margin ? 0.5
                                                              : 0.0;
                }
        double got = rf_auroc(rows, n);
        SAME(got, 100.0 * won / pairs);
        assert_true(got == rf_auroc(reversed, n));
    }
}

/* ---- Confidence -------------------------------------------------------------------- */

/* Two answers in one bin, one in each of two others:
 *   (1 |100 - 93.75| + 2 |50 - 84.375| + 1 |0 - 6.25|) / 4 */
static void calibration_error_by_hand(void **state)
{
    (void)state;
    rf_evaluation e;
    assert_int_equal(rf_evaluation_init(&e, 2, 100, NULL), RF_OK);
    rf_evaluation_finish(&e);
    SAME(e.calibration_error, 0.0); /* of nothing */
    rf_evaluation_add_confidence(&e, true, 0.9375f);
    rf_evaluation_add_confidence(&e, false, 0.875f);
    rf_evaluation_finish(&e); /* may be asked in between */
    SAME(e.calibration_error, (6.25 + 87.5) / 2);
    rf_evaluation_add_confidence(&e, true, 0.8125f);
    rf_evaluation_add_confidence(&e, false, 0.0625f);
    rf_evaluation_finish(&e);
    SAME(e.reliability[9].confidence, 93.75);
    SAME(e.reliability[9].right, 100.0);
    assert_int_equal(e.reliability[8].count, 2);
    assert_int_equal(e.reliability[8].correct, 1);
    SAME(e.reliability[8].confidence, 84.375);
    SAME(e.reliability[8].right, 50.0);
    assert_int_equal(e.reliability[5].count, 0);
    SAME(e.reliability[5].confidence, 0.0);
    SAME(e.calibration_error, (6.25 + 2 * 34.375 + 6.25) / 4);
    rf_evaluation_release(&e);
}

/* Edges belong to the bin above, 1 to the last, and what is no share to the nearest end.
 */
static void edges_of_bins(void **state)
{
    (void)state;
    static const struct {
        float confidence;
        size_t bin;
    } cases[] = {{0.0f, 0},        {0.5f, 5},   {0.25f, 2},          {1.0f, 9},
                 {0.99999994f, 9}, {1.5f, 9},   {-0.25f, 0},         {(float)NAN, 0},
                 {0.49999997f, 4}, {1e-30f, 0}, {(float)INFINITY, 9}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rf_evaluation e;
        assert_int_equal(rf_evaluation_init(&e, 1, 100, NULL), RF_OK);
        rf_evaluation_add_confidence(&e, true, cases[i].confidence);
        rf_evaluation_finish(&e);
        for (size_t b = 0; b < RF_RELIABILITY_BINS; b++)
            assert_int_equal(e.reliability[b].count, b == cases[i].bin);
        assert_true(e.calibration_error >= 0.0 && e.calibration_error <= 100.0);
        rf_evaluation_release(&e);
    }
}

/* Against sums over the rows themselves, a bin at a time. */
static void calibration_error_of_rows(void **state)
{
    (void)state;
    enum { N = 5000 };
    static float confidence[N];
    static bool right[N];
    rf_evaluation e;
    assert_int_equal(rf_evaluation_init(&e, 3, 100, NULL), RF_OK);
    rf_rng r = rf_rng_open(rf_rng_key(5, 0, 0, 0));
    for (size_t i = 0; i < N; i++) {
        confidence[i] = sqrtf(rf_rng_uniform(&r));
        right[i] = rf_rng_uniform(&r) < confidence[i] * confidence[i];
        rf_evaluation_add_confidence(&e, right[i], confidence[i]);
    }
    rf_evaluation_finish(&e);
    double want = 0.0;
    for (size_t b = 0; b < 10; b++) {
        double n = 0, sum = 0, good = 0;
        for (size_t i = 0; i < N; i++)
            if (floor(10.0 * (double)confidence[i]) == (double)b) {
                n++;
                sum += (double)confidence[i];
                good += right[i];
            }
        assert_true(n > 0 && (double)e.reliability[b].count == n);
        SAME(e.reliability[b].confidence, 100.0 * sum / n);
        SAME(e.reliability[b].right, 100.0 * good / n);
        want += n / N * fabs(sum / n - good / n);
    }
    assert_in_range((int)(1000.0 * want), 50, 300); /* these answers are too sure */
    SAME(e.calibration_error, 100.0 * want);
    rf_evaluation_release(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_hand),
        cmocka_unit_test(nothing_to_divide),
        cmocka_unit_test(no_open_rows),
        cmocka_unit_test(nothing_but_open_rows),
        cmocka_unit_test(no_rows),
        cmocka_unit_test(against_sklearn),
        cmocka_unit_test(random_answers),
        cmocka_unit_test(auroc_against_sklearn),
        cmocka_unit_test(auroc_needs_both_kinds),
        cmocka_unit_test(auroc_of_pairs),
        cmocka_unit_test(confusions_by_count_then_class),
        cmocka_unit_test(too_many_classes),
        cmocka_unit_test(calibration_error_by_hand),
        cmocka_unit_test(edges_of_bins),
        cmocka_unit_test(calibration_error_of_rows),
    };
    return cmocka_run_group_tests_name("metrics", tests, NULL, NULL);
}
