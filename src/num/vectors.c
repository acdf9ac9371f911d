/* vectors.c - small operations on rows of numbers */
#include "num/vectors.h"

#include "num/kernels.h"
#include "num/train.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define LANES 8 /* running sums of a distance */

double rf_distance(const float *a, const float *b, size_t n)
{
    double sum[LANES] = {0};
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (size_t j = 0; j < LANES; j++) {
            double d = (double)a[i + j] - (double)b[i + j];
            sum[j] += d * d;
        }
    for (size_t j = 0; i + j < n; j++) {
        double d = (double)a[i + j] - (double)b[i + j];
        sum[j] += d * d;
    }
    return sqrt(((sum[0] + sum[1]) + (sum[2] + sum[3])) +
                ((sum[4] + sum[5]) + (sum[6] + sum[7])));
}

void rf_rows_normalise(float *y, const float *x, size_t n, size_t width)
{
    for (size_t i = 0; i < n; i++, x += width, y += width) {
        double square = 0.0;
        for (size_t j = 0; j < width; j++)
            square += (double)x[j] * (double)x[j];
        double scale = square > 0.0 ? 1.0 / sqrt(square) : 0.0;
        for (size_t j = 0; j < width; j++)
            y[j] = (float)((double)x[j] * scale);
    }
}

size_t rf_largest(const float *x, size_t n)
{
    size_t best = 0;
    for (size_t i = 1; i < n; i++)
        if (x[i] > x[best])
            best = i;
    return best;
}

/* e^-x = 2^n e^r with |r| <= ln2/2, e^r by its Taylor polynomial of degree 13. */
double rf_sigmoid(double x)
{
    static const double one_by_factorial[] = {1.0 / 6227020800.0,
                                              1.0 / 479001600.0,
                                              1.0 / 39916800.0,
                                              1.0 / 3628800.0,
                                              1.0 / 362880.0,
                                              1.0 / 40320.0,
                                              1.0 / 5040.0,
                                              1.0 / 720.0,
                                              1.0 / 120.0,
                                              1.0 / 24.0,
                                              1.0 / 6.0,
                                              0.5,
                                              1.0,
                                              1.0};
    double y = x > 700.0 ? -700.0 : x < -700.0 ? 700.0 : -x;
    double n = (y * 1.4426950408889634 + 0x1.8p52) - 0x1.8p52; /* nearest integer */
    double r = y - n * 0x1.62e42fefap-1; /* ln 2 in two parts, the first with zeroes */
    r -= n * 0x1.cf79abc9e3b3ap-40;
    double p = 0.0;
    for (size_t i = 0; i < sizeof one_by_factorial / sizeof one_by_factorial[0]; i++)
        p = p * r + one_by_factorial[i];
    uint64_t bits = (uint64_t)((int64_t)n + 1023) << 52;
    double power;
    memcpy(&power, &bits, sizeof power);
    return 1.0 / (1.0 + p * power);
}

/* ln x = e ln 2 + 2 atanh(s), s = (m - 1) / (m + 1), for x = 2^e m with m near 1: |s| is
 * below 0.172, so ten terms of the series leave 1e-17. */
double rf_log(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    int64_t e = (int64_t)(bits >> 52) - 1023;
    bits = (bits & 0xfffffffffffffu) | (uint64_t)1023 << 52;
    double m, sum = 0.0;
    memcpy(&m, &bits, sizeof m); /* 1 to 2 */
    if (m > 1.4142135623730951) {
        m *= 0.5;
        e++;
    }
    double s = (m - 1.0) / (m + 1.0), square = s * s;
    for (int k = 19; k >= 1; k -= 2)
        sum = sum * square + 1.0 / k;
    return (double)e * 0x1.62e42fefap-1 +
           ((double)e * 0x1.cf79abc9e3b3ap-40 + 2.0 * s * sum);
}

void rf_to_half(float *y, const float *x, size_t n)
{
    uint16_t half[256];
    for (size_t i = 0, some; i < n; i += some) {
        some = n - i < 256 ? n - i : 256;
        rf_train_kernels()->narrow_f16(half, x + i, some);
        rf_kernels()->widen_f16(y + i, half, some);
    }
}

static int by_value(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

void rf_sort(float *x, size_t n)
{
    qsort(x, n, sizeof *x, by_value);
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double rf_quantile(double *x, size_t n, double q)
{
    qsort(x, n, sizeof *x, by_size);
    double at = q * (double)(n - 1);
    size_t low = (size_t)at;
    size_t high = low + 1 < n ? low + 1 : n - 1;
    double part = at - (double)low, step = x[high] - x[low];
    return part < 0.5 ? x[low] + step * part : x[high] - step * (1.0 - part);
}
