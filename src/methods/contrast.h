/*
 * contrast.h - the contrastive loss of KNN-contrastive learning, and its queue of keys
 *
 * The queue is a ring of vectors of length 1 with their classes. For a query q of length
 * 1 and class y, with s_j = q . key_j / temperature:
 *   positives P  the `top` entries of class y that are nearest to q (all, if fewer)
 *   negatives N  all entries of other classes
 *   loss = mean over p in P of -log(exp(s_p) / (exp(s_p) + sum over N of exp(s_n)))
 * A query without positives or without negatives has loss 0. With `unmasked`, as in
 * the authors' code and TEXTOIR, positives are the nearest entries of any class. Every
 * query then has the same number of them: the smallest number of entries that any query's
 * class has, at most `top`. An entry may be positive and negative at once.
 */
#ifndef RF_METHODS_CONTRAST_H
#define RF_METHODS_CONTRAST_H

#include "base/error.h"

typedef struct rf_contrast {
    size_t width, room; /* maximum number of keys */
    size_t filled;      /* keys in the queue */
    size_t next;        /* position of the next key */
    size_t max_rows, top;
    float temperature;
    bool unmasked;
    uint32_t *class_of; /* [room] */
    uint32_t *best;     /* [top] the positives of a query */
    double *pull;       /* [top] and their gradients */
    float *block;       /* memory of the arrays below */
    float *panels;      /* panels of [room, width]: for similarities */
    float *strips;      /* strips [ceil(width / 16)][room][16]: for the backward pass */
    float *near;        /* [max_rows, room] similarities, then their gradients */
} rf_contrast;

/* All sizes must be above 0; max_rows: maximum queries per call. */
rf_status rf_contrast_init(rf_contrast *c, size_t width, size_t room, size_t max_rows,
                           size_t top, float temperature, bool unmasked, rf_error *err);
void rf_contrast_release(rf_contrast *c); /* accepts a zeroed struct */

/* Removes all keys. */
void rf_contrast_clear(rf_contrast *c);

/* Adds n keys [n, width] of length 1, replacing the oldest. */
void rf_contrast_add(rf_contrast *c, const float *keys, const uint32_t *class_of,
                     size_t n);

/* The mean loss of n queries [n, width] of length 1, and its gradient dq [n, width]. */
double rf_contrast_loss(rf_contrast *c, const float *q, const uint32_t *class_of,
                        size_t n, float *dq);

#endif
