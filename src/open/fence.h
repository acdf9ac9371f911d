/*
 * fence.h - what an open-set method has learnt: a few named arrays of floats
 *
 * A method declares its arrays (open/method.h); fitting fills them, the model file stores
 * them under "open.NAME", loading brings them back. What can be computed from them
 * (packed copies, norms) goes into `prepared` and is never stored.
 */
#ifndef RF_OPEN_FENCE_H
#define RF_OPEN_FENCE_H

#include "base/error.h"

#define RF_FENCE_ARRAYS 8

/* A dimension by its meaning; anything below RF_DIM_FIRST is the size itself. */
#define RF_DIM_CLASSES (SIZE_MAX - 1)
#define RF_DIM_WIDTH (SIZE_MAX - 2)
#define RF_DIM_ANY (SIZE_MAX - 3) /* 1 or more; what it is decides fit */
#define RF_DIM_FIRST (SIZE_MAX - 15)

typedef struct rf_fence_array {
    const char *name;
    size_t rank; /* 1 or 2 */
    size_t shape[2];
} rf_fence_array;

typedef struct rf_fence {
    size_t width, classes;
    struct {
        size_t shape[2]; /* real ones; [1] is 1 for rank 1 */
        float *data;
    } arrays[RF_FENCE_ARRAYS]; /* in the order in which the method declares them */
    void *prepared;
} rf_fence;

/* Room for array i, contents undefined; shape[1] is 1 for rank 1. */
rf_status rf_fence_room(rf_fence *f, size_t i, size_t n0, size_t n1, rf_error *err);

/* Frees the arrays; accepts a zeroed struct. prepared must have been released. */
void rf_fence_release(rf_fence *f);

#endif
