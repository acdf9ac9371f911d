/*
 * integer_weights.h - the dense weights of an encoder in 8 bits
 *
 * Made from the packed weights when the first embedder asks for them, and shared by all
 * that follow. The encoder must not learn after that.
 */
#ifndef RF_ENCODER_INTEGER_WEIGHTS_H
#define RF_ENCODER_INTEGER_WEIGHTS_H

#include "base/error.h"
#include "ringfence_encoder.h"

#include <stdint.h>

/* W [out, in] (num/integer.h) and the scale of each output. */
typedef struct rf_integer_matrix {
    uint8_t *w;
    float *scale;
} rf_integer_matrix;

typedef struct rf_integer_layer {
    rf_integer_matrix qkv, attn, up, down; /* as in rf_layer */
} rf_integer_layer;

typedef struct rf_integer_weights {
    uint8_t *block;           /* holds the matrices */
    rf_integer_layer *layers; /* [layers] */
} rf_integer_weights;

/* Those of e, which owns them; NULL on failure. Any number of threads may ask. */
const rf_integer_weights *rf_encoder_integers(const rf_encoder *e, rf_error *err);

void rf_integer_weights_free(rf_integer_weights *q); /* accepts NULL */

#endif
