/*
 * Rankings of test texts: by hand, and random ones against the definitions, every pair
 * and every fence with rf_evaluation.
 */
#include "answer/metrics.h"
#include "base/rng.h"
#include "lab/ranking.h"

#include "scratch.h"

#include <math.h>
#include <string.h>

#define CLASSES 4
#define ROWS 60

static rf_ranking make(const rf_ranked *rows, size_t n, size_t classes)
{
    rf_ranked copy[ROWS];
    rf_ranking r;
    memcpy(copy, rows, n * sizeof *rows);
    assert_int_equal(rf_ranking_make(&r, copy, n, classes, NULL), RF_OK);
    return r;
}

static void check(const char *what, double got, double want)
{
    if (!(fabs(got - want) < 1e-10))
        fail_msg("%s: got %.12g, want %.12g", what, got, want);
}

/* Two classes. In order of margins: right, open, right, wrong, open. */
static void by_hand(void **state)
{
    (void)state;
    const rf_ranked rows[] = {{-3, 0, 2}, {2, 1, 1}, {5, 0, 0}, {1, 0, 1}, {4, 1, 2}};
    rf_ranking r = make(rows, 5, 2);
    check("closed", r.closed, 200.0 / 3);
    check("auroc", r.auroc, 100.0 * 4 / 6); /* of six pairs, 2 and 1 come after 4 */
    check("best accuracy", r.best_accuracy, 60.0); /* the first alone, or three */
    /* the first three: class 0 and class 1 right once, one open let in; F1 1, 1/2, 1/2 */
    check("best F1", r.best_f1, 100.0 * (1 + 0.5 + 0.5) / 3);
}

static void ties_and_missing_kinds(void **state)
{
    (void)state;
    const rf_ranked tied[] = {{1, 0, 0}, {1, 0, 1}, {1, 0, 1}};
    rf_ranking r = make(tied, 3, 1);
    check("auroc", r.auroc, 50.0);
    check("best accuracy", r.best_accuracy, 200.0 / 3); /* all or none, never one */
    r = make(tied, 1, 1);
    check("closed", r.closed, 100.0);
    assert_true(r.auroc < 0.0); /* nothing is open */
    r = make(tied + 1, 2, 1);
    assert_true(r.closed < 0.0 && r.auroc < 0.0);
    check("best accuracy", r.best_accuracy, 100.0);
    r = make(tied, 0, 1);
    assert_true(r.closed < 0.0 && r.auroc < 0.0 && r.best_f1 < 0.0 &&
                r.best_accuracy < 0.0);
}

/* Accuracy and F1 with this fence. */
static void with_fence(const rf_ranked *rows, size_t n, float fence, double *accuracy,
                       double *f1)
{
    rf_evaluation e;
    assert_int_equal(rf_evaluation_init(&e, CLASSES, n, NULL), RF_OK);
    for (size_t i = 0; i < n; i++)
        rf_evaluation_add(&e, rows[i].truth < CLASSES ? rows[i].truth : RF_OPEN,
                          rows[i].margin >= fence ? rows[i].nearest : RF_OPEN);
    rf_evaluation_finish(&e);
    *accuracy = e.accuracy;
    *f1 = e.f1;
    rf_evaluation_release(&e);
}

static void against_the_definitions(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 50; seed++) {
        rf_rng rng = rf_rng_open(rf_rng_key(seed, 1, 2, 3));
        rf_ranked rows[ROWS];
        size_t n = 2 + rf_rng_below(&rng, ROWS - 1), right = 0, known = 0, open = 0;
        for (size_t i = 0; i < n; i++) {
            rows[i].truth = (uint32_t)rf_rng_below(&rng, CLASSES + 1);
            rows[i].nearest = (uint32_t)rf_rng_below(&rng, CLASSES);
            if (rows[i].truth < CLASSES && rf_rng_below(&rng, 3) > 0)
                rows[i].nearest = rows[i].truth;
            rows[i].margin = (float)rf_rng_below(&rng, 20) - 10.0f + /* with ties */
                             (rows[i].truth < CLASSES ? 4.0f : 0.0f);
            known += rows[i].truth < CLASSES;
            right += rows[i].truth == rows[i].nearest;
        }
        open = n - known;
        double pairs = 0.0, best_accuracy = 0.0, best_f1 = 0.0, accuracy, f1;
        for (size_t i = 0; i < n; i++)
            for (size_t k = 0; k < n; k++)
                if (rows[i].truth < CLASSES && rows[k].truth == CLASSES)
                    pairs += rows[i].margin > rows[k].margin    ? 1.0
                             : rows[i].margin == rows[k].margin ? 0.5
                                                                : 0.0;
        for (size_t i = 0; i <= n; i++) {
            with_fence(rows, n, i < n ? rows[i].margin : 1e9f, &accuracy, &f1);
            best_accuracy = fmax(best_accuracy, accuracy);
            best_f1 = fmax(best_f1, f1);
        }
        rf_ranking r = make(rows, n, CLASSES);
        check("best accuracy", r.best_accuracy, best_accuracy);
        check("best F1", r.best_f1, best_f1);
        if (known)
            check("closed", r.closed, 100.0 * (double)right / (double)known);
        if (known && open)
            check("auroc", r.auroc, 100.0 * pairs / ((double)known * (double)open));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_hand),
        cmocka_unit_test(ties_and_missing_kinds),
        cmocka_unit_test(against_the_definitions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
