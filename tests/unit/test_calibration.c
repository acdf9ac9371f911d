/*
 * test_calibration.c - slope, bias and temperature against SciPy and scikit-learn
 * (tools/make_calibration_golden.py), invariants, and the calibration of trained models
 *
 * Tolerance 2e-6, absolute and relative: both sides solve in double precision, to some
 * 1e-10, and round to float (6e-8). Against scikit-learn, which has no penalty, 1e-3 of
 * the numbers: over 8,000 texts the penalty moves them by 4e-5.
 */
#include "model/model.h"

#include "base/rng.h"
#include "encoder/safetensors.h"
#include "near.h"
#include "scratch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static rf_safetensors golden;

static int open_golden(void **state)
{
    (void)state;
    return rf_safetensors_open(&golden, GOLDEN_DIR "/calibration.safetensors", NULL) !=
           RF_OK;
}

static int close_golden(void **state)
{
    (void)state;
    rf_safetensors_close(&golden);
    return 0;
}

static const void *find(const char *a, const char *b, size_t *n)
{
    char name[64];
    snprintf(name, sizeof name, "%s.%s", a, b);
    const rf_tensor *t = rf_safetensors_find(&golden, name);
    if (!t)
        fail_msg("%s is missing", name);
    assert_int_equal(rf_dtype_size(t->dtype), 4);
    if (*n)
        assert_int_equal(t->count, *n);
    *n = t->count;
    return t->data;
}

static rf_calibration fit(const float *margin, const uint8_t *known, size_t n)
{
    rf_error err = {0};
    rf_calibration c = RF_CALIBRATION_DEFAULT;
    c.temperature = 1.25f;
    if (rf_calibration_fit_known(&c, margin, known, n, &err) != RF_OK)
        fail_msg("%s", err.msg);
    assert_true(isfinite(c.slope) && isfinite(c.bias));
    assert_true(c.slope >= RF_CALIBRATION_MIN);
    assert_true(c.temperature == 1.25f && c.from == RF_CALIBRATION_FROM_PSEUDO_OPEN);
    return c;
}

/* ---- Known or open ----------------------------------------------------------------- */

static void golden_known(void **state)
{
    (void)state;
    static const char *const names[] = {"even",  "uneven", "far",    "narrow",
                                        "split", "few",    "turned", "many"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t n = 0, two = 2;
        const float *margin = find(names[i], "margin", &n);
        const int32_t *kinds = find(names[i], "known", &n);
        uint8_t *known = malloc(n);
        assert_non_null(known);
        for (size_t k = 0; k < n; k++)
            known[k] = (uint8_t)kinds[k];
        rf_calibration c = fit(margin, known, n);
        const float got[2] = {c.slope, c.bias};
        bool sklearn = strcmp(names[i], "many") == 0;
        assert_near(names[i], got, find(names[i], "want", &two), 2, 2e-6,
                    sklearn ? 1e-3 : 2e-6);
        free(known);
    }
}

static double probability(const rf_calibration *c, double margin)
{
    return 1.0 / (1.0 + exp(-((double)c->bias + (double)c->slope * margin)));
}

/* Random sets of any shape. The bias makes the mean probability of "known" among open
 * texts equal to that of "open" among known ones, whatever their counts. */
static void both_kinds_weigh_the_same(void **state)
{
    (void)state;
    for (size_t set = 0; set < 40; set++) {
        float margin[300];
        uint8_t known[300];
        double sum[2] = {0}, count[2] = {0};
        rf_rng r = rf_rng_open(rf_rng_key(3, set, 0, 0));
        size_t n = 2 + set * 7;
        for (size_t i = 0; i < n; i++) {
            known[i] =
                i == 0 || (i > 1 && rf_rng_uniform(&r) < 0.1f + 0.02f * (float)set);
            margin[i] = (4.0f * rf_rng_uniform(&r) - 2.0f + (float)known[i]) *
                            (set % 3 ? 1.0f : 30.0f) +
                        (set % 5 ? 0.0f : 100.0f);
        }
        rf_calibration c = fit(margin, known, n);
        for (size_t i = 0; i < n; i++) {
            double p = probability(&c, (double)margin[i]);
            sum[known[i]] += known[i] ? 1.0 - p : p;
            count[known[i]]++;
        }
        /* slope and bias are rounded to float: of margins up to 160 that is 1e-5 */
        assert_true(fabs(sum[0] / count[0] - sum[1] / count[1]) < 2e-5);
        for (size_t i = 1; i < 100; i++) /* and the probability rises with the margin */
            assert_true(probability(&c, 0.1 * (double)i) >=
                        probability(&c, 0.1 * (double)i - 0.1));
    }
}

/* Moving the fence changes only the bias. */
static void moving_the_fence_moves_the_bias(void **state)
{
    (void)state;
    size_t n = 0;
    const float *margin = find("even", "margin", &n);
    const int32_t *kinds = find("even", "known", &n);
    float moved[400];
    uint8_t known[400];
    assert_int_equal(n, 400);
    for (size_t i = 0; i < n; i++) {
        known[i] = kinds[i] ? 200 : 0; /* anything but 0 is known */
        moved[i] = margin[i] + 3.0f;
    }
    rf_calibration a = fit(margin, known, n), b = fit(moved, known, n);
    assert_true(fabs((double)a.slope - (double)b.slope) < 1e-6);
    assert_true(fabs((double)a.bias - 3.0 * (double)a.slope - (double)b.bias) < 1e-5);
}

/* Finite and with a positive slope, whatever the size and place of the gap. */
static void separable_data(void **state)
{
    (void)state;
    static const float gaps[] = {0.0f, 1e-20f, 1e-3f, 1.0f, 1e3f, 1e9f, 1e30f};
    static const float places[] = {0.0f, -7.0f, 1e4f, 1e8f};
    for (size_t g = 0; g < sizeof gaps / sizeof *gaps; g++)
        for (size_t k = 0; k < sizeof places / sizeof *places; k++) {
            float at = places[k], gap = gaps[g];
            const float margin[] = {at - 2.0f * gap, at - gap, at + gap, at + 2.0f * gap};
            static const uint8_t known[] = {0, 0, 1, 1};
            rf_calibration c = fit(margin, known, 4);
            /* symmetric: the line is in the middle, within a small part of the gap */
            if (at == 0.0f)
                assert_true(fabsf(c.bias) <= c.slope * (1e-6f + 1e-5f * gap));
            assert_true(probability(&c, (double)margin[3]) >= 0.499 &&
                        probability(&c, (double)margin[0]) <= 0.501);
        }
}

/* The prior decides with little data and gives way with much. */
static void prior_with_few_and_many_texts(void **state)
{
    (void)state;
    static const float same[] = {2.0f, 2.0f};
    static const uint8_t known[] = {1, 0};
    rf_calibration c = fit(same, known, 2);
    assert_true(fabsf(c.slope - 1.0f) < 1e-6f && fabsf(c.bias + 2.0f) < 1e-5f);
    static float margin[20000];
    static uint8_t kinds[20000];
    rf_rng r = rf_rng_open(rf_rng_key(4, 0, 0, 0));
    for (size_t i = 0; i < 20000; i++) { /* drawn with slope 0.25 and bias 0 */
        margin[i] = 40.0f * rf_rng_uniform(&r) - 20.0f;
        kinds[i] =
            (double)rf_rng_uniform(&r) < 1.0 / (1.0 + exp(-0.25 * (double)margin[i]));
    }
    c = fit(margin, kinds, 20000);
    assert_true(fabsf(c.slope - 0.25f) < 0.015f && fabsf(c.bias) < 0.1f);
}

static void invalid_margins_are_refused(void **state)
{
    (void)state;
    const float margin[] = {1.0f, -1.0f, 2.0f};
    const float bad[] = {(float)NAN, (float)INFINITY, -(float)INFINITY};
    static const uint8_t both[] = {1, 0, 1}, known[] = {1, 1, 1}, open[] = {0, 0, 0};
    rf_error err = {0};
    const rf_calibration before = {0.5f, 0.25f, 2.0f, RF_CALIBRATION_FROM_DEFAULTS};
    rf_calibration c = before;
    for (size_t i = 0; i < 3; i++) {
        const float spoilt[] = {1.0f, bad[i], 2.0f};
        assert_int_equal(rf_calibration_fit_known(&c, spoilt, both, 3, &err),
                         RF_ERR_NUMERIC);
        assert_error(&err, RF_ERR_NUMERIC, "margin 1 is", "wanted a finite number");
        assert_int_equal(err.pos, 1);
        static const uint32_t truth[] = {0};
        assert_int_equal(rf_calibration_fit_classes(&c, spoilt, truth, 1, 3, &err),
                         RF_ERR_NUMERIC);
        assert_error(&err, RF_ERR_NUMERIC, "text 0 has a margin of");
    }
    assert_int_equal(rf_calibration_fit_known(&c, margin, known, 3, &err), RF_ERR_ARG);
    assert_error(&err, RF_ERR_ARG, "found 3 known and 0 open texts");
    assert_int_equal(rf_calibration_fit_known(&c, margin, open, 3, &err), RF_ERR_ARG);
    assert_error(&err, RF_ERR_ARG, "found 0 known and 3 open texts");
    assert_int_equal(rf_calibration_fit_known(&c, margin, both, 0, NULL), RF_ERR_ARG);
    /* what cannot be a float: the bias would be -1 times 1e38 or so */
    const float far[] = {3e38f, 2.5e38f, 3.2e38f};
    rf_status st = rf_calibration_fit_known(&c, far, both, 3, &err);
    assert_true(st == RF_OK || st == RF_ERR_NUMERIC);
    if (st == RF_OK)
        c = before;
    assert_memory_equal(&c, &before, sizeof c);
}

/* ---- Which class ------------------------------------------------------------------- */

static void golden_classes(void **state)
{
    (void)state;
    static const char *const names[] = {"blunt", "sharp", "sure", "lost", "one"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t all = 0, n = 0, one = 1;
        const float *margins = find(names[i], "margins", &all);
        const int32_t *truth = find(names[i], "truth", &n);
        rf_error err = {0};
        rf_calibration c = {0.5f, 0.25f, 9.0f, RF_CALIBRATION_FROM_DEFAULTS};
        uint32_t *class_of = malloc(n * sizeof *class_of);
        assert_non_null(class_of);
        for (size_t k = 0; k < n; k++)
            class_of[k] = (uint32_t)truth[k];
        if (rf_calibration_fit_classes(&c, margins, class_of, n, all / n, &err) != RF_OK)
            fail_msg("%s", err.msg);
        assert_near(names[i], &c.temperature, find(names[i], "temperature", &one), 1,
                    2e-6, 2e-6);
        assert_true(c.slope == 0.5f && c.bias == 0.25f &&
                    c.from == RF_CALIBRATION_FROM_DEFAULTS);
        free(class_of);
    }
}

static void temperature_from_little_data(void **state)
{
    (void)state;
    static const float margins[] = {5.0f, 1.0f, -4.0f, 1e30f, -1e30f, 0.0f};
    static const uint32_t truth[] = {0, 0, 0, 0, 0, 0}, wrong[] = {2, 1};
    rf_calibration c = RF_CALIBRATION_DEFAULT;
    c.temperature = 3.0f;
    assert_int_equal(rf_calibration_fit_classes(&c, NULL, NULL, 0, 3, NULL), RF_OK);
    assert_true(c.temperature == 1.0f); /* no rows */
    assert_int_equal(rf_calibration_fit_classes(&c, margins, truth, 6, 1, NULL), RF_OK);
    assert_true(c.temperature == 1.0f); /* one class: always right */
    assert_int_equal(rf_calibration_fit_classes(&c, margins, wrong, 2, 3, NULL), RF_OK);
    assert_true(c.temperature >= RF_CALIBRATION_MIN && c.temperature < 0.02f);
    assert_int_equal(rf_calibration_fit_classes(&c, margins, truth, 2, 3, NULL), RF_OK);
    assert_true(c.temperature >= 1.0f && c.temperature < 1.1f);
}

/* ---- Checks ------------------------------------------------------------------------ */

static void calibrations_are_checked(void **state)
{
    (void)state;
    static const struct {
        float slope, bias, temperature;
        const char *words; /* NULL: good */
    } cases[] = {
        {1.0f, 0.0f, 1.0f, NULL},
        {1e-30f, -1e30f, 1e6f, NULL},
        {0.0f, 0.0f, 1.0f, "the slope is 0"},
        {-1.0f, 0.0f, 1.0f, "the slope is -1"},
        {(float)NAN, 0.0f, 1.0f, "slope"},
        {(float)INFINITY, 0.0f, 1.0f, "slope is inf"},
        {1.0f, (float)NAN, 1.0f, "bias"},
        {1.0f, -(float)INFINITY, 1.0f, "bias is -inf"},
        {1.0f, 0.0f, 0.0f, "temperature"},
        {1.0f, 0.0f, 1.1e6f, "temperature"},
        {1.0f, 0.0f, (float)NAN, "temp"},
        {1.0f, 0.0f, -2.0f, "temperature is -2"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rf_error err = {0};
        const rf_calibration c = {cases[i].slope, cases[i].bias, cases[i].temperature,
                                  RF_CALIBRATION_FROM_DEFAULTS};
        rf_status st = rf_calibration_check(&c, &err);
        assert_int_equal(st, cases[i].words ? RF_ERR_NUMERIC : RF_OK);
        if (cases[i].words)
            assert_error(&err, RF_ERR_NUMERIC, "calibration", cases[i].words);
    }
    assert_null(rf_calibration_source_name(RF_CALIBRATION_FROM_NOTHING));
    assert_string_equal(rf_calibration_source_name(RF_CALIBRATION_FROM_DEFAULTS),
                        "defaults");
    assert_string_equal(rf_calibration_source_name(RF_CALIBRATION_FROM_PSEUDO_OPEN),
                        "pseudo-open");
}

/* ---- Training ---------------------------------------------------------------------- */

enum { DEV = 24, CLASSES = 3 };

/* Three classes; the words of some texts are those of another class. */
static rf_dataset *make_data(size_t rows, size_t first)
{
    static const char *const words[CLASSES] = {"refund cancel", "where order", "hello"};
    rf_dataset *data = rf_dataset_new(NULL);
    assert_non_null(data);
    for (size_t i = first; i < first + rows; i++) {
        char text[64], label[8];
        size_t c = i % 7 == 0 ? (i + 1) % CLASSES : i % CLASSES;
        int n = snprintf(text, sizeof text, "please %s my %zu", words[c], i);
        int m = snprintf(label, sizeof label, "c%zu", i % CLASSES);
        assert_int_equal(rf_dataset_add(data, text, (size_t)n, label, (size_t)m, NULL),
                         RF_OK);
    }
    return data;
}

static rf_model *train(const char *method, const rf_dataset *dev, size_t threads)
{
    rf_error err = {0};
    rf_train_options o = rf_train_options_default();
    o.encoder = GOLDEN_DIR "/tiny/encoder";
    o.method = method;
    o.threads = threads;
    o.dev_share = -1.0;
    o.settings = "epochs=4 batch=8 known_rate=0.01 head_steps=30 head_negatives=16";
    rf_dataset *data = make_data(36, 0);
    rf_model *m = rf_train(data, dev, &o, &err);
    if (!m)
        fail_msg("%s", err.msg);
    rf_dataset_free(data);
    return m;
}

/* The temperature is fitted to the margins of the dev texts in the finished model. */
static void temperature_fits_the_dev_texts(void **state)
{
    (void)state;
    rf_dataset *dev = make_data(DEV, 100);
    rf_model *m = train("heads", dev, 1), *again = train("heads", dev, 3);
    rf_session *s = rf_session_new(m, 1, NULL);
    float margins[DEV * CLASSES];
    uint32_t truth[DEV];
    assert_non_null(s);
    for (size_t i = 0; i < DEV; i++) {
        rf_decision d;
        size_t len;
        const char *text = rf_dataset_text(dev, i, &len);
        assert_int_equal(rf_classify(s, text, len, &d, NULL), RF_OK);
        memcpy(margins + i * CLASSES, d.margins, CLASSES * sizeof(float));
        truth[i] = (uint32_t)rf_dataset_class(dev, i);
    }
    rf_calibration want = RF_CALIBRATION_DEFAULT;
    assert_int_equal(
        rf_calibration_fit_classes(&want, margins, truth, DEV, CLASSES, NULL), RF_OK);
    assert_true(fabsf(want.temperature - 1.0f) >
                0.01f); /* else this test shows nothing */
    assert_near("temperature", &m->calibration.temperature, &want.temperature, 1, 0,
                1e-5);
    assert_true(m->calibration.slope == want.slope && m->calibration.bias == want.bias);
    assert_int_equal(m->calibration.from, RF_CALIBRATION_FROM_DEFAULTS);
    assert_memory_equal(&m->calibration, &again->calibration, sizeof want);
    rf_session_free(s);
    rf_model_free(again);
    rf_model_free(m);
    rf_dataset_free(dev);
}

static void without_dev_texts_and_without_heads(void **state)
{
    (void)state;
    const rf_calibration defaults = RF_CALIBRATION_DEFAULT, none = RF_CALIBRATION_NONE;
    rf_model *m = train("heads", NULL, 1);
    assert_memory_equal(&m->calibration, &defaults, sizeof defaults);
    rf_model_free(m);
    rf_dataset *dev = make_data(DEV, 100);
    m = train("msp", dev, 1);
    assert_memory_equal(&m->calibration, &none, sizeof none);
    assert_null(strstr(rf_model_json(m), "\"calibration\""));
    rf_model_free(m);
    rf_dataset_free(dev);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_known),
        cmocka_unit_test(both_kinds_weigh_the_same),
        cmocka_unit_test(moving_the_fence_moves_the_bias),
        cmocka_unit_test(separable_data),
        cmocka_unit_test(prior_with_few_and_many_texts),
        cmocka_unit_test(invalid_margins_are_refused),
        cmocka_unit_test(golden_classes),
        cmocka_unit_test(temperature_from_little_data),
        cmocka_unit_test(calibrations_are_checked),
        cmocka_unit_test(temperature_fits_the_dev_texts),
        cmocka_unit_test(without_dev_texts_and_without_heads),
    };
    return cmocka_run_group_tests_name("calibration", tests, open_golden, close_golden);
}
