/* test_fence_line.c - placing the fences: loosening checked by counting, the effect of
 * moving on every margin, and blending of tuned and original layers */
#include "stages/fence_line.h"
#include "model/model.h"
#include "scratch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TINY GOLDEN_DIR "/tiny/encoder"

/* ---- Loosening --------------------------------------------------------------------- */

static size_t below(const float *x, size_t n, float offset)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += x[i] + offset < 0.0f;
    return count;
}

/* No more than the allowed number are outside; a slightly smaller offset leaves too many.
 */
static void loosens_no_more_than_needed(void **state)
{
    (void)state;
    float x[200], sorted[200];
    uint32_t random = 12345;
    for (size_t n = 1; n <= 200; n += n < 20 ? 1 : 37)
        for (size_t k = 0; k < 6; k++) {
            double share = (double)k * 0.07;
            for (size_t i = 0; i < n; i++) {
                random = random * 1664525u + 1013904223u;
                x[i] = (float)(random >> 8) / 16777216.0f * 4.0f - 2.5f;
            }
            memcpy(sorted, x, sizeof x);
            float offset = rf_fence_loosening(sorted, n, share);
            size_t allowed = (size_t)(share * (double)n + 1e-9) + 1;
            assert_true(offset >= 0.0f);
            assert_true(below(x, n, offset) <= allowed);
            if (offset > 0.0f)
                assert_true(below(x, n, offset * 0.9999f - 2e-5f) > allowed);
        }
}

static void good_fences_do_not_move(void **state)
{
    (void)state;
    float x[10] = {-1, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    assert_true(rf_fence_loosening(x, 10, 0.0) == 0.0f); /* one may be outside */
    float y[3] = {-5, -6, -7};
    assert_true(rf_fence_loosening(y, 3, 1.0) == 0.0f);
}

/* ---- Models ------------------------------------------------------------------------ */

static rf_dataset *make_data(size_t each)
{
    static const char *const words[3] = {"refund", "order", "hello"};
    rf_dataset *data = rf_dataset_new(NULL);
    assert_non_null(data);
    for (size_t i = 0; i < 3 * each; i++) {
        char text[64], label[8];
        int n = snprintf(text, sizeof text, "%s my %s %zu", words[i % 3],
                         words[i / 3 % 3], i);
        int m = snprintf(label, sizeof label, "c%zu", i % 3);
        assert_int_equal(rf_dataset_add(data, text, (size_t)n, label, (size_t)m, NULL),
                         RF_OK);
    }
    return data;
}

static rf_model *train(const rf_dataset *data, const rf_dataset *dev, const char *setting,
                       float value)
{
    char settings[200];
    rf_error err = {0};
    rf_train_options o = rf_train_options_default();
    o.encoder = TINY;
    o.threads = 2;
    snprintf(settings, sizeof settings,
             "epochs=3 batch=8 encoder_rate=0.01 head_steps=12 fence_reject=1 %s=%.9g",
             setting, (double)value);
    o.settings = settings;
    rf_model *m = rf_train(data, dev, &o, &err);
    if (!m)
        fail_msg("%s", err.msg);
    return m;
}

typedef struct seen {
    size_t n, open;
    float margins[64];
} seen;

static rf_status see(void *user, const rf_decision *d, rf_error *err)
{
    (void)err;
    seen *s = user;
    s->open += d->class_index == RF_OPEN;
    s->margins[s->n++] = d->margin;
    return RF_OK;
}

static seen look(const rf_model *m, const rf_dataset *data)
{
    seen s = {0};
    rf_session *session = rf_session_new(m, 1, NULL);
    assert_non_null(session);
    for (size_t i = 0; i < rf_dataset_rows(data); i++) {
        size_t len;
        const char *text = rf_dataset_text(data, i, &len);
        assert_int_equal(rf_classify_all(session, &text, &len, 1, see, &s, NULL), RF_OK);
    }
    rf_session_free(session);
    return s;
}

/* fence_offset moves every margin by the same amount; fence_reject bounds the share of
 * rejected dev texts. */
static void dev_texts_place_the_fences(void **state)
{
    (void)state;
    rf_dataset *data = make_data(12), *dev = make_data(14);
    rf_model *plain = train(data, dev, "fence_reject", 1.0f);
    rf_model *moved = train(data, dev, "fence_offset", -20.0f);
    seen a = look(plain, dev), b = look(moved, dev);
    assert_int_equal(a.n, 42);
    assert_int_equal(b.open, 42); /* every text is rejected */
    for (size_t i = 0; i < a.n; i++)
        assert_true(fabsf(a.margins[i] - 20.0f - b.margins[i]) < 1e-4f);
    rf_model_free(moved);
    rf_model_free(plain);
    for (float share = 0.05f; share < 0.5f; share += 0.1f) {
        rf_model *m = train(data, dev, "fence_reject", share);
        assert_true((double)look(m, dev).open <= 42.0 * (double)share + 1.0);
        rf_model_free(m);
    }
    rf_dataset_free(dev);
    rf_dataset_free(data);
}

/* first + share (tuned - first), to the rounding of half precision. */
static void blends_the_layers(void **state)
{
    (void)state;
    rf_dataset *data = make_data(12);
    rf_encoder *first = rf_encoder_load_half(TINY, NULL);
    rf_model *tuned = train(data, NULL, "blend", 1.0f);
    rf_model *half = train(data, NULL, "blend", 0.5f);
    rf_model *none = train(data, NULL, "blend", 0.0f);
    size_t moved = 0, last = first->config.layers - 1;
    rf_layer_group a = rf_encoder_layer_group(first, last, 0);
    rf_layer_group b = rf_encoder_layer_group(tuned->encoder, last, 0);
    rf_layer_group c = rf_encoder_layer_group(half->encoder, last, 0);
    rf_layer_group d = rf_encoder_layer_group(none->encoder, last, 0);
    for (size_t i = 0; i < a.out * a.in; i++) {
        double want = 0.5 * ((double)a.weight[i] + (double)b.weight[i]);
        moved += fabsf(a.weight[i] - b.weight[i]) > 1e-3f;
        double size = fabs((double)a.weight[i]) + fabs((double)b.weight[i]);
        assert_true(fabs((double)c.weight[i] - want) <= 1e-3 * size + 1e-6);
        assert_true(d.weight[i] == a.weight[i]);
    }
    assert_true(moved > 10);
    rf_model_free(none);
    rf_model_free(half);
    rf_model_free(tuned);
    rf_encoder_free(first);
    rf_dataset_free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loosens_no_more_than_needed),
        cmocka_unit_test(good_fences_do_not_move),
        cmocka_unit_test(dev_texts_place_the_fences),
        cmocka_unit_test(blends_the_layers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
