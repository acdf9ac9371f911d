/* student_t.c - Student's t by the incomplete beta function */
#define _GNU_SOURCE /* lgamma_r: lgamma writes a global */
#include "num/student_t.h"

#include <math.h>

static double log_gamma(double x)
{
    int sign;
    return lgamma_r(x, &sign);
}

/* Keeps a denominator away from zero (Lentz). */
static double not_zero(double x)
{
    return fabs(x) < 1e-300 ? 1e-300 : x;
}

/* The continued fraction of the incomplete beta function (Abramowitz and Stegun 26.5.8),
 * evaluated forward: 1 / (1 + d1 / (1 + d2 / (1 + ...))). Converges fast for
 * x < (a+1)/(a+b+2). */
static double beta_fraction(double x, double a, double b)
{
    double c = 1.0, d = 1.0 / not_zero(1.0 - (a + b) * x / (a + 1.0)), value = d;
    for (double m = 1.0; m < 10000.0; m += 1.0) {
        double even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / not_zero(1.0 + even * d);
        c = not_zero(1.0 + even / c);
        value *= c * d;
        double odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / not_zero(1.0 + odd * d);
        c = not_zero(1.0 + odd / c);
        value *= c * d;
        if (fabs(c * d - 1.0) < 1e-16)
            break;
    }
    return value;
}

/* I_x(a, b); rest is 1 - x, passed separately because subtraction would lose it. */
static double incomplete_beta(double x, double rest, double a, double b)
{
    if (x <= 0.0 || rest <= 0.0)
        return x <= 0.0 ? 0.0 : 1.0;
    double front =
        exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * log(x) + b * log(rest));
    if (x < (a + 1.0) / (a + b + 2.0))
        return front * beta_fraction(x, a, b) / a;
    return 1.0 - front * beta_fraction(rest, b, a) / b;
}

double rf_t_tails(double t, double df)
{
    double square = t * t;
    if (isinf(square))
        return 0.0;
    return incomplete_beta(df / (df + square), square / (df + square), 0.5 * df, 0.5);
}

double rf_t_bound(double p, double df)
{
    double low = 0.0, high = 1.0;
    while (rf_t_tails(high, df) > p && high < 1e150)
        high *= 2.0;
    for (int i = 0; i < 200; i++) { /* bisect until the two are adjacent */
        double middle = 0.5 * (low + high);
        if (middle <= low || middle >= high)
            break;
        if (rf_t_tails(middle, df) > p)
            low = middle;
        else
            high = middle;
    }
    return 0.5 * (low + high);
}
