/*
 * tile_x86.h - the form of a tile: sums[R][16] = a[R][k] b[k][16]
 *
 * On the way it fetches n_ahead lines of what comes next, from `ahead` on, at an even
 * pace. The including file has an inline function tile() with the rows as a last
 * argument, and makes a function of it for each number of rows: TILE(6) is tile6.
 */
#ifndef RF_NUM_TILE_X86_H
#define RF_NUM_TILE_X86_H

#include <stddef.h>

typedef void tile_fn(float *sums, const float *a, size_t lda, const float *b,
                     size_t b_row, size_t k, const float *ahead, size_t n_ahead);

#define TILE(R)                                                                          \
    static void tile##R(float *sums, const float *a, size_t lda, const float *b,         \
                        size_t b_row, size_t k, const float *ahead, size_t n_ahead)      \
    {                                                                                    \
        tile(sums, a, lda, b, b_row, k, ahead, n_ahead, R);                              \
    }

#endif
