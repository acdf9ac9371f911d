/*
 * The numeric kernels, on every path that the CPU has: against goldens computed by
 * PyTorch in double precision (tools/make_tiny_encoder.py), against sums in double, and
 * for two promises: a row's bits depend neither on the rows around it nor on the path.
 *
 * Tolerances: gelu 5e-7 (one rounding of values up to 12 is 5e-7; the fit adds 2e-7 per
 * unit), layernorm 2e-6 but 1e-4 for the row with an offset of 1000 (its differences have
 * lost ten bits before we see them), softmax 2e-7, gemm 4e-6 of values up to 7.5.
 */
#include "encoder/safetensors.h"
#include "near.h"
#include "num/kernels.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static rf_safetensors golden;

static int open_golden(void **state)
{
    (void)state;
    return rf_safetensors_open(&golden, GOLDEN_DIR "/num.safetensors", NULL) != RF_OK;
}

static int close_golden(void **state)
{
    (void)state;
    rf_safetensors_close(&golden);
    return 0;
}

/* A fresh, aligned copy of a golden tensor; the caller frees it. */
static float *load(const char *name, size_t *n)
{
    const rf_tensor *t = rf_safetensors_find(&golden, name);
    assert_non_null(t);
    assert_int_equal(t->dtype, RF_F32);
    float *p = malloc(t->count * sizeof *p);
    assert_non_null(p);
    memcpy(p, t->data, t->count * sizeof *p);
    *n = t->count;
    return p;
}

/* Run a test for each path that this CPU has. */
static void for_each(void (*test)(const rf_kernel_table *k))
{
    for (size_t i = 0; rf_kernels_path(i); i++)
        test(rf_kernels_path(i));
    if (rf_kernels_avx2() == NULL)
        printf("SKIPPED: this CPU has no AVX2\n");
    if (rf_kernels_avx512() == NULL)
        printf("SKIPPED: this CPU has no AVX-512\n");
}

static void check_gelu(const rf_kernel_table *k)
{
    size_t n, m;
    float *x = load("gelu.x", &n), *y = load("gelu.y", &m);
    for (size_t len = 1; len <= n; len += len < 20 ? 1 : 97) { /* and odd lengths */
        float *copy = malloc(len * sizeof *copy);
        memcpy(copy, x, len * sizeof *copy);
        k->gelu(copy, len);
        assert_near("gelu", copy, y, len, 5e-7, 3e-7);
        free(copy);
    }
    free(x);
    free(y);
}

static void check_layernorm(const rf_kernel_table *k)
{
    size_t n;
    float *x = load("layernorm.x", &n), *gain = load("layernorm.gain", &n),
          *bias = load("layernorm.bias", &n), *y = load("layernorm.y", &n);
    k->layernorm(x, x, gain, bias, 5, 48, 1e-12f);
    for (size_t r = 0; r < 5; r++)
        assert_near("layernorm", x + 48 * r, y + 48 * r, 48, r == 1 ? 1e-4 : 2e-6, 0);
    free(x);
    free(gain);
    free(bias);
    free(y);
}

static void check_softmax(const rf_kernel_table *k)
{
    size_t n;
    float *x = load("softmax.x", &n), *y = load("softmax.y", &n);
    k->softmax(x, 6, 37, 37, 1.0f);
    assert_near("softmax", x, y, n, 2e-7, 0);
    free(x);
    free(y);
    for (size_t cols = 1; cols < 40; cols++) { /* scale, leading dimension, every tail */
        float a[2][48], want[2][48];
        for (size_t r = 0; r < 2; r++) {
            double sum = 0;
            for (size_t i = 0; i < cols; i++) {
                a[r][i] = (float)((i * 7 + r * 3) % 11) - 5.0f;
                sum += exp(0.3 * (double)a[r][i]);
            }
            for (size_t i = 0; i < cols; i++)
                want[r][i] = (float)(exp(0.3 * (double)a[r][i]) / sum);
            for (size_t i = cols; i < 48; i++)
                a[r][i] = want[r][i] = 77.0f; /* must not be touched */
        }
        k->softmax(a[0], 2, cols, 48, 0.3f);
        assert_near("softmax tail", a[0], want[0], 96, 2e-7, 0);
    }
}

/* W [n, k] as panels */
static float *pack(const rf_kernel_table *k, const float *w, size_t n, size_t depth)
{
    size_t panels = (n + RF_PANEL - 1) / RF_PANEL;
    float *b = malloc(panels * RF_PANEL * depth * sizeof *b);
    for (size_t p = 0; p < panels; p++) {
        size_t rows = n - p * RF_PANEL < RF_PANEL ? n - p * RF_PANEL : RF_PANEL;
        k->pack_panel(b + p * RF_PANEL * depth, w + p * RF_PANEL * depth, depth, rows,
                      depth);
    }
    return b;
}

static void check_gemm_golden(const rf_kernel_table *k)
{
    size_t n;
    float *a = load("gemm.a", &n), *w = load("gemm.w", &n), *bias = load("gemm.bias", &n),
          *y = load("gemm.y", &n), *b = pack(k, w, 37, 45), c[23 * 37];
    k->gemm(&(rf_gemm_args){.c = c,
                            .ldc = 37,
                            .a = a,
                            .lda = 45,
                            .b = b,
                            .b_row = RF_PANEL,
                            .b_panel = 45 * RF_PANEL,
                            .bias = bias,
                            .m = 23,
                            .n = 37,
                            .k = 45});
    assert_near("gemm", c, y, 23 * 37, 4e-6, 0);
    free(a);
    free(w);
    free(bias);
    free(y);
    free(b);
}

static float pseudo(uint32_t *x)
{
    *x = *x * 1664525u + 1013904223u;
    return (float)(*x >> 8) * 0x1p-23f - 1.0f;
}

/* Shapes around every edge of the blocking, all ways to finish, bits by row. */
static void check_gemm_shapes(const rf_kernel_table *k)
{
    static const size_t ms[] = {1, 2, 3, 5, 6, 7, 11, 13, 96, 97, 193};
    static const size_t ns[] = {1, 15, 16, 17, 40};
    static const size_t ks[] = {1, 7, 383, 384, 385, 800};
    uint32_t seed = 7;
    for (size_t im = 0; im < sizeof ms / sizeof ms[0]; im++)
        for (size_t in = 0; in < sizeof ns / sizeof ns[0]; in++)
            for (size_t ik = 0; ik < sizeof ks / sizeof ks[0]; ik++) {
                size_t m = ms[im], n = ns[in], d = ks[ik], ldc = n + 3, lda = d + 2;
                rf_gemm_after after = (rf_gemm_after)((im + in + ik) % 3);
                float *a = malloc(m * lda * sizeof *a), *w = malloc(n * d * sizeof *w),
                      *c = malloc(m * ldc * sizeof *c), *bias = malloc(n * sizeof *bias),
                      *one = malloc(n * sizeof *one), *want = malloc(n * sizeof *want);
                for (size_t i = 0; i < m * lda; i++)
                    a[i] = pseudo(&seed);
                for (size_t i = 0; i < n * d; i++)
                    w[i] = pseudo(&seed);
                for (size_t i = 0; i < n; i++)
                    bias[i] = pseudo(&seed);
                for (size_t i = 0; i < m * ldc; i++)
                    c[i] = 0.25f;
                float *b = pack(k, w, n, d);
                rf_gemm_args g = {.c = c,
                                  .ldc = ldc,
                                  .a = a,
                                  .lda = lda,
                                  .b = b,
                                  .b_row = RF_PANEL,
                                  .b_panel = d * RF_PANEL,
                                  .bias = bias,
                                  .m = m,
                                  .n = n,
                                  .k = d,
                                  .after = after};
                k->gemm(&g);
                for (size_t i = 0; i<m; i += m> 20 ? 37 : 1) {
                    for (size_t j = 0; j < n; j++) {
                        double s = (double)bias[j];
                        for (size_t q = 0; q < d; q++)
                            s += (double)a[i * lda + q] * (double)w[j * d + q];
                        if (after == RF_GEMM_ADD)
                            s += 0.25;
                        if (after == RF_GEMM_GELU)
                            s = 0.5 * s * (1.0 + erf(s / sqrt(2.0)));
                        want[j] = (float)s;
                        one[j] = 0.25f;
                    }
                    assert_near("gemm shapes", c + i * ldc, want, n, 3e-5, 1e-6);
                    rf_gemm_args alone = g; /* this row by itself: the same bits */
                    alone.c = one;
                    alone.a = a + i * lda;
                    alone.m = 1;
                    k->gemm(&alone);
                    assert_memory_equal(one, c + i * ldc, n * sizeof *one);
                    for (size_t j = n; j < ldc; j++) /* beyond the columns: untouched */
                        assert_true(c[i * ldc + j] == 0.25f);
                }
                free(a);
                free(w);
                free(c);
                free(bias);
                free(one);
                free(want);
                free(b);
            }
}

/* All 65,536 halves, worked out from the definition with ldexp. */
static void check_widen(const rf_kernel_table *k)
{
    for (uint32_t h = 0; h < 65536; h++) {
        uint16_t half = (uint16_t)h, eight[9];
        float got[9];
        int exponent = (int)(h >> 10 & 31), fraction = (int)(h & 1023);
        double want =
            exponent == 0 ? ldexp(fraction, -24) : ldexp(1024 + fraction, exponent - 25);
        if (h & 0x8000)
            want = -want;
        for (int i = 0; i < 9; i++)
            eight[i] = half;
        k->widen_f16(got, eight, 9);
        for (int i = 0; i < 9; i++) {
            if (exponent == 31)
                assert_true(fraction ? isnan(got[i]) : isinf(got[i]));
            else
                assert_true((double)got[i] == want);
        }
        k->widen_bf16(got, eight, 9);
        uint32_t bits;
        memcpy(&bits, &got[8], sizeof bits);
        assert_int_equal(bits, h << 16);
    }
}

static void check_finite(const rf_kernel_table *k)
{
    static const float bad[] = {INFINITY, -INFINITY, NAN};
    float x[37];
    for (size_t n = 0; n <= 37; n++) {
        for (size_t i = 0; i < 37; i++)
            x[i] = i % 2 ? 3.4e38f : -1e-45f;
        assert_true(k->all_finite(x, n));
        for (size_t i = 0; i < n; i++) {
            x[i] = bad[i % 3];
            assert_false(k->all_finite(x, n));
            x[i] = 0.0f;
        }
    }
}

static void gelu(void **state)
{
    (void)state, for_each(check_gelu);
}
static void layernorm(void **state)
{
    (void)state, for_each(check_layernorm);
}
static void softmax(void **state)
{
    (void)state, for_each(check_softmax);
}
static void gemm_golden(void **state)
{
    (void)state, for_each(check_gemm_golden);
}
static void gemm_shapes(void **state)
{
    (void)state, for_each(check_gemm_shapes);
}
static void widen(void **state)
{
    (void)state, for_each(check_widen);
}
static void finite(void **state)
{
    (void)state, for_each(check_finite);
}

/* ---- The same bits on every path --------------------------------------------------- */

static float any_bits(uint32_t *x)
{
    float f;
    *x = *x * 1664525u + 1013904223u;
    uint32_t bits = *x ^ *x >> 15;
    memcpy(&f, &bits, sizeof f);
    return f;
}

/* Products on every path are those of portable C to the last bit: every number of rows
 * around the tiles of all, every way to end, rows of b beside each other or apart. */
static void products_have_the_same_bits(void **state)
{
    (void)state;
    enum { M = 101, N = 53, K = 77, ROOM = 64 };
    static float a[M * K], b[ROOM * K], bias[ROOM], c[2][M * ROOM];
    uint32_t draw = 1;
    for (size_t i = 0; i < M * K; i++)
        a[i] = 2.1f * pseudo(&draw);
    for (size_t i = 0; i < ROOM * K; i++)
        b[i] = 2.1f * pseudo(&draw);
    for (size_t i = 0; i < ROOM; i++)
        bias[i] = pseudo(&draw);
    for (size_t m = 1; m <= M; m++)
        for (int after = RF_GEMM_SET; after <= RF_GEMM_GELU; after++)
            for (size_t k = m % 3 ? K : 1; k; k = k == K ? 16 : 0)
                for (size_t v = 0; rf_kernels_path(v); v++) {
                    bool rows = m % 2; /* row-major: whole panels only */
                    float *to = c[v > 0];
                    for (size_t i = 0; i < M * ROOM; i++)
                        to[i] = (float)i;
                    rf_kernels_path(v)->gemm(
                        &(rf_gemm_args){.c = to,
                                        .ldc = ROOM,
                                        .a = a,
                                        .lda = K,
                                        .b = b,
                                        .b_row = rows ? ROOM : RF_PANEL,
                                        .b_panel = rows ? RF_PANEL : k * RF_PANEL,
                                        .bias = m % 5 ? bias : NULL,
                                        .m = m,
                                        .n = rows ? ROOM : N,
                                        .k = k,
                                        .after = (rf_gemm_after)after});
                    assert_memory_equal(c[0], to, sizeof c[0]);
                }
}

/* One multiply-add of any three numbers, and of three whose sum lies between two floats
 * or below the normal ones: a second rounding would show. */
static void multiply_adds_round_once(void **state)
{
    (void)state;
    uint32_t draw = 3;
    for (size_t round = 0; round < 20000; round++) {
        float a[2], b[2 * RF_PANEL], c[RF_PANEL];
        for (size_t i = 0; i < 2; i++)
            a[i] = any_bits(&draw);
        for (size_t i = 0; i < 2 * RF_PANEL; i++)
            b[i] = any_bits(&draw);
        if (round % 2) { /* c + 2^-24 c, and something tiny or nothing */
            a[0] = 1.0f + (float)(draw >> 20) * 0x1p-23f;
            a[1] = 0x1p-24f * (draw & 1024 ? 1.0f : -1.0f);
            for (size_t j = 0; j < RF_PANEL; j++) {
                b[j] = draw & 2048 ? 0x1p-120f : 1.0f;
                b[RF_PANEL + j] = b[j] * (1.0f + (float)(int)(j % 3) * 0x1p-23f);
            }
        }
        for (size_t v = 0; rf_kernels_path(v); v++) {
            rf_kernels_path(v)->gemm(&(rf_gemm_args){.c = c,
                                                     .ldc = RF_PANEL,
                                                     .a = a,
                                                     .lda = 2,
                                                     .b = b,
                                                     .b_row = RF_PANEL,
                                                     .b_panel = 2 * RF_PANEL,
                                                     .m = 1,
                                                     .n = RF_PANEL,
                                                     .k = 2});
            for (size_t j = 0; j < RF_PANEL; j++) {
                float want = fmaf(a[1], b[RF_PANEL + j], fmaf(a[0], b[j], 0.0f)) + 0.0f;
                assert_true(memcmp(&want, &c[j], sizeof want) == 0 ||
                            (isnan(want) && isnan(c[j])));
            }
        }
    }
}

/* Against the C library: a rounding or two, and an absolute error where the result is 0.
 * What the prior asks for may be a rounding above 0. */
static void check_exp(const rf_kernel_table *k)
{
    enum { N = 40001 };
    static float x[N], got[N], want[N];
    for (size_t i = 0; i < N; i++) {
        x[i] = got[i] = 1e-4f - (float)i * 0.0025f; /* to -100 */
        want[i] = (float)exp((double)x[i]);
    }
    k->exp(got, N);
    assert_near("exp", got, want, N, 2e-38, 3e-7);
}

static void exponential(void **state)
{
    (void)state;
    for_each(check_exp);
}

/* Rows with zeroes, large and tiny numbers, and in every third a NaN or an infinity. */
static void functions_have_the_same_bits(void **state)
{
    (void)state;
    enum { N = 203 };
    uint32_t draw = 5;
    for (size_t n = 1; n <= N; n++) {
        float x[3][N], y[2][4][3][N], gain[N], bias[N];
        for (size_t i = 0; i < n; i++) {
            x[0][i] = 9.0f * pseudo(&draw);
            x[1][i] = i % 7 ? x[0][i] : 1e4f * x[0][i];
            x[2][i] = i == n / 2 ? (n % 2 ? NAN : INFINITY) : x[0][i] * 1e-20f;
            gain[i] = pseudo(&draw);
            bias[i] = i % 5 ? pseudo(&draw) : 0.0f;
        }
        for (size_t v = 0; rf_kernels_path(v); v++) {
            const rf_kernel_table *k = rf_kernels_path(v);
            memset(y[v > 0], 0, sizeof y[0]);
            for (size_t r = 0; r < 3; r++) {
                float *to[4] = {y[v > 0][0][r], y[v > 0][1][r], y[v > 0][2][r],
                                y[v > 0][3][r]};
                memcpy(to[0], x[r], n * sizeof(float));
                k->gelu(to[0], n);
                memcpy(to[1], x[r], n * sizeof(float));
                k->softmax(to[1], 1, n, n, 0.37f);
                k->layernorm(to[2], x[r], gain, bias, 1, n, 1e-12f);
                for (size_t i = 0; i < n; i++)
                    to[3][i] = isfinite(x[r][i]) ? -fabsf(x[r][i]) : 0.0f;
                k->exp(to[3], n);
            }
            for (size_t i = 0; i < sizeof y[0] / sizeof(float); i++) {
                float got = ((float *)y[v > 0])[i], want = ((float *)y[0])[i];
                assert_true(memcmp(&got, &want, sizeof got) == 0 ||
                            (isnan(got) && isnan(want)));
            }
        }
    }
}

static void the_environment_chooses(void **state)
{
    (void)state;
    const char *request = getenv("RINGFENCE_KERNELS");
    const rf_kernel_table *want = NULL;
    for (size_t i = 0; rf_kernels_path(i); i++)
        want = rf_kernels_path(i); /* the last, unless one is asked for */
    for (size_t i = 0; rf_kernels_path(i); i++)
        if (request && strcmp(request, rf_kernels_path(i)->path) == 0)
            want = rf_kernels_path(i);
    assert_ptr_equal(rf_kernels(), want);
    rf_kernels_use(rf_kernels_portable());
    assert_ptr_equal(rf_kernels(), rf_kernels_portable());
    rf_kernels_use(NULL);
    assert_ptr_equal(rf_kernels(), want);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gelu),
        cmocka_unit_test(layernorm),
        cmocka_unit_test(softmax),
        cmocka_unit_test(exponential),
        cmocka_unit_test(gemm_golden),
        cmocka_unit_test(gemm_shapes),
        cmocka_unit_test(widen),
        cmocka_unit_test(finite),
        cmocka_unit_test(products_have_the_same_bits),
        cmocka_unit_test(multiply_adds_round_once),
        cmocka_unit_test(functions_have_the_same_bits),
        cmocka_unit_test(the_environment_chooses),
    };
    return cmocka_run_group_tests_name("kernels", tests, open_golden, close_golden);
}
