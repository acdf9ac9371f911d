/*
 * vectors.h - small operations on rows of numbers: distances, unit length, the largest,
 * sorting, quantiles, the logistic function, logarithms
 */
#ifndef RF_NUM_VECTORS_H
#define RF_NUM_VECTORS_H

#include <stddef.h>

/* Euclidean distance; summed in double, so that near points keep their digits. */
double rf_distance(const float *a, const float *b, size_t n);

/* y = x / |x| by row; a row of zeroes stays one. y may be x. */
void rf_rows_normalise(float *y, const float *x, size_t n, size_t width);

/* Index of the largest, n > 0; the first of equals. */
size_t rf_largest(const float *x, size_t n);

/* 1 / (1 + e^-x) to 1e-15, without the C library: the same bits everywhere. */
double rf_sigmoid(double x);

/* ln x to 1e-15 of the larger of it and 1, likewise; x is finite, positive and no
 * subnormal number. */
double rf_log(double x);

/* y = x rounded to half precision, to nearest even; too large becomes infinity. y may be
 * x. */
void rf_to_half(float *y, const float *x, size_t n);

void rf_sort(float *x, size_t n); /* ascending */

/* The q quantile (0 to 1) with linear interpolation, as in numpy. n > 0; sorts x. */
double rf_quantile(double *x, size_t n, double q);

#endif
