/*
 * Means, intervals and paired tests against scipy 1.10.1: 2 * stats.t.sf, the
 * root of it by optimize.brentq (stats.t.isf has nine good digits only), stats.ttest_rel,
 * numpy's std(ddof=1).
 */
#include "lab/statistics.h"

#include "num/student_t.h"

#include "scratch.h"

#include <math.h>

/* Relative to the larger of 1e-300 and what is wanted. */
static void check(double got, double want, double tolerance)
{
    if (!(fabs(got - want) <= tolerance * fmax(fabs(want), 1e-300)))
        fail_msg("got %.17g, want %.17g", got, want);
}

static void test_tails(void **state)
{
    static const double cases[][3] = {/* t, df, P(|T| >= t) */
                                      {0, 5, 1},
                                      {0.5, 1, 0.70483276469913358},
                                      {1, 1, 0.5},
                                      {2, 2, 0.18350341907227391},
                                      {2.262157, 9, 0.050000013304431601},
                                      {3.5, 29, 0.0015244463146546039},
                                      {12.7, 1, 0.050024327689344152},
                                      {0.001, 89, 0.99920435363016624},
                                      {25, 9, 1.258945037899036e-09},
                                      {1e-6, 3, 0.99999926489480617},
                                      {40, 89, 1.1372365374167382e-58},
                                      {1.5, 0.5, 0.50790179064810836},
                                      {6, 1000, 2.7553691733774674e-09}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        check(rf_t_tails(cases[i][0], cases[i][1]), cases[i][2], 1e-11);
        check(rf_t_tails(-cases[i][0], cases[i][1]), cases[i][2], 1e-11);
    }
    assert_true(rf_t_tails(1e200, 3) == 0.0);
}

static void test_bounds(void **state)
{
    static const double cases[][3] = {
        /* p, df, t */
        {.05, 1, 12.706204736174708},  {.05, 2, 4.3026527297494637},
        {.05, 3, 3.1824463052837091},  {.05, 9, 2.2621571627982049},
        {.05, 89, 1.9869786995062815}, {.05, 1000, 1.962339080826409},
        {.5, 9, 0.7027221467513266},   {.01, 9, 3.2498355415921258},
        {1e-6, 4, 49.458636756934617}, {.999, 7, 0.0012987305550741315}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        check(rf_t_bound(cases[i][0], cases[i][1]), cases[i][2], 1e-11);
    check(rf_t_bound(.05, 1), 12.706204736174704, 1e-14); /* tan(0.475 pi) */
}

static const double a[] = {80.1, 78.25, 83.0, 79.75, 81.5, 80.0, 77.9, 82.3, 79.2, 80.6};
static const double b[] = {78.3, 77.1, 82.9, 78.0, 80.2, 79.9, 78.4, 80.0, 78.8, 79.1};

static void test_summary(void **state)
{
    (void)state;
    rf_summary s = rf_summarize(a, 10);
    assert_int_equal(s.n, 10);
    check(s.mean, 80.260000000000005, 1e-14);
    check(s.sd, 1.6468488428241086, 1e-12);
    check(s.low, 79.081915307195985, 1e-11);
    check(s.high, 81.438084692804026, 1e-11);
    s = rf_summarize(a, 1); /* nothing is said about spread */
    assert_true(s.n == 1 && s.mean == 80.1 && s.sd == 0 && s.low == 0 && s.high == 0);
    s = rf_summarize(NULL, 0);
    assert_true(s.n == 0 && s.mean == 0 && s.sd == 0);
}

static void test_paired(void **state)
{
    (void)state;
    rf_paired r = rf_compare_paired(a, b, 10);
    check(r.difference.mean, 0.9899999999999991, 1e-12);
    check(r.difference.sd, 0.91189668030734483, 1e-12);
    check(r.difference.low, 0.33766841221041666, 1e-11);
    check(r.difference.high, 1.6423315877895814, 1e-11);
    check(r.p, 0.0074712486925613483, 1e-11);
    rf_paired other = rf_compare_paired(b, a, 10);
    assert_true(other.difference.mean == -r.difference.mean && other.p == r.p);
    r = rf_compare_paired(a, b, 2);
    check(r.difference.low, -2.6545165392567247, 1e-11);
    check(r.difference.high, 5.6045165392567275, 1e-11);
    check(r.p, 0.13806603183808125, 1e-11);
    r = rf_compare_paired(a, b, 1);
    assert_true(r.difference.n == 1 && r.difference.sd == 0 && r.p == 1);
    r = rf_compare_paired(a, a, 10);
    assert_true(r.difference.mean == 0 && r.difference.sd == 0 && r.p == 1);
    const double up[] = {2, 3, 4}, down[] = {1, 2, 3};
    r = rf_compare_paired(up, down, 3);
    assert_true(r.difference.mean == 1 && r.difference.low == 1 && r.p == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tails),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_summary),
        cmocka_unit_test(test_paired),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
