/*
 * rows.h - what several methods do with rows of numbers: the known classifier on many of
 * them, distances, the largest, quantiles
 */
#ifndef RF_OPEN_ROWS_H
#define RF_OPEN_ROWS_H

#include "base/team.h"
#include "known/known.h"

/* The known classifier's hidden layer [n, width] and logits [n, known->classes] of
 * features z [n, width]; either may be NULL. RF_ERR_NUMERIC if z holds a NaN. */
rf_status rf_rows_signals(const rf_known *known, const float *z, size_t n, float *hidden,
                          float *logits, rf_team *team, rf_error *err);

/* Euclidean distance; summed in double, so that near points keep their digits. */
double rf_distance(const float *a, const float *b, size_t n);

/* y = x / |x| by row; a row of zeroes stays one. y may be x. */
void rf_rows_normalise(float *y, const float *x, size_t n, size_t width);

/* Index of the largest, n > 0; the first of equals. */
size_t rf_largest(const float *x, size_t n);

void rf_sort(float *x, size_t n); /* the least first */

/* The q quantile (0 to 1) with linear interpolation, as numpy has it. n > 0; sorts x. */
double rf_quantile(double *x, size_t n, double q);

#endif
