/*
 * known.h - the classifier of known classes on features (paper 3.1):
 * Linear(d, d) -> ReLU -> Linear(d, C), dropout before the second in training
 *
 * Some methods use another form: no ReLU, or cosines instead of products.
 *
 * All parameters are one block, so that an optimiser or a writer can treat them as one;
 * weights are panels (num/panels.h).
 */
#ifndef RF_KNOWN_KNOWN_H
#define RF_KNOWN_KNOWN_H

#include "base/error.h"

typedef enum rf_known_form {
    RF_KNOWN_PLAIN = 0,       /* ReLU; logits = W h + b */
    RF_KNOWN_COSINE = 1,      /* ReLU; logits = cos(w_k, h) */
    RF_KNOWN_COSINE_FLAT = 2, /* no ReLU; logits = cos(w_k, h) */
} rf_known_form;

typedef struct rf_known {
    size_t width, classes;
    rf_known_form form;
    size_t floats; /* of the block */
    float *block;
    float *dense_w, *dense_b; /* width -> width */
    float *out_w, *out_b;     /* width -> classes; out_b padded to whole panels */
} rf_known;

rf_status rf_known_init(rf_known *k, size_t width, size_t classes, rf_error *err);
void rf_known_release(rf_known *k); /* accepts a zeroed struct */

/* Weights from N(0, 0.02), biases 0. */
void rf_known_reset(rf_known *k, uint64_t seed);

/* hidden [n, width] and logits [n, classes] of features z [n, width]. A row's result
 * depends on that row alone. */
void rf_known_logits(const rf_known *k, const float *z, size_t n, float *logits,
                     float *hidden);

#endif
