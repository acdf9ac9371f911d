/*
 * kernels_avx2.c - the kernels for CPUs with AVX2, FMA and F16C
 *
 * This file alone is compiled with those instructions; rf_kernels_avx2() asks the CPU
 * before anyone calls into it.
 *
 * The product works on tiles of up to 6 rows by 16 columns: 12 accumulators, two loads of
 * b and six broadcasts of a per 12 multiply-adds, which keeps both FMA ports of a Zen or
 * a Haswell busy. A tile runs through all of k at once: a panel of b streams from the
 * first- or second-level cache as fast as it is used (cutting k into blocks that fit the
 * first level was slower). Rows are cut into blocks of BLOCK_M that stay in the second
 * level while the panels go by. Each output is one chain of FMAs in order of k whatever
 * the cuts: that is what makes results independent of batch and threads.
 */
#include "num/kernels.h"

#if defined(__x86_64__) && defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)

#include "num/transpose_avx2.h"

#include <cpuid.h>
#include <immintrin.h>
#include <math.h>
#include <string.h>

#define BLOCK_M 96
#define MAX_ROWS 6

/* Phi(x) - 1/2 = x P(x^2) / Q(x^2) for |x| <= 5.2, beyond which it is +-1/2 to the last
 * bit that matters. Coefficients by weighted least squares (tools/fit_gelu.py); largest
 * error of the whole GELU in single precision: 2.2e-7 max(1, |x|). */
#define GELU_EDGE 5.2f
#define GELU_VECTORS 4
static const float gelu_p[7] = {1.26117204e-10f, -2.29581326e-08f, 3.01161766e-06f,
                                1.42730506e-04f, 4.32768881e-03f,  3.31020899e-02f,
                                3.98942132e-01f};
static const float gelu_q[5] = {5.37632707e-05f, 1.66665219e-03f, 2.74576116e-02f,
                                2.49639446e-01f, 1.0f};

/* Four vectors at a time, step by step: one alone waits for its own chain of some 60
 * cycles, four abreast keep the multipliers busy. */
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

/* exp(x) for x <= 0: 2^n e^r with |r| <= ln2/2, e^r by its Taylor polynomial of degree 6
 * (relative error 2e-7). Below -87 the result would be subnormal: 0. */
static inline __m256 exp8(__m256 x)
{
    __m256 tiny = _mm256_cmp_ps(x, _mm256_set1_ps(-87.0f), _CMP_LT_OQ);
    x = _mm256_max_ps(x, _mm256_set1_ps(-87.0f));
    __m256 n = _mm256_round_ps(_mm256_mul_ps(x, _mm256_set1_ps(1.44269504f)),
                               _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    /* ln 2 in two parts: the first has trailing zeroes, so n times it is exact */
    __m256 r = _mm256_fnmadd_ps(n, _mm256_set1_ps(0.693145752f), x);
    r = _mm256_fnmadd_ps(n, _mm256_set1_ps(1.42860677e-06f), r);
    __m256 p = _mm256_set1_ps(1.0f / 720);
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.0f / 120));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.0f / 24));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.0f / 6));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(0.5f));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.0f));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.0f));
    __m256i e = _mm256_slli_epi32(
        _mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127)), 23);
    return _mm256_andnot_ps(tiny, _mm256_mul_ps(p, _mm256_castsi256_ps(e)));
}

/* ---- Product ----------------------------------------------------------------------- */

/* sums[R][16] = a[R][k] b[k][16]. R is a constant in every caller: with the loops over
 * rows unrolled the accumulators live in registers. On the way it fetches n_ahead lines
 * of what comes next, from `ahead` on, at an even pace. */
static inline __attribute__((always_inline)) void
tile(float *sums, const float *a, size_t lda, const float *b, size_t b_row, size_t k,
     const float *ahead, size_t n_ahead, const int R)
{
    __m256 acc[MAX_ROWS][2];
#pragma GCC unroll 6
    for (int i = 0; i < R; i++)
        acc[i][0] = acc[i][1] = _mm256_setzero_ps();
#define STEP                                                                             \
    __m256 b0 = _mm256_loadu_ps(b), b1 = _mm256_loadu_ps(b + 8);                         \
    b += b_row;                                                                          \
    _Pragma("GCC unroll 6") for (int i = 0; i < R; i++)                                  \
    {                                                                                    \
        __m256 x = _mm256_broadcast_ss(a + (size_t)i * lda + kk);                        \
        acc[i][0] = _mm256_fmadd_ps(x, b0, acc[i][0]);                                   \
        acc[i][1] = _mm256_fmadd_ps(x, b1, acc[i][1]);                                   \
    }
    size_t kk = 0, stride = n_ahead ? k / n_ahead : 0;
    for (size_t line = 0; line < n_ahead; line++) {
        _mm_prefetch((const char *)(ahead + line * RF_PANEL), _MM_HINT_T0);
        for (size_t end = kk + stride; kk < end; kk++) {
            STEP
        }
    }
#pragma GCC unroll 4
    for (; kk < k; kk++) {
        STEP
    }
#undef STEP
#pragma GCC unroll 6
    for (int i = 0; i < R; i++) {
        _mm256_store_ps(sums + i * RF_PANEL, acc[i][0]);
        _mm256_store_ps(sums + i * RF_PANEL + 8, acc[i][1]);
    }
}

typedef void tile_fn(float *sums, const float *a, size_t lda, const float *b,
                     size_t b_row, size_t k, const float *ahead, size_t n_ahead);

#define TILE(R)                                                                          \
    static void tile##R(float *sums, const float *a, size_t lda, const float *b,         \
                        size_t b_row, size_t k, const float *ahead, size_t n_ahead)      \
    {                                                                                    \
        tile(sums, a, lda, b, b_row, k, ahead, n_ahead, R);                              \
    }
TILE(1)
TILE(2)
TILE(3)
TILE(4)
TILE(5)
TILE(6)
#undef TILE

static tile_fn *const tiles[MAX_ROWS + 1] = {NULL,  tile1, tile2, tile3,
                                             tile4, tile5, tile6};

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

/* A whole panel's width of c = after(sums + bias). sums is used up. */
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
    _Alignas(32) float sums[MAX_ROWS * RF_PANEL];
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
        for (size_t i = 0; i < rows; i++) /* there by the time the sums are */
            __builtin_prefetch(c + i * g->ldc, 1);
        /* Each tile fetches its share of the next panel. In one go it would ask for twice
         * what the memory gives, wait, and then leave the memory idle: with 10 rows the
         * product ran at about three quarters of its speed. */
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
    bool packed =
        g->b_row == RF_PANEL; /* else there is no next block to fetch in order */
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

/* ---- Element-wise and by row ------------------------------------------------------- */

static void gelu(float *x, size_t n)
{
    size_t whole = n / 8 * 8;
    float rest[8] = {0};
    gelu_blocks(x, whole);
    memcpy(rest, x + whole, (n - whole) * sizeof(float));
    gelu_blocks(rest, 8);
    memcpy(x + whole, rest, (n - whole) * sizeof(float));
}

static inline float sum8(__m256 v)
{
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}

static inline float max8(__m256 v)
{
    __m128 s = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    s = _mm_max_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_max_ss(s, _mm_movehdup_ps(s)));
}

static inline float sum32(const __m256 s[4])
{
    return sum8(_mm256_add_ps(_mm256_add_ps(s[0], s[1]), _mm256_add_ps(s[2], s[3])));
}

/* Two passes, the second corrected: with m near the mean and d = x - m,
 *   mean = m + avg(d),  var = avg(d^2) - avg(d)^2,
 * so the rounding of m (3e-4 for values near 1000) costs nothing, and single precision
 * is enough. */
static void layernorm(float *y, const float *x, const float *gain, const float *bias,
                      size_t rows, size_t n, float eps)
{
    for (size_t r = 0; r < rows; r++, x += n, y += n) {
        __m256 s[4] = {0}, s2[4] = {0};
        size_t i = 0;
        for (; i + 32 <= n; i += 32)
            for (size_t j = 0; j < 4; j++)
                s[j] = _mm256_add_ps(s[j], _mm256_loadu_ps(x + i + 8 * j));
        float sum = sum32(s);
        for (; i < n; i++)
            sum += x[i];
        float near = sum / (float)n;

        __m256 m = _mm256_set1_ps(near);
        for (size_t j = 0; j < 4; j++)
            s[j] = _mm256_setzero_ps();
        for (i = 0; i + 32 <= n; i += 32)
            for (size_t j = 0; j < 4; j++) {
                __m256 d = _mm256_sub_ps(_mm256_loadu_ps(x + i + 8 * j), m);
                s[j] = _mm256_add_ps(s[j], d);
                s2[j] = _mm256_fmadd_ps(d, d, s2[j]);
            }
        float sum_d = sum32(s), sum_d2 = sum32(s2);
        for (; i < n; i++) {
            float d = x[i] - near;
            sum_d += d;
            sum_d2 += d * d;
        }
        float off = sum_d / (float)n, var = sum_d2 / (float)n - off * off;
        float rstd = 1.0f / sqrtf((var > 0.0f ? var : 0.0f) + eps);

        __m256 scale = _mm256_set1_ps(rstd), shift = _mm256_set1_ps(off);
        for (i = 0; i + 8 <= n; i += 8) {
            __m256 d = _mm256_sub_ps(_mm256_sub_ps(_mm256_loadu_ps(x + i), m), shift);
            _mm256_storeu_ps(y + i, _mm256_fmadd_ps(_mm256_mul_ps(d, scale),
                                                    _mm256_loadu_ps(gain + i),
                                                    _mm256_loadu_ps(bias + i)));
        }
        for (; i < n; i++)
            y[i] = (x[i] - near - off) * rstd * gain[i] + bias[i];
    }
}

/* Lanes past the end of a row hold -infinity for the maximum and count 0 in the sum. */
static void softmax(float *x, size_t rows, size_t n, size_t ld, float scale)
{
    _Alignas(32) static const int32_t ramp[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
    size_t full = n / 8 * 8;
    __m256i mask = _mm256_loadu_si256((const __m256i *)(const void *)(ramp + 8 - n % 8));
    __m256 minus_inf = _mm256_set1_ps(-INFINITY);
    for (size_t r = 0; r < rows; r++, x += ld) {
        __m256 top = minus_inf;
        for (size_t i = 0; i < full; i += 8)
            top = _mm256_max_ps(top, _mm256_loadu_ps(x + i));
        __m256 rest = _mm256_blendv_ps(minus_inf, _mm256_maskload_ps(x + full, mask),
                                       _mm256_castsi256_ps(mask));
        __m256 max = _mm256_set1_ps(max8(_mm256_max_ps(top, rest)));
        __m256 by = _mm256_set1_ps(scale), sum = _mm256_setzero_ps();
        for (size_t i = 0; i < full; i += 8) {
            __m256 e =
                exp8(_mm256_mul_ps(by, _mm256_sub_ps(_mm256_loadu_ps(x + i), max)));
            _mm256_storeu_ps(x + i, e);
            sum = _mm256_add_ps(sum, e);
        }
        rest = _mm256_and_ps(exp8(_mm256_mul_ps(by, _mm256_sub_ps(rest, max))),
                             _mm256_castsi256_ps(mask));
        float inv = 1.0f / sum8(_mm256_add_ps(sum, rest));
        __m256 times = _mm256_set1_ps(inv);
        for (size_t i = 0; i < full; i += 8)
            _mm256_storeu_ps(x + i, _mm256_mul_ps(times, _mm256_loadu_ps(x + i)));
        _mm256_maskstore_ps(x + full, mask, _mm256_mul_ps(times, rest));
    }
}

/* ---- Loading ------------------------------------------------------------------------
 */

static void widen_f16(float *y, const uint16_t *x, size_t n)
{
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(y + i, _mm256_cvtph_ps(_mm_loadu_si128(
                                    (const __m128i *)(const void *)(x + i))));
    if (i < n)
        rf_kernels_portable()->widen_f16(y + i, x + i, n - i);
}

static void widen_bf16(float *y, const uint16_t *x, size_t n)
{
    rf_kernels_portable()->widen_bf16(y, x, n); /* the compiler vectorises that one */
}

static bool all_finite(const float *x, size_t n)
{
    const __m256i exponent = _mm256_set1_epi32(0x7f800000);
    __m256i bad = _mm256_setzero_si256();
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)(x + i));
        bad = _mm256_or_si256(
            bad, _mm256_cmpeq_epi32(_mm256_and_si256(v, exponent), exponent));
    }
    return _mm256_testz_si256(bad, bad) &&
           rf_kernels_portable()->all_finite(x + i, n - i);
}

static void pack_panel(float *dst, const float *src, size_t ld, size_t rows, size_t k)
{
    size_t whole = rows / 8 * 8, k8 = k / 8 * 8;
    for (size_t j = 0; j < whole; j += 8)
        for (size_t kk = 0; kk < k8; kk += 8)
            transpose8(dst + kk * RF_PANEL + j, RF_PANEL, src + j * ld + kk, ld);
    for (size_t kk = 0; kk < k8; kk++) /* rows beyond the last eight, and the padding */
        for (size_t j = whole; j < RF_PANEL; j++)
            dst[kk * RF_PANEL + j] = j < rows ? src[j * ld + kk] : 0.0f;
    rf_kernels_portable()->pack_panel(dst + k8 * RF_PANEL, src + k8, ld, rows, k - k8);
}

static const rf_kernel_table table = {
    .name = "avx2",
    .gemm = gemm,
    .gelu = gelu,
    .layernorm = layernorm,
    .softmax = softmax,
    .widen_f16 = widen_f16,
    .widen_bf16 = widen_bf16,
    .all_finite = all_finite,
    .pack_panel = pack_panel,
};

const rf_kernel_table *rf_kernels_avx2(void)
{
    unsigned a, b, c, d;
    __builtin_cpu_init(); /* these two ask the operating system as well */
    bool has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    bool f16c = __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
    return has && f16c ? &table : NULL;
}

#else

const rf_kernel_table *rf_kernels_avx2(void)
{
    return NULL;
}

#endif
