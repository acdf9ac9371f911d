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
 * first level was slower). Everything around the tiles is in product_x86.h.
 */
#include "num/integer_tile.h"
#include "num/kernels.h"
#include "num/tile_x86.h"

#if defined(__x86_64__) && defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)

#include "num/quantise_x86.h"
#include "num/transpose_avx2.h"

#include <cpuid.h>
#include <immintrin.h>
#include <math.h>
#include <string.h>

#define MAX_ROWS 6

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
 * rows unrolled the accumulators stay in registers. Meanwhile it prefetches n_ahead cache
 * lines from `ahead` on, evenly spaced over the loop. */
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

TILE(1)
TILE(2)
TILE(3)
TILE(4)
TILE(5)
TILE(6)

static tile_fn *const tiles[MAX_ROWS + 1] = {NULL,  tile1, tile2, tile3,
                                             tile4, tile5, tile6};

#include "num/product_x86.h" /* after MAX_ROWS and tiles */

/* ---- Product of integers ------------------------------------------------------------
 */

#define INTEGER_ROWS 4

/* Half a panel at a time: 8 accumulators (with 12 the compiler keeps some of them in
 * memory, and the product takes twice as long). Bytes 0 and 2 of each four, and bytes 1
 * and 3, are widened to words in place; a product of words and the sum of two fit 32
 * bits, so nothing saturates. a is in words, 0 2 1 3. */
static inline __attribute__((always_inline)) void
integer_tile(int32_t *sums, const char *a, size_t a_row, const uint8_t *b, size_t steps,
             const int R)
{
    const __m256i even = _mm256_set1_epi32(0x00ff00ff);
    for (size_t half = 0; half < RF_WIDE; half += RF_WIDE / 2) {
        __m256i acc[INTEGER_ROWS][2];
        const uint8_t *p = b + half * RF_QUAD;
#pragma GCC unroll 4
        for (int i = 0; i < R; i++)
            acc[i][0] = acc[i][1] = _mm256_setzero_si256();
#define HALF_STEP(offset)                                                                \
    _Pragma("GCC unroll 4") for (int i = 0; i < R; i++)                                  \
    {                                                                                    \
        int32_t two;                                                                     \
        memcpy(&two, a + (size_t)i * a_row + s * 8 + (offset), sizeof two);              \
        __m256i x = _mm256_set1_epi32(two);                                              \
        acc[i][0] = _mm256_add_epi32(acc[i][0], _mm256_madd_epi16(b0, x));               \
        acc[i][1] = _mm256_add_epi32(acc[i][1], _mm256_madd_epi16(b1, x));               \
    }
        for (size_t s = 0; s < steps; s++, p += RF_WIDE * RF_QUAD) {
            __m256i w0 = _mm256_loadu_si256((const __m256i *)(const void *)p);
            __m256i w1 = _mm256_loadu_si256((const __m256i *)(const void *)(p + 32));
            __m256i b0 = _mm256_and_si256(w0, even), b1 = _mm256_and_si256(w1, even);
            HALF_STEP(0)
            b0 = _mm256_srli_epi16(w0, 8);
            b1 = _mm256_srli_epi16(w1, 8);
            HALF_STEP(4)
        }
#undef HALF_STEP
#pragma GCC unroll 4
        for (int i = 0; i < R; i++)
            for (int j = 0; j < 2; j++)
                _mm256_store_si256(
                    (__m256i *)(void *)(sums + (size_t)i * RF_WIDE + half + 8 * j),
                    acc[i][j]);
    }
}

INTEGER_TILE(1)
INTEGER_TILE(2)
INTEGER_TILE(3)
INTEGER_TILE(4)

static integer_tile_fn *const integer_tiles[INTEGER_ROWS + 1] = {
    NULL, integer_tile1, integer_tile2, integer_tile3, integer_tile4};

#include "num/integer_x86.h" /* after INTEGER_ROWS and integer_tiles */

static void quantise(void *rows, const float *x, size_t m, size_t k)
{
    for (size_t i = 0; i < m; i++)
        quantise_row((char *)rows + i * rf_quantised_bytes(k), x + i * k, k, true);
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

static void exp_all(float *x, size_t n)
{
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(x + i, exp8(_mm256_loadu_ps(x + i)));
    if (i < n)
        rf_kernels_portable()->exp(x + i, n - i);
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
           (i == n || rf_kernels_portable()->all_finite(x + i, n - i));
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
    .path = "avx2",
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

const rf_kernel_table *rf_kernels_avx2(void)
{
    unsigned a, b, c, d;
    __builtin_cpu_init(); /* these two also check that the OS saves the registers */
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
