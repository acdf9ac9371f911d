/*
 * upper_layers.h - copies of an encoder's upper layers, and blends of two copies
 *
 * Fine-tuning pulls the features of unknown classes towards the known ones. Halfway back
 * to the original weights, most of what was learnt about the known classes remains, and
 * the unknown ones are separate again.
 *
 *   rf_upper_layers first = {0}, tuned = {0};
 *   rf_upper_layers_copy(&first, encoder, 2, err);
 *   ... tune ...
 *   rf_upper_layers_copy(&tuned, encoder, 2, err);
 *   rf_upper_layers_blend(encoder, &first, &tuned, 0.5f);
 */
#ifndef RF_STAGES_UPPER_LAYERS_H
#define RF_STAGES_UPPER_LAYERS_H

#include "encoder/encoder.h"

typedef struct rf_upper_layers {
    size_t live;  /* how many, counted from the last */
    float *block; /* weights and biases in the order of the layers' groups */
} rf_upper_layers;

/* Releases what the struct held before. live may be 0. */
rf_status rf_upper_layers_copy(rf_upper_layers *u, const rf_encoder *e, size_t live,
                               rf_error *err);
void rf_upper_layers_release(rf_upper_layers *u); /* accepts a zeroed struct */

/* The encoder's upper layers become first + share (tuned - first), rounded to half
 * precision: the weights a model file stores. RF_ERR_NUMERIC if one overflows. */
rf_status rf_upper_layers_blend(rf_encoder *e, const rf_upper_layers *first,
                                const rf_upper_layers *tuned, float share, rf_error *err);

#endif
