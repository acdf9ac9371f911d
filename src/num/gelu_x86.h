/* gelu_x86.h - GELU with AVX2, for every file that finishes a product */
#ifndef RF_NUM_GELU_X86_H
#define RF_NUM_GELU_X86_H

#include "num/gelu_fit.h"

#include <immintrin.h>
#include <stddef.h>

#define GELU_VECTORS 4

/* Four vectors at a time, interleaved: one alone waits for its own chain of some 60
 * cycles, four side by side keep the multipliers busy. */
static inline __attribute__((always_inline)) void gelu32(__m256 x[GELU_VECTORS])
{
    const __m256 edge = _mm256_set1_ps(GELU_EDGE), half = _mm256_set1_ps(0.5f);
    __m256 c[GELU_VECTORS], u[GELU_VECTORS], p[GELU_VECTORS], q[GELU_VECTORS];
#define EACH _Pragma("GCC unroll 4") for (int j = 0; j < GELU_VECTORS; j++)
    EACH c[j] = _mm256_max_ps(x[j], _mm256_sub_ps(_mm256_setzero_ps(), edge));
    EACH c[j] = _mm256_min_ps(c[j], edge);
    EACH u[j] = _mm256_mul_ps(c[j], c[j]);
    EACH q[j] = _mm256_set1_ps(gelu_q[0]);
#pragma GCC unroll 4
    for (int i = 1; i < 5; i++)
        EACH q[j] = _mm256_fmadd_ps(q[j], u[j], _mm256_set1_ps(gelu_q[i]));
    EACH p[j] = _mm256_set1_ps(gelu_p[0]);
#pragma GCC unroll 6
    for (int i = 1; i < 7; i++)
        EACH p[j] = _mm256_fmadd_ps(p[j], u[j], _mm256_set1_ps(gelu_p[i]));
    EACH p[j] = _mm256_mul_ps(c[j], p[j]);
    EACH p[j] = _mm256_add_ps(half, _mm256_div_ps(p[j], q[j]));
    EACH p[j] = _mm256_max_ps(p[j], _mm256_setzero_ps());
    EACH p[j] = _mm256_min_ps(p[j], _mm256_set1_ps(1.0f));
    EACH x[j] = _mm256_mul_ps(x[j], p[j]);
#undef EACH
}

/* GELU of n floats, n a multiple of 8, in place. */
static void gelu_blocks(float *x, size_t n)
{
    for (; n >= 8 * GELU_VECTORS; n -= 8 * GELU_VECTORS, x += 8 * GELU_VECTORS) {
        __m256 v[GELU_VECTORS];
        for (size_t j = 0; j < GELU_VECTORS; j++)
            v[j] = _mm256_loadu_ps(x + 8 * j);
        gelu32(v);
        for (size_t j = 0; j < GELU_VECTORS; j++)
            _mm256_storeu_ps(x + 8 * j, v[j]);
    }
    if (n > 0) {
        __m256 v[GELU_VECTORS] = {0};
        for (size_t j = 0; j < n / 8; j++)
            v[j] = _mm256_loadu_ps(x + 8 * j);
        gelu32(v);
        for (size_t j = 0; j < n / 8; j++)
            _mm256_storeu_ps(x + 8 * j, v[j]);
    }
}

#endif
