/*
 * covariance.h - a covariance that can be inverted, and the matrix that whitens with it
 *
 * Ledoit and Wolf (2004): the covariance S of n rows is mixed with a multiple of the unit
 * matrix, (1 - s) S + s mu I with mu = trace(S) / width, by the share s that is expected
 * to lie nearest to the truth. It needs no setting and works for n < width.
 */
#ifndef RF_OPEN_COVARIANCE_H
#define RF_OPEN_COVARIANCE_H

#include "base/error.h"
#include "base/team.h"

/* w [width, width] lower triangular with w C w^T = I, C the mixed covariance of rows x
 * [rows, width] that are centred already. *shrinkage, if wanted, is s: at least 1e-4, so
 * that C has an inverse even if the rows happen to lie in a plane and look as if they
 * fixed it exactly. Rows of nothing but zeroes: w is the unit matrix. */
rf_status rf_whitening(float *w, const float *x, size_t rows, size_t width,
                       double *shrinkage, rf_team *team, rf_error *err);

#endif
