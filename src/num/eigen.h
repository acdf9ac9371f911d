/*
 * eigen.h - eigenvalues and eigenvectors of a symmetric matrix
 */
#ifndef RF_NUM_EIGEN_H
#define RF_NUM_EIGEN_H

#include "base/error.h"

/* a [n, n] symmetric (only the lower triangle is read) becomes the eigenvectors, one per
 * row; values [n] are their eigenvalues, in no particular order. The sign of a vector,
 * and the basis of a repeated eigenvalue, are whatever the arithmetic gives, the same on
 * every call. RF_ERR_NUMERIC if the numbers are not finite. */
rf_status rf_eigen_symmetric(double *a, double *values, size_t n, rf_error *err);

#endif
