/*
 * test_fences.c - what trained heads accept
 *
 * Fences around blobs of known shape accept points of their class and reject everything
 * else. Unusual classes (one text, copies, a single class, constant features) train
 * without a NaN.
 */
#include "base/rng.h"
#include "blobs.h"
#include "near.h"
#include "num/train.h"

#include <stdlib.h>
#include <string.h>

/* ---- Fences ------------------------------------------------------------------------ */

/* Share of fresh points of class c that head m accepts. */
static double accepted(const rf_heads *heads, size_t m, size_t c, float spread)
{
    size_t yes = 0;
    for (size_t i = 0; i < 400; i++) {
        float x[WIDTH];
        blobs_draw(x, c, spread, 9, i);
        yes += margin_of(heads, m, x) >= 0.0f;
    }
    return (double)yes / 400.0;
}

/* Share of points at this distance from the class's centre, in a random direction, that
 * its head accepts. */
static double accepted_at(const rf_heads *heads, size_t m, float distance)
{
    size_t yes = 0;
    for (size_t i = 0; i < 400; i++) {
        float x[WIDTH], centre[WIDTH], norm = 0.0f;
        blobs_draw(centre, m, 0.0f, 9, i);
        rf_train_kernels()->normal(x, WIDTH, rf_rng_key(7, m, i, 0));
        for (size_t j = 0; j < WIDTH; j++)
            norm += x[j] * x[j];
        for (size_t j = 0; j < WIDTH; j++)
            x[j] = centre[j] + distance * x[j] / sqrtf(norm);
        yes += margin_of(heads, m, x) >= 0.0f;
    }
    return (double)yes / 400.0;
}

/* Blobs of radius 4 (sqrt 16), 23 apart. A fence with adaptive negatives accepts points
 * of its class and rejects other classes and far-away points. */
static void fences_hold(void **state)
{
    (void)state;
    const size_t sizes[] = {120, 120, 120, 120, 120, 120};
    blobs b;
    blobs_make(&b, 6, sizes, 1.0f);
    float dev_z[12 * WIDTH];
    uint32_t dev_class[12];
    for (size_t i = 0; i < 12; i++) { /* none of the last class */
        dev_class[i] = (uint32_t)(i % 5);
        blobs_draw(dev_z + i * WIDTH, i % 5, 1.0f, 8, i);
    }
    b.problem.dev_rows = 12;
    b.problem.dev_z = dev_z;
    b.problem.dev_class = dev_class;
    rf_settings o = quick_options();
    rf_heads heads;
    rf_class_report reports[6];
    train_heads(&heads, &b.problem, &o, 2, reports);
    for (size_t m = 0; m < 6; m++) {
        const rf_class_report *r = &reports[m];
        /* D = sqrt(2 * 16) for unit variance, here of 120 draws */
        assert_true(fabsf(r->radius - 5.66f) < 0.4f);
        assert_true(r->radius == b.stats.distance[m]);
        assert_true(r->steps >= 160 && r->steps <= 400);
        assert_true(r->loss > 0.0f && r->loss < 1.0f);
        assert_true(r->recall >= 0.95f);
        assert_true(m == 5 ? r->dev_recall == -1.0f : r->dev_recall >= 0.5f);
        assert_true(accepted(&heads, m, m, 1.0f) > 0.88);
        for (size_t c = 0; c < 6; c++)
            if (c != m)
                assert_true(accepted(&heads, m, c, 1.0f) < 0.01);
        assert_true(accepted_at(&heads, m, 60.0f) < 0.02);
    }
    rf_method_state_release(&heads);
    blobs_release(&b);
}

/* Without synthetic points the fence is open on the far side. */
static void synthetic_points_make_the_fence(void **state)
{
    (void)state;
    const size_t sizes[] = {120, 120, 120};
    blobs b;
    blobs_make(&b, 3, sizes, 1.0f);
    rf_settings o = quick_options();
    double with = 0.0, without = 0.0;
    for (int vanilla = 0; vanilla < 2; vanilla++) {
        rf_heads heads;
        rf_class_report reports[3];
        o.lambda = vanilla ? 0.0f : 1.0f;
        train_heads(&heads, &b.problem, &o, 2, reports);
        for (size_t m = 0; m < 3; m++)
            *(vanilla ? &without : &with) += accepted_at(&heads, m, 12.0f) / 3.0;
        rf_method_state_release(&heads);
    }
    if (!(with < 0.02 && without > 0.9))
        fail_msg("accepted at distance 12: %g with, %g without", with, without);
    blobs_release(&b);
}

/* ---- Unusual classes --------------------------------------------------------------- */

static void train_unusual(const blobs *b, rf_heads *heads, rf_class_report *reports)
{
    rf_settings o = quick_options();
    train_heads(heads, &b->problem, &o, 2, reports);
    for (size_t c = 0; c < b->classes; c++) {
        assert_true(reports[c].radius > 0.0f && isfinite(reports[c].radius));
        assert_true(isfinite(reports[c].loss));
    }
    for (size_t i = 0; i < b->classes * rf_head_floats(WIDTH); i++)
        assert_true(isfinite(heads->block[i]));
}

static void two_classes(void **state)
{
    (void)state;
    blobs b;
    rf_heads heads;
    rf_class_report reports[2];
    blobs_make(&b, 2, (size_t[]){30, 50}, 1.0f);
    train_unusual(&b, &heads, reports);
    for (size_t m = 0; m < 2; m++) {
        assert_true(reports[m].recall >= 0.95f);
        assert_true(accepted(&heads, m, 1 - m, 1.0f) < 0.01);
        assert_true(accepted_at(&heads, m, 60.0f) < 0.02);
    }
    rf_method_state_release(&heads);
    blobs_release(&b);
}

/* No texts of other classes: only the synthetic points shape the fence. */
static void one_class(void **state)
{
    (void)state;
    blobs b;
    rf_heads heads;
    rf_class_report report;
    blobs_make(&b, 1, (size_t[]){80}, 1.0f);
    train_unusual(&b, &heads, &report);
    assert_true(report.recall >= 0.95f);
    assert_true(accepted_at(&heads, 0, 60.0f) < 0.02);
    rf_method_state_release(&heads);
    blobs_release(&b);
}

/* It gets the mean spread of the others. */
static void a_class_with_one_text(void **state)
{
    (void)state;
    blobs b;
    rf_heads heads;
    rf_class_report reports[3];
    blobs_make(&b, 3, (size_t[]){40, 1, 60}, 1.0f);
    assert_true(b.stats.distance[1] == 0.0f);
    train_unusual(&b, &heads, reports);
    double square[2] = {(double)b.stats.distance[0], (double)b.stats.distance[2]};
    double want = sqrt((square[0] * square[0] + square[1] * square[1]) / 2.0);
    assert_true(fabs((double)reports[1].radius - want) < 1e-5);
    assert_true(reports[1].recall == 1.0f);
    for (size_t c = 0; c < 3; c += 2)
        assert_true(accepted(&heads, 1, c, 1.0f) < 0.01);
    assert_true(accepted_at(&heads, 1, 60.0f) < 0.02);
    rf_method_state_release(&heads);
    blobs_release(&b);
}

/* Copies of one text that differ in the last bit count as having no spread. */
static void a_class_of_copies(void **state)
{
    (void)state;
    blobs b;
    rf_heads heads;
    rf_class_report reports[2];
    blobs_make(&b, 2, (size_t[]){7, 50}, 1.0f);
    for (size_t i = 1; i < b.rows; i++)
        for (size_t j = 0; b.class_of[i] == 0 && j < WIDTH; j++)
            b.z[i * WIDTH + j] = nextafterf(b.z[j], i % 4 ? 100.0f : -100.0f);
    blobs_finish(&b);
    assert_true(b.stats.distance[0] > 0.0f);
    train_unusual(&b, &heads, reports);
    assert_true(fabsf(reports[0].radius - b.stats.distance[1]) < 1e-5f);
    assert_true(reports[0].recall == 1.0f);
    assert_true(accepted(&heads, 0, 1, 1.0f) < 0.01);
    rf_method_state_release(&heads);
    blobs_release(&b);
}

/* One text per class: half the typical norm replaces the unknown spread. */
static void only_single_texts(void **state)
{
    (void)state;
    blobs b;
    rf_heads heads;
    rf_class_report reports[4];
    blobs_make(&b, 4, (size_t[]){1, 1, 1, 1}, 1.0f);
    train_unusual(&b, &heads, reports);
    double square = 0.0;
    for (size_t i = 0; i < 4 * WIDTH; i++)
        square += (double)b.z[i] * (double)b.z[i];
    for (size_t c = 0; c < 4; c++) {
        assert_true(fabs((double)reports[c].radius - 0.5 * sqrt(square / 4.0)) < 1e-4);
        assert_true(reports[c].recall == 1.0f);
        for (size_t k = 0; k < 4; k++)
            if (k != c)
                assert_true(margin_of(&heads, c, b.z + k * WIDTH) < 0.0f);
    }
    rf_method_state_release(&heads);
    blobs_release(&b);
}

/* Every feature of every text is the same number (also 0): nothing can be learnt, and
 * nothing breaks. */
static void constant_features(void **state)
{
    (void)state;
    for (int zero = 0; zero < 2; zero++) {
        blobs b;
        rf_heads heads;
        rf_class_report reports[2];
        blobs_make(&b, 2, (size_t[]){12, 5}, 1.0f);
        for (size_t i = 0; i < b.rows * WIDTH; i++)
            b.z[i] = zero ? 0.0f : 0.3f;
        blobs_finish(&b);
        train_unusual(&b, &heads, reports);
        assert_true(fabsf(reports[0].radius - (zero ? 1.0f : 0.6f)) < 1e-5f);
        rf_method_state_release(&heads);
        blobs_release(&b);
    }
}

/* Every combination of switches, with few negatives and more positives than texts. */
static void switches_stay_finite(void **state)
{
    (void)state;
    blobs b;
    blobs_make(&b, 3, (size_t[]){4, 2, 3}, 1.0f);
    for (unsigned bits = 0; bits < 32; bits++) {
        rf_settings o = quick_options();
        rf_heads heads;
        rf_class_report reports[3];
        o.head_steps = 5, o.head_max_steps = 8, o.head_cool_steps = 2;
        o.noise = bits & 1;
        o.projection = bits & 2;
        o.ascent_steps = bits & 4 ? 2 : 0;
        o.lambda = bits & 8 ? 1.0f : 0.0f;
        o.head_negatives = bits & 16 ? 2 : 1;
        train_heads(&heads, &b.problem, &o, 1, reports);
        for (size_t i = 0; i < 3 * rf_head_floats(WIDTH); i++)
            assert_true(isfinite(heads.block[i]));
        rf_method_state_release(&heads);
    }
    blobs_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fences_hold),
        cmocka_unit_test(synthetic_points_make_the_fence),
        cmocka_unit_test(two_classes),
        cmocka_unit_test(one_class),
        cmocka_unit_test(a_class_with_one_text),
        cmocka_unit_test(a_class_of_copies),
        cmocka_unit_test(only_single_texts),
        cmocka_unit_test(constant_features),
        cmocka_unit_test(switches_stay_finite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
