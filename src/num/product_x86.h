/*
 * product_x86.h - the part of the product that both x86 variants share: all but the tile
 *
 * Included by kernels_avx2.c and kernels_avx512.c, after each has defined
 *
 *   MAX_ROWS                 rows of its largest tile
 *   tile_fn *tiles[]         tiles[R]: the tile of R rows (tile_x86.h)
 *
 * Rows are cut into blocks of BLOCK_M that stay in the second-level cache while the
 * panels stream past, and blocks into tiles. However they are cut, each output is one
 * chain of FMAs in order of k, followed by the same code (bias, GELU). That makes results
 * independent of batch and threads, and both variants equal to the last bit.
 */
#ifndef RF_NUM_PRODUCT_X86_H
#define RF_NUM_PRODUCT_X86_H

#include "num/gelu_x86.h"
#include "num/kernels.h"

#include <immintrin.h>
#include <string.h>

#define BLOCK_M 96

/* A whole panel's width of c = after(sums + bias). Overwrites sums. */
static void finish_wide(const rf_gemm_args *g, float *sums, float *c, size_t rows,
                        const float *bias)
{
    __m256 bias0 = _mm256_loadu_ps(bias), bias1 = _mm256_loadu_ps(bias + 8);
    if (g->after == RF_GEMM_GELU) {
        for (size_t i = 0; i < rows * RF_PANEL; i += RF_PANEL) {
            _mm256_store_ps(sums + i, _mm256_add_ps(_mm256_load_ps(sums + i), bias0));
            _mm256_store_ps(sums + i + 8,
                            _mm256_add_ps(_mm256_load_ps(sums + i + 8), bias1));
        }
        gelu_blocks(sums, rows * RF_PANEL);
        bias0 = bias1 = _mm256_setzero_ps();
    }
    for (size_t i = 0; i < rows; i++, c += g->ldc, sums += RF_PANEL) {
        __m256 v0 = _mm256_add_ps(_mm256_load_ps(sums), bias0);
        __m256 v1 = _mm256_add_ps(_mm256_load_ps(sums + 8), bias1);
        if (g->after == RF_GEMM_ADD) {
            v0 = _mm256_add_ps(v0, _mm256_loadu_ps(c));
            v1 = _mm256_add_ps(v1, _mm256_loadu_ps(c + 8));
        }
        _mm256_storeu_ps(c, v0);
        _mm256_storeu_ps(c + 8, v1);
    }
}

/* The last panel of a matrix whose n is no multiple of 16: through a full-width copy, so
 * that nothing beyond the row is touched. */
static void finish_narrow(const rf_gemm_args *g, float *sums, float *c, size_t rows,
                          const float *bias, size_t cols)
{
    float wide[MAX_ROWS * RF_PANEL] = {0}, wide_bias[RF_PANEL] = {0};
    rf_gemm_args to_copy = *g;
    to_copy.ldc = RF_PANEL;
    memcpy(wide_bias, bias, cols * sizeof(float));
    for (size_t i = 0; i < rows; i++)
        memcpy(wide + i * RF_PANEL, c + i * g->ldc, cols * sizeof(float));
    finish_wide(&to_copy, sums, wide, rows, wide_bias);
    for (size_t i = 0; i < rows; i++)
        memcpy(c + i * g->ldc, wide + i * RF_PANEL, cols * sizeof(float));
}

/* One panel of b times a block of rows. */
static void panel_rows(const rf_gemm_args *g, size_t i0, size_t m, size_t j0,
                       const float *next_b)
{
    static const float no_bias[RF_PANEL];
    _Alignas(64) float sums[MAX_ROWS * RF_PANEL];
    /* Rows are shared out evenly: 13 rows as 5+4+4, since tiles of 4 and more rows run at
     * full speed and a tile of 1 does not. */
    size_t n_tiles = (m + MAX_ROWS - 1) / MAX_ROWS;
    size_t cols = g->n - j0 < RF_PANEL ? g->n - j0 : RF_PANEL;
    const float *b = g->b + j0 / RF_PANEL * g->b_panel;
    const float *bias = g->bias ? g->bias + j0 : no_bias;
    size_t c_panel = g->c_panel ? g->c_panel : RF_PANEL;

    for (size_t t = 0, row = i0; t < n_tiles; t++) {
        size_t rows = m / n_tiles + (t < m % n_tiles);
        float *c = g->c + row * g->ldc + j0 / RF_PANEL * c_panel;
        for (size_t i = 0; i < rows; i++) /* arrives by the time the sums are done */
            __builtin_prefetch(c + i * g->ldc, 1);
        /* Each tile prefetches its share of the next panel. All at once would ask for
         * twice the memory bandwidth, stall, and then leave the memory idle: with 10 rows
         * the product ran at about three quarters of its speed. */
        size_t from = g->k * t / n_tiles, to = g->k * (t + 1) / n_tiles;
        tiles[rows](sums, g->a + row * g->lda, g->lda, b, g->b_row, g->k,
                    next_b ? next_b + from * RF_PANEL : NULL, next_b ? to - from : 0);
        if (cols == RF_PANEL)
            finish_wide(g, sums, c, rows, bias);
        else
            finish_narrow(g, sums, c, rows, bias, cols);
        row += rows;
    }
}

static void gemm(const rf_gemm_args *g)
{
    bool packed = g->b_row == RF_PANEL; /* else the next panel is not adjacent */
    for (size_t i0 = 0; i0 < g->m; i0 += BLOCK_M) {
        size_t m = g->m - i0 < BLOCK_M ? g->m - i0 : BLOCK_M;
        for (size_t j0 = 0; j0 < g->n; j0 += RF_PANEL) {
            const float *next = NULL;
            if (packed && j0 + RF_PANEL < g->n)
                next = g->b + (j0 / RF_PANEL + 1) * g->b_panel;
            panel_rows(g, i0, m, j0, next);
        }
    }
}

#endif
