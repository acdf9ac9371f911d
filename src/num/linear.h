/*
 * linear.h - a dense layer that learns: y = x W^T + b
 *
 * Forward pass and input gradient are plain products on the caller's rows. The weight
 * gradient sums over all rows of a batch, which several threads fill in: each stores its
 * rows of x, transposed, and of dy, in strips. Once all rows are there, any block of
 * outputs can be finished on its own while it is in the cache: gradient, optimiser, and
 * the transposed copy of the weights for the next backward pass. Each number is computed
 * by one thread in one order, whichever thread that is.
 */
#ifndef RF_NUM_LINEAR_H
#define RF_NUM_LINEAR_H

#include "base/error.h"
#include "num/kernels.h"
#include "num/train.h"

typedef struct rf_linear {
    size_t out, in;
    float *w, *b; /* panels of [out, in]; [out]: the caller's */
    size_t max_rows;
    size_t ld;                    /* row distance of x_transposed */
    float *block;                 /* holds the arrays below */
    float *transposed;            /* panels of W^T, for dx = dy W */
    float *w_grad;                /* as w */
    float *b_grad;                /* as b */
    float *w_m, *w_v, *b_m, *b_v; /* the optimiser's moments */
    float *x_transposed;          /* [in, max_rows] inputs of the batch */
    float *dy;                    /* strips [ceil(out/16)][max_rows][16] */
} rf_linear;

/* Blocks of outputs that rf_linear_update can treat separately. */
#define RF_LINEAR_OUTPUTS 64

/* Borrows w and b. Moments start at zero; call rf_linear_transpose before the first
 * backward pass. */
rf_status rf_linear_init(rf_linear *l, float *w, float *b, size_t out, size_t in,
                         size_t max_rows, rf_error *err);
void rf_linear_release(rf_linear *l); /* accepts a zeroed struct */

/* Renews the transposed copy after w was changed from outside. */
void rf_linear_transpose(rf_linear *l);

/* y [rows, out] = x W^T + b */
void rf_linear_forward(const rf_linear *l, float *y, const float *x, size_t rows);

/* dx [rows, in] = dy W, or dx += dy W */
void rf_linear_backward(const rf_linear *l, float *dx, const float *dy, size_t rows,
                        bool add);

/* Stores rows [first, first + rows) of this batch for the weight gradient: the input and
 * the gradient of the output. */
void rf_linear_store(rf_linear *l, const float *x, const float *dy, size_t first,
                     size_t rows);

/* Gradient of block `index` of outputs over `rows` rows; with add, on top of the gradient
 * so far. With adam, also one step of the optimiser for these outputs, biases without
 * decay. */
void rf_linear_update(rf_linear *l, size_t index, size_t rows, bool add,
                      const rf_adam *adam);

static inline size_t rf_linear_blocks(const rf_linear *l)
{
    return (l->out + RF_LINEAR_OUTPUTS - 1) / RF_LINEAR_OUTPUTS;
}

#endif
