/* test_train_kernels.c - the training kernels against plain loops in double; both
 * variants to the same bits */
#include "base/memory.h"
#include "base/rng.h"
#include "near.h"
#include "num/kernels.h"
#include "num/linear.h"
#include "num/panels.h"
#include "scratch.h"

#include <stdlib.h>
#include <string.h>

#define MOST 6400

static float a[MOST], b[MOST], c[MOST], d[MOST], want[MOST];

static void fill(float *x, size_t n, uint64_t key, float spread)
{
    rf_rng r = rf_rng_open(key);
    for (size_t i = 0; i < n; i++)
        x[i] = spread * (2.0f * rf_rng_uniform(&r) - 1.0f);
}

/* The tables; the second may be missing. */
static size_t tables(const rf_train_table *t[2])
{
    t[0] = rf_train_portable();
    t[1] = rf_train_avx2();
    return t[1] ? 2 : 1;
}

static void adam_follows_its_formula(void **state)
{
    (void)state;
    const rf_train_table *t[2];
    for (size_t v = 0; v < tables(t); v++) {
        float p[37], g[37], m[37], s[37];
        fill(p, 37, 1, 1.0f);
        fill(g, 37, 2, 0.1f);
        fill(m, 37, 3, 0.1f);
        fill(s, 37, 4, 0.1f);
        double pw[37], mw[37], sw[37];
        const rf_adam o = {0.01f, 0.9f, 0.999f, 1e-6f, 0.1f, 3.0f, 7.0f};
        for (size_t i = 0; i < 37; i++) {
            s[i] = fabsf(s[i]);
            mw[i] = 0.9 * (double)m[i] + 0.1 * (double)g[i];
            sw[i] = 0.999 * (double)s[i] + 0.001 * (double)g[i] * (double)g[i];
            pw[i] = (double)p[i] * (1.0 - 0.01 * 0.1) -
                    0.01 * 3.0 * mw[i] / (sqrt(7.0 * sw[i]) + 1e-6);
        }
        t[v]->adam(p, g, m, s, 37, &o);
        for (size_t i = 0; i < 37; i++) {
            assert_true(fabs((double)p[i] - pw[i]) < 1e-6);
            assert_true(fabs((double)m[i] - mw[i]) < 1e-7);
            assert_true(fabs((double)s[i] - sw[i]) < 1e-7);
        }
    }
}

/* Every element by the documented bits of the documented stream. */
static void dropout_follows_its_stream(void **state)
{
    (void)state;
    const rf_train_table *t[2];
    const float p = 0.1f;
    const uint32_t limit = 6554; /* round(65536 / 10) */
    for (size_t v = 0; v < tables(t); v++)
        for (size_t n = 0; n < 140; n++) {
            size_t dropped = 0;
            fill(a, n, 5, 1.0f);
            t[v]->dropout(b, a, n, p, 77);
            for (size_t i = 0; i < n; i++) {
                uint64_t word = rf_rng_mix(77 + (i / 4 + 1) * RF_RNG_STEP);
                bool drop = (word >> 16 * (i % 4) & 0xffff) < limit;
                float w = drop ? 0.0f : a[i] * (65536.0f / (65536.0f - 6554.0f));
                dropped += drop;
                assert_true(b[i] == w);
            }
            assert_true(n < 100 || (dropped > 2 && dropped < 30));
            t[v]->dropout(a, a, n, p, 77); /* in place */
            assert_memory_equal(a, b, n * sizeof *a);
        }
    rf_train_portable()->dropout(b, a, 64, 0.0f, 3);
    assert_memory_equal(a, b, 64 * sizeof *a);
}

static void normal_is_normal(void **state)
{
    (void)state;
    const size_t n = 1000000;
    float *x = malloc(n * sizeof *x);
    double sum[5] = {0}, within = 0.0, together = 0.0;
    assert_non_null(x);
    rf_train_kernels()->normal(x, n, 11);
    for (size_t i = 0; i < n; i++) {
        double y = (double)x[i];
        for (int k = 1; k < 5; k++)
            sum[k] += pow(y, k);
        within += fabs(y) < 1.0;
        together += i ? y * (double)x[i - 1] : 0.0;
    }
    double m = (double)n; /* bounds: five standard errors */
    assert_true(fabs(sum[1] / m) < 5.0 / sqrt(m));
    assert_true(fabs(sum[2] / m - 1.0) < 5.0 * sqrt(2.0 / m));
    assert_true(fabs(sum[3] / m) < 5.0 * sqrt(15.0 / m));
    assert_true(fabs(sum[4] / m - 3.0) < 5.0 * sqrt(96.0 / m));
    assert_true(fabs(within / m - 0.6826895) < 5.0 * 0.4655 / sqrt(m));
    assert_true(fabs(together / m) < 5.0 / sqrt(m));
    float y[7]; /* the first values do not depend on n */
    rf_train_kernels()->normal(y, 7, 11);
    assert_memory_equal(x, y, sizeof y);
    free(x);
}

static void gelu_back_is_the_derivative(void **state)
{
    (void)state;
    const rf_train_table *t[2];
    for (size_t v = 0; v < tables(t); v++) {
        for (size_t i = 0; i < MOST; i++) {
            a[i] = (float)((double)i * 40.0 / MOST - 20.0);
            double x = (double)a[i];
            want[i] = (float)(2.0 * (0.5 * erfc(-x / sqrt(2.0)) +
                                     x * exp(-0.5 * x * x) / sqrt(2.0 * acos(-1.0))));
            b[i] = 2.0f;
        }
        t[v]->gelu_back(b, a, b, MOST);
        assert_near("gelu_back", b, want, MOST, 2e-6, 0.0);
    }
}

static void layernorm_and_its_gradient(void **state)
{
    (void)state;
    const rf_train_table *t[2];
    static const size_t widths[] = {1, 7, 16, 48, 100, 384};
    for (size_t v = 0; v < tables(t); v++)
        for (size_t k = 0; k < 6; k++) {
            const size_t n = widths[k], rows = 5;
            float hat[5 * 384], rstd[5], gain[384], shift[384], dx[5 * 384];
            fill(a, rows * n, 21, 3.0f);
            fill(gain, n, 22, 1.0f);
            fill(shift, n, 23, 1.0f);
            fill(b, rows * n, 24, 1.0f);
            t[v]->layernorm_saving(c, hat, rstd, a, gain, shift, rows, n, 1e-3f);
            t[v]->layernorm_back(dx, b, hat, rstd, gain, rows, n);
            for (size_t r = 0; r < rows; r++) {
                const float *x = a + r * n, *dy = b + r * n;
                double mean = 0.0, var = 0.0, g = 0.0, gh = 0.0;
                for (size_t i = 0; i < n; i++)
                    mean += (double)x[i] / (double)n;
                for (size_t i = 0; i < n; i++)
                    var += ((double)x[i] - mean) * ((double)x[i] - mean) / (double)n;
                double s = 1.0 / sqrt(var + 1e-3);
                for (size_t i = 0; i < n; i++) {
                    double h = ((double)x[i] - mean) * s;
                    g += (double)dy[i] * (double)gain[i] / (double)n;
                    gh += (double)dy[i] * (double)gain[i] * h / (double)n;
                    want[i] = (float)(h * (double)gain[i] + (double)shift[i]);
                }
                assert_near("layernorm", c + r * n, want, n, 1e-5, 1e-5);
                for (size_t i = 0; i < n; i++) {
                    double h = ((double)x[i] - mean) * s;
                    want[i] = (float)(s * ((double)dy[i] * (double)gain[i] - g - h * gh));
                }
                assert_near("layernorm_back", dx + r * n, want, n, 2e-5 * s, 1e-5);
            }
        }
}

static void softmax_back_is_the_jacobian(void **state)
{
    (void)state;
    const rf_train_table *t[2];
    for (size_t v = 0; v < tables(t); v++)
        for (size_t n = 1; n < 40; n++) {
            fill(a, n, 31, 2.0f);
            rf_kernels_portable()->softmax(a, 1, n, n, 1.0f);
            fill(b, n, 32, 1.0f);
            for (size_t i = 0; i < n; i++) {
                double s = 0.0;
                for (size_t j = 0; j < n; j++)
                    s += (double)b[j] * (double)a[j] *
                         ((i == j ? 1.0 : 0.0) - (double)a[i]);
                want[i] = (float)(0.25 * s);
            }
            t[v]->softmax_back(b, a, 1, n, n, 0.25f);
            assert_near("softmax_back", b, want, n, 1e-7, 1e-5);
        }
}

static void layouts_put_every_number_in_its_place(void **state)
{
    (void)state;
    const rf_train_table *t[2];
    static const size_t sizes[] = {1, 7, 8, 16, 17, 31, 64};
    for (size_t v = 0; v < tables(t); v++)
        for (size_t k = 0; k < 49; k++) {
            size_t rows = sizes[k / 7], cols = sizes[k % 7];
            fill(a, rows * cols, 41, 1.0f);
            t[v]->transpose(b, rows + 3, a, cols, rows, cols);
            t[v]->strips(c, a, cols, rows, cols);
            rf_panels_pack(d, a, rows, cols);
            for (size_t i = 0; i < rows; i++)
                for (size_t j = 0; j < cols; j++) {
                    assert_true(b[j * (rows + 3) + i] == a[i * cols + j]);
                    assert_true(c[(j / 16 * rows + i) * 16 + j % 16] == a[i * cols + j]);
                }
            for (size_t j = cols; j % 16; j++) /* padding */
                assert_true(c[(j / 16 * rows) * 16 + j % 16] == 0.0f);
            t[v]->transpose_panels(b, d, rows, cols); /* strips of W are panels of W^T */
            assert_memory_equal(b, c, rf_panels_floats(cols, rows) * sizeof *b);
            rf_panels_unpack(b, d, rows, cols);
            assert_memory_equal(a, b, rows * cols * sizeof *a);
        }
}

/* All 65536 halves come back, and what lies between goes to the nearest, ties to even. */
static void narrow_f16_rounds_to_nearest_even(void **state)
{
    (void)state;
    const rf_train_table *t[2];
    for (size_t v = 0; v < tables(t); v++)
        for (uint32_t h = 0; h < 0x7c00; h++) {
            const uint16_t two[2] = {(uint16_t)h, (uint16_t)(h + 1)};
            float x[2], middle[6];
            uint16_t got[6];
            rf_kernels_portable()->widen_f16(x, two, 2);
            if (h + 1 == 0x7c00)
                x[1] = 65536.0f; /* what would come next if there were room */
            float half = 0.5f * (x[0] + x[1]);
            middle[0] = x[0];
            middle[1] = half;
            middle[2] = nextafterf(half, 0.0f);
            middle[3] = nextafterf(half, 1e30f);
            middle[4] = -x[0];
            middle[5] = -half;
            t[v]->narrow_f16(got, middle, 6);
            uint16_t even = (uint16_t)(h & 1 ? h + 1 : h);
            assert_int_equal(got[0], h);
            assert_int_equal(got[1], even);
            assert_int_equal(got[2], h);
            assert_int_equal(got[3], h + 1);
            assert_int_equal(got[4], h | 0x8000);
            assert_int_equal(got[5], even | 0x8000);
        }
}

static void both_variants_give_the_same_bits(void **state)
{
    (void)state;
    const rf_train_table *p = rf_train_portable(), *f = rf_train_avx2();
    if (!f)
        skip();
    static float x[MOST], y[MOST], rstd[2][64];
    fill(a, MOST, 51, 2.0f);
    p->normal(x, MOST, 5);
    f->normal(y, MOST, 5);
    assert_memory_equal(x, y, sizeof x);
    p->gelu_back(b, a, x, MOST);
    f->gelu_back(c, a, x, MOST);
    assert_memory_equal(b, c, sizeof b);
    p->layernorm_saving(b, x, rstd[0], a, d, d, 64, 100, 1e-12f);
    f->layernorm_saving(c, y, rstd[1], a, d, d, 64, 100, 1e-12f);
    assert_memory_equal(b, c, sizeof b);
    assert_memory_equal(x, y, sizeof x);
    p->layernorm_back(b, a, x, rstd[0], a, 64, 100);
    f->layernorm_back(c, a, x, rstd[0], a, 64, 100);
    assert_memory_equal(b, c, sizeof b);
}

/* A dense layer that learns, on shapes with and without whole panels, in two parts, its
 * rows stored by two "threads": gradients against double, one step of Adam, and the
 * transposed copy kept in step. */
static void linear_learns(void **state)
{
    (void)state;
    static const size_t shapes[][2] = {{16, 16}, {70, 33}, {130, 48}, {1, 5}};
    for (size_t k = 0; k < 4; k++) {
        const size_t out = shapes[k][0], in = shapes[k][1], rows = 29;
        rf_linear l;
        rf_error err;
        float *w = calloc(rf_panels_floats(out, in), sizeof *w), bias[130];
        fill(a, out * in, 61, 1.0f);
        rf_panels_pack(w, a, out, in);
        fill(bias, out, 62, 1.0f);
        assert_int_equal(rf_linear_init(&l, w, bias, out, in, rows, &err), RF_OK);
        rf_linear_transpose(&l);
        float *x = malloc(2 * rows * in * sizeof *x);
        float *dy = malloc(2 * rows * out * sizeof *dy);
        float *y = malloc(rows * out * sizeof *y), *dx = calloc(rows * in, sizeof *dx);
        fill(x, 2 * rows * in, 63, 1.0f);
        fill(dy, 2 * rows * out, 64, 1.0f);

        rf_linear_forward(&l, y, x, rows);
        rf_linear_backward(&l, dx, dy, rows, false);
        rf_linear_backward(&l, dx, dy, rows, true);
        for (size_t r = 0; r < rows; r++) {
            for (size_t o = 0; o < out; o++) {
                double s = (double)bias[o];
                for (size_t i = 0; i < in; i++)
                    s += (double)a[o * in + i] * (double)x[r * in + i];
                assert_true(fabs((double)y[r * out + o] - s) < 1e-5);
            }
            for (size_t i = 0; i < in; i++) {
                double s = 0.0;
                for (size_t o = 0; o < out; o++)
                    s += 2.0 * (double)a[o * in + i] * (double)dy[r * out + o];
                assert_true(fabs((double)dx[r * in + i] - s) < 1e-4);
            }
        }
        for (size_t part = 0; part < 2; part++) {
            const float *px = x + part * rows * in, *pd = dy + part * rows * out;
            rf_linear_store(&l, px + 11 * in, pd + 11 * out, 11, rows - 11);
            rf_linear_store(&l, px, pd, 0, 11);
            const rf_adam adam = {0.01f, 0.9f, 0.999f, 1e-6f, 0.0f, 10.0f, 1000.0f};
            for (size_t i = rf_linear_blocks(&l); i-- > 0;)
                rf_linear_update(&l, i, rows, part > 0, part > 0 ? &adam : NULL);
        }
        rf_panels_unpack(b, l.w_grad, out, in);
        rf_panels_unpack(c, w, out, in);
        for (size_t o = 0; o < out; o++) {
            double sum = 0.0;
            for (size_t r = 0; r < 2 * rows; r++)
                sum += (double)dy[r * out + o];
            assert_true(fabs((double)l.b_grad[o] - sum) < 1e-4);
            for (size_t i = 0; i < in; i++) {
                double s = 0.0;
                for (size_t r = 0; r < 2 * rows; r++)
                    s += (double)dy[r * out + o] * (double)x[r * in + i];
                assert_true(fabs((double)b[o * in + i] - s) < 1e-4);
                /* the first step of Adam goes by the sign of the gradient */
                double step = 0.01 * s / (fabs(s) + 1e-6);
                assert_true(fabs((double)(a[o * in + i] - c[o * in + i]) - step) < 1e-4);
            }
        }
        float *transposed = malloc(rf_panels_floats(in, out) * sizeof *transposed);
        rf_train_portable()->transpose_panels(transposed, w, out, in);
        assert_memory_equal(transposed, l.transposed,
                            rf_panels_floats(in, out) * sizeof *transposed);
        free(transposed);
        free(x);
        free(dy);
        free(y);
        free(dx);
        free(w);
        rf_linear_release(&l);
    }
}

static void names_of_streams_matter(void **state)
{
    (void)state;
    uint64_t k = rf_rng_key(1, 2, 3, 4);
    assert_true(k != rf_rng_key(2, 2, 3, 4) && k != rf_rng_key(1, 3, 3, 4) &&
                k != rf_rng_key(1, 2, 4, 4) && k != rf_rng_key(1, 2, 3, 5) &&
                k != rf_rng_key(1, 3, 2, 4));
    /* SplitMix64 from state 0, values of its authors' program */
    rf_rng r = rf_rng_open(0);
    assert_true(rf_rng_next(&r) == 0xe220a8397b1dcdafu);
    assert_true(rf_rng_next(&r) == 0x6e789e6aa1b965f4u);
    size_t count[7] = {0};
    for (size_t i = 0; i < 70000; i++)
        count[rf_rng_below(&r, 7)]++;
    for (size_t i = 0; i < 7; i++)
        assert_true(count[i] > 9500 && count[i] < 10500);
    uint32_t order[50];
    bool seen[50] = {false};
    for (uint32_t i = 0; i < 50; i++)
        order[i] = i;
    rf_rng_shuffle(&r, order, 50);
    size_t moved = 0;
    for (uint32_t i = 0; i < 50; i++) {
        assert_false(seen[order[i]]);
        seen[order[i]] = true;
        moved += order[i] != i;
    }
    assert_true(moved > 40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adam_follows_its_formula),
        cmocka_unit_test(dropout_follows_its_stream),
        cmocka_unit_test(normal_is_normal),
        cmocka_unit_test(gelu_back_is_the_derivative),
        cmocka_unit_test(layernorm_and_its_gradient),
        cmocka_unit_test(softmax_back_is_the_jacobian),
        cmocka_unit_test(layouts_put_every_number_in_its_place),
        cmocka_unit_test(narrow_f16_rounds_to_nearest_even),
        cmocka_unit_test(both_variants_give_the_same_bits),
        cmocka_unit_test(linear_learns),
        cmocka_unit_test(names_of_streams_matter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
