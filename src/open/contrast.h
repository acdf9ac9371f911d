/*
 * contrast.h - the contrastive loss of KNN-contrastive learning, and its queue of keys
 *
 * The queue is a ring of vectors of length 1 with their classes. For a query q of length
 * 1 and class y, with s_j = q . key_j / temperature:
 *   positives P  the `top` entries of class y that are nearest to q (all, if fewer)
 *   negatives N  all entries of other classes
 *   loss = mean over p in P of -log(exp(s_p) / (exp(s_p) + sum over N of exp(s_n)))
 * A query without positives or without negatives has loss 0. With `unmasked`, positives
 * are the nearest entries of any class, as many for each query as the one with the fewest
 * entries of its class has of those, at most `top`: what the authors' code and TEXTOIR
 * do. An entry may then be positive and negative at once.
 */
#ifndef RF_OPEN_CONTRAST_H
#define RF_OPEN_CONTRAST_H

#include "base/error.h"

typedef struct rf_contrast {
    size_t width, room; /* keys at most */
    size_t filled;      /* keys that are there */
    size_t next;        /* where the next one goes */
    size_t max_rows, top;
    float temperature;
    bool unmasked;
    uint32_t *class_of; /* [room] */
    uint32_t *best;     /* [top] the positives of a query */
    double *pull;       /* [top] and their gradients */
    float *block;       /* all that follows */
    float *panels;      /* panels of [room, width]: for similarities */
    float *strips;      /* strips [ceil(width / 16)][room][16]: for the way back */
    float *near;        /* [max_rows, room] similarities, then their gradients */
} rf_contrast;

/* All sizes above 0; max_rows: queries at a time. */
rf_status rf_contrast_init(rf_contrast *c, size_t width, size_t room, size_t max_rows,
                           size_t top, float temperature, bool unmasked, rf_error *err);
void rf_contrast_release(rf_contrast *c); /* accepts a zeroed struct */

/* Forgets all keys. */
void rf_contrast_clear(rf_contrast *c);

/* n keys [n, width] of length 1; the oldest make room. */
void rf_contrast_add(rf_contrast *c, const float *keys, const uint32_t *class_of,
                     size_t n);

/* The mean loss of n queries [n, width] of length 1, and its gradient dq [n, width]. */
double rf_contrast_loss(rf_contrast *c, const float *q, const uint32_t *class_of,
                        size_t n, float *dq);

#endif
