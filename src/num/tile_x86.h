/*
 * tile_x86.h - the signature of a tile: sums[R][16] = a[R][k] b[k][16]
 *
 * Meanwhile it prefetches n_ahead cache lines from `ahead` on, evenly spaced. The
 * including file has an inline function tile() with the number of rows as its last
 * argument, and TILE(6) makes tile6 of it.
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
