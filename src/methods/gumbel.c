/* gumbel.c - maximum likelihood fit of a Gumbel distribution for minima */
#include "methods/gumbel.h"

#include <math.h>

#define HALVINGS 100
#define NO_SPREAD 1e-7 /* relative to the numbers: less is rounding */

/* Mean of x with weights exp((x - top) / scale), which lies between mean and maximum;
 * *log_mean is the logarithm of the mean weight. */
static double weighted_mean(const double *x, size_t n, double top, double scale,
                            double *log_mean)
{
    double sum = 0.0, weights = 0.0;
    for (size_t i = 0; i < n; i++) {
        double w = exp((x[i] - top) / scale);
        sum += w * x[i];
        weights += w;
    }
    *log_mean = log(weights / (double)n);
    return sum / weights;
}

/* The slope of the likelihood is zero where b + mean - weighted_mean(b) = 0. The left
 * side grows with b, is negative for b near 0 and not negative at b = maximum - mean:
 * bisection. */
bool rf_gumbel_fit(const double *x, size_t n, double *location, double *scale)
{
    double mean = 0.0, top = n ? x[0] : 0.0, bottom = top, log_mean;
    for (size_t i = 0; i < n; i++) {
        mean += x[i] / (double)n;
        top = x[i] > top ? x[i] : top;
        bottom = x[i] < bottom ? x[i] : bottom;
    }
    if (!(top - bottom > NO_SPREAD * fmax(1.0, fabs(top))))
        return false;
    double low = 0.0, high = top - mean;
    for (int i = 0; i < HALVINGS; i++) {
        double b = 0.5 * (low + high);
        if (b + mean - weighted_mean(x, n, top, b, &log_mean) < 0.0)
            low = b;
        else
            high = b;
    }
    weighted_mean(x, n, top, high, &log_mean);
    *scale = high;
    *location = top + high * log_mean;
    return true;
}

double rf_gumbel_cdf(double x, double location, double scale)
{
    return -expm1(-exp((x - location) / scale));
}
