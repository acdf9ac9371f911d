/*
 * train.h - what training needs beyond the forward kernels: backward passes, dropout,
 * noise, the optimiser
 *
 * One source (train_body.h) is compiled twice, for any CPU and for AVX2; sums run in
 * a fixed number of lanes and nothing is contracted, so both give the same bits.
 * Layouts are those of kernels.h; "panels" of a matrix W [out, in] means the packed form
 * that the product takes: [ceil(out / 16)][in][16], missing columns zero. Weights are
 * trained in that form: the product uses them as they are, and the optimiser works
 * element by element.
 */
#ifndef RF_NUM_TRAIN_H
#define RF_NUM_TRAIN_H

#include <stddef.h>
#include <stdint.h>

typedef struct rf_adam {
    float rate;         /* of this step, schedule included */
    float beta1, beta2; /* 0.9, 0.999 */
    float eps;
    float decay;      /* decoupled: p -= rate decay p */
    float fix1, fix2; /* 1 / (1 - beta^t), both 1 for no bias correction */
} rf_adam;

typedef struct rf_train_table {
    /* Adam with decoupled decay:
     * m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g g;
     * p = p - rate decay p - rate (fix1 m) / (sqrt(fix2 v) + eps) */
    void (*adam)(float *p, const float *g, float *m, float *v, size_t n,
                 const rf_adam *a);
    /* y = x with each element dropped with probability p and the rest scaled by
     * 1 / (1 - p); y may be x. Element i is decided by 16 bits: bits 16 (i % 4).. of
     * value i / 4 of the stream `key`; it is dropped if they are below round(65536 p). */
    void (*dropout)(float *y, const float *x, size_t n, float p, uint64_t key);
    /* n draws from N(0, 1): element i of the stream `key` does not depend on n. */
    void (*normal)(float *y, size_t n, uint64_t key);
    /* dx = dy gelu'(x); dx may be dy */
    void (*gelu_back)(float *dx, const float *x, const float *dy, size_t n);
    /* rows of x [rows, n]: hat = (x - mean) / sqrt(var + eps), rstd [rows] = 1 /
     * sqrt(..), y = hat gain + shift. hat may be x. */
    void (*layernorm_saving)(float *y, float *hat, float *rstd, const float *x,
                             const float *gain, const float *shift, size_t rows, size_t n,
                             float eps);
    /* dx = rstd (g - mean(g) - hat mean(g hat)), g = dy gain; dx may be dy */
    void (*layernorm_back)(float *dx, const float *dy, const float *hat,
                           const float *rstd, const float *gain, size_t rows, size_t n);
    /* out[j] += sum over rows of x[i][j] (rows ld apart), in order of i */
    void (*column_sums)(float *out, const float *x, size_t ld, size_t rows, size_t n);
    /* out[j] += sum over rows of x[i][j] y[i][j], in order of i */
    void (*column_dots)(float *out, const float *x, const float *y, size_t ld,
                        size_t rows, size_t n);
    /* rows of p, dp [rows, n], ld apart: dp = scale p (dp - sum(p dp)) */
    void (*softmax_back)(float *dp, const float *p, size_t rows, size_t n, size_t ld,
                         float scale);
    /* dst [cols, rows] (rows of dst ld_dst apart) = src [rows, cols] (ld_src apart),
     * transposed */
    void (*transpose)(float *dst, size_t ld_dst, const float *src, size_t ld_src,
                      size_t rows, size_t cols);
    /* dst = [ceil(n/16)][rows][16]: the columns of x [rows, n] (ld apart) cut into
     * strips, missing ones zero. What the product takes as b when it sums over rows. */
    void (*strips)(float *dst, const float *x, size_t ld, size_t rows, size_t n);
    /* From the panels of W [out, in] those of W^T: [ceil(in/16)][out][16], missing
     * columns zero. For dx = dy W. */
    void (*transpose_panels)(float *dst, const float *panels, size_t out, size_t in);
    /* IEEE single to half, to nearest even; too large becomes infinity */
    void (*narrow_f16)(uint16_t *y, const float *x, size_t n);
} rf_train_table;

/* The table that goes with rf_kernels(), never NULL. */
const rf_train_table *rf_train_kernels(void);

/* Each on its own, for tests; the AVX2 one is NULL where the CPU lacks it. */
const rf_train_table *rf_train_portable(void);
const rf_train_table *rf_train_avx2(void);

#endif
