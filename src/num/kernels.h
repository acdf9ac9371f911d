/*
 * kernels.h - the numeric kernels, in a portable and an AVX2 variant
 *
 * Arrays in, arrays out: no allocation, no state. Both variants have the same
 * signatures; rf_kernels() picks one per process. AVX-512 only speeds up the products of
 * the AVX2 variant, with the same bits, so it is not a variant of its own. Within a
 * variant a result depends only on the numbers that enter it, never on the position in a
 * batch or on the number of threads: each output of rf_gemm is one chain of multiply-adds
 * in order of k.
 */
#ifndef RF_NUM_KERNELS_H
#define RF_NUM_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Columns of a panel of a packed matrix. */
#define RF_PANEL 16

typedef enum rf_gemm_after {
    RF_GEMM_SET = 0,  /* c = a b + bias */
    RF_GEMM_ADD = 1,  /* c = c + (a b + bias) */
    RF_GEMM_GELU = 2, /* c = gelu(a b + bias) */
} rf_gemm_after;

/* One product. Panels are RF_PANEL columns wide: row kk of panel p starts at
 * b + p * b_panel + kk * b_row. A packed matrix has b_row RF_PANEL and
 * b_panel k * RF_PANEL; a row-major one (n a multiple of RF_PANEL) has b_row = its row
 * length and b_panel RF_PANEL. Rows of the last panel are read whole, so a packed matrix
 * is padded with zeroes; only n columns of c are written. */
typedef struct rf_gemm_args {
    float *c; /* [m, n], rows ldc apart */
    size_t ldc;
    size_t c_panel; /* distance of c's panels, 0: RF_PANEL (row-major). A result in panels
                     * has ldc RF_PANEL and c_panel m * RF_PANEL. */
    const float *a; /* [m, k], rows lda apart */
    size_t lda;
    const float *b;
    size_t b_row;
    size_t b_panel;
    const float *bias; /* [n] or NULL */
    size_t m, n, k;
    rf_gemm_after after;
} rf_gemm_args;

typedef struct rf_kernel_table {
    const char *name;
    void (*gemm)(const rf_gemm_args *g);
    /* x = x/2 (1 + erf(x / sqrt 2)), in place */
    void (*gelu)(float *x, size_t n);
    /* y = (x - mean(x)) / sqrt(var(x) + eps) * gain + bias by row; x, y: [rows, n];
     * y may be x */
    void (*layernorm)(float *y, const float *x, const float *gain, const float *bias,
                      size_t rows, size_t n, float eps);
    /* rows of x: [rows, n], ld apart: x = exp(scale x - max) / sum, in place */
    void (*softmax)(float *x, size_t rows, size_t n, size_t ld, float scale);
    /* IEEE half to single, exact */
    void (*widen_f16)(float *y, const uint16_t *x, size_t n);
    /* upper half of a single to single, exact */
    void (*widen_bf16)(float *y, const uint16_t *x, size_t n);
    /* no NaN and no infinity among x */
    bool (*all_finite)(const float *x, size_t n);
    /* dst[k][j] = src[j][k]: rows (at most RF_PANEL) of a matrix into one panel, missing
     * rows as zero. src rows are ld apart. */
    void (*pack_panel)(float *dst, const float *src, size_t ld, size_t rows, size_t k);
} rf_kernel_table;

/* The table in use, never NULL. */
const rf_kernel_table *rf_kernels(void);

/* Each on its own, for tests and benchmarks. The last two are NULL where the CPU or the
 * compiler lacks them. */
const rf_kernel_table *rf_kernels_portable(void);
const rf_kernel_table *rf_kernels_avx2(void);
const rf_kernel_table *rf_kernels_avx512(void); /* the AVX2 table with its own gemm */

#endif
