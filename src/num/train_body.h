/*
 * train_body.h - the kernels of train.h in plain C, included by one file per variant
 *
 * Written so that a compiler turns the inner loops into vector code: no calls, no
 * branches, sums in LANES separate chains that are added up in a fixed order.
 */
#include "base/rng.h"
#include "num/kernels.h"
#include "num/train.h"

#include <math.h>
#include <string.h>

#define LANES 16

/* Before a loop whose arrays are either equal or disjoint. */
#ifdef __clang__
#define ELEMENTWISE _Pragma("clang loop vectorize(assume_safety)")
#else
#define ELEMENTWISE _Pragma("GCC ivdep")
#endif

static float lane_sum(const float s[LANES])
{
    float t = 0.0f;
    for (int j = 0; j < LANES; j++)
        t += s[j];
    return t;
}

static inline uint32_t bits_of(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

static inline float float_of(uint32_t u)
{
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

static void adam(float *restrict p, const float *restrict g, float *restrict m,
                 float *restrict v, size_t n, const rf_adam *a)
{
    const float rate = a->rate, b1 = a->beta1, b2 = a->beta2, eps = a->eps;
    const float c1 = 1.0f - b1, c2 = 1.0f - b2, fix1 = a->fix1, fix2 = a->fix2;
    const float keep = 1.0f - rate * a->decay;
    for (size_t i = 0; i < n; i++) {
        m[i] = b1 * m[i] + c1 * g[i];
        v[i] = b2 * v[i] + c2 * g[i] * g[i];
        p[i] = keep * p[i] - rate * (fix1 * m[i]) / (sqrtf(fix2 * v[i]) + eps);
    }
}

/* ---- Random numbers ---------------------------------------------------------------- */

#define WORDS 8 /* of 64 bits, drawn at a time */

static void draw(uint64_t word[WORDS], uint64_t key, size_t first)
{
    for (size_t w = 0; w < WORDS; w++)
        word[w] = rf_rng_mix(key + (first + w + 1) * RF_RNG_STEP);
}

static void dropout(float *y, const float *x, size_t n, float p, uint64_t key)
{
    uint32_t drop = (uint32_t)(p * 65536.0f + 0.5f);
    float scale = 65536.0f / (65536.0f - (float)drop);
    uint64_t word[WORDS];
    uint32_t lane[4 * WORDS];
    for (size_t i = 0; i < n; i += 4 * WORDS) {
        size_t some = n - i < 4 * WORDS ? n - i : 4 * WORDS;
        draw(word, key, i / 4);
        for (size_t j = 0; j < 4 * WORDS; j++)
            lane[j] = (uint32_t)(word[j / 4] >> 16 * (j % 4)) & 0xffff;
        if (some == 4 * WORDS) {
            ELEMENTWISE
            for (size_t j = 0; j < 4 * WORDS; j++)
                y[i + j] = x[i + j] * (lane[j] < drop ? 0.0f : scale);
            continue;
        }
        for (size_t j = 0; j < some; j++)
            y[i + j] = x[i + j] * (lane[j] < drop ? 0.0f : scale);
    }
}

/* ln u for a normal u in (0, 1]: u = 2^e m with m in [sqrt 1/2, sqrt 2),
 * ln m = 2 atanh((m - 1) / (m + 1)). Absolute error below 2e-7. */
static inline float log_unit(float u)
{
    uint32_t b = bits_of(u) + (0x3f800000u - 0x3f3504f3u);
    float e = (float)((int32_t)(b >> 23) - 127);
    float m = float_of((b & 0x007fffffu) + 0x3f3504f3u);
    float s = (m - 1.0f) / (m + 1.0f), q = s * s;
    float poly = 1.0f + q * (1.0f / 3 + q * (1.0f / 5 + q * (1.0f / 7 + q / 9.0f)));
    return e * 0.693147181f + 2.0f * s * poly;
}

/* Box-Muller: a word gives two draws, r cos and r sin of an angle 2 pi u. */
static void normal(float *y, size_t n, uint64_t key)
{
    uint64_t word[WORDS];
    float z[2 * WORDS], first[WORDS], second[WORDS];
    for (size_t i = 0; i < n; i += 2 * WORDS) {
        draw(word, key, i / 2);
        for (size_t w = 0; w < WORDS; w++) {
            float u = (float)(int32_t)((word[w] >> 40) + 1) * 0x1p-24f;
            float turn = (float)(int32_t)((word[w] >> 8) & 0xffffff) * 0x1p-22f;
            float r = sqrtf(-2.0f * log_unit(u));
            float shifted = turn + 12582912.0f; /* 1.5 2^23: rounds to whole numbers */
            uint32_t quarter = bits_of(shifted);
            float a = (turn - (shifted - 12582912.0f)) * 1.57079633f, q = a * a;
            float sine =
                a * (1.0f - q * (1.0f / 6 -
                                 q * (1.0f / 120 - q * (1.0f / 5040 - q / 362880.0f))));
            float cosine =
                1.0f - q * (0.5f - q * (1.0f / 24 - q * (1.0f / 720 - q / 40320.0f)));
            float c = quarter & 1 ? sine : cosine, s = quarter & 1 ? cosine : sine;
            first[w] = r * ((quarter + 1) & 2 ? -c : c);
            second[w] = r * (quarter & 2 ? -s : s);
        }
        for (size_t w = 0; w < WORDS; w++) {
            z[2 * w] = first[w];
            z[2 * w + 1] = second[w];
        }
        memcpy(y + i, z, (n - i < 2 * WORDS ? n - i : 2 * WORDS) * sizeof(float));
    }
}

/* ---- Backward passes --------------------------------------------------------------- */

/* e^x for x <= 0: 2^n e^r, |r| <= ln2 / 2, Taylor to degree 6; 0 below -87. */
static inline float exp_negative(float x)
{
    float clipped = x < -87.0f ? -87.0f : x;
    float shifted = clipped * 1.44269504f + 12582912.0f, n = shifted - 12582912.0f;
    float r = clipped - n * 0.693145752f - n * 1.42860677e-06f;
    float p = 1.0f / 720;
    p = p * r + 1.0f / 120;
    p = p * r + 1.0f / 24;
    p = p * r + 1.0f / 6;
    p = p * r + 0.5f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    float value = p * float_of((bits_of(shifted) << 23) + 0x3f800000u);
    return x < -87.0f ? 0.0f : value;
}

/* gelu'(x) = Phi(x) + x phi(x). Phi as in the forward kernel (kernels_avx2.c):
 * Phi(x) - 1/2 = x P(x^2) / Q(x^2), clipped beyond +-5.2. */
static void gelu_back(float *dx, const float *x, const float *dy, size_t n)
{
    ELEMENTWISE
    for (size_t i = 0; i < n; i++) {
        float c = x[i] < -5.2f ? -5.2f : x[i] > 5.2f ? 5.2f : x[i], u = c * c;
        float q = 5.37632707e-05f;
        q = q * u + 1.66665219e-03f;
        q = q * u + 2.74576116e-02f;
        q = q * u + 2.49639446e-01f;
        q = q * u + 1.0f;
        float p = 1.26117204e-10f;
        p = p * u + -2.29581326e-08f;
        p = p * u + 3.01161766e-06f;
        p = p * u + 1.42730506e-04f;
        p = p * u + 4.32768881e-03f;
        p = p * u + 3.31020899e-02f;
        p = p * u + 3.98942132e-01f;
        float cumulative = 0.5f + c * p / q;
        float density = 0.398942280f * exp_negative(-0.5f * x[i] * x[i]);
        dx[i] = dy[i] * (cumulative + x[i] * density);
    }
}

static void layernorm_saving(float *y, float *hat, float *rstd, const float *x,
                             const float *gain, const float *shift, size_t rows, size_t n,
                             float eps)
{
    size_t whole = n / LANES * LANES;
    for (size_t r = 0; r < rows; r++, x += n, y += n, hat += n) {
        float s[LANES] = {0}, s2[LANES] = {0};
        for (size_t i = 0; i < whole; i += LANES)
            for (size_t j = 0; j < LANES; j++)
                s[j] += x[i + j];
        for (size_t i = whole; i < n; i++)
            s[i - whole] += x[i];
        float mean = lane_sum(s) / (float)n;
        for (size_t i = 0; i < whole; i += LANES)
            for (size_t j = 0; j < LANES; j++)
                s2[j] += (x[i + j] - mean) * (x[i + j] - mean);
        for (size_t i = whole; i < n; i++)
            s2[i - whole] += (x[i] - mean) * (x[i] - mean);
        float k = 1.0f / sqrtf(lane_sum(s2) / (float)n + eps);
        rstd[r] = k;
        ELEMENTWISE
        for (size_t i = 0; i < n; i++) {
            hat[i] = (x[i] - mean) * k;
            y[i] = hat[i] * gain[i] + shift[i];
        }
    }
}

static void layernorm_back(float *dx, const float *dy, const float *hat,
                           const float *rstd, const float *gain, size_t rows, size_t n)
{
    size_t whole = n / LANES * LANES;
    for (size_t r = 0; r < rows; r++, dx += n, dy += n, hat += n) {
        float s[LANES] = {0}, sh[LANES] = {0};
        for (size_t i = 0; i < whole; i += LANES)
            for (size_t j = 0; j < LANES; j++) {
                float g = dy[i + j] * gain[i + j];
                s[j] += g;
                sh[j] += g * hat[i + j];
            }
        for (size_t i = whole; i < n; i++) {
            float g = dy[i] * gain[i];
            s[i - whole] += g;
            sh[i - whole] += g * hat[i];
        }
        float mean = lane_sum(s) / (float)n, mean_hat = lane_sum(sh) / (float)n;
        ELEMENTWISE
        for (size_t i = 0; i < n; i++)
            dx[i] = rstd[r] * (dy[i] * gain[i] - mean - hat[i] * mean_hat);
    }
}

static void column_sums(float *restrict out, const float *restrict x, size_t ld,
                        size_t rows, size_t n)
{
    for (size_t r = 0; r < rows; r++, x += ld)
        for (size_t j = 0; j < n; j++)
            out[j] += x[j];
}

static void column_dots(float *restrict out, const float *restrict x,
                        const float *restrict y, size_t ld, size_t rows, size_t n)
{
    for (size_t r = 0; r < rows; r++, x += ld, y += ld)
        for (size_t j = 0; j < n; j++)
            out[j] += x[j] * y[j];
}

static void softmax_back(float *restrict dp, const float *restrict p, size_t rows,
                         size_t n, size_t ld, float scale)
{
    size_t whole = n / LANES * LANES;
    for (size_t r = 0; r < rows; r++, dp += ld, p += ld) {
        float s[LANES] = {0};
        for (size_t i = 0; i < whole; i += LANES)
            for (size_t j = 0; j < LANES; j++)
                s[j] += p[i + j] * dp[i + j];
        for (size_t i = whole; i < n; i++)
            s[i - whole] += p[i] * dp[i];
        float sum = lane_sum(s);
        for (size_t i = 0; i < n; i++)
            dp[i] = scale * p[i] * (dp[i] - sum);
    }
}

/* ---- Layouts ----------------------------------------------------------------------- */

#ifndef RF_TRANSPOSE8 /* a variant may define its own */
static inline void transpose8(float *dst, size_t ld_dst, const float *src, size_t ld_src)
{
    for (size_t i = 0; i < 8; i++)
        for (size_t j = 0; j < 8; j++)
            dst[i * ld_dst + j] = src[j * ld_src + i];
}
#endif

static void transpose(float *dst, size_t ld_dst, const float *src, size_t ld_src,
                      size_t rows, size_t cols)
{
    size_t rows8 = rows / 8 * 8, cols8 = cols / 8 * 8;
    for (size_t r = 0; r < rows8; r += 8) {
        for (size_t c = 0; c < cols8; c += 8)
            transpose8(dst + c * ld_dst + r, ld_dst, src + r * ld_src + c, ld_src);
        for (size_t c = cols8; c < cols; c++)
            for (size_t i = r; i < r + 8; i++)
                dst[c * ld_dst + i] = src[i * ld_src + c];
    }
    for (size_t r = rows8; r < rows; r++)
        for (size_t c = 0; c < cols; c++)
            dst[c * ld_dst + r] = src[r * ld_src + c];
}

static void strips(float *dst, const float *x, size_t ld, size_t rows, size_t n)
{
    for (size_t j = 0; j < n; j += RF_PANEL) {
        size_t cols = n - j < RF_PANEL ? n - j : RF_PANEL;
        for (size_t r = 0; r < rows; r++, dst += RF_PANEL) {
            if (cols == RF_PANEL) {
                memcpy(dst, x + r * ld + j, RF_PANEL * sizeof(float));
            } else {
                memset(dst, 0, RF_PANEL * sizeof(float));
                memcpy(dst, x + r * ld + j, cols * sizeof(float));
            }
        }
    }
}

static void transpose_panels(float *dst, const float *panels, size_t out, size_t in)
{
    for (size_t i = 0; i < in; i += RF_PANEL)
        for (size_t o = 0; o < out; o += RF_PANEL) {
            size_t cols = in - i < RF_PANEL ? in - i : RF_PANEL;
            size_t rows = out - o < RF_PANEL ? out - o : RF_PANEL;
            const float *from = panels + o * in + i * RF_PANEL; /* [cols][16] */
            float *to = dst + i * out + o * RF_PANEL;           /* [rows][16] */
            if (cols < RF_PANEL)
                memset(to, 0, rows * RF_PANEL * sizeof(float));
            transpose(to, RF_PANEL, from, RF_PANEL, cols, rows);
        }
}

#ifndef RF_NARROW_F16
static void narrow_f16(uint16_t *y, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t b = bits_of(x[i]), sign = b >> 16 & 0x8000, magnitude = b & 0x7fffffff;
        uint32_t h;
        if (magnitude > 0x7f800000) { /* NaN */
            h = 0x7e00;
        } else if (magnitude >= 0x477ff000) { /* rounds to 2^16 or more */
            h = 0x7c00;
        } else if (magnitude < 0x38800000) { /* subnormal: add 1/2, which aligns it */
            h = bits_of(float_of(magnitude) + 0.5f) - 0x3f000000;
        } else {
            uint32_t odd = magnitude >> 13 & 1;
            h = (magnitude + 0xfff + odd - 0x38000000) >> 13;
        }
        y[i] = (uint16_t)(sign | h);
    }
}
#endif

static const rf_train_table train_table = {
    .adam = adam,
    .dropout = dropout,
    .normal = normal,
    .gelu_back = gelu_back,
    .layernorm_saving = layernorm_saving,
    .layernorm_back = layernorm_back,
    .column_sums = column_sums,
    .column_dots = column_dots,
    .softmax_back = softmax_back,
    .transpose = transpose,
    .strips = strips,
    .transpose_panels = transpose_panels,
    .narrow_f16 = narrow_f16,
};
