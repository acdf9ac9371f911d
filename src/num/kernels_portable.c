/*
 * kernels_portable.c - every kernel in plain C
 *
 * The reference that the AVX2 variant is tested against, and what runs on other CPUs.
 * Written so that a compiler can vectorise it without changing the order of a sum.
 */
#include "num/kernels.h"

#include <math.h>
#include <string.h>

static float gelu1(float x)
{
    return 0.5f * x * (1.0f + erff(x * 0.70710678f));
}

/* Four rows of one panel: c[4][16] chains, each in order of k. */
static void tile(float acc[4][RF_PANEL], const float *a, size_t lda, size_t rows,
                 const float *b, size_t b_row, size_t k)
{
    memset(acc, 0, sizeof(float) * 4 * RF_PANEL);
    for (size_t kk = 0; kk < k; kk++) {
        const float *br = b + kk * b_row;
        for (size_t i = 0; i < rows; i++) {
            float x = a[i * lda + kk];
            for (size_t j = 0; j < RF_PANEL; j++)
                acc[i][j] += x * br[j];
        }
    }
}

static void gemm(const rf_gemm_args *g)
{
    float acc[4][RF_PANEL];
    size_t c_panel = g->c_panel ? g->c_panel : RF_PANEL;
    for (size_t i0 = 0; i0 < g->m; i0 += 4) {
        size_t rows = g->m - i0 < 4 ? g->m - i0 : 4;
        for (size_t j0 = 0; j0 < g->n; j0 += RF_PANEL) {
            size_t cols = g->n - j0 < RF_PANEL ? g->n - j0 : RF_PANEL;
            tile(acc, g->a + i0 * g->lda, g->lda, rows, g->b + j0 / RF_PANEL * g->b_panel,
                 g->b_row, g->k);
            for (size_t i = 0; i < rows; i++) {
                float *c = g->c + (i0 + i) * g->ldc + j0 / RF_PANEL * c_panel;
                for (size_t j = 0; j < cols; j++) {
                    float v = acc[i][j] + (g->bias ? g->bias[j0 + j] : 0.0f);
                    if (g->after == RF_GEMM_ADD)
                        v += c[j];
                    c[j] = g->after == RF_GEMM_GELU ? gelu1(v) : v;
                }
            }
        }
    }
}

static void gelu(float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = gelu1(x[i]);
}

/* Sums in double: near 1e3 a float sum loses the bits that the variance is made of. */
static void layernorm(float *y, const float *x, const float *gain, const float *bias,
                      size_t rows, size_t n, float eps)
{
    for (size_t r = 0; r < rows; r++, x += n, y += n) {
        double mean = 0.0, var = 0.0;
        for (size_t i = 0; i < n; i++)
            mean += (double)x[i];
        mean /= (double)n;
        for (size_t i = 0; i < n; i++) {
            double d = (double)x[i] - mean;
            var += d * d;
        }
        double rstd = 1.0 / sqrt(var / (double)n + (double)eps);
        for (size_t i = 0; i < n; i++)
            y[i] = (float)(((double)x[i] - mean) * rstd) * gain[i] + bias[i];
    }
}

static void softmax(float *x, size_t rows, size_t n, size_t ld, float scale)
{
    for (size_t r = 0; r < rows; r++, x += ld) {
        float max = x[0];
        for (size_t i = 1; i < n; i++)
            max = x[i] > max ? x[i] : max;
        double sum = 0.0;
        for (size_t i = 0; i < n; i++) {
            x[i] = expf(scale * (x[i] - max));
            sum += (double)x[i];
        }
        float inv = (float)(1.0 / sum);
        for (size_t i = 0; i < n; i++)
            x[i] *= inv;
    }
}

static float from_bits(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static float half_to_float(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16;
    uint32_t exponent = (h >> 10) & 31, fraction = h & 1023;
    if (exponent == 31) /* infinity or NaN */
        return from_bits(sign | 0x7f800000u | fraction << 13);
    if (exponent != 0)
        return from_bits(sign | (exponent + 112) << 23 | fraction << 13);
    float f = (float)fraction * 0x1p-24f; /* zero or subnormal */
    return sign ? -f : f;
}

static void widen_f16(float *y, const uint16_t *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = half_to_float(x[i]);
}

static void widen_bf16(float *y, const uint16_t *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = from_bits((uint32_t)x[i] << 16);
}

/* An exponent of all ones is a NaN or an infinity; tested as integers, so
 * that no compiler option can optimise the test away. */
static bool all_finite(const float *x, size_t n)
{
    uint32_t bad = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        bad |= (bits & 0x7f800000u) == 0x7f800000u;
    }
    return !bad;
}

static void pack_panel(float *dst, const float *src, size_t ld, size_t rows, size_t k)
{
    for (size_t kk = 0; kk < k; kk++)
        for (size_t j = 0; j < RF_PANEL; j++)
            dst[kk * RF_PANEL + j] = j < rows ? src[j * ld + kk] : 0.0f;
}

static const rf_kernel_table table = {
    .name = "portable",
    .gemm = gemm,
    .gelu = gelu,
    .layernorm = layernorm,
    .softmax = softmax,
    .widen_f16 = widen_f16,
    .widen_bf16 = widen_bf16,
    .all_finite = all_finite,
    .pack_panel = pack_panel,
};

const rf_kernel_table *rf_kernels_portable(void)
{
    return &table;
}
