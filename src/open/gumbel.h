/* gumbel.h - the distribution of the smallest of many, P(d) = 1 - exp(-exp((d - a) / b))
 */
#ifndef RF_OPEN_GUMBEL_H
#define RF_OPEN_GUMBEL_H

#include <stdbool.h>
#include <stddef.h>

/* Location a and scale b of largest likelihood for n numbers; false if they have no
 * spread to fit (a single one, all equal). */
bool rf_gumbel_fit(const double *x, size_t n, double *location, double *scale);

double rf_gumbel_cdf(double x, double location, double scale);

#endif
