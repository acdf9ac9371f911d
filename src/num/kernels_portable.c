/*
 * kernels_portable.c - every kernel in plain C
 *
 * What runs on other CPUs, and the reference for the fast variants, which give the same
 * bits. So the order of every sum, the fitted functions and the fused multiply-adds are
 * theirs (kernels_avx2.c), written in lanes that a compiler can vectorise.
 */
#include "num/kernels.h"

#include "num/gelu_fit.h"

#include <math.h>
#include <string.h>

#define LANES 8 /* of the AVX2 variant */

/* ---- Fused multiply-add ------------------------------------------------------------ */

#ifdef FP_FAST_FMAF

static inline float fused(float a, float b, float c)
{
    return fmaf(a, b, c);
}

static inline void fused_row(float acc[RF_PANEL], float x, const float *b)
{
    for (size_t j = 0; j < RF_PANEL; j++)
        acc[j] = fmaf(x, b[j], acc[j]);
}

#else

/* Without the instruction: a b is exact in double, so a b + c is rounded once to double
 * and once to single. That is the same as one rounding unless the double lies exactly
 * between two singles, or the result is subnormal: then fmaf decides, which takes ten
 * times as long. */
static inline uint32_t rounds_twice(double sum)
{
    uint64_t bits;
    memcpy(&bits, &sum, sizeof bits);
    uint32_t high = (uint32_t)(bits >> 32) & 0x7fffffffu;
    return ((uint32_t)bits & 0x1fffffffu) == 0x10000000u || high - 1 < 0x38100000u;
}

static inline float fused(float a, float b, float c)
{
    double sum = (double)a * (double)b + (double)c;
    return rounds_twice(sum) ? fmaf(a, b, c) : (float)sum;
}

/* acc = acc + x b */
static inline void fused_row(float acc[RF_PANEL], float x, const float *b)
{
    double sum[RF_PANEL];
    uint32_t any = 0;
    for (size_t j = 0; j < RF_PANEL; j++)
        sum[j] = (double)x * (double)b[j] + (double)acc[j];
    for (size_t j = 0; j < RF_PANEL; j++)
        any |= rounds_twice(sum[j]);
    for (size_t j = 0; j < RF_PANEL; j++)
        acc[j] = any ? fused(x, b[j], acc[j]) : (float)sum[j];
}

#endif

/* ---- Functions --------------------------------------------------------------------- */

/* As exp8 of kernels_avx2.c. */
static float exp1(float x)
{
    bool tiny = x < -87.0f;
    x = x > -87.0f ? x : -87.0f;
    float n = (x * 1.44269504f + 0x1.8p23f) - 0x1.8p23f; /* to the nearest integer */
    float r = fused(-n, 0.693145752f, x);
    r = fused(-n, 1.42860677e-06f, r);
    float p = 1.0f / 720;
    p = fused(p, r, 1.0f / 120);
    p = fused(p, r, 1.0f / 24);
    p = fused(p, r, 1.0f / 6);
    p = fused(p, r, 0.5f);
    p = fused(p, r, 1.0f);
    p = fused(p, r, 1.0f);
    uint32_t bits = (uint32_t)((int32_t)n + 127) << 23;
    float power;
    memcpy(&power, &bits, sizeof power);
    return tiny ? 0.0f : p * power;
}

static float gelu1(float x)
{
    float c = x > -GELU_EDGE ? x : -GELU_EDGE;
    c = c < GELU_EDGE ? c : GELU_EDGE;
    float u = c * c, p = gelu_p[0], q = gelu_q[0];
    for (int i = 1; i < 5; i++)
        q = fused(q, u, gelu_q[i]);
    for (int i = 1; i < 7; i++)
        p = fused(p, u, gelu_p[i]);
    p = 0.5f + c * p / q;
    p = p > 0.0f ? p : 0.0f;
    p = p < 1.0f ? p : 1.0f;
    return x * p;
}

static float sum_lanes(const float v[LANES])
{
    return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
}

/* ---- Product ----------------------------------------------------------------------- */

/* Four rows of one panel: c[4][16] chains, each in order of k. */
static void tile(float acc[4][RF_PANEL], const float *a, size_t lda, size_t rows,
                 const float *b, size_t b_row, size_t k)
{
    memset(acc, 0, sizeof(float) * 4 * RF_PANEL);
    for (size_t kk = 0; kk < k; kk++)
        for (size_t i = 0; i < rows; i++)
            fused_row(acc[i], a[i * lda + kk], b + kk * b_row);
}

/* One output from its sum of products. */
static float finish(float sum, float bias, float before, rf_gemm_after after)
{
    float v = sum + bias;
    if (after == RF_GEMM_GELU)
        return gelu1(v) + 0.0f; /* no negative zero */
    return after == RF_GEMM_ADD ? v + before : v;
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
                for (size_t j = 0; j < cols; j++)
                    c[j] = finish(acc[i][j], g->bias ? g->bias[j0 + j] : 0.0f, c[j],
                                  g->after);
            }
        }
    }
}

/* ---- Element-wise and by row ------------------------------------------------------- */

static void gelu(float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = gelu1(x[i]);
}

/* The sum of four rows of lanes. */
static float sum_all(float s[4][LANES])
{
    for (size_t j = 0; j < LANES; j++)
        s[0][j] = (s[0][j] + s[1][j]) + (s[2][j] + s[3][j]);
    return sum_lanes(s[0]);
}

/* Two passes, the second corrected (kernels_avx2.c). */
static void layernorm(float *y, const float *x, const float *gain, const float *bias,
                      size_t rows, size_t n, float eps)
{
    size_t blocks = n / (4 * LANES) * (4 * LANES), whole = n / LANES * LANES;
    for (size_t r = 0; r < rows; r++, x += n, y += n) {
        float s[4][LANES] = {{0}}, s2[4][LANES] = {{0}};
        for (size_t i = 0; i < blocks; i++)
            s[i / LANES % 4][i % LANES] += x[i];
        float sum = sum_all(s);
        for (size_t i = blocks; i < n; i++)
            sum += x[i];
        float near = sum / (float)n;

        memset(s, 0, sizeof s);
        for (size_t i = 0; i < blocks; i++) {
            float d = x[i] - near, *square = &s2[i / LANES % 4][i % LANES];
            s[i / LANES % 4][i % LANES] += d;
            *square = fused(d, d, *square);
        }
        float sum_d = sum_all(s), sum_d2 = sum_all(s2);
        for (size_t i = blocks; i < n; i++) {
            float d = x[i] - near;
            sum_d += d;
            sum_d2 += d * d;
        }
        float off = sum_d / (float)n, var = sum_d2 / (float)n - off * off;
        float rstd = 1.0f / sqrtf((var > 0.0f ? var : 0.0f) + eps);

        for (size_t i = 0; i < whole; i++)
            y[i] = fused((x[i] - near - off) * rstd, gain[i], bias[i]);
        for (size_t i = whole; i < n; i++)
            y[i] = (x[i] - near - off) * rstd * gain[i] + bias[i];
    }
}

/* Lanes past the end of a row hold -infinity for the maximum and count 0 in the sum. */
static void softmax(float *x, size_t rows, size_t n, size_t ld, float scale)
{
    size_t full = n / LANES * LANES;
    for (size_t r = 0; r < rows; r++, x += ld) {
        float top[LANES], rest[LANES], sum[LANES] = {0};
        for (size_t j = 0; j < LANES; j++) {
            top[j] = -INFINITY;
            rest[j] = full + j < n ? x[full + j] : -INFINITY;
        }
        for (size_t i = 0; i < full; i++)
            top[i % LANES] = top[i % LANES] > x[i] ? top[i % LANES] : x[i];
        for (size_t j = 0; j < LANES; j++)
            top[j] = top[j] > rest[j] ? top[j] : rest[j];
        for (size_t half = LANES / 2; half > 0; half /= 2)
            for (size_t j = 0; j < half; j++)
                top[j] = top[j] > top[j + half] ? top[j] : top[j + half];
        for (size_t i = 0; i < full; i++) {
            x[i] = exp1(scale * (x[i] - top[0]));
            sum[i % LANES] += x[i];
        }
        for (size_t j = 0; j < LANES; j++)
            sum[j] += full + j < n ? exp1(scale * (rest[j] - top[0])) : 0.0f;
        float inv = 1.0f / sum_lanes(sum);
        for (size_t i = full; i < n; i++)
            x[i] = exp1(scale * (rest[i - full] - top[0]));
        for (size_t i = 0; i < n; i++)
            x[i] = inv * x[i];
    }
}

static void exp_all(float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = exp1(x[i]);
}

/* ---- Loading ----------------------------------------------------------------------- */

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

/* ---- Integers ---------------------------------------------------------------------- */

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static float size_of(float x)
{
    return from_bits(bits_of(x) & 0x7fffffffu);
}

static size_t count_above(const float *x, size_t k, float limit)
{
    size_t n = 0;
    for (size_t i = 0; i < k; i++)
        n += size_of(x[i]) > limit;
    return n;
}

/* Values are words. */
static void quantise_row(char *row, const float *x, size_t k)
{
    rf_quantised_row head = {0};
    int16_t *values = (int16_t *)(void *)(row + sizeof head);
    uint32_t top = 0; /* as bits, so a NaN is larger than infinity */
    for (size_t i = 0; i < k; i++) {
        uint32_t bits = bits_of(x[i]) & 0x7fffffffu;
        top = top > bits ? top : bits;
    }
    float largest = from_bits(top), limit = largest, times = 0.0f;
    memset(values, 0, (k + 7) / 8 * 8 * sizeof *values);
    if (top >= 0x7f800000u) {
        head.scale = from_bits(0x7fc00000u);
        k = 0; /* the integers do not matter */
    } else if (largest >= RF_QUANTISE_LEAST) {
        for (float next = limit * RF_OUTLIER_STEP;
             next >= largest * RF_OUTLIER_SHARE && count_above(x, k, next) <= RF_OUTLIERS;
             next *= RF_OUTLIER_STEP)
            limit = next;
        head.scale = limit / 127.0f;
        times = 127.0f / limit;
    }
    for (size_t i = 0; i < k; i++) { /* to the nearest integer, to even in the middle */
        values[i] = (int16_t)((x[i] * times + 0x1.8p23f) - 0x1.8p23f);
        head.sum += values[i];
    }
    memcpy(row, &head, sizeof head);
}

static void quantise(void *rows, const float *x, size_t m, size_t k)
{
    for (size_t i = 0; i < m; i++)
        quantise_row((char *)rows + i * rf_quantised_bytes(k), x + i * k, k);
}

/* sums = one row of a times one panel of b */
static void integer_sums(int32_t sums[RF_WIDE], const int16_t *a, const uint8_t *b,
                         size_t steps)
{
    memset(sums, 0, RF_WIDE * sizeof *sums);
    for (size_t s = 0; s < steps; s++, a += RF_QUAD, b += RF_WIDE * RF_QUAD)
        for (size_t j = 0; j < RF_WIDE; j++)
            sums[j] += a[0] * b[RF_QUAD * j] + a[1] * b[RF_QUAD * j + 1] +
                       a[2] * b[RF_QUAD * j + 2] + a[3] * b[RF_QUAD * j + 3];
}

static void integer_gemm(const rf_integer_args *g)
{
    size_t steps = (g->k + RF_QUAD - 1) / RF_QUAD;
    int32_t sums[RF_WIDE];
    for (size_t i = 0; i < g->m; i++) {
        const char *row = (const char *)g->a + i * rf_quantised_bytes(g->k);
        const rf_quantised_row *r = (const rf_quantised_row *)(const void *)row;
        for (size_t j0 = 0; j0 < g->n; j0 += RF_WIDE) {
            size_t cols = g->n - j0 < RF_WIDE ? g->n - j0 : RF_WIDE;
            float *c = g->c + i * g->ldc + j0;
            integer_sums(sums, (const int16_t *)(const void *)(row + sizeof *r),
                         g->b + j0 * steps * RF_QUAD, steps);
            for (size_t j = 0; j < cols; j++) {
                float v = (float)(sums[j] - 128 * r->sum) * r->scale;
                v = fused(v, g->b_scale[j0 + j], g->bias[j0 + j]);
                if (g->after == RF_GEMM_ADD)
                    v = v + c[j];
                c[j] = g->after == RF_GEMM_GELU ? gelu1(v) : v;
            }
        }
    }
}

static const rf_kernel_table table = {
    .name = "portable",
    .path = "portable",
    .gemm = gemm,
    .gelu = gelu,
    .layernorm = layernorm,
    .softmax = softmax,
    .exp = exp_all,
    .widen_f16 = widen_f16,
    .widen_bf16 = widen_bf16,
    .all_finite = all_finite,
    .pack_panel = pack_panel,
    .quantise = quantise,
    .integer_gemm = integer_gemm,
};

const rf_kernel_table *rf_kernels_portable(void)
{
    return &table;
}
