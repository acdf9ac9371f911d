/*
 * kernels.h - the numeric kernels, in plain C and for what x86 CPUs offer
 *
 * Arrays in, arrays out: no allocation, no state. All paths have the same signatures and
 * give the same bits; rf_kernels() picks the fastest, once per process. A result depends
 * only on the numbers that enter it, never on the position in a batch or on the number of
 * threads: each output of gemm is one chain of fused multiply-adds in order of k.
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

/* ---- Products of 8-bit integers ----
 *
 * W [n, k] has 8 bits and one scale per output, x [m, k] 8 bits and one scale per row:
 * both are -127..127 times their scale. The sums are integers, so they are exact.
 *
 * W is stored as w + 128 in panels of RF_WIDE outputs, four inputs of an output next to
 * each other: [ceil(n / 32)][ceil(k / 4)][32][4] (num/integer.h). What is missing is 128.
 * Rows of x are written by `quantise` in a form that only the integer_gemm of the same
 * table reads: rf_quantised_bytes(k) bytes each. */
#define RF_WIDE 32
#define RF_QUAD 4

typedef struct rf_integer_args {
    float *c; /* [m, n], rows ldc apart */
    size_t ldc;
    const void *a; /* [m] quantised rows */
    const uint8_t *b;
    const float *b_scale; /* [n] */
    const float *bias;    /* [n] */
    size_t m, n, k;
    rf_gemm_after after;
} rf_integer_args;

/* A few numbers of a row may be much larger than the others, in BERT in a channel or two
 * of each token. If they set the scale, the others lose most of their bits. So up to
 * RF_OUTLIERS may exceed 127: they have 15 bits.
 *
 * The head of a quantised row; its k values follow, in two bytes or in one. In one byte
 * an outlier loses a multiple of 128, which is listed here. */
#define RF_OUTLIERS 4
typedef struct rf_quantised_row {
    float scale; /* a value is scale times its integer */
    int32_t sum; /* of the integers */
    uint32_t n_listed;
    struct {
        uint16_t at; /* the input */
        int16_t rest;
    } listed[RF_OUTLIERS];
    uint32_t unused; /* 32 bytes */
} rf_quantised_row;

static inline size_t rf_quantised_bytes(size_t k)
{
    return (sizeof(rf_quantised_row) + (k + 7) / 8 * 16 + 63) / 64 * 64;
}

/* Rows whose largest number is smaller are quantised as zero: 127 / x must be finite. */
#define RF_QUANTISE_LEAST 1e-30f
/* 127 stands for the largest number of a row, or for RF_OUTLIER_STEP times it, as often
 * as no more than RF_OUTLIERS are larger than that; at least for RF_OUTLIER_SHARE of the
 * largest, so that integers stay below 2^14. */
#define RF_OUTLIER_STEP 0.75f
#define RF_OUTLIER_SHARE 0x1p-7f

/* A path through the CPU. All paths give the same bits. */
typedef struct rf_kernel_table {
    const char *name; /* "portable" or "avx2" */
    const char *path; /* one of the values of RINGFENCE_KERNELS */
    void (*gemm)(const rf_gemm_args *g);
    /* x = x/2 (1 + erf(x / sqrt 2)), in place */
    void (*gelu)(float *x, size_t n);
    /* y = (x - mean(x)) / sqrt(var(x) + eps) * gain + bias by row; x, y: [rows, n];
     * y may be x */
    void (*layernorm)(float *y, const float *x, const float *gain, const float *bias,
                      size_t rows, size_t n, float eps);
    /* rows of x: [rows, n], ld apart: x = exp(scale x - max) / sum, in place */
    void (*softmax)(float *x, size_t rows, size_t n, size_t ld, float scale);
    /* x = exp(x) for x of at most 0 or so, in place; below -87 it is 0 */
    void (*exp)(float *x, size_t n);
    /* IEEE half to single, exact */
    void (*widen_f16)(float *y, const uint16_t *x, size_t n);
    /* upper half of a single to single, exact */
    void (*widen_bf16)(float *y, const uint16_t *x, size_t n);
    /* no NaN and no infinity among x */
    bool (*all_finite)(const float *x, size_t n);
    /* dst[k][j] = src[j][k]: rows (at most RF_PANEL) of a matrix into one panel, missing
     * rows as zero. src rows are ld apart. */
    void (*pack_panel)(float *dst, const float *src, size_t ld, size_t rows, size_t k);
    /* rows of x [m, k] to 8 bits, each with its own scale, up to RF_OUTLIERS of its
     * numbers to 15; a row with a NaN or an infinity gets a scale of NaN, and so do its
     * products */
    void (*quantise)(void *rows, const float *x, size_t m, size_t k);
    /* c = after(a W^T + bias) */
    void (*integer_gemm)(const rf_integer_args *g);
} rf_kernel_table;

/* The table in use, never NULL. */
const rf_kernel_table *rf_kernels(void);

/* For tests: uses another table from now on, NULL for the one chosen at first. Not while
 * another thread computes. */
void rf_kernels_use(const rf_kernel_table *table);

/* For tests: path i on this CPU, portable first, the one in use by default last; NULL
 * past the end. */
#define RF_KERNEL_PATHS 5
const rf_kernel_table *rf_kernels_path(size_t i);

/* Each on its own. All but the first are NULL where the CPU or the compiler lacks them.
 */
const rf_kernel_table *rf_kernels_portable(void);
const rf_kernel_table *rf_kernels_avx2(void);
const rf_kernel_table *rf_kernels_avxvnni(void);    /* AVX2 with integer_gemm by VNNI */
const rf_kernel_table *rf_kernels_avx512(void);     /* AVX2 with its own gemm */
const rf_kernel_table *rf_kernels_avx512vnni(void); /* the last, integer_gemm by VNNI */

#endif
