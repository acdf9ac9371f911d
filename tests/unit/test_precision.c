/*
 * test_precision.c - one answer on every CPU: features and decisions on each path that
 * this CPU has, in both precisions, are those of portable C to the last bit. Integers are
 * near the floats, and do not depend on threads or neighbours.
 */
#include "tiny_model.h"

#include "near.h"
#include "num/kernels.h"
#include "num/vectors.h"
#include "ringfence_encoder.h"

#include <stdlib.h>
#include <string.h>

enum { WIDTH = 32, CLASSES = 13, N = 120, TEXT = 70 };

typedef struct fixture {
    rf_model *model;
    char text[N][TEXT];
    const char *texts[N];
    size_t lens[N];
} fixture;

/* All numbers of the answers to all texts. */
typedef struct answers {
    size_t n;
    struct {
        uint64_t class_index, nearest, margin_class;
        float confidence, margin, probabilities[CLASSES], margins[CLASSES];
        float feature[WIDTH];
    } row[N];
} answers;

static int setup(void **state)
{
    static fixture f;
    f.model = tiny_model_new(CLASSES, -0.1f);
    for (size_t i = 0; i < N; i++) {
        f.lens[i] = i < 6 ? i : (i * 13) % TEXT;
        tiny_text(f.text[i], f.lens[i], i);
        f.texts[i] = f.text[i];
    }
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    rf_kernels_use(NULL);
    rf_model_free(((fixture *)*state)->model);
    return 0;
}

static rf_status keep(void *user, const rf_decision *d, rf_error *err)
{
    (void)err;
    answers *a = user;
    a->row[a->n].class_index = d->class_index;
    a->row[a->n].nearest = d->nearest;
    a->row[a->n].margin_class = d->margin_class;
    a->row[a->n].confidence = d->confidence;
    a->row[a->n].margin = d->margin;
    memcpy(a->row[a->n].probabilities, d->probabilities, CLASSES * sizeof(float));
    memcpy(a->row[a->n].margins, d->margins, CLASSES * sizeof(float));
    memcpy(a->row[a->n++].feature, d->feature, WIDTH * sizeof(float));
    return RF_OK;
}

/* at_once 0: all texts in one call. */
static void answer(const fixture *f, rf_precision precision, size_t threads,
                   size_t at_once, answers *out)
{
    rf_error err = {0};
    rf_session_options o = rf_session_options_default();
    o.threads = threads;
    o.precision = precision;
    rf_session *s = rf_session_open(f->model, &o, &err);
    if (!s)
        fail_msg("%s", err.msg);
    memset(out, 0, sizeof *out);
    at_once = at_once ? at_once : N;
    for (size_t i = 0; i < N; i += at_once)
        if (rf_classify_all(s, f->texts + i, f->lens + i, at_once, keep, out, &err) !=
            RF_OK)
            fail_msg("%s", err.msg);
    rf_session_free(s);
}

static void every_path_gives_the_same_answers(void **state)
{
    const fixture *f = *state;
    static answers want, got;
    size_t paths = 0;
    for (int p = RF_PRECISION_FP32; p <= RF_PRECISION_INT8; p++) {
        for (paths = 0; rf_kernels_path(paths); paths++) {
            rf_kernels_use(rf_kernels_path(paths));
            answer(f, (rf_precision)p, 2, 0, paths == 0 ? &want : &got);
            if (paths > 0 && memcmp(&want, &got, sizeof want) != 0)
                fail_msg("%s differs from portable in precision %d",
                         rf_kernels_path(paths)->path, p);
        }
        assert_int_equal(want.n, N);
    }
    rf_kernels_use(NULL);
    if (paths == 1)
        print_message("SKIPPED: this CPU has only the portable path\n");
}

static void threads_and_neighbours_do_not_matter(void **state)
{
    const fixture *f = *state;
    static answers want, got;
    answer(f, RF_PRECISION_INT8, 1, 1, &want);
    for (size_t threads = 1; threads <= 3; threads++) {
        answer(f, RF_PRECISION_INT8, threads, threads == 2 ? 5 : 0, &got);
        assert_memory_equal(&want, &got, sizeof want);
    }
}

/* In two layers of random weights a feature is off by up to 1.3 % of its length; with the
 * scales of two layers exchanged, by far more. */
static void integers_are_near_the_floats(void **state)
{
    const fixture *f = *state;
    static answers want, got;
    answer(f, RF_PRECISION_DEFAULT, 1, 0, &want); /* fp32 */
    answer(f, RF_PRECISION_INT8, 1, 0, &got);
    double worst = 0.0;
    for (size_t i = 0; i < N; i++) {
        static const float zero[WIDTH];
        double off = rf_distance(want.row[i].feature, got.row[i].feature, WIDTH);
        double share = off / rf_distance(want.row[i].feature, zero, WIDTH);
        worst = share > worst ? share : worst;
    }
    print_message("features are off by up to %.2f %%\n", 100.0 * worst);
    assert_true(worst > 0.0 && worst < 0.03);
    answer(f, RF_PRECISION_FP32, 1, 0, &got);
    assert_memory_equal(&want, &got, sizeof want);
}

static void options_are_checked(void **state)
{
    const fixture *f = *state;
    rf_error err = {0};
    rf_session_options o = rf_session_options_default();
    o.precision = (rf_precision)7;
    assert_null(rf_session_open(f->model, &o, &err));
    assert_int_equal(err.code, RF_ERR_ARG);
    assert_string_equal(err.msg, "precision is 7, wanted fp32 or int8");
    o.struct_size = 0;
    assert_null(rf_session_open(f->model, &o, &err));
    assert_int_equal(err.code, RF_ERR_ARG);
    rf_embed_options e = rf_embed_options_default();
    e.precision = (rf_precision)-1;
    assert_null(rf_embedder_new(rf_model_encoder(f->model), &e, &err));
    assert_int_equal(err.code, RF_ERR_ARG);
    rf_session *s = rf_session_open(f->model, NULL, &err);
    assert_non_null(s);
    rf_session_free(s);
}

/* Activations beyond the floats end in an error, not in an answer. */
static void overflow_is_an_error(void **state)
{
    (void)state;
    rf_error err = {0};
    rf_model *m = tiny_model_new(3, 0.0f);
    float feature[WIDTH];
    const char *text = "x";
    size_t len = 1;
    for (size_t i = 0; i < WIDTH; i++) /* the second layer sees infinities */
        m->encoder->layers[0].out_gain[i] = 3.4e38f;
    rf_embed_options o = rf_embed_options_default();
    o.precision = RF_PRECISION_INT8;
    rf_embedder *e = rf_embedder_new(rf_model_encoder(m), &o, &err);
    assert_non_null(e);
    assert_int_equal(rf_embed(e, &text, &len, 1, feature, &err), RF_ERR_NUMERIC);
    rf_embedder_free(e);
    rf_model_free(m);
}

static void sigmoid(void **state)
{
    (void)state;
    for (double x = -760.0; x <= 760.0; x += x > -40.0 && x < 40.0 ? 0.0137 : 9.1) {
        double want = 1.0 / (1.0 + exp(-x)), got = rf_sigmoid(x);
        assert_true(fabs(got - want) <= 2e-15 * want + 1e-300);
    }
    assert_true(rf_sigmoid(0.0) == 0.5);
    assert_true(rf_sigmoid(-INFINITY) < 1e-300 && rf_sigmoid(INFINITY) == 1.0);
}

static void logarithm(void **state)
{
    (void)state;
    for (double x = 3e-308; x < 1e308; x *= 1.0137) {
        double want = log(x);
        assert_true(fabs(rf_log(x) - want) <= 1e-15 * fmax(1.0, fabs(want)));
    }
    for (double x = 0.5; x < 2.0; x += 1.37e-5)
        assert_true(fabs(rf_log(x) - log(x)) <= 1e-15);
    assert_true(rf_log(1.0) == 0.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_path_gives_the_same_answers),
        cmocka_unit_test(threads_and_neighbours_do_not_matter),
        cmocka_unit_test(integers_are_near_the_floats),
        cmocka_unit_test(options_are_checked),
        cmocka_unit_test(overflow_is_an_error),
        cmocka_unit_test(sigmoid),
        cmocka_unit_test(logarithm),
    };
    return cmocka_run_group_tests_name("precision", tests, setup, teardown);
}
