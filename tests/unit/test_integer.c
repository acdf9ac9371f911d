/*
 * Products of 8-bit integers: weights, rows and products against plain loops written from
 * the definition, and all paths against portable C to the last bit.
 */
#include "near.h"
#include "num/integer.h"
#include "num/panels.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static float pseudo(uint32_t *x)
{
    *x = *x * 1664525u + 1013904223u;
    return (float)(*x >> 8) * 0x1p-23f - 1.0f;
}

/* A product with W [n, k] and x [m, k], everything in blocks of exactly its size, so
 * that sanitizers see a read or write beyond. */
typedef struct product {
    size_t m, n, k;
    float *w, *x, *bias, *scale;
    uint8_t *b;
} product;

static void product_init(product *p, size_t m, size_t n, size_t k)
{
    *p = (product){.m = m, .n = n, .k = k};
    p->w = malloc(n * k * sizeof(float));
    p->x = malloc(m * k * sizeof(float));
    p->bias = malloc(n * sizeof(float));
    p->scale = malloc(n * sizeof(float));
    p->b = malloc(rf_integer_bytes(n, k));
    assert_true(p->w && p->x && p->bias && p->scale && p->b);
}

static void product_release(product *p)
{
    free(p->w);
    free(p->x);
    free(p->bias);
    free(p->scale);
    free(p->b);
}

static void product_pack(product *p)
{
    float *panels = malloc(rf_panels_floats(p->n, p->k) * sizeof(float));
    rf_panels_pack(panels, p->w, p->n, p->k);
    rf_integer_pack(p->b, p->scale, panels, p->n, p->k);
    free(panels);
}

static void multiply(const rf_kernel_table *k, const product *p, float *c, size_t ldc,
                     rf_gemm_after after)
{
    void *rows = malloc(p->m * rf_quantised_bytes(p->k));
    k->quantise(rows, p->x, p->m, p->k);
    k->integer_gemm(&(rf_integer_args){.c = c,
                                       .ldc = ldc,
                                       .a = rows,
                                       .b = p->b,
                                       .b_scale = p->scale,
                                       .bias = p->bias,
                                       .m = p->m,
                                       .n = p->n,
                                       .k = p->k,
                                       .after = after});
    free(rows);
}

/* The nearest integers of x / limit * 127, of k numbers. With outliers the limit is the
 * smallest of largest * 0.75^j, j up to 16, that at most four exceed. */
static void to_integers(long *q, double *scale, const float *x, size_t k, bool outliers)
{
    float largest = 0.0f;
    for (size_t i = 0; i < k; i++)
        largest = fmaxf(largest, fabsf(x[i]));
    float limit = largest;
    for (int j = 1; outliers && j <= 16; j++) {
        size_t above = 0;
        for (size_t i = 0; i < k; i++)
            above += fabsf(x[i]) > limit * 0.75f;
        if (above > 4)
            break;
        limit *= 0.75f;
    }
    *scale = (double)limit / 127.0;
    for (size_t i = 0; i < k; i++)
        q[i] = limit > 0.0f ? lrint((double)(x[i] * (127.0f / limit))) : 0;
}

/* Row `row` of the result, sums in exact integers, the rest in double. */
static void expect_row(float *want, const product *p, size_t row, float before,
                       rf_gemm_after after)
{
    long *x = malloc(p->k * sizeof *x), *w = malloc(p->k * sizeof *w);
    double x_scale, w_scale;
    to_integers(x, &x_scale, p->x + row * p->k, p->k, true);
    for (size_t j = 0; j < p->n; j++) {
        long sum = 0;
        to_integers(w, &w_scale, p->w + j * p->k, p->k, false);
        for (size_t i = 0; i < p->k; i++)
            sum += x[i] * w[i];
        double v = (double)sum * x_scale * w_scale + (double)p->bias[j];
        if (after == RF_GEMM_GELU)
            v = 0.5 * v * (1.0 + erf(v / sqrt(2.0)));
        want[j] = (float)(after == RF_GEMM_ADD ? v + (double)before : v);
    }
    free(x);
    free(w);
}

/* On every path against the plain loops, and all paths to the bit. */
static void check(const product *p, rf_gemm_after after)
{
    size_t ldc = p->n + 3;
    float *first = malloc(p->m * ldc * sizeof(float)),
          *c = malloc(p->m * ldc * sizeof(float));
    float *want = malloc(p->n * sizeof(float));
    for (size_t v = 0; rf_kernels_path(v); v++) {
        for (size_t i = 0; i < p->m * ldc; i++)
            c[i] = 0.25f;
        multiply(rf_kernels_path(v), p, c, ldc, after);
        if (v == 0)
            memcpy(first, c, p->m * ldc * sizeof(float));
        assert_memory_equal(first, c, p->m * ldc * sizeof(float));
    }
    for (size_t i = 0; i<p->m; i += p->m> 14 ? 31 : 3) {
        expect_row(want, p, i, 0.25f, after);
        assert_near("integer product", first + i * ldc, want, p->n, 2e-6, 2e-6);
        for (size_t j = p->n; j < ldc; j++)
            assert_true(first[i * ldc + j] == 0.25f);
    }
    free(first);
    free(c);
    free(want);
}

static void products_of_every_shape(void **state)
{
    (void)state;
    static const size_t ms[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 97};
    static const size_t ns[] = {1, 31, 32, 33, 72};
    static const size_t ks[] = {1, 3, 4, 5, 8, 61, 384};
    uint32_t seed = 11;
    for (size_t im = 0; im < sizeof ms / sizeof ms[0]; im++)
        for (size_t in = 0; in < sizeof ns / sizeof ns[0]; in++)
            for (size_t ik = 0; ik < sizeof ks / sizeof ks[0]; ik++) {
                product p;
                product_init(&p, ms[im], ns[in], ks[ik]);
                for (size_t i = 0; i < p.n * p.k; i++)
                    p.w[i] = 0.1f * pseudo(&seed);
                for (size_t i = 0; i < p.m * p.k; i++)
                    p.x[i] = (i % 97 == 5 ? 40.0f : 1.0f) * pseudo(&seed);
                for (size_t i = 0; i < p.n; i++)
                    p.bias[i] = pseudo(&seed);
                product_pack(&p);
                check(&p, (rf_gemm_after)((im + in + ik) % 3));
                product_release(&p);
            }
}

/* All weights and inputs as large as they can be, in every combination of signs: 127 *
 * 127
 * * k, which a product that saturates at 16 bits would miss by far. */
static void extremes_do_not_saturate(void **state)
{
    (void)state;
    product p;
    product_init(&p, 4, 36, 1536);
    for (size_t j = 0; j < p.n; j++)
        for (size_t i = 0; i < p.k; i++)
            p.w[j * p.k + i] = j % 4 == 0    ? 127.0f
                               : j % 4 == 1  ? -127.0f
                               : (i + j) % 2 ? 127.0f
                                             : -127.0f;
    for (size_t r = 0; r < p.m; r++)
        for (size_t i = 0; i < p.k; i++)
            p.x[r * p.k + i] = r == 0        ? 127.0f
                               : r == 1      ? -127.0f
                               : (i + r) % 2 ? 127.0f
                                             : -127.0f;
    memset(p.bias, 0, p.n * sizeof(float));
    product_pack(&p);
    check(&p, RF_GEMM_SET);
    float c[4 * 36];
    for (size_t v = 0; rf_kernels_path(v); v++) {
        multiply(rf_kernels_path(v), &p, c, 36, RF_GEMM_SET);
        assert_true(c[0] == 127.0f * 127.0f * 1536.0f);
        assert_true(c[36] == -127.0f * 127.0f * 1536.0f);
        assert_true(c[2] == 0.0f);
    }
    product_release(&p);
}

/* A row of zeroes and a row too small to scale give the bias; one with a NaN or an
 * infinity gives NaN, and its neighbours do not notice. */
static void odd_rows(void **state)
{
    (void)state;
    product p;
    product_init(&p, 6, 33, 13);
    uint32_t seed = 5;
    for (size_t i = 0; i < p.n * p.k; i++)
        p.w[i] = i / p.k == 7 ? 0.0f : pseudo(&seed); /* and an output of zeroes */
    for (size_t i = 0; i < p.m * p.k; i++)
        p.x[i] = pseudo(&seed);
    for (size_t i = 0; i < p.n; i++)
        p.bias[i] = 1.0f + (float)i;
    memset(p.x, 0, p.k * sizeof(float));
    for (size_t i = 0; i < p.k; i++)
        p.x[p.k + i] = 1e-42f;
    p.x[2 * p.k + 12] = NAN;
    p.x[3 * p.k] = -INFINITY;
    product_pack(&p);
    for (size_t v = 0; rf_kernels_path(v); v++) {
        float c[6 * 33], want[33];
        multiply(rf_kernels_path(v), &p, c, 33, RF_GEMM_SET);
        assert_memory_equal(c, p.bias, sizeof want);
        assert_memory_equal(c + 33, p.bias, sizeof want);
        for (size_t j = 0; j < 2 * p.n; j++)
            assert_true(isnan(c[2 * p.n + j]));
        for (size_t r = 4; r < 6; r++) {
            expect_row(want, &p, r, 0.0f, RF_GEMM_SET);
            assert_near("rows beside a NaN", c + r * 33, want, 33, 2e-6, 2e-6);
            assert_true(c[r * 33 + 7] == p.bias[7]);
        }
    }
    product_release(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_of_every_shape),
        cmocka_unit_test(extremes_do_not_saturate),
        cmocka_unit_test(odd_rows),
    };
    return cmocka_run_group_tests_name("integer", tests, NULL, NULL);
}
