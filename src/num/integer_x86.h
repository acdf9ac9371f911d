/*
 * integer_x86.h - the part of the integer product that the x86 paths share: all but the
 * tile
 *
 * Included after the file has defined
 *
 *   INTEGER_ROWS                          rows of its largest tile
 *   integer_tile_fn *integer_tiles[]      [R]: the tile of R rows
 *
 * As in product_x86.h, rows are cut into blocks and tiles. The sums are exact, and each
 * output is finished alone, so neither cut changes a bit.
 */
#ifndef RF_NUM_INTEGER_X86_H
#define RF_NUM_INTEGER_X86_H

#include "num/gelu_x86.h"
#include "num/kernels.h"

#include <string.h>

#define INTEGER_BLOCK 96

/* (float)(sum - 128 row sum) * row scale * output scale + bias, a row of a panel */
static inline void scale_row(float *out, const int32_t *sums, const rf_quantised_row *r,
                             const float *scale, const float *bias)
{
    __m256i offset = _mm256_set1_epi32(128 * r->sum);
    __m256 by = _mm256_set1_ps(r->scale);
    for (size_t j = 0; j < RF_WIDE; j += 8) {
        __m256i s = _mm256_load_si256((const __m256i *)(const void *)(sums + j));
        __m256 v = _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_sub_epi32(s, offset)), by);
        v = _mm256_fmadd_ps(v, _mm256_loadu_ps(scale + j), _mm256_loadu_ps(bias + j));
        _mm256_storeu_ps(out + j, v);
    }
}

/* Adds what the bytes of a row lack: rest times the weights of its input. */
static inline void add_listed(int32_t *sums, const rf_quantised_row *r, const uint8_t *b)
{
    for (uint32_t o = 0; o < r->n_listed; o++) {
        size_t at = r->listed[o].at;
        const uint8_t *w = b + at / RF_QUAD * RF_QUAD * RF_WIDE;
        __m128i down = _mm_cvtsi32_si128((int)(at % RF_QUAD * 8));
        /* words: the weight and 0, times rest and 0 */
        __m256i by = _mm256_set1_epi32((uint16_t)r->listed[o].rest);
        for (size_t j = 0; j < RF_WIDE; j += 8) {
            __m256i four =
                _mm256_loadu_si256((const __m256i *)(const void *)(w + j * RF_QUAD));
            __m256i one =
                _mm256_and_si256(_mm256_srl_epi32(four, down), _mm256_set1_epi32(255));
            __m256i *sum = (__m256i *)(void *)(sums + j);
            _mm256_store_si256(sum, _mm256_add_epi32(_mm256_load_si256(sum),
                                                     _mm256_madd_epi16(one, by)));
        }
    }
}

static inline void add_row(float *c, const float *x)
{
    for (size_t j = 0; j < RF_WIDE; j += 8)
        _mm256_storeu_ps(c + j,
                         _mm256_add_ps(_mm256_loadu_ps(x + j), _mm256_loadu_ps(c + j)));
}

/* rows of c = after(sums); all 32 columns are there. */
static void integer_finish(const rf_integer_args *g, const int32_t *sums, const char *a,
                           size_t a_row, float *c, size_t ldc, size_t rows,
                           const float *scale, const float *bias)
{
    _Alignas(64) float out[INTEGER_ROWS * RF_WIDE];
    for (size_t i = 0; i < rows; i++)
        scale_row(out + i * RF_WIDE, sums + i * RF_WIDE,
                  (const rf_quantised_row *)(const void *)(a + i * a_row), scale, bias);
    if (g->after == RF_GEMM_GELU)
        gelu_blocks(out, rows * RF_WIDE);
    for (size_t i = 0; i < rows; i++)
        if (g->after == RF_GEMM_ADD)
            add_row(c + i * ldc, out + i * RF_WIDE);
        else
            memcpy(c + i * ldc, out + i * RF_WIDE, RF_WIDE * sizeof(float));
}

/* The last panel of a matrix whose n is no multiple of 32: through a full-width copy. */
static void integer_finish_narrow(const rf_integer_args *g, const int32_t *sums,
                                  const char *a, size_t a_row, float *c, size_t rows,
                                  const float *scale, const float *bias, size_t cols)
{
    float wide[INTEGER_ROWS * RF_WIDE] = {0}, wide_scale[RF_WIDE] = {0};
    float wide_bias[RF_WIDE] = {0};
    memcpy(wide_scale, scale, cols * sizeof(float));
    memcpy(wide_bias, bias, cols * sizeof(float));
    for (size_t i = 0; i < rows; i++)
        memcpy(wide + i * RF_WIDE, c + i * g->ldc, cols * sizeof(float));
    integer_finish(g, sums, a, a_row, wide, RF_WIDE, rows, wide_scale, wide_bias);
    for (size_t i = 0; i < rows; i++)
        memcpy(c + i * g->ldc, wide + i * RF_WIDE, cols * sizeof(float));
}

/* One panel of b times a block of m rows from row i0 on. */
static void integer_panel(const rf_integer_args *g, size_t i0, size_t m, size_t j0)
{
    _Alignas(64) int32_t sums[INTEGER_ROWS * RF_WIDE];
    size_t steps = (g->k + RF_QUAD - 1) / RF_QUAD, a_row = rf_quantised_bytes(g->k);
    size_t n_tiles = (m + INTEGER_ROWS - 1) / INTEGER_ROWS;
    size_t cols = g->n - j0 < RF_WIDE ? g->n - j0 : RF_WIDE;
    const uint8_t *b = g->b + j0 * steps * RF_QUAD;
    const char *a = (const char *)g->a + i0 * a_row;
    float *c = g->c + i0 * g->ldc + j0;
    for (size_t t = 0; t < n_tiles; t++) {
        size_t rows = m / n_tiles + (t < m % n_tiles);
        integer_tiles[rows](sums, a + sizeof(rf_quantised_row), a_row, b, steps);
        for (size_t i = 0; i < rows; i++)
            add_listed(sums + i * RF_WIDE,
                       (const rf_quantised_row *)(const void *)(a + i * a_row), b);
        if (cols == RF_WIDE)
            integer_finish(g, sums, a, a_row, c, g->ldc, rows, g->b_scale + j0,
                           g->bias + j0);
        else
            integer_finish_narrow(g, sums, a, a_row, c, rows, g->b_scale + j0,
                                  g->bias + j0, cols);
        a += rows * a_row;
        c += rows * g->ldc;
    }
}

static void integer_gemm(const rf_integer_args *g)
{
    for (size_t i0 = 0; i0 < g->m; i0 += INTEGER_BLOCK) {
        size_t m = g->m - i0 < INTEGER_BLOCK ? g->m - i0 : INTEGER_BLOCK;
        for (size_t j0 = 0; j0 < g->n; j0 += RF_WIDE)
            integer_panel(g, i0, m, j0);
    }
}

#endif
