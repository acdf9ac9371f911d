/*
 * known.h - the classifier of known classes on features (paper 3.1):
 * Linear(d, d) -> ReLU -> Linear(d, C), dropout before the second in training
 *
 * All parameters are one block, so that an optimiser or a writer can treat them as one;
 * weights are panels (num/panels.h).
 */
#ifndef RF_KNOWN_KNOWN_H
#define RF_KNOWN_KNOWN_H

#include "base/error.h"

typedef struct rf_known {
    size_t width, classes;
    size_t floats; /* of the block */
    float *block;
    float *dense_w, *dense_b; /* width -> width */
    float *out_w, *out_b;     /* width -> classes; out_b padded to whole panels */
} rf_known;

rf_status rf_known_init(rf_known *k, size_t width, size_t classes, rf_error *err);
void rf_known_release(rf_known *k); /* accepts a zeroed struct */

/* Weights from N(0, 0.02), biases 0. */
void rf_known_reset(rf_known *k, uint64_t seed);

/* logits [n, classes] of features z [n, width]; scratch is [n, width]. A row's result
 * depends on nothing but the row. */
void rf_known_logits(const rf_known *k, const float *z, size_t n, float *logits,
                     float *scratch);

#endif
