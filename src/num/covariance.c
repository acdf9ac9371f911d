/* covariance.c - shrunk covariance, its Cholesky factor and the inverse of that */
#include "num/covariance.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MIN_SHRINKAGE 1e-4
#define STRIPE 8 /* rows of S per work item */

typedef struct product_job {
    double *s; /* [width, width], lower triangle */
    const float *x;
    size_t rows, width;
} product_job;

/* Stripes of the lower triangle of x^T x, each sum in row order. In double: distances
 * depend on the smallest eigenvalues, which are small differences. */
static void product_stripes(void *arg, size_t member, size_t members)
{
    const product_job *p = arg;
    size_t width = p->width;
    for (size_t i0 = member * STRIPE; i0 < width; i0 += members * STRIPE) {
        size_t end = i0 + STRIPE < width ? i0 + STRIPE : width;
        for (size_t r = 0; r < p->rows; r++) {
            const float *x = p->x + r * width;
            for (size_t i = i0; i < end; i++) {
                double a = (double)x[i], *s = p->s + i * width;
                for (size_t j = 0; j <= i; j++)
                    s[j] += a * (double)x[j];
            }
        }
    }
}

/* The share of Ledoit and Wolf for covariance s of rows x. */
static double expected_share(const double *s, double trace, const float *x, size_t rows,
                             size_t width)
{
    double n = (double)rows, d = (double)width, square = 0.0, fourth = 0.0;
    for (size_t i = 0; i < width; i++)
        for (size_t j = 0; j <= i; j++) {
            double v = s[i * width + j];
            square += (i == j ? 1.0 : 2.0) * v * v;
        }
    for (size_t r = 0; r < rows; r++) {
        double length = 0.0;
        for (size_t j = 0; j < width; j++)
            length += (double)x[r * width + j] * (double)x[r * width + j];
        fourth += length * length;
    }
    /* How far S is from mu I, and how much of that is sampling noise. */
    double mu = trace / d, far = square - d * mu * mu, noise = (fourth / n - square) / n;
    double share = far > 0.0 ? noise / far : 1.0;
    return share < MIN_SHRINKAGE ? MIN_SHRINKAGE : share > 1.0 ? 1.0 : share;
}

/* Turns s [width, width] from x^T x into the mixed covariance; returns its trace. */
static double shrink(double *s, const float *x, size_t rows, size_t width, double *share)
{
    double trace = 0.0;
    for (size_t i = 0; i < width; i++) {
        for (size_t j = 0; j <= i; j++)
            s[i * width + j] /= (double)rows;
        trace += s[i * width + i];
    }
    if (*share < 0.0)
        *share = expected_share(s, trace, x, rows, width);
    for (size_t i = 0; i < width; i++)
        for (size_t j = 0; j <= i; j++)
            s[i * width + j] = (1.0 - *share) * s[i * width + j] +
                               (i == j ? *share * trace / (double)width : 0.0);
    return trace;
}

/* s = L L^T in place, lower triangle; false if s is not positive definite. */
static bool cholesky(double *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            double sum = s[i * n + j];
            for (size_t k = 0; k < j; k++)
                sum -= s[i * n + k] * s[j * n + k];
            if (i == j && !(sum > 0.0))
                return false;
            s[i * n + j] = i == j ? sqrt(sum) : sum / s[j * n + j];
        }
    return true;
}

/* w = L^-1 by forward substitution; false if it is not finite. */
static bool invert(float *w, const double *l, double *row, size_t n)
{
    bool finite = true;
    memset(w, 0, n * n * sizeof *w);
    for (size_t j = 0; j < n; j++) { /* column j of the inverse */
        for (size_t i = j; i < n; i++) {
            double sum = i == j ? 1.0 : 0.0;
            for (size_t k = j; k < i; k++)
                sum -= l[i * n + k] * row[k];
            row[i] = sum / l[i * n + i];
            w[i * n + j] = (float)row[i];
            finite = finite && isfinite(w[i * n + j]);
        }
    }
    return finite;
}

static void unit_matrix(float *w, size_t n)
{
    memset(w, 0, n * n * sizeof *w);
    for (size_t i = 0; i < n; i++)
        w[i * n + i] = 1.0f;
}

rf_status rf_whitening(float *w, const float *x, size_t rows, size_t width,
                       double *shrinkage, rf_team *team, rf_error *err)
{
    size_t cells;
    double *s = NULL;
    if (rf_size_mul(width, width + 1, &cells))
        s = calloc(cells ? cells : 1, sizeof *s);
    if (!s)
        return rf_fail_nomem(err, cells * sizeof *s, "the covariance");
    product_job p = {.s = s, .x = x, .rows = rows, .width = width};
    rf_team_run(team, product_stripes, &p);
    double trace = shrink(s, x, rows, width, shrinkage);
    rf_status status = RF_OK;
    if (trace == 0.0)
        unit_matrix(w, width);
    else if (!cholesky(s, width) || !invert(w, s, s + width * width, width))
        status = rf_fail(err, RF_ERR_NUMERIC, 0,
                         "the covariance of the features has no inverse: found a NaN, an "
                         "infinity or numbers too large or too small to square");
    free(s);
    return status;
}
