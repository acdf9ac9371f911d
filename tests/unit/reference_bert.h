/*
 * reference_bert.h - BERT written down once more, as plainly as possible
 *
 * Double precision, triple loops, no packing, no threads, weights by name: an
 * implementation that shares nothing with src/ but the formulas.
 */
#ifndef RF_TEST_REFERENCE_BERT_H
#define RF_TEST_REFERENCE_BERT_H

#include <stddef.h>
#include <stdint.h>

typedef struct reference_shape {
    size_t layers, width, heads, inner;
    double eps;
} reference_shape;

/* The weights of a name such as "encoder.layer.0.output.dense.weight". */
typedef const float *(*reference_weights)(void *user, const char *name);

/* Mean over the tokens of the last layer's output; out is [width]. */
void reference_bert(const reference_shape *s, reference_weights weights, void *user,
                    const int32_t *ids, size_t n, double *out);

#endif
