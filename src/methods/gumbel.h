/* gumbel.h - Gumbel distribution of the minimum of many values:
 * P(d) = 1 - exp(-exp((d - a) / b)) */
#ifndef RF_METHODS_GUMBEL_H
#define RF_METHODS_GUMBEL_H

#include <stdbool.h>
#include <stddef.h>

/* Maximum likelihood location a and scale b for n numbers; false if they have no spread
 * (only one, or all equal). */
bool rf_gumbel_fit(const double *x, size_t n, double *location, double *scale);

double rf_gumbel_cdf(double x, double location, double scale);

#endif
