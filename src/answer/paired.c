/* paired.c - the interval of Bonett and Price, and McNemar's exact test */
#include "answer/paired.h"

#include <math.h>

#define NORMAL_95 1.959964

/* For differences of -1, 0 and 1 this is the interval of Bonett and Price (2012): two
 * more rows, one in favour of each model, so that few rows that differ do not pass for
 * certainty. */
void rf_paired_interval(const rf_paired_rows *rows, double *low, double *high)
{
    double n = (double)rows->n + 2.0, mean = rows->sum / n;
    double variance = (rows->squares + 2.0) / n - mean * mean;
    double half = NORMAL_95 * sqrt(fmax(variance, 0.0) / n);
    *low = fmax(mean - half, -1.0);
    *high = fmin(mean + half, 1.0);
}

/* 2 P(X <= k) for X of the binomial distribution with n = a + b coins, k the smaller of
 * the two. Terms are added downwards from k, each k / (n - k + 1) of the one before. */
double rf_paired_p(size_t a, size_t b)
{
    size_t k = a < b ? a : b;
    double n = (double)a + (double)b, term = -n * log(2.0), sum = 0.0;
    for (size_t i = 1; i <= k; i++) /* n over k, as a logarithm: it may be huge */
        term += log((n - (double)(k - i)) / (double)i);
    term = exp(term);
    for (double i = (double)k; i >= 0.0 && term > 0.0; i--) {
        sum += term;
        term *= i / (n - i + 1.0);
    }
    return fmin(2.0 * sum, 1.0);
}
