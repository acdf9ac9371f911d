/*
 * covariance.h - an invertible covariance estimate and its whitening matrix
 *
 * Ledoit and Wolf (2004): the covariance S of n rows is mixed with a multiple of the unit
 * matrix, (1 - s) S + s mu I with mu = trace(S) / width, by the share s expected to be
 * closest to the true covariance. It needs no setting and works for n < width.
 */
#ifndef RF_NUM_COVARIANCE_H
#define RF_NUM_COVARIANCE_H

#include "base/error.h"
#include "base/team.h"

#define RF_SHRINK_AS_EXPECTED (-1.0)

/* w [width, width] lower triangular with w C w^T = I, C the mixed covariance of rows x
 * [rows, width] which must be centred. *shrinkage is s: above 0, or
 * RF_SHRINK_AS_EXPECTED for the share of Ledoit and Wolf, which is returned: at least
 * 1e-4, so that C has an inverse even if the rows lie in a plane and seem to determine it
 * exactly. If all rows are zero, w is the unit matrix. */
rf_status rf_whitening(float *w, const float *x, size_t rows, size_t width,
                       double *shrinkage, rf_team *team, rf_error *err);

#endif
