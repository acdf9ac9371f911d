/*
 * test_eigen.c - eigenvalues and eigenvectors of symmetric matrices
 *
 * Against what defines them: A v = lambda v, vectors of unit length at right angles, the
 * trace and the Frobenius norm. Where the matrix is built from its eigenvalues, these are
 * found again.
 *
 * Tolerances: double precision; an error of some n eps of the largest eigenvalue is
 * usual, 1e-13 n is allowed.
 */
#include "num/eigen.h"

#include "base/rng.h"
#include "scratch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST 64
#define EPS 1e-13

static const size_t sizes[] = {1, 2, 3, 5, 17, MOST};
#define SIZES (sizeof sizes / sizeof *sizes)

static double uniform(rf_rng *r)
{
    return 2.0 * (double)rf_rng_uniform(r) - 1.0;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Finds the eigenvalues of a [n, n], checks them and the vectors, and sorts them. */
static void check(const double *a, size_t n, double values[MOST])
{
    double vectors[MOST * MOST], again[MOST * MOST], more[MOST];
    rf_error err = {0};
    for (size_t i = 0; i < n; i++) /* the upper triangle is not read */
        for (size_t j = 0; j < n; j++)
            vectors[i * n + j] = j <= i ? a[i * n + j] : NAN;
    memcpy(again, vectors, n * n * sizeof *again);
    if (rf_eigen_symmetric(vectors, values, n, &err) != RF_OK)
        fail_msg("%s", err.msg);
    assert_int_equal(rf_eigen_symmetric(again, more, n, NULL), RF_OK);
    assert_memory_equal(again, vectors, n * n * sizeof *again);
    assert_memory_equal(more, values, n * sizeof *more);

    double largest = 0.0, trace = 0.0, square = 0.0, sum = 0.0, squares = 0.0;
    for (size_t i = 0; i < n * n; i++)
        largest = fmax(largest, fabs(a[i]));
    /* by the largest entry, as squares of it may not be representable */
    double unit = largest > 0.0 ? largest : 1.0, most = EPS * (double)n * (double)n;
    for (size_t i = 0; i < n; i++) {
        trace += a[i * n + i] / unit;
        sum += values[i] / unit;
        squares += values[i] / unit * (values[i] / unit);
        for (size_t j = 0; j < n; j++)
            square += a[i * n + j] / unit * (a[i * n + j] / unit);
    }
    assert_true(fabs(sum - trace) <= most);
    assert_true(fabs(squares - square) <= most * (1.0 + square));
    for (size_t v = 0; v < n; v++) {
        const double *x = vectors + v * n;
        for (size_t i = 0; i < n; i++) {
            double ax = 0.0, dot = 0.0;
            for (size_t j = 0; j < n; j++) {
                ax += a[i * n + j] / unit * x[j];
                dot += vectors[i * n + j] * x[j];
            }
            if (!(fabs(ax - values[v] / unit * x[i]) <= most))
                fail_msg("n = %zu: A v = lambda v is off by %g", n,
                         fabs(ax - values[v] / unit * x[i]));
            assert_true(fabs(dot - (i == v ? 1.0 : 0.0)) <= EPS * (double)n);
        }
    }
    qsort(values, n, sizeof *values, ascending);
}

static void random_matrix(double *a, size_t n, rf_rng *r)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++)
            a[i * n + j] = a[j * n + i] = uniform(r);
}

/* The sum of `rank` products x x^T. */
static void products(double *a, size_t n, size_t rank, rf_rng *r)
{
    memset(a, 0, n * n * sizeof *a);
    for (size_t k = 0; k < rank; k++) {
        double x[MOST];
        for (size_t i = 0; i < n; i++)
            x[i] = uniform(r);
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++)
                a[i * n + j] += x[i] * x[j];
    }
}

/* The diagonal matrix of these values, reflected at n random planes. */
static void from_values(double *a, const double *values, size_t n, rf_rng *r)
{
    memset(a, 0, n * n * sizeof *a);
    for (size_t i = 0; i < n; i++)
        a[i * n + i] = values[i];
    for (size_t k = 0; k < n; k++) {
        double v[MOST], av[MOST], square = 0.0, vav = 0.0;
        for (size_t i = 0; i < n; i++) {
            v[i] = uniform(r);
            square += v[i] * v[i];
        }
        for (size_t i = 0; i < n; i++) {
            av[i] = 0.0;
            for (size_t j = 0; j < n; j++)
                av[i] += a[i * n + j] * v[j];
            vav += v[i] * av[i];
        }
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++)
                a[i * n + j] += 4.0 * vav / (square * square) * v[i] * v[j] -
                                2.0 / square * (v[i] * av[j] + av[i] * v[j]);
    }
}

static void of_full_rank(void **state)
{
    (void)state;
    rf_rng r = rf_rng_open(1);
    for (size_t s = 0; s < SIZES; s++)
        for (size_t k = 0; k < 8; k++) {
            double a[MOST * MOST], values[MOST];
            random_matrix(a, sizes[s], &r);
            check(a, sizes[s], values);
        }
}

static void of_low_rank(void **state)
{
    (void)state;
    rf_rng r = rf_rng_open(2);
    for (size_t s = 0; s < SIZES; s++)
        for (size_t rank = 0; rank <= sizes[s]; rank += 1 + sizes[s] / 9) {
            double a[MOST * MOST], values[MOST];
            size_t n = sizes[s];
            products(a, n, rank, &r);
            check(a, n, values);
            for (size_t i = 0; i < n; i++) /* none is negative, n - rank are 0 */
                assert_true(values[i] >= -EPS * (double)(n * n) &&
                            (i + rank >= n || values[i] <= EPS * (double)(n * n)));
        }
}

static void known_and_repeated_values(void **state)
{
    (void)state;
    rf_rng r = rf_rng_open(3);
    for (size_t s = 0; s < SIZES; s++)
        for (size_t kinds = 1; kinds <= 4; kinds++) {
            double a[MOST * MOST], want[MOST], values[MOST];
            size_t n = sizes[s];
            for (size_t i = 0; i < n; i++)
                want[i] = (double)(i % kinds) - 1.0; /* 0 and negative ones too */
            from_values(a, want, n, &r);
            for (size_t i = 0; i < n; i++)
                for (size_t j = 0; j < i; j++) /* exactly symmetric */
                    a[j * n + i] = a[i * n + j];
            check(a, n, values);
            qsort(want, n, sizeof *want, ascending);
            for (size_t i = 0; i < n; i++)
                assert_true(fabs(values[i] - want[i]) <= EPS * (double)(n * n));
        }
}

/* Nothing to be done: the values are those of the diagonal, to the bit. */
static void diagonal_and_zero(void **state)
{
    (void)state;
    for (size_t s = 0; s < SIZES; s++)
        for (int zero = 0; zero < 2; zero++) {
            double a[MOST * MOST] = {0}, want[MOST], values[MOST];
            size_t n = sizes[s];
            for (size_t i = 0; i < n; i++)
                want[i] = a[i * n + i] = zero ? 0.0 : sin((double)(7 * i + 1));
            check(a, n, values);
            qsort(want, n, sizeof *want, ascending);
            for (size_t i = 0; i < n; i++)
                assert_true(values[i] == want[i]);
        }
}

/* Two blocks, and a tridiagonal matrix whose eigenvalues are known: 2 - 2 cos(k pi /
 * (n + 1)). */
static void already_partly_done(void **state)
{
    (void)state;
    for (size_t s = 0; s < SIZES; s++) {
        double a[MOST * MOST] = {0}, values[MOST];
        size_t n = sizes[s];
        for (size_t i = 0; i < n; i++) {
            a[i * n + i] = 2.0;
            if (i > 0)
                a[i * n + i - 1] = a[(i - 1) * n + i] = -1.0;
        }
        check(a, n, values);
        for (size_t i = 0; i < n; i++)
            assert_true(fabs(values[i] - 2.0 +
                             2.0 * cos((double)(i + 1) * 3.14159265358979323846 /
                                       (double)(n + 1))) <= EPS * (double)n);
        rf_rng r = rf_rng_open(4);
        random_matrix(a, n, &r);
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++)
                if ((i < n / 2) != (j < n / 2))
                    a[i * n + j] = 0.0;
        check(a, n, values);
    }
}

/* Sums of squares of these cannot be represented. */
static void large_and_small(void **state)
{
    (void)state;
    static const double factors[] = {1e-300, 1e-200, 1e-17, 1e17, 1e200};
    for (size_t s = 0; s < SIZES; s++)
        for (size_t f = 0; f < sizeof factors / sizeof *factors; f++) {
            double a[MOST * MOST], values[MOST];
            size_t n = sizes[s];
            rf_rng r = rf_rng_open(5 + f);
            random_matrix(a, n, &r);
            for (size_t i = 0; i < n * n; i++)
                a[i] *= factors[f];
            check(a, n, values);
        }
}

static void not_finite(void **state)
{
    (void)state;
    static const double bad[] = {NAN, INFINITY, -INFINITY};
    for (size_t s = 0; s < SIZES; s++)
        for (size_t b = 0; b < 3; b++)
            for (size_t k = 0; k < 4; k++) {
                double a[MOST * MOST], values[MOST];
                size_t n = sizes[s], row = k * (n - 1) / 3, column = row * k / 3;
                rf_rng r = rf_rng_open(9);
                rf_error err = {0};
                random_matrix(a, n, &r);
                a[row * n + column] = bad[b];
                assert_int_equal(rf_eigen_symmetric(a, values, n, &err), RF_ERR_NUMERIC);
                assert_error(&err, RF_ERR_NUMERIC, "eigenvalues", "NaN");
                a[row * n + column] = bad[b];
                assert_int_equal(rf_eigen_symmetric(a, values, n, NULL), RF_ERR_NUMERIC);
            }
    double huge[4] = {1e308, 1.7e308, 1.7e308, 1e308}, values[2]; /* 2.7e308 */
    rf_error err = {0};
    assert_int_equal(rf_eigen_symmetric(huge, values, 2, &err), RF_ERR_NUMERIC);
    assert_int_equal(rf_eigen_symmetric(NULL, NULL, 0, &err), RF_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_full_rank),
        cmocka_unit_test(of_low_rank),
        cmocka_unit_test(known_and_repeated_values),
        cmocka_unit_test(diagonal_and_zero),
        cmocka_unit_test(already_partly_done),
        cmocka_unit_test(large_and_small),
        cmocka_unit_test(not_finite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
