/*
 * heads.h - one small network per class: width -> 256 -> 64 -> 1, ReLU between
 *
 * A head is one block of floats; the blocks of the classes that have one are contiguous.
 *   w1 panels of [256, width] | b1 [256] | w2 panels of [64, 256] | b2 [64] |
 *   w3 [64] | b3 [1] and 15 zeros of padding
 * For panels see num/train.h.
 */
#ifndef RF_ANS_HEADS_H
#define RF_ANS_HEADS_H

#include "open/method_state.h"

#include <stdbool.h>

#define RF_HEAD_1 256
#define RF_HEAD_2 64

/* The heads of the classes that have one are the state of a method; its block is
 * [held][rf_head_floats(width)]. */
typedef rf_method_state rf_heads;

/* Pointers to the parts of a head. */
typedef struct rf_head {
    float *w1, *b1, *w2, *b2, *w3, *b3;
} rf_head;

size_t rf_head_floats(size_t width);
rf_head rf_head_in(float *block, size_t width);
rf_head rf_head_at(const rf_heads *h, size_t class_index); /* of a class that has one */

/* The arrays of the state, in the order of rf_head. */
#define RF_HEAD_PARTS 6
/* clang-format off */
#define RF_HEAD_ARRAY_ROWS                                                               \
    {"hidden1.weight", 3, {RF_DIM_HELD, RF_DIM(RF_HEAD_1), RF_DIM_WIDTH}},               \
    {"hidden1.bias", 2, {RF_DIM_HELD, RF_DIM(RF_HEAD_1)}},                               \
    {"hidden2.weight", 3, {RF_DIM_HELD, RF_DIM(RF_HEAD_2), RF_DIM(RF_HEAD_1)}},          \
    {"hidden2.bias", 2, {RF_DIM_HELD, RF_DIM(RF_HEAD_2)}},                               \
    {"out.weight", 2, {RF_DIM_HELD, RF_DIM(RF_HEAD_2)}},                                 \
    {"out.bias", 1, {RF_DIM_HELD}}
/* clang-format on */
extern const rf_method_array rf_head_arrays[RF_HEAD_PARTS];

/* A head for every class, all weights 0; rf_method_state_release frees them. */
rf_status rf_heads_init(rf_heads *h, size_t width, size_t classes, rf_error *err);

/* The same in a state that has its width and classes, and perhaps other arrays, which
 * stay: heads for the classes with has[c], NULL for all. */
rf_status rf_heads_room(rf_heads *h, const bool *has, rf_error *err);

/* Rounds the two large matrices of a head to half precision, as files store them; false
 * if a number is too large for that. */
bool rf_head_round(const rf_head *head, size_t width);

/* Dropout after each hidden layer in training; the keys select the random streams. */
typedef struct rf_head_dropout {
    float p;
    uint64_t key1, key2;
} rf_head_dropout;

/* One head on x [n, width]: the hidden layers h1 [n, 256] and h2 [n, 64], and g, one
 * float per row, ld_g apart. drop may be NULL. */
void rf_head_forward(const rf_head *head, size_t width, const float *x, size_t n,
                     const rf_head_dropout *drop, float *h1, float *h2, float *g,
                     size_t ld_g);

/* Rows that rf_heads_score processes at a time. */
#define RF_SCORE_ROWS 96
/* Floats of scratch that it needs. */
#define RF_SCORE_SCRATCH (RF_SCORE_ROWS * (RF_HEAD_1 + RF_HEAD_2))

/* margins[i][m] = g_m(z_i) for classes m in [from, to), rows of margins `classes` apart;
 * z is [n, width]. A row's result does not depend on the other rows. */
void rf_heads_score(const rf_heads *h, const float *z, size_t n, size_t from, size_t to,
                    float *margins, float *scratch);

#endif
