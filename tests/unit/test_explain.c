/*
 * test_explain.c - explanations: the nearest training rows against a sort of all
 * distances in double
 */
#include "tiny_model.h"

#include "near.h"
#include "scratch.h"

#include <stdlib.h>
#include <string.h>

/* Half precision by its definition; finite and not subnormal here. */
static double half(uint16_t h)
{
    double x = ldexp(1.0 + (h & 0x3ff) / 1024.0, (h >> 10 & 0x1f) - 15);
    return h & 0x8000 ? -x : x;
}

typedef struct ranked {
    double distance;
    size_t row;
} ranked;

static int by_distance(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->distance != y->distance)
        return x->distance < y->distance ? -1 : 1;
    return x->row < y->row ? -1 : 1;
}

static ranked *rank_all(const rf_model *m, const float *z)
{
    ranked *r = malloc(m->n_rows * sizeof *r);
    assert_non_null(r);
    for (size_t i = 0; i < m->n_rows; i++) {
        double sum = 0.0;
        for (size_t j = 0; j < m->known.width; j++) {
            double d = half(m->features[i * m->known.width + j]) - (double)z[j];
            sum += d * d;
        }
        r[i] = (ranked){sqrt(sum), i};
    }
    qsort(r, m->n_rows, sizeof *r, by_distance);
    return r;
}

/* A model with only training rows, of this width. */
static rf_model *make(size_t width, size_t rows, bool with_texts)
{
    rf_model *m = rf_model_new(NULL);
    assert_non_null(m);
    m->known.width = width;
    m->classes = 6;
    tiny_model_keep(m, rows, with_texts);
    return m;
}

/* Row 3 of the training rows, moved a little. */
static void near_row_3(const rf_model *m, float *z)
{
    for (size_t j = 0; j < m->known.width; j++)
        z[j] = (float)half(m->features[3 * m->known.width + j]) + 0.01f * (float)(j % 3);
}

static void assert_ranking(const rf_model *m, const float *z, size_t k)
{
    ranked *want = rank_all(m, z);
    rf_neighbour *got = calloc(k, sizeof *got);
    size_t n = k;
    rf_error err = {0};
    if (rf_explain(m, z, got, &n, &err) != RF_OK)
        fail_msg("%s", err.msg);
    assert_int_equal(n, k < m->n_rows ? k : m->n_rows);
    for (size_t i = 0; i < n; i++) {
        float distance = (float)want[i].distance;
        char text[16];
        int len = snprintf(text, sizeof text, "row %zu", want[i].row);
        assert_near("distance", &got[i].distance, &distance, 1, 0, 1e-7);
        assert_int_equal(got[i].class_index, m->row_class[want[i].row]);
        assert_int_equal(got[i].text_len, len);
        assert_memory_equal(got[i].text, text, (size_t)len);
    }
    free(got);
    free(want);
}

/* Widths around the lanes of the sum, 384 of minilm, and one wider than a block; copies
 * among the rows make ties. */
static void nearest_matches_a_full_sort(void **state)
{
    (void)state;
    static const size_t widths[] = {1, 7, 8, 32, 33, 384, 5000};
    static const size_t counts[] = {1, 2, 5, 20, 100, 699, 700, 1000};
    for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++) {
        size_t rows = widths[w] == 5000 ? 50 : 700;
        rf_model *m = make(widths[w], rows, true);
        float *z = malloc(widths[w] * sizeof *z);
        near_row_3(m, z);
        for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++)
            assert_ranking(m, z, counts[c]);
        free(z);
        rf_model_free(m);
    }
}

static void ties_go_to_the_earlier_row(void **state)
{
    (void)state;
    rf_model *m = make(16, 300, true);
    for (size_t i = 1; i < 300; i++)
        memcpy(m->features + i * 16, m->features, 16 * sizeof *m->features);
    float z[16] = {0};
    assert_ranking(m, z, 1);
    assert_ranking(m, z, 17);
    assert_ranking(m, z, 300);
    rf_model_free(m);
}

static void a_training_row_is_nearest_to_itself(void **state)
{
    (void)state;
    rf_model *m = make(384, 200, true);
    float z[384];
    for (size_t j = 0; j < 384; j++)
        z[j] = (float)half(m->features[57 * 384 + j]);
    rf_neighbour got;
    size_t n = 1;
    assert_int_equal(rf_explain(m, z, &got, &n, NULL), RF_OK);
    assert_true(got.distance == 0.0f);
    assert_memory_equal(got.text, "row 57", 6);
    rf_model_free(m);
}

static void features_without_texts(void **state)
{
    (void)state;
    rf_model *m = make(32, 50, false);
    float z[32];
    near_row_3(m, z);
    rf_neighbour got[2];
    size_t n = 2;
    assert_int_equal(rf_explain(m, z, got, &n, NULL), RF_OK);
    assert_int_equal(n, 2);
    assert_null(got[0].text);
    assert_int_equal(got[0].text_len, 0);
    assert_int_equal(got[0].class_index, m->row_class[3]);
    n = 0;
    assert_int_equal(rf_explain(m, z, NULL, &n, NULL), RF_OK);
    assert_int_equal(n, 0);
    rf_model_free(m);
}

static void errors_of_explanations(void **state)
{
    (void)state;
    rf_error err = {0};
    rf_neighbour got[2];
    float z[32] = {0};
    size_t n = 2;
    rf_model *m = rf_model_new(NULL);
    m->known.width = 32;
    m->classes = 6;
    assert_int_equal(rf_explain(m, z, got, &n, &err), RF_ERR_MISSING);
    assert_error(&err, RF_ERR_MISSING, "keeps no training features");
    assert_int_equal(n, 0);
    tiny_model_keep(m, 10, false);
    n = 2;
    z[31] = NAN;
    assert_int_equal(rf_explain(m, z, got, &n, &err), RF_ERR_NUMERIC);
    assert_error(&err, RF_ERR_NUMERIC, "NaN");
    assert_int_equal(n, 0);
    rf_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nearest_matches_a_full_sort),
        cmocka_unit_test(ties_go_to_the_earlier_row),
        cmocka_unit_test(a_training_row_is_nearest_to_itself),
        cmocka_unit_test(features_without_texts),
        cmocka_unit_test(errors_of_explanations),
    };
    return cmocka_run_group_tests_name("explain", tests, NULL, NULL);
}
