/*
 * dense.h - training of the known classifier inside an objective: one thread, a whole
 * batch at a time
 *
 *   h = dropout(act(z Wd^T + bd)); logits = h Wo^T + bo
 *
 * act is ReLU, or the identity for RF_KNOWN_COSINE_FLAT. The losses of the cosine forms
 * work on h and the rows of Wo directly: they use only the first half and update Wo
 * themselves (methods/cosine.h).
 */
#ifndef RF_METHODS_DENSE_H
#define RF_METHODS_DENSE_H

#include "known/known.h"
#include "known/objective.h"
#include "num/linear.h"

typedef struct rf_dense {
    rf_known *known;
    size_t max_rows;
    rf_linear dense, out; /* over known's parameters */
    float *block;
    float *pre;     /* [max_rows, width] before act */
    float *hidden;  /* [max_rows, width] after act and dropout */
    float *dhidden; /* [max_rows, width] */
    float *logits;  /* [max_rows, classes] */
    float dropout;  /* of the last forward pass */
    uint64_t key;
} rf_dense;

/* Borrows known. */
rf_status rf_dense_init(rf_dense *d, rf_known *known, size_t max_rows, rf_error *err);
void rf_dense_release(rf_dense *d); /* accepts a zeroed struct */

/* Adds weights and biases of both layers to o's parameters. */
void rf_dense_list(rf_dense *d, rf_objective *o);
void rf_dense_refresh(rf_dense *d);

/* d->pre, d->hidden and d->logits of z [n, width]. key selects the dropout mask;
 * dropout 0: none. */
void rf_dense_forward(rf_dense *d, const float *z, size_t n, float dropout, uint64_t key);

/* The two halves of the backward pass, for the rows of the last forward pass.
 * rf_dense_back_out: from dlogits [n, classes], writes the gradient of d->hidden to
 * d->dhidden and takes an optimiser step on the second layer.
 * rf_dense_back_hidden: from d->dhidden, writes dz [n, width] and takes a step on the
 * first layer. z is the input of the forward pass. */
void rf_dense_back_out(rf_dense *d, const float *dlogits, size_t n, const rf_adam *adam);
void rf_dense_back_hidden(rf_dense *d, const float *z, size_t n, float *dz,
                          const rf_adam *adam);

/* Mean cross entropy of softmax(logits / temperature) against class_of, over n rows:
 * logits [n, classes] become dloss / dlogits. */
double rf_cross_entropy(float *logits, const uint32_t *class_of, size_t n, size_t classes,
                        float temperature);

/* Number of rows of logits [n, classes] whose largest is at class_of. */
size_t rf_count_right(const float *logits, const uint32_t *class_of, size_t n,
                      size_t classes);

#endif
