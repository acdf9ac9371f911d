/*
 * test_session.c - answers: every number against plain loops in double precision, and the
 * same bits for any split into texts, threads and blocks
 */
#include "tiny_model.h"

#include "ans/heads.h"
#include "base/memory.h"
#include "near.h"
#include "scratch.h"

#include <stdlib.h>
#include <string.h>

enum { WIDTH = 32, CLASSES = 13, N = 1100 /* more than two blocks of 480 rows */ };

/* ---- Plain loops ------------------------------------------------------------------- */

/* y[j] = b[j] + sum W[j][i] x[i], with ReLU or without. */
static void plain_layer(double *y, const double *x, float *w, const float *b, size_t out,
                        size_t in, bool relu)
{
    for (size_t j = 0; j < out; j++) {
        y[j] = (double)b[j];
        for (size_t i = 0; i < in; i++)
            y[j] += (double)*tiny_panel(w, in, j, i) * x[i];
        if (relu && y[j] < 0.0)
            y[j] = 0.0;
    }
}

/* The place of the parts is written out again from heads.h. */
static double plain_margin(const rf_heads *h, size_t c, const double *z)
{
    float *w1 = h->block + c * (256 * WIDTH + 256 + 64 * 256 + 64 + 64 + 16);
    float *b1 = w1 + 256 * WIDTH, *w2 = b1 + 256, *b2 = w2 + 64 * 256, *w3 = b2 + 64;
    double h1[256], h2[64], margin;
    plain_layer(h1, z, w1, b1, 256, WIDTH, true);
    plain_layer(h2, h1, w2, b2, 64, 256, true);
    margin = (double)w3[64];
    for (size_t i = 0; i < 64; i++)
        margin += (double)w3[i] * h2[i];
    return margin;
}

typedef struct plain {
    double *probabilities, *margins; /* [classes] */
    size_t class_index, nearest, margin_class;
    double confidence, margin;
    bool close; /* rounding could change the decision */
} plain;

static size_t top(const double *x, size_t n, double *gap)
{
    size_t best = 0;
    for (size_t i = 1; i < n; i++)
        if (x[i] > x[best])
            best = i;
    *gap = INFINITY;
    for (size_t i = 0; i < n; i++)
        if (i != best && x[best] - x[i] < *gap)
            *gap = x[best] - x[i];
    return best;
}

static plain answer_plainly(const rf_model *m, const float *feature)
{
    size_t n = m->classes;
    double z[WIDTH], sum = 0.0, gap;
    plain p = {.probabilities = calloc(n, sizeof(double)),
               .margins = calloc(n, sizeof(double))};
    for (size_t i = 0; i < WIDTH; i++)
        z[i] = (double)feature[i];
    for (size_t c = 0; c < n; c++)
        p.margins[c] = plain_margin(&m->state, c, z);
    p.nearest = p.margin_class = top(p.margins, n, &gap);
    p.margin = p.margins[p.margin_class];
    for (size_t c = 0; c < n; c++)
        sum += p.probabilities[c] =
            exp((double)m->calibration.temperature * (p.margins[c] - p.margin));
    for (size_t c = 0; c < n; c++)
        p.probabilities[c] /= sum;
    p.close = gap < 1e-4 || fabs(p.margin) < 1e-4;
    double p_known = 1.0 / (1.0 + exp(-(double)m->calibration.bias -
                                      (double)m->calibration.slope * p.margin));
    bool open = true;
    for (size_t c = 0; c < n; c++)
        open = open && p.margins[c] < 0.0;
    p.class_index = open ? RF_OPEN : p.nearest;
    p.confidence = open ? 1.0 - p_known : p_known * p.probabilities[p.nearest];
    return p;
}

static void release_plain(plain *p)
{
    free(p->probabilities);
    free(p->margins);
}

/* Sums of up to 256 products in single precision: margins were off by 1.4e-6 at most,
 * probabilities by 1.3e-7. A missing bias is off by 0.1. */
static void assert_answer(const rf_model *m, const rf_decision *d)
{
    plain p = answer_plainly(m, d->feature);
    for (size_t c = 0; c < m->classes; c++) {
        float want[2] = {(float)p.probabilities[c], (float)p.margins[c]};
        assert_near("probability", &d->probabilities[c], &want[0], 1, 1e-6, 1e-5);
        assert_near("margin", &d->margins[c], &want[1], 1, 1e-5, 1e-5);
    }
    float want[2] = {(float)p.confidence, (float)p.margin};
    assert_near("confidence", &d->confidence, &want[0], 1, 1e-5, 0);
    assert_near("largest margin", &d->margin, &want[1], 1, 1e-5, 1e-5);
    if (!p.close) {
        assert_int_equal(d->class_index, p.class_index);
        assert_int_equal(d->nearest, p.nearest);
        assert_int_equal(d->margin_class, p.margin_class);
    }
    release_plain(&p);
}

/* ---- Copies of decisions ----------------------------------------------------------- */

typedef struct decision_copy {
    rf_decision d; /* its pointers are no longer valid */
    float probabilities[CLASSES], margins[CLASSES], feature[WIDTH];
} decision_copy;

static void copy_decision(decision_copy *k, const rf_decision *d)
{
    memset(k, 0, sizeof *k); /* padding too: they are compared as bytes */
    k->d.class_index = d->class_index;
    k->d.nearest = d->nearest;
    k->d.confidence = d->confidence;
    k->d.margin = d->margin;
    k->d.margin_class = d->margin_class;
    memcpy(k->probabilities, d->probabilities, sizeof k->probabilities);
    memcpy(k->margins, d->margins, sizeof k->margins);
    memcpy(k->feature, d->feature, sizeof k->feature);
}

typedef struct collected {
    decision_copy *rows;
    size_t n, max;
    size_t fail_at; /* the call that fails, counted from 0 */
} collected;

static rf_status collect(void *user, const rf_decision *d, rf_error *err)
{
    collected *c = user;
    if (c->n == c->fail_at)
        return rf_fail(err, RF_ERR_IO, 77, "the printer is on fire");
    assert_true(c->n < c->max);
    copy_decision(&c->rows[c->n++], d);
    return RF_OK;
}

static collected collector(void)
{
    return (collected){
        .rows = calloc(N, sizeof(decision_copy)), .max = N, .fail_at = SIZE_MAX};
}

/* ---- The fixture ------------------------------------------------------------------- */

typedef struct fixture {
    rf_model *model;
    char *texts[N];
    size_t lens[N];
    decision_copy alone[N]; /* each text by itself, one thread */
} fixture;

static rf_session *make(const rf_model *m, size_t threads)
{
    rf_error err = {0};
    rf_session *s = rf_session_new(m, threads, &err);
    if (!s)
        fail_msg("%s", err.msg);
    return s;
}

static rf_decision classify(rf_session *s, const char *text, size_t len)
{
    rf_error err = {0};
    rf_decision d;
    if (rf_classify(s, text, len, &d, &err) != RF_OK)
        fail_msg("%s", err.msg);
    return d;
}

/* Texts of 0 to 70 bytes: from two tokens to well past the model's limit of 24. */
static int setup(void **state)
{
    static fixture f;
    f.model = tiny_model_new(CLASSES, -2.27f);
    for (size_t i = 0; i < N; i++) {
        f.lens[i] = i < 6 ? i : (i * 13) % 71;
        f.texts[i] = malloc(f.lens[i] + 1);
        tiny_text(f.texts[i], f.lens[i], i);
    }
    rf_session *s = make(f.model, 1);
    for (size_t i = 0; i < N; i++) {
        rf_decision d = classify(s, f.texts[i], f.lens[i]);
        copy_decision(&f.alone[i], &d);
    }
    rf_session_free(s);
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    fixture *f = *state;
    for (size_t i = 0; i < N; i++)
        free(f->texts[i]);
    rf_model_free(f->model);
    return 0;
}

/* ---- Answers ----------------------------------------------------------------------- */

static void answers_match_plain_loops(void **state)
{
    const fixture *f = *state;
    rf_session *s = make(f->model, 1);
    rf_embed_options o = rf_embed_options_default();
    o.threads = 1;
    o.max_tokens = f->model->max_tokens;
    rf_embedder *e = rf_embedder_new(f->model->encoder, &o, NULL);
    assert_non_null(e);
    size_t open = 0;
    for (size_t i = 0; i < 300; i++) {
        const char *text = f->texts[i];
        float z[WIDTH];
        rf_decision d = classify(s, text, f->lens[i]);
        assert_int_equal(rf_embed(e, &text, &f->lens[i], 1, z, NULL), RF_OK);
        assert_memory_equal(d.feature, z, sizeof z);
        assert_answer(f->model, &d);
        open += d.class_index == RF_OPEN;
    }
    assert_in_range(open, 60, 240); /* the sample has both kinds of answers */
    rf_embedder_free(e);
    rf_session_free(s);
}

static void probabilities_and_open_sum_to_one(void **state)
{
    const fixture *f = *state;
    for (size_t i = 0; i < N; i++) {
        const decision_copy *k = &f->alone[i];
        double p_known = 1.0 / (1.0 + exp(-(double)k->d.margin)), sum = 1.0 - p_known;
        for (size_t c = 0; c < CLASSES; c++)
            sum += p_known * (double)k->probabilities[c];
        float got = (float)sum, one = 1.0f;
        assert_near("sum", &got, &one, 1, 1e-6, 0);
        assert_true(k->d.confidence > 0.0f && k->d.confidence <= 1.0f);
        if (k->d.class_index == RF_OPEN)
            assert_true(k->d.confidence >= 0.5f);
    }
}

static void a_margin_of_zero_accepts(void **state)
{
    (void)state;
    rf_model *m = tiny_model_new(5, 0.0f);
    memset(m->state.block, 0, 5 * rf_head_floats(WIDTH) * sizeof(float));
    rf_session *s = make(m, 2);
    rf_decision d = classify(s, "where", 5);
    assert_true(d.margin == 0.0f);
    assert_int_equal(d.class_index, d.nearest);
    assert_true(d.confidence == 0.5f * d.probabilities[d.nearest]);
    for (size_t c = 0; c < 5; c++)
        *rf_head_at(&m->state, c).b3 = c == 2 ? -1e-30f : -1.0f;
    d = classify(s, "where", 5);
    assert_int_equal(d.class_index, RF_OPEN);
    assert_int_equal(d.margin_class, 2);
    assert_true(d.confidence == 0.5f);
    rf_session_free(s);
    rf_model_free(m);
}

/* Another fence gives other answers; the chance that the text is known stays. */
static void a_moved_fence(void **state)
{
    const fixture *f = *state;
    static const float offsets[] = {-0.7f, 1.3f, 0.0f};
    size_t changed = 0;
    rf_session *s = make(f->model, 2);
    for (size_t k = 0; k < 3; k++) {
        assert_int_equal(rf_session_set_fence(s, offsets[k], NULL), RF_OK);
        for (size_t i = 0; i < 200; i++) {
            const decision_copy *was = &f->alone[i];
            rf_decision d = classify(s, f->texts[i], f->lens[i]);
            for (size_t c = 0; c < CLASSES; c++)
                assert_true(d.margins[c] == was->margins[c] + offsets[k]);
            assert_memory_equal(d.probabilities, was->probabilities,
                                sizeof was->probabilities);
            assert_int_equal(d.class_index, d.margin >= 0.0f ? d.nearest : RF_OPEN);
            assert_int_equal(d.nearest, was->d.nearest);
            double p_known = 1.0 / (1.0 + exp(-(double)was->d.margin));
            float want = d.class_index == RF_OPEN
                             ? (float)(1.0 - p_known)
                             : (float)(p_known * (double)d.probabilities[d.nearest]);
            assert_near("confidence", &d.confidence, &want, 1, 1e-6, 0);
            changed += d.class_index != was->d.class_index;
            if (offsets[k] == 0.0f)
                assert_true(d.confidence == was->d.confidence);
        }
    }
    assert_in_range(changed, 20, 380);
    static const float bad[] = {NAN, INFINITY, -1.1e6f};
    for (size_t i = 0; i < 3; i++) {
        rf_error err = {0};
        assert_int_equal(rf_session_set_fence(s, bad[i], &err), RF_ERR_ARG);
        assert_error(&err, RF_ERR_ARG, "the fence is", "wanted a number from -1e+06");
    }
    rf_session_free(s);
}

/* A confident "open" because a sum overflowed would be wrong. */
static void non_finite_margins_are_errors(void **state)
{
    (void)state;
    rf_model *m = tiny_model_new(4, 0.0f);
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    rf_session *s = make(m, 1);
    decision_copy before, after;
    rf_decision d = classify(s, "where", 5);
    copy_decision(&before, &d);
    float *b3 = rf_head_at(&m->state, 2).b3, was = *b3;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        rf_error err = {0};
        *b3 = bad[i];
        assert_int_equal(rf_classify(s, "where", 5, &d, &err), RF_ERR_NUMERIC);
        assert_error(&err, RF_ERR_NUMERIC, "a NaN or an infinity");
        *b3 = was;
        d = classify(s, "where", 5);
        copy_decision(&after, &d);
        assert_memory_equal(&before, &after, sizeof before);
    }
    rf_session_free(s);
    rf_model_free(m);
}

static void a_single_class(void **state)
{
    const fixture *f = *state;
    rf_model *m = tiny_model_new(1, 0.84f);
    size_t open = 0;
    for (size_t threads = 1; threads <= 3; threads += 2) {
        rf_session *s = make(m, threads);
        for (size_t i = 0; i < 100; i++) {
            rf_decision d = classify(s, f->texts[i], f->lens[i]);
            assert_answer(m, &d);
            assert_true(d.probabilities[0] == 1.0f);
            assert_int_equal(d.nearest, 0);
            assert_int_equal(d.margin_class, 0);
            assert_true(d.margin == d.margins[0]);
            open += d.class_index == RF_OPEN;
        }
        rf_session_free(s);
    }
    assert_in_range(open, 1, 199);
    rf_model_free(m);
}

typedef struct wide_check {
    const rf_model *model;
    size_t n, open;
    float *margins; /* [40, classes] of the first run; later ones must repeat them */
    bool repeat;
} wide_check;

static rf_status check_wide(void *user, const rf_decision *d, rf_error *err)
{
    (void)err;
    wide_check *w = user;
    size_t bytes = w->model->classes * sizeof(float);
    float *margins = w->margins + w->n * w->model->classes;
    if (w->repeat)
        assert_memory_equal(margins, d->margins, bytes);
    else
        memcpy(margins, d->margins, bytes);
    if (w->n % 8 == 0 && !w->repeat)
        assert_answer(w->model, d);
    w->open += d->class_index == RF_OPEN;
    w->n++;
    return RF_OK;
}

static void a_thousand_classes(void **state)
{
    const fixture *f = *state;
    rf_model *m = tiny_model_new(1000, -4.0f);
    wide_check w = {.model = m, .margins = rf_floats_new(40 * 1000)};
    for (size_t threads = 1; threads <= 3; threads++) {
        rf_session *s = make(m, threads);
        w.n = w.open = 0;
        w.repeat = threads > 1;
        assert_int_equal(rf_classify_all(s, (const char *const *)f->texts, f->lens, 40,
                                         check_wide, &w, NULL),
                         RF_OK);
        assert_int_equal(w.n, 40);
        rf_session_free(s);
    }
    assert_in_range(w.open, 1, 39);
    free(w.margins);
    rf_model_free(m);
}

static void the_empty_text(void **state)
{
    const fixture *f = *state;
    rf_session *s = make(f->model, 2);
    rf_decision d = classify(s, "", 0);
    decision_copy k, white;
    copy_decision(&k, &d);
    assert_answer(f->model, &d);
    assert_memory_equal(&k, &f->alone[0], sizeof k);
    d = classify(s, " \t\n", 3);
    copy_decision(&white, &d);
    assert_memory_equal(&k, &white, sizeof k);
    rf_session_free(s);
}

/* A text that is too long is cut to its first 22 pieces. Every letter is a word here. */
static void a_very_long_text(void **state)
{
    const fixture *f = *state;
    size_t len = 2000000;
    char *text = malloc(len);
    for (size_t i = 0; i < len; i++)
        text[i] = i % 2 ? ' ' : (char)('a' + i / 2 % 26);
    rf_session *s = make(f->model, 2);
    decision_copy whole, cut, less;
    rf_decision d = classify(s, text, len);
    copy_decision(&whole, &d);
    d = classify(s, text, 2 * 22);
    copy_decision(&cut, &d);
    d = classify(s, text, 2 * 21);
    copy_decision(&less, &d);
    assert_memory_equal(&whole, &cut, sizeof whole);
    assert_memory_not_equal(&whole, &less, sizeof whole);
    rf_session_free(s);
    free(text);
}

/* ---- The same bits ----------------------------------------------------------------- */

static const size_t thread_counts[] = {1, 2, 3, 7};
#define EACH_THREADS(t)                                                                  \
    for (size_t t_ = 0, t; t_ < 4 && (t = thread_counts[t_]) > 0; t_++)

static void one_text_at_a_time(void **state)
{
    const fixture *f = *state;
    EACH_THREADS(threads)
    {
        rf_session *s = make(f->model, threads);
        for (size_t i = 0; i < 80; i++) {
            rf_decision d = classify(s, f->texts[i], f->lens[i]);
            decision_copy k;
            copy_decision(&k, &d);
            assert_memory_equal(&k, &f->alone[i], sizeof k);
        }
        rf_session_free(s);
    }
}

static void many_texts(void **state)
{
    const fixture *f = *state;
    static const size_t sizes[] = {2, 97, 480, 481, N};
    EACH_THREADS(threads)
    {
        rf_session *s = make(f->model, threads);
        for (size_t z = 0; z < sizeof sizes / sizeof sizes[0]; z++) {
            collected c = collector();
            for (size_t i = 0; i < N; i += sizes[z]) {
                size_t n = N - i < sizes[z] ? N - i : sizes[z];
                const char *const *texts = (const char *const *)f->texts + i;
                assert_int_equal(
                    rf_classify_all(s, texts, f->lens + i, n, collect, &c, NULL), RF_OK);
                assert_int_equal(c.n, i + n);
            }
            assert_memory_equal(c.rows, f->alone, sizeof f->alone);
            free(c.rows);
        }
        rf_session_free(s);
    }
}

/* Row by row what each text gets by itself; arrays that are not wanted stay untouched. */
static void many_texts_into_arrays(void **state)
{
    const fixture *f = *state;
    static size_t class_index[N], margin_class[N], nearest[N];
    static float confidence[N], margin[N], probabilities[N][CLASSES], margins[N][CLASSES],
        features[N][WIDTH];
    const rf_answer_arrays all = {class_index, margin_class,     nearest,    confidence,
                                  margin,      probabilities[0], margins[0], features[0]};
    const rf_answer_arrays some = {.class_index = class_index, .confidence = confidence};
    const char *const *texts = (const char *const *)f->texts;
    rf_session *s = make(f->model, 2);
    assert_int_equal(rf_classify_arrays(s, texts, f->lens, N, &all, NULL), RF_OK);
    for (size_t i = 0; i < N; i++) {
        const rf_decision d = {.class_index = class_index[i],
                               .confidence = confidence[i],
                               .margin = margin[i],
                               .margin_class = margin_class[i],
                               .nearest = nearest[i],
                               .probabilities = probabilities[i],
                               .margins = margins[i],
                               .feature = features[i]};
        decision_copy row;
        copy_decision(&row, &d);
        assert_memory_equal(&row, &f->alone[i], sizeof row);
    }
    memset(margins, 0x55, sizeof margins);
    const float before = margins[0][0];
    assert_int_equal(rf_classify_arrays(s, texts + 7, f->lens + 7, 3, &some, NULL),
                     RF_OK);
    assert_int_equal(rf_classify_arrays(s, texts, f->lens, 0, &some, NULL), RF_OK);
    assert_int_equal(class_index[2], f->alone[9].d.class_index);
    assert_true(confidence[2] == f->alone[9].d.confidence);
    assert_int_equal(class_index[3], f->alone[3].d.class_index);
    assert_true(margins[0][0] == before);
    assert_int_equal(rf_session_feed(s, "half", 4, NULL), RF_OK);
    assert_int_equal(rf_classify_arrays(s, texts, f->lens, 1, &some, NULL), RF_ERR_ARG);
    rf_session_free(s);
}

/* In pieces of 1 to 5 bytes, flushed now and then, also within a text. */
static void streams(void **state)
{
    const fixture *f = *state;
    EACH_THREADS(threads)
    {
        rf_session *s = make(f->model, threads);
        collected c = collector();
        rf_session_set_sink(s, collect, &c);
        for (size_t i = 0; i < N; i++) {
            for (size_t at = 0; at < f->lens[i]; at += 1 + i % 5) {
                size_t left = f->lens[i] - at, n = left < 1 + i % 5 ? left : 1 + i % 5;
                assert_int_equal(rf_session_feed(s, f->texts[i] + at, n, NULL), RF_OK);
            }
            if (i % 97 == 50) {
                assert_int_equal(rf_session_flush(s, NULL), RF_OK);
                assert_int_equal(c.n, i);
            }
            assert_int_equal(rf_session_end_text(s, NULL), RF_OK);
        }
        assert_int_equal(rf_session_flush(s, NULL), RF_OK);
        assert_int_equal(c.n, N);
        assert_memory_equal(c.rows, f->alone, sizeof f->alone);
        assert_int_equal(rf_session_flush(s, NULL), RF_OK); /* nothing more */
        assert_int_equal(c.n, N);
        rf_session_free(s);
        free(c.rows);
    }
}

static void without_a_sink_answers_are_dropped(void **state)
{
    const fixture *f = *state;
    rf_session *s = make(f->model, 2);
    for (size_t i = 0; i < 600; i++) {
        assert_int_equal(rf_session_feed(s, f->texts[i], f->lens[i], NULL), RF_OK);
        assert_int_equal(rf_session_end_text(s, NULL), RF_OK);
    }
    assert_int_equal(rf_session_flush(s, NULL), RF_OK);
    collected c = collector();
    const char *const *texts = (const char *const *)f->texts;
    assert_int_equal(rf_classify_all(s, texts, f->lens, 3, NULL, NULL, NULL), RF_OK);
    assert_int_equal(rf_classify_all(s, texts, f->lens, 0, collect, &c, NULL), RF_OK);
    assert_int_equal(c.n, 0);
    assert_int_equal(rf_classify_all(s, texts, f->lens, 3, collect, &c, NULL), RF_OK);
    assert_int_equal(c.n, 3);
    assert_memory_equal(c.rows, f->alone, 3 * sizeof(decision_copy));
    rf_session_free(s);
    free(c.rows);
}

/* ---- Failures ---------------------------------------------------------------------- */

static void a_failing_sink_leaves_a_usable_session(void **state)
{
    const fixture *f = *state;
    const char *const *texts = (const char *const *)f->texts;
    static const size_t fail_at[] = {0, 1, 479, 480, 700, N - 1};
    rf_session *s = make(f->model, 2);
    for (size_t i = 0; i < sizeof fail_at / sizeof fail_at[0]; i++) {
        rf_error err = {0};
        collected c = collector();
        c.fail_at = fail_at[i];
        assert_int_equal(rf_classify_all(s, texts, f->lens, N, collect, &c, &err),
                         RF_ERR_IO);
        assert_string_equal(err.msg, "the printer is on fire");
        assert_int_equal(err.pos, 77);
        assert_int_equal(c.n, fail_at[i]);
        assert_memory_equal(c.rows, f->alone, c.n * sizeof(decision_copy));
        /* Dropped texts are never delivered later. */
        c.n = 0;
        c.fail_at = SIZE_MAX;
        assert_int_equal(rf_classify_all(s, texts + 9, f->lens + 9, 5, collect, &c, &err),
                         RF_OK);
        assert_int_equal(c.n, 5);
        assert_memory_equal(c.rows, f->alone + 9, 5 * sizeof(decision_copy));
        free(c.rows);
    }
    rf_session_free(s);
}

typedef struct sink_with_session {
    rf_session *session;
    collected decisions;
} sink_with_session;

static rf_status use_session_in_sink(void *user, const rf_decision *d, rf_error *err)
{
    sink_with_session *m = user;
    rf_decision other;
    rf_error why = {0};
    assert_int_equal(rf_session_feed(m->session, "x", 1, &why), RF_ERR_ARG);
    assert_error(&why, RF_ERR_ARG, "its own sink");
    assert_int_equal(rf_session_end_text(m->session, NULL), RF_ERR_ARG);
    assert_int_equal(rf_session_flush(m->session, NULL), RF_ERR_ARG);
    assert_int_equal(rf_classify(m->session, "x", 1, &other, NULL), RF_ERR_ARG);
    return collect(&m->decisions, d, err);
}

/* The call is refused, and nothing is lost or delivered twice. */
static void a_sink_cannot_use_its_session(void **state)
{
    const fixture *f = *state;
    rf_model *m = tiny_model_new(CLASSES, 0.84f);
    sink_with_session a = {make(m, 2), collector()};
    collected want = collector();
    assert_int_equal(rf_classify_all(a.session, (const char *const *)f->texts, f->lens, N,
                                     collect, &want, NULL),
                     RF_OK);
    rf_session_set_sink(a.session, use_session_in_sink, &a);
    for (size_t i = 0; i < N; i++) {
        assert_int_equal(rf_session_feed(a.session, f->texts[i], f->lens[i], NULL),
                         RF_OK);
        assert_int_equal(rf_session_end_text(a.session, NULL), RF_OK);
        if (i % 100 == 7)
            assert_int_equal(rf_session_flush(a.session, NULL), RF_OK);
    }
    assert_int_equal(rf_session_flush(a.session, NULL), RF_OK);
    assert_int_equal(a.decisions.n, N);
    assert_memory_equal(a.decisions.rows, want.rows, N * sizeof(decision_copy));
    free(a.decisions.rows);
    free(want.rows);
    rf_session_free(a.session);
    rf_model_free(m);
}

/* The failure shows in flush; an unfinished text is dropped as well. */
static void a_sink_that_fails_in_flush(void **state)
{
    const fixture *f = *state;
    rf_session *s = make(f->model, 2);
    collected c = collector();
    c.fail_at = 0;
    rf_session_set_sink(s, collect, &c);
    assert_int_equal(rf_session_feed(s, f->texts[20], f->lens[20], NULL), RF_OK);
    assert_int_equal(rf_session_end_text(s, NULL), RF_OK);
    assert_int_equal(rf_session_feed(s, "half of a", 9, NULL), RF_OK);
    assert_int_equal(rf_session_flush(s, NULL), RF_ERR_IO);
    c.fail_at = SIZE_MAX;
    assert_int_equal(rf_session_feed(s, f->texts[21], f->lens[21], NULL), RF_OK);
    assert_int_equal(rf_session_end_text(s, NULL), RF_OK);
    assert_int_equal(rf_session_flush(s, NULL), RF_OK);
    assert_int_equal(c.n, 1);
    assert_memory_equal(c.rows, &f->alone[21], sizeof(decision_copy));
    rf_session_free(s);
    free(c.rows);
}

static void whole_texts_do_not_mix_with_an_unfinished_text(void **state)
{
    const fixture *f = *state;
    rf_session *s = make(f->model, 1);
    collected c = collector();
    rf_error err = {0};
    rf_decision d;
    rf_session_set_sink(s, collect, &c);
    assert_int_equal(rf_session_feed(s, f->texts[20], 3, NULL), RF_OK);
    assert_int_equal(rf_classify(s, "a", 1, &d, &err), RF_ERR_ARG);
    assert_error(&err, RF_ERR_ARG, "a text is being fed");
    assert_int_equal(rf_session_feed(s, f->texts[20] + 3, f->lens[20] - 3, NULL), RF_OK);
    assert_int_equal(rf_session_end_text(s, NULL), RF_OK);
    /* Complete texts go to the stream's own sink, which stays set. */
    decision_copy k;
    d = classify(s, f->texts[7], f->lens[7]);
    copy_decision(&k, &d);
    assert_memory_equal(&k, &f->alone[7], sizeof k);
    assert_int_equal(c.n, 1);
    assert_memory_equal(c.rows, &f->alone[20], sizeof k);
    assert_int_equal(rf_session_end_text(s, NULL), RF_OK);
    assert_int_equal(rf_session_flush(s, NULL), RF_OK);
    assert_int_equal(c.n, 2);
    assert_memory_equal(c.rows + 1, &f->alone[0], sizeof k);
    rf_session_free(s);
    free(c.rows);
}

static void too_many_threads_are_refused(void **state)
{
    const fixture *f = *state;
    rf_error err = {0};
    assert_null(rf_session_new(f->model, 1000, &err));
    assert_error(&err, RF_ERR_ARG, "threads is 1000, wanted up to 256");
    rf_session_free(NULL);
}

/* The encoder of a model, run by itself, gives the features that were judged. */
static void features_of_the_models_encoder(void **state)
{
    const fixture *f = *state;
    rf_embed_options o = rf_embed_options_default();
    rf_model_summary about;
    float z[WIDTH];
    rf_model_summarize(f->model, &about);
    o.max_tokens = about.max_tokens;
    rf_session *session = rf_session_new(f->model, 1, NULL);
    rf_embedder *embedder = rf_embedder_new(rf_model_encoder(f->model), &o, NULL);
    for (size_t i = 0; i < 20; i++) {
        char text[400];
        size_t len = i * i; /* the last ones are truncated */
        const char *texts[] = {text};
        rf_decision d;
        tiny_text(text, len, i);
        assert_int_equal(rf_classify(session, text, len, &d, NULL), RF_OK);
        assert_int_equal(rf_embed(embedder, texts, &len, 1, z, NULL), RF_OK);
        assert_memory_equal(z, d.feature, sizeof z);
    }
    rf_embedder_free(embedder);
    rf_session_free(session);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_match_plain_loops),
        cmocka_unit_test(probabilities_and_open_sum_to_one),
        cmocka_unit_test(a_margin_of_zero_accepts),
        cmocka_unit_test(a_moved_fence),
        cmocka_unit_test(non_finite_margins_are_errors),
        cmocka_unit_test(a_single_class),
        cmocka_unit_test(a_thousand_classes),
        cmocka_unit_test(the_empty_text),
        cmocka_unit_test(a_very_long_text),
        cmocka_unit_test(one_text_at_a_time),
        cmocka_unit_test(many_texts),
        cmocka_unit_test(many_texts_into_arrays),
        cmocka_unit_test(streams),
        cmocka_unit_test(without_a_sink_answers_are_dropped),
        cmocka_unit_test(a_failing_sink_leaves_a_usable_session),
        cmocka_unit_test(a_sink_cannot_use_its_session),
        cmocka_unit_test(a_sink_that_fails_in_flush),
        cmocka_unit_test(whole_texts_do_not_mix_with_an_unfinished_text),
        cmocka_unit_test(too_many_threads_are_refused),
        cmocka_unit_test(features_of_the_models_encoder),
    };
    return cmocka_run_group_tests_name("session", tests, setup, teardown);
}
