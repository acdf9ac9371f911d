/* tails.c - the incomplete beta function as a continued fraction, and sums of tables */
#include "tails.h"

#include <math.h>

#define MAX_TERMS 100000 /* far more than any case here needs */

/* log(Gamma(x)) for x > 0: Stirling's series, after moving x to where it is exact. Not
 * lgamma, which writes a global variable. */
static double log_gamma(double x)
{
    double shift = 0.0;
    while (x < 15.0)
        shift -= log(x++);
    double y = 1.0 / (x * x);
    double series =
        (1.0 / 12.0 - y * (1.0 / 360.0 - y * (1.0 / 1260.0 -
                                              y * (1.0 / 1680.0 - y * (1.0 / 1188.0))))) /
        x;
    return shift + (x - 0.5) * log(x) - x + 0.91893853320467274178 + series;
}

/*
 * The continued fraction of the incomplete beta function (DLMF 8.17.22) by Lentz's
 * method: 1 / (1 + d_1 / (1 + d_2 / (1 + ...))) with
 *   d_2m     =  m (b - m) x / ((a + 2m - 1) (a + 2m))
 *   d_(2m+1) = -(a + m) (a + b + m) x / ((a + 2m) (a + 2m + 1))
 */
static double beta_fraction(double a, double b, double x)
{
    const double tiny = 1e-300; /* instead of 0 */
    double f = 1.0, c = 1.0, d = 0.0;
    for (int i = 1; i < MAX_TERMS; i++) {
        double m = i / 2, term;
        if (i % 2 == 0)
            term = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        else
            term = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1.0 + term * d;
        d = 1.0 / (fabs(d) < tiny ? tiny : d);
        c = 1.0 + term / c;
        c = fabs(c) < tiny ? tiny : c;
        f *= c * d;
        if (fabs(c * d - 1.0) < 1e-15)
            break;
    }
    return 1.0 / f;
}

/* The regularized incomplete beta function I_x(a, b). */
static double beta_share(double a, double b, double x)
{
    if (x <= 0.0)
        return 0.0;
    if (x >= 1.0)
        return 1.0;
    double front =
        exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * log(x) + b * log1p(-x));
    /* The fraction converges fast on one side of the mean. */
    if (x < (a + 1.0) / (a + b + 2.0))
        return front * beta_fraction(a, b, x) / a;
    return 1.0 - front * beta_fraction(b, a, 1.0 - x) / b;
}

double tail_f(double x, double d1, double d2)
{
    if (!(x > 0.0))
        return 1.0;
    if (isinf(x))
        return 0.0;
    return beta_share(d2 / 2.0, d1 / 2.0, d2 / (d2 + d1 * x));
}

double tail_t(double t, double df)
{
    return tail_f(t * t, 1.0, df);
}

static double log_choose(double n, double k)
{
    return log_gamma(n + 1.0) - log_gamma(k + 1.0) - log_gamma(n - k + 1.0);
}

double tail_fisher(double a, double n1, double b, double n0)
{
    double hits = a + b;
    if (hits > (n1 + n0) / 2.0) { /* the same test of the misses has fewer tables */
        a = n1 - a;
        hits = n1 + n0 - hits;
    }
    double low = hits > n0 ? hits - n0 : 0.0, high = hits < n1 ? hits : n1, sum = 0.0;
    double all = log_choose(n1 + n0, hits);
    double here = log_choose(n1, a) + log_choose(n0, hits - a) - all;
    for (double k = low; k <= high; k++) {
        double p = log_choose(n1, k) + log_choose(n0, hits - k) - all;
        if (p <= here + 1e-7) /* as likely, up to rounding */
            sum += exp(p);
    }
    return sum < 1.0 ? sum : 1.0;
}
