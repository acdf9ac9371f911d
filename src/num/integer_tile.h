/*
 * integer_tile.h - the signature of an integer tile:
 * sums[R][32] = a[R][4 steps] b[4 steps][32]
 *
 * Rows of a are a_row bytes apart. The including file has an inline function
 * integer_tile() with the number of rows as its last argument, and INTEGER_TILE(6) makes
 * integer_tile6 of it.
 */
#ifndef RF_NUM_INTEGER_TILE_H
#define RF_NUM_INTEGER_TILE_H

#include <stddef.h>
#include <stdint.h>

typedef void integer_tile_fn(int32_t *sums, const char *a, size_t a_row, const uint8_t *b,
                             size_t steps);

#define INTEGER_TILE(R)                                                                  \
    static void integer_tile##R(int32_t *sums, const char *a, size_t a_row,              \
                                const uint8_t *b, size_t steps)                          \
    {                                                                                    \
        integer_tile(sums, a, a_row, b, steps, R);                                       \
    }

#endif
