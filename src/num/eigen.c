/*
 * eigen.c - symmetric eigenproblem: Householder reflections to a tridiagonal matrix, then
 * implicit QL steps (Golub and Van Loan, chapter 8)
 */
#include "num/eigen.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#define MAX_SWEEPS 60 /* per eigenvalue; three are usual */

/* Reflects row `k` of the lower triangle so that only its last entry before the diagonal
 * stays, for k from the last row up. The reflection is v = row / scale, kept in the row
 * itself; half[k] is v.v / 2, 0 if nothing had to be done. */
static void tridiagonal(double *a, double *diagonal, double *off, double *half, size_t n)
{
    for (size_t k = n - 1; k > 0; k--) {
        double *v = a + k * n, scale = 0.0;
        for (size_t j = 0; j < k; j++)
            scale += fabs(v[j]);
        half[k] = 0.0;
        off[k] = v[k - 1];
        if (k == 1 || scale == 0.0)
            continue;
        double square = 0.0;
        for (size_t j = 0; j < k; j++) {
            v[j] /= scale;
            square += v[j] * v[j];
        }
        double length = v[k - 1] > 0.0 ? -sqrt(square) : sqrt(square);
        off[k] = scale * length;
        half[k] = square - v[k - 1] * length;
        v[k - 1] -= length;
        /* p = A v / half, then A -= v q^T + q v^T with q = p - (v.p / 2 half) v */
        double *p = off; /* entries below k are free */
        for (size_t i = 0; i < k; i++)
            p[i] = 0.0;
        for (size_t i = 0; i < k; i++) { /* by rows of the lower triangle */
            const double *row = a + i * n;
            double sum = 0.0, vi = v[i];
            for (size_t j = 0; j < i; j++) {
                sum += row[j] * v[j];
                p[j] += row[j] * vi;
            }
            p[i] += sum + row[i] * vi;
        }
        double vp = 0.0;
        for (size_t i = 0; i < k; i++) {
            p[i] /= half[k];
            vp += v[i] * p[i];
        }
        vp /= 2.0 * half[k];
        for (size_t i = 0; i < k; i++)
            p[i] -= vp * v[i];
        for (size_t i = 0; i < k; i++) {
            double *row = a + i * n, vi = v[i], qi = p[i];
            for (size_t j = 0; j <= i; j++)
                row[j] -= vi * p[j] + qi * v[j];
        }
        off[k] = scale * length;
    }
    for (size_t k = 0; k < n; k++)
        diagonal[k] = a[k * n + k];
}

/* The product of all reflections, transposed: row i of a is column i of Q^T. */
static void accumulate(double *a, const double *half, double *work, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        double *v = a + k * n;
        if (k > 0 && half[k] != 0.0) {
            /* Q -= (Q^T v / half) v^T on the leading k x k block; a holds Q^T by rows */
            for (size_t i = 0; i < k; i++)
                work[i] = 0.0;
            for (size_t i = 0; i < k; i++) {
                const double *row = a + i * n;
                for (size_t j = 0; j < k; j++)
                    work[i] += row[j] * v[j];
            }
            for (size_t i = 0; i < k; i++) {
                double *row = a + i * n, f = work[i] / half[k];
                for (size_t j = 0; j < k; j++)
                    row[j] -= f * v[j];
            }
        }
        for (size_t j = 0; j < k; j++)
            v[j] = a[j * n + k] = 0.0;
        v[k] = 1.0;
    }
}

/* Rotates rows i and i + 1 of the vectors. */
static void rotate_rows(double *a, size_t n, size_t i, double c, double s)
{
    double *x = a + i * n, *y = x + n;
    for (size_t j = 0; j < n; j++) {
        double t = y[j];
        y[j] = s * x[j] + c * t;
        x[j] = c * x[j] - s * t;
    }
}

/* One implicit QL step on the block [from, to]. */
static void ql_step(double *a, double *d, double *e, size_t n, size_t from, size_t to)
{
    double g = (d[from + 1] - d[from]) / (2.0 * e[from]), r = hypot(g, 1.0);
    g = d[to] - d[from] + e[from] / (g + (g < 0.0 ? -r : r));
    double s = 1.0, c = 1.0, p = 0.0;
    for (size_t i = to; i-- > from;) {
        double f = s * e[i], b = c * e[i];
        r = hypot(f, g);
        e[i + 1] = r;
        if (r == 0.0) { /* an eigenvalue has split off */
            d[i + 1] -= p;
            e[to] = 0.0;
            return;
        }
        s = f / r;
        c = g / r;
        g = d[i + 1] - p;
        r = (d[i] - g) * s + 2.0 * c * b;
        p = s * r;
        d[i + 1] = g + p;
        g = c * r - b;
        rotate_rows(a, n, i, c, s);
    }
    d[from] -= p;
    e[from] = g;
    e[to] = 0.0;
}

static bool diagonalise(double *a, double *d, double *e, size_t n)
{
    for (size_t k = 1; k < n; k++) /* e[i] couples i and i + 1 from here on */
        e[k - 1] = e[k];
    e[n - 1] = 0.0;
    for (size_t i = 0; i < n; i++)
        for (size_t sweep = 0;; sweep++) {
            size_t to = i;
            while (to + 1 < n && fabs(e[to]) > DBL_EPSILON * fabs(d[to]) +
                                                   DBL_EPSILON * fabs(d[to + 1]))
                to++;
            if (to == i)
                break;
            if (sweep == MAX_SWEEPS)
                return false;
            ql_step(a, d, e, n, i, to);
        }
    return true;
}

rf_status rf_eigen_symmetric(double *a, double *values, size_t n, rf_error *err)
{
    double *work = calloc(3 * n + 1, sizeof *work);
    if (!work)
        return rf_fail_nomem(err, 3 * n * sizeof *work, "eigenvalues");
    bool good = true;
    for (size_t i = 0; i < n && good; i++)
        for (size_t j = 0; j <= i && good; j++)
            good = isfinite(a[i * n + j]);
    if (good && n > 0) {
        double *off = work, *half = work + n;
        tridiagonal(a, values, off, half, n);
        accumulate(a, half, work + 2 * n, n);
        good = diagonalise(a, values, off, n);
    }
    for (size_t i = 0; i < n && good; i++)
        good = isfinite(values[i]);
    free(work);
    return good ? RF_OK
                : rf_fail(err, RF_ERR_NUMERIC, 0,
                          "the eigenvalues of a matrix could not be found: it holds a "
                          "NaN, an infinity or numbers too large to square");
}
