/*
 * Features of texts: the same bits however the work is divided, windows and truncation
 * by their definition, streaming equal to whole texts.
 */
#include "near.h"
#include "ringfence_encoder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TINY GOLDEN_DIR "/tiny/encoder"
#define WIDTH 32

enum { N = 60 };

typedef struct fixture {
    rf_encoder *encoder;
    char *texts[N];
    size_t lens[N];
    float alone[N][WIDTH]; /* each text by itself, one thread */
} fixture;

static rf_embedder *make(const fixture *f, size_t threads, rf_embed_options o)
{
    rf_error err = {0};
    o.threads = threads;
    rf_embedder *m = rf_embedder_new(f->encoder, &o, &err);
    if (!m)
        fail_msg("%s", err.msg);
    return m;
}

static void embed(rf_embedder *m, const fixture *f, size_t from, size_t n, float *out)
{
    rf_error err = {0};
    if (rf_embed(m, (const char *const *)(f->texts + from), f->lens + from, n, out,
                 &err) != RF_OK)
        fail_msg("%s", err.msg);
}

/* Texts of 0 to 70 letters and spaces: from two tokens to well past the limit of 40. */
static int setup(void **state)
{
    static fixture f;
    uint32_t x = 5;
    f.encoder = rf_encoder_load(TINY, NULL);
    if (!f.encoder)
        return 1;
    for (size_t i = 0; i < N; i++) {
        f.lens[i] = i < 6 ? i : (i * 13) % 71;
        f.texts[i] = malloc(f.lens[i] + 1);
        for (size_t j = 0; j < f.lens[i]; j++) {
            x = x * 1664525u + 1013904223u;
            f.texts[i][j] = (x >> 24) % 3 == 0 ? ' ' : (char)('a' + (x >> 16) % 26);
        }
    }
    rf_embedder *m = make(&f, 1, rf_embed_options_default());
    for (size_t i = 0; i < N; i++)
        embed(m, &f, i, 1, f.alone[i]);
    rf_embedder_free(m);
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    fixture *f = *state;
    for (size_t i = 0; i < N; i++)
        free(f->texts[i]);
    rf_encoder_free(f->encoder);
    return 0;
}

static void same_bits_for_any_threads_and_batch(void **state)
{
    const fixture *f = *state;
    static const size_t sizes[] = {1, 2, 3, 7, 20, N};
    for (size_t threads = 1; threads <= 5; threads++) {
        rf_embedder *m = make(f, threads, rf_embed_options_default());
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
            float out[N][WIDTH];
            for (size_t i = 0; i < N; i += sizes[s])
                embed(m, f, i, N - i < sizes[s] ? N - i : sizes[s], out[i]);
            assert_memory_equal(out, f->alone, sizeof out);
        }
        rf_embedder_free(m);
    }
}

typedef struct collected {
    float rows[4 * N][WIDTH];
    size_t n;
    size_t fail_at;
} collected;

static rf_status collect(void *user, const float *feature, rf_error *err)
{
    (void)err;
    collected *c = user;
    if (c->n == c->fail_at)
        return RF_ERR_IO;
    memcpy(c->rows[c->n++], feature, sizeof c->rows[0]);
    return RF_OK;
}

/* One byte at a time, flushed at odd moments, in order. */
static void streaming_equals_whole_texts(void **state)
{
    const fixture *f = *state;
    for (size_t threads = 1; threads <= 3; threads++) {
        collected *c = calloc(1, sizeof *c);
        c->fail_at = SIZE_MAX;
        rf_embedder *m = make(f, threads, rf_embed_options_default());
        rf_embedder_set_sink(m, collect, c);
        for (size_t i = 0; i < N; i++) {
            for (size_t j = 0; j < f->lens[i]; j++) {
                assert_int_equal(rf_embedder_feed(m, f->texts[i] + j, 1, NULL), RF_OK);
                if (i % 10 == 3 && j % 9 == 4) /* in the middle of a text */
                    assert_int_equal(rf_embedder_flush(m, NULL), RF_OK);
            }
            assert_int_equal(rf_embedder_end_text(m, NULL), RF_OK);
        }
        assert_int_equal(rf_embedder_flush(m, NULL), RF_OK);
        assert_int_equal(c->n, N);
        assert_memory_equal(c->rows, f->alone, sizeof f->alone);
        rf_embedder_free(m);
        free(c);
    }
}

static void a_failing_sink_leaves_a_usable_embedder(void **state)
{
    const fixture *f = *state;
    collected *c = calloc(1, sizeof *c);
    rf_embedder *m = make(f, 2, rf_embed_options_default());
    rf_embedder_set_sink(m, collect, c);
    c->fail_at = 2;
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(rf_embedder_feed(m, f->texts[i], f->lens[i], NULL), RF_OK);
        assert_int_equal(rf_embedder_end_text(m, NULL), RF_OK);
    }
    assert_int_equal(rf_embedder_feed(m, "half a te", 9, NULL), RF_OK); /* dropped too */
    assert_int_equal(rf_embedder_flush(m, NULL), RF_ERR_IO);
    float out[WIDTH];
    embed(m, f, 20, 1, out);
    assert_memory_equal(out, f->alone[20], sizeof out);
    rf_embedder_free(m);
    free(c);
}

/* Mean and [CLS] of every layer, from the token vectors. */
static void pooling_by_definition(void **state)
{
    const fixture *f = *state;
    for (int layer = 0; layer <= 2; layer++) {
        rf_embed_options o = rf_embed_options_default();
        o.layer = layer;
        rf_embedder *mean = make(f, 2, o);
        o.pooling = RF_POOL_CLS;
        rf_embedder *cls = make(f, 1, o);
        for (size_t i = 0; i < 20; i++) {
            float tokens[40][WIDTH], want[WIDTH], got[WIDTH];
            size_t n = 0;
            assert_int_equal(rf_embedder_states(cls, f->texts[i], f->lens[i], layer,
                                                tokens[0], 40, &n, NULL),
                             RF_OK);
            for (size_t j = 0; j < WIDTH; j++) {
                double s = 0;
                for (size_t t = 0; t < n; t++)
                    s += (double)tokens[t][j];
                want[j] = (float)(s / (double)n);
            }
            embed(mean, f, i, 1, got);
            assert_near("mean", got, want, WIDTH, 1e-6, 1e-6);
            embed(cls, f, i, 1, got);
            assert_memory_equal(got, tokens[0], sizeof got);
        }
        rf_embedder_free(mean);
        rf_embedder_free(cls);
    }
}

/* The window reading, worked out on the side: cut the ids, embed each window as a text
 * of single letters, average. */
static void windows_by_definition(void **state)
{
    const fixture *f = *state;
    const size_t max = 12, content = max - 2, step = content - content / 2;
    rf_embed_options o = rf_embed_options_default();
    o.max_tokens = max;
    rf_embedder *whole = make(f, 1, o);
    o.long_text = RF_LONG_WINDOW;
    for (size_t threads = 1; threads <= 2; threads++) {
        rf_embedder *windows = make(f, threads, o);
        for (size_t letters = 0; letters <= 47; letters++) {
            char text[2 * 48]; /* "a b c ...": one token a letter */
            for (size_t i = 0; i < letters; i++) {
                text[2 * i] = (char)('a' + i % 26);
                text[2 * i + 1] = ' ';
            }
            double sum[WIDTH] = {0};
            float want[WIDTH], got[WIDTH];
            size_t n = 0;
            for (size_t from = 0;; from += step, n++) {
                size_t len = letters - from < content ? letters - from : content;
                const char *part = text + 2 * from;
                size_t part_len = 2 * len;
                assert_int_equal(rf_embed(whole, &part, &part_len, 1, want, NULL), RF_OK);
                for (size_t j = 0; j < WIDTH; j++)
                    sum[j] += (double)want[j];
                if (from + content >= letters) {
                    n++;
                    break;
                }
            }
            for (size_t j = 0; j < WIDTH; j++)
                want[j] = (float)(sum[j] / (double)n);
            const char *p = text;
            size_t len = 2 * letters;
            assert_int_equal(rf_embed(windows, &p, &len, 1, got, NULL), RF_OK);
            assert_near("windows", got, want, WIDTH, 1e-6, 0);
        }
        assert_int_equal(rf_embedder_n_long(windows), 47 - content);
        rf_embedder_free(windows);
    }
    rf_embedder_free(whole);
}

/* A text of a million words in windows: blocks come and go, the average holds. */
static void endless_text_in_windows(void **state)
{
    const fixture *f = *state;
    rf_embed_options o = rf_embed_options_default();
    o.long_text = RF_LONG_WINDOW;
    o.layer = 0; /* the embeddings alone: this is about windows, not about arithmetic */
    rf_embedder *m = make(f, 2, o);
    collected *c = calloc(1, sizeof *c);
    c->fail_at = SIZE_MAX;
    rf_embedder_set_sink(m, collect, c);
    for (int i = 0; i < 100000; i++)
        assert_int_equal(rf_embedder_feed(m, "a a a a a a a a a a ", 20, NULL), RF_OK);
    assert_int_equal(rf_embedder_end_text(m, NULL), RF_OK);
    assert_int_equal(rf_embedder_feed(m, "b", 1, NULL), RF_OK);
    assert_int_equal(rf_embedder_end_text(m, NULL), RF_OK);
    assert_int_equal(rf_embedder_flush(m, NULL), RF_OK);
    assert_int_equal(c->n, 2);
    float window[WIDTH], short_text[WIDTH];
    char text[2 * 38];
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = i % 2 ? ' ' : 'a';
    const char *p[2] = {text, "b"};
    size_t lens[2] = {sizeof text, 1};
    assert_int_equal(rf_embed(m, p, lens, 1, window, NULL), RF_OK);
    assert_int_equal(rf_embed(m, p + 1, lens + 1, 1, short_text, NULL), RF_OK);
    assert_near("all windows but the last are alike", c->rows[0], window, WIDTH, 1e-4, 0);
    assert_memory_equal(c->rows[1], short_text, sizeof short_text);
    rf_embedder_free(m);
    free(c);
}

/* A typed end token is a word like any other. */
static void end_tokens_in_windows(void **state)
{
    const fixture *f = *state;
    rf_embed_options o = rf_embed_options_default();
    o.long_text = RF_LONG_WINDOW;
    rf_embedder *m = make(f, 1, o);
    float out[WIDTH];
    char text[6 * 400];
    const char *p = text;
    size_t len = sizeof text;
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = "[SEP] "[i % 6];
    for (size_t skip = 0; skip < 60; skip++) { /* wherever it falls in a row */
        memset(text, 'a', skip);
        assert_int_equal(rf_embed(m, &p, &len, 1, out, NULL), RF_OK);
    }
    rf_embedder_free(m);
}

typedef struct meddler {
    rf_embedder *embedder;
    collected kept;
} meddler;

static rf_status meddle(void *user, const float *feature, rf_error *err)
{
    meddler *a = user;
    const char *text = "x";
    size_t len = 1, n;
    float out[40 * WIDTH];
    assert_int_equal(rf_embedder_feed(a->embedder, "x", 1, NULL), RF_ERR_ARG);
    assert_int_equal(rf_embedder_end_text(a->embedder, NULL), RF_ERR_ARG);
    assert_int_equal(rf_embedder_flush(a->embedder, NULL), RF_ERR_ARG);
    assert_int_equal(rf_embed(a->embedder, &text, &len, 1, out, NULL), RF_ERR_ARG);
    assert_int_equal(rf_embedder_states(a->embedder, text, len, 0, out, 40, &n, NULL),
                     RF_ERR_ARG);
    return collect(&a->kept, feature, err);
}

/* It is refused, and nothing is lost or delivered twice. */
static void a_sink_cannot_use_its_embedder(void **state)
{
    const fixture *f = *state;
    meddler *a = calloc(1, sizeof *a);
    a->embedder = make(f, 2, rf_embed_options_default());
    a->kept.fail_at = SIZE_MAX;
    rf_embedder_set_sink(a->embedder, meddle, a);
    for (size_t i = 0; i < N; i++) {
        assert_int_equal(rf_embedder_feed(a->embedder, f->texts[i], f->lens[i], NULL),
                         RF_OK);
        assert_int_equal(rf_embedder_end_text(a->embedder, NULL), RF_OK);
    }
    assert_int_equal(rf_embedder_flush(a->embedder, NULL), RF_OK);
    assert_int_equal(a->kept.n, N);
    assert_memory_equal(a->kept.rows, f->alone, sizeof f->alone);
    rf_embedder_free(a->embedder);
    free(a);
}

static void long_texts_are_counted(void **state)
{
    const fixture *f = *state;
    rf_embedder *m = make(f, 2, rf_embed_options_default());
    float out[N][WIDTH];
    size_t want = 0;
    for (size_t i = 0; i < N; i++) {
        size_t n = 0;
        rf_tokenize(rf_encoder_vocab(f->encoder), f->texts[i], f->lens[i], NULL, 0, &n,
                    NULL);
        want += n > 40;
    }
    assert_true(want > 0);
    embed(m, f, 0, N, out[0]);
    assert_int_equal(rf_embedder_n_long(m), want);
    rf_embedder_free(m);
}

static void bad_options_are_refused(void **state)
{
    const fixture *f = *state;
    static const struct {
        rf_embed_options o;
        const char *says;
    } cases[] = {
        {{.layer = 3}, "layer is 3, wanted 0 to 2"},
        {{.layer = -2}, "layer is -2"},
        {{.layer = -1, .max_tokens = 41}, "max_tokens is 41, wanted 2 to 40"},
        {{.layer = -1, .max_tokens = 1}, "max_tokens is 1"},
        {{.layer = -1, .max_tokens = 3, .long_text = RF_LONG_WINDOW}, "wanted 4 to 40"},
        {{.layer = -1, .threads = 1000}, "threads is 1000, wanted up to 256"},
        {{.layer = -1, .pooling = (rf_pooling)9}, "pooling is 9"},
        {{.layer = -1, .long_text = (rf_long_text)7}, "long_text is 7"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        rf_error err = {0};
        rf_embed_options o = cases[i].o;
        o.struct_size = sizeof o;
        assert_null(rf_embedder_new(f->encoder, &o, &err));
        assert_int_equal(err.code, RF_ERR_ARG);
        if (!strstr(err.msg, cases[i].says))
            fail_msg("\"%s\" does not say \"%s\"", err.msg, cases[i].says);
    }
}

static void whole_texts_do_not_mix_with_a_text_half_fed(void **state)
{
    const fixture *f = *state;
    rf_embedder *m = make(f, 1, rf_embed_options_default());
    collected *c = calloc(1, sizeof *c);
    float out[40 * WIDTH];
    size_t n;
    rf_error err = {0};
    c->fail_at = SIZE_MAX;
    rf_embedder_set_sink(m, collect, c);
    assert_int_equal(rf_embedder_feed(m, f->texts[20], 3, NULL), RF_OK);
    assert_int_equal(rf_embed(m, (const char *const *)f->texts, f->lens, 1, out, &err),
                     RF_ERR_ARG);
    assert_int_equal(rf_embedder_states(m, "a", 1, 0, out, 40, &n, &err), RF_ERR_ARG);
    assert_int_equal(rf_embedder_feed(m, f->texts[20] + 3, f->lens[20] - 3, NULL), RF_OK);
    assert_int_equal(rf_embedder_end_text(m, NULL), RF_OK);
    embed(m, f, 7, 1, out); /* first delivers complete texts to the stream's sink */
    assert_memory_equal(out, f->alone[7], sizeof f->alone[7]);
    assert_int_equal(c->n, 1);
    assert_memory_equal(c->rows[0], f->alone[20], sizeof f->alone[20]);
    rf_embedder_free(m);
    free(c);
}

static void states_need_room(void **state)
{
    const fixture *f = *state;
    rf_embedder *m = make(f, 1, rf_embed_options_default());
    float out[3][WIDTH];
    size_t n = 0;
    rf_error err = {0};
    assert_int_equal(rf_embedder_states(m, "a b", 3, 2, out[0], 3, &n, &err),
                     RF_ERR_LIMIT);
    assert_int_equal(n, 4);
    assert_int_equal(rf_embedder_states(m, "a", 1, 2, out[0], 3, &n, &err), RF_OK);
    assert_int_equal(n, 3);
    assert_int_equal(rf_embedder_states(m, "a", 1, 7, out[0], 3, &n, &err), RF_ERR_ARG);
    rf_embedder_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_bits_for_any_threads_and_batch),
        cmocka_unit_test(streaming_equals_whole_texts),
        cmocka_unit_test(a_failing_sink_leaves_a_usable_embedder),
        cmocka_unit_test(a_sink_cannot_use_its_embedder),
        cmocka_unit_test(end_tokens_in_windows),
        cmocka_unit_test(pooling_by_definition),
        cmocka_unit_test(windows_by_definition),
        cmocka_unit_test(endless_text_in_windows),
        cmocka_unit_test(long_texts_are_counted),
        cmocka_unit_test(bad_options_are_refused),
        cmocka_unit_test(whole_texts_do_not_mix_with_a_text_half_fed),
        cmocka_unit_test(states_need_room),
    };
    return cmocka_run_group_tests_name("embedder", tests, setup, teardown);
}
