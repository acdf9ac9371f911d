/*
 * cosine.h - cosines of hidden vectors with the rows of Wo, forward and backward
 *
 *   cos[i][k] = (h_i / |h_i|) . (w_k / |w_k|)
 *
 * The second half of a classifier of form RF_KNOWN_COSINE or RF_KNOWN_COSINE_FLAT, on top
 * of the first half in methods/dense.h. A vector of length 0 has cosine 0 with
 * everything, as in known.c, and no gradient. The bias of the second layer is not used.
 *
 *   rf_dense_forward(&d, z, n, dropout, key);
 *   rf_cosine_forward(&c, n);             // c.cosines
 *   rf_cosine_back(&c, dcos, n, adam);    // d.dhidden, a step on Wo
 *   rf_dense_back_hidden(&d, z, n, dz, adam);
 */
#ifndef RF_METHODS_COSINE_H
#define RF_METHODS_COSINE_H

#include "methods/dense.h"

typedef struct rf_cosine {
    rf_dense *d;
    float *block;
    float *unit_w;     /* panels of [classes, width]: rows of Wo, length 1 */
    float *transposed; /* unit_w transposed */
    float *w_norm;     /* [classes] of the rows of Wo */
    float *dots;       /* [RF_PANEL] scratch */
    float *unit_h;     /* [max_rows, width]: d->hidden, length 1 */
    float *h_norm;     /* [max_rows] */
    float *cosines;    /* [max_rows, classes] */
} rf_cosine;

/* Borrows d. */
rf_status rf_cosine_init(rf_cosine *c, rf_dense *d, rf_error *err);
void rf_cosine_release(rf_cosine *c); /* accepts a zeroed struct */

/* The cosines of the first n rows of d->hidden. */
void rf_cosine_forward(rf_cosine *c, size_t n);

/* From dcos [n, classes] for the rows of the last forward pass: writes the gradient of
 * d->hidden to d->dhidden and takes an optimiser step on Wo. */
void rf_cosine_back(rf_cosine *c, const float *dcos, size_t n, const rf_adam *adam);

/* Rows of y [n, width] = rows of x divided by their lengths, which go to norms [n]; a
 * zero row stays zero. y may be x. */
void rf_unit_rows(float *y, const float *x, size_t n, size_t width, float *norms);

/* Turns the gradient of unit rows into that of the rows, in place:
 * d = (d - (d . unit) unit) / norm; 0 where the norm is 0. */
void rf_unit_rows_back(float *d, const float *unit, const float *norms, size_t n,
                       size_t width);

#endif
