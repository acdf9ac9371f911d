/*
 * heads.h - one small network per class: width -> 256 -> 64 -> 1, ReLU between
 *
 * A head is one block of floats; the blocks of all classes stand one after another.
 *   w1 panels of [256, width] | b1 [256] | w2 panels of [64, 256] | b2 [64] |
 *   w3 [64] | b3 [1] and 15 floats of zero
 * "Panels" as in num/train.h.
 */
#ifndef RF_OPEN_HEADS_H
#define RF_OPEN_HEADS_H

#include "base/error.h"

#define RF_HEAD_1 256
#define RF_HEAD_2 64

typedef struct rf_heads {
    size_t width, classes;
    float *block; /* [classes][rf_head_floats(width)] */
} rf_heads;

/* Where the parts of a head are. */
typedef struct rf_head {
    float *w1, *b1, *w2, *b2, *w3, *b3;
} rf_head;

size_t rf_head_floats(size_t width);
rf_head rf_head_at(const rf_heads *h, size_t class_index);

rf_status rf_heads_init(rf_heads *h, size_t width, size_t classes, rf_error *err);
void rf_heads_release(rf_heads *h); /* accepts a zeroed struct */

/* Dropout after each hidden layer, in training; the keys name the streams. */
typedef struct rf_head_dropout {
    float p;
    uint64_t key1, key2;
} rf_head_dropout;

/* One head on x [n, width]: the hidden layers h1 [n, 256] and h2 [n, 64], and g, one
 * number per row, ld_g apart. drop may be NULL. */
void rf_head_forward(const rf_head *head, size_t width, const float *x, size_t n,
                     const rf_head_dropout *drop, float *h1, float *h2, float *g,
                     size_t ld_g);

/* Rows that rf_heads_score takes at a time. */
#define RF_SCORE_ROWS 96
/* Floats of scratch that it needs. */
#define RF_SCORE_SCRATCH (RF_SCORE_ROWS * (RF_HEAD_1 + RF_HEAD_2))

/* margins[i][m] = g_m(z_i) for classes m in [from, to), rows of margins `classes` apart;
 * z is [n, width]. A row's result depends on nothing but the row. */
void rf_heads_score(const rf_heads *h, const float *z, size_t n, size_t from, size_t to,
                    float *margins, float *scratch);

#endif
