/*
 * test_features.c - features of whole texts by two real encoders, against ONNX Runtime
 *
 * The golden files of tests/golden/features (tools/make_feature_golden.mjs) hold 300
 * texts of 3 to 512 tokens and, per text and encoder, the L2 norm of its features and 32
 * signed sums of them. The encoders themselves are too large to commit: one that is not
 * in the cache is skipped, and the test says so.
 */
#include <ringfence_encoder.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_TEXTS 300
#define WIDTH 384
#define SUMS 32
#define SUBSET 40

/* Of the text's norm, for the norm and for each sum. An error e of the features puts
 * about |e| into each of the 32 sums, so this holds the features to a relative error of
 * about 1e-4. Rounding in another order, which is all that should differ, was measured
 * at 8e-6 in the worst sum; a layer norm epsilon of 1e-5 instead of 1e-12 makes 4e-3,
 * and the tanh form of GELU fails on the first text. */
#define TOLERANCE 1e-4

typedef struct texts {
    char *bytes;
    const char *text[N_TEXTS];
    size_t len[N_TEXTS];
} texts;

typedef struct loaded {
    rf_encoder *encoder;
    texts texts;
} loaded;

/* A whole golden file, NUL-terminated; the caller's. */
static char *read_golden(const char *name, size_t *len)
{
    char path[RF_PATH_MAX];
    snprintf(path, sizeof path, GOLDEN_DIR "/features/%s", name);
    FILE *file = fopen(path, "rb");
    if (!file)
        fail_msg("%s: cannot open", path);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    const long size = ftell(file);
    assert_true(size > 0);
    rewind(file);
    char *bytes = malloc((size_t)size + 1);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, (size_t)size, file), (size_t)size);
    fclose(file);
    bytes[size] = '\0';
    *len = (size_t)size;
    return bytes;
}

static void read_texts(texts *t)
{
    size_t len = 0;
    t->bytes = read_golden("texts.txt", &len);
    char *line = t->bytes;
    for (size_t i = 0; i < N_TEXTS; i++) {
        char *stop = strchr(line, '\n');
        assert_non_null(stop);
        t->text[i] = line;
        t->len[i] = (size_t)(stop - line);
        line = stop + 1;
    }
    assert_ptr_equal(line, t->bytes + len);
}

/* The name of the encoder is the test's initial state. */
static void load(loaded *l, void **state)
{
    const char *name = *state;
    char dir[RF_PATH_MAX];
    rf_error err = {0};
    const rf_status s = rf_encoder_path(name, dir, sizeof dir, &err);
    if (s == RF_ERR_MISSING) {
        printf("SKIPPED: features of %s are not tested: %s\n", name, err.msg);
        fflush(stdout);
        skip();
    }
    if (s != RF_OK)
        fail_msg("%s: %s", name, err.msg);
    l->encoder = rf_encoder_load(dir, &err);
    if (!l->encoder)
        fail_msg("%s: %s", name, err.msg);
    assert_int_equal(rf_encoder_describe(l->encoder).width, WIDTH);
    read_texts(&l->texts);
}

static void release(loaded *l)
{
    rf_encoder_free(l->encoder);
    free(l->texts.bytes);
}

static rf_embedder *new_embedder(const loaded *l, size_t threads)
{
    rf_error err = {0};
    rf_embed_options options = rf_embed_options_default();
    options.threads = threads;
    options.max_tokens = 512;
    rf_embedder *embedder = rf_embedder_new(l->encoder, &options, &err);
    if (!embedder)
        fail_msg("rf_embedder_new: %s", err.msg);
    return embedder;
}

static void embed(rf_embedder *embedder, const char *const *text, const size_t *len,
                  size_t n, float *out)
{
    rf_error err = {0};
    if (rf_embed(embedder, text, len, n, out, &err) != RF_OK)
        fail_msg("rf_embed: %s", err.msg);
}

static float *new_rows(size_t n)
{
    float *rows = malloc(n * WIDTH * sizeof *rows);
    assert_non_null(rows);
    return rows;
}

/* ---- Against the reference ------------------------------------------------------- */

/* Signs of the sums: top bits of a xorshift32 stream, drawn row by row, set for -1. */
static void make_signs(double signs[SUMS][WIDTH])
{
    uint32_t u = 2463534242U;
    for (size_t j = 0; j < SUMS; j++) {
        for (size_t i = 0; i < WIDTH; i++) {
            u ^= u << 13;
            u ^= u >> 17;
            u ^= u << 5;
            signs[j][i] = u >> 31 ? -1.0 : 1.0;
        }
    }
}

static float read_float(const char *bytes)
{
    uint32_t u = 0;
    for (int i = 3; i >= 0; i--)
        u = u << 8 | (unsigned char)bytes[i];
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

/* Fails the test above the tolerance, or at a NaN; *worst keeps the largest error. */
static void check(double got, double want, double norm, size_t text, size_t what,
                  double *worst)
{
    const double error = fabs(got - want) / norm;
    if (!(error <= TOLERANCE))
        fail_msg("text %zu, number %zu: got %.9g, wanted %.9g, %.3g of the norm %g apart",
                 text + 1, what, got, want, error, norm);
    if (error > *worst)
        *worst = error;
}

static void test_reference(void **state)
{
    static double signs[SUMS][WIDTH];
    loaded l = {0};
    load(&l, state);
    const char *name = *state;
    char file[64];
    snprintf(file, sizeof file, "%s.bin", name);
    size_t len = 0;
    char *golden = read_golden(file, &len);
    assert_int_equal(len, N_TEXTS * (1 + SUMS) * 4);
    make_signs(signs);

    rf_embedder *embedder = new_embedder(&l, 0);
    float *rows = new_rows(N_TEXTS);
    embed(embedder, l.texts.text, l.texts.len, N_TEXTS, rows);
    assert_true(rf_embedder_n_long(embedder) > 0); /* some texts were cut */

    double worst = 0.0;
    const char *want = golden;
    for (size_t t = 0; t < N_TEXTS; t++) {
        const float *x = rows + t * WIDTH;
        const double norm = (double)read_float(want);
        assert_true(norm > 0.0);
        double square = 0.0;
        for (size_t i = 0; i < WIDTH; i++)
            square += (double)x[i] * (double)x[i];
        check(sqrt(square), norm, norm, t, 0, &worst);
        for (size_t j = 0; j < SUMS; j++) {
            double sum = 0.0;
            for (size_t i = 0; i < WIDTH; i++)
                sum += signs[j][i] * (double)x[i];
            check(sum, (double)read_float(want + 4 * (1 + j)), norm, t, 1 + j, &worst);
        }
        want += 4 * (1 + SUMS);
    }
    printf("%s (%s kernels): worst error %.2g of the norm\n", name, rf_kernels_name(),
           worst);

    free(rows);
    free(golden);
    rf_embedder_free(embedder);
    release(&l);
}

/* ---- Same bits however the work is cut ------------------------------------------- */

static void check_bits(const float *got, const float *want, const char *how)
{
    for (size_t t = 0; t < SUBSET; t++)
        if (memcmp(got + t * WIDTH, want + t * WIDTH, WIDTH * sizeof *got) != 0)
            fail_msg("%s: other bits for text %zu of the subset", how, t);
}

static void test_bits(void **state)
{
    loaded l = {0};
    load(&l, state);
    const char *text[SUBSET]; /* every 7th */
    size_t len[SUBSET];
    for (size_t t = 0; t < SUBSET; t++) {
        text[t] = l.texts.text[t * 7];
        len[t] = l.texts.len[t * 7];
    }
    rf_embedder *one = new_embedder(&l, 1);
    rf_embedder *two = new_embedder(&l, 2);
    float *want = new_rows(SUBSET);
    float *got = new_rows(SUBSET);

    embed(one, text, len, SUBSET, want);
    embed(two, text, len, SUBSET, got);
    check_bits(got, want, "two threads");
    for (size_t t = 0; t < SUBSET; t++)
        embed(one, text + t, len + t, 1, got + t * WIDTH);
    check_bits(got, want, "one by one");
    for (size_t t = 0; t < SUBSET; t++)
        embed(two, text + t, len + t, 1, got + t * WIDTH);
    check_bits(got, want, "one by one, two threads");

    free(want);
    free(got);
    rf_embedder_free(one);
    rf_embedder_free(two);
    release(&l);
}

int main(void)
{
    static char minilm[] = "minilm-fp32";
    static char gte[] = "gte-small";
    const struct CMUnitTest tests[] = {
        {"minilm-fp32 against the reference", test_reference, NULL, NULL, minilm},
        {"minilm-fp32, same bits", test_bits, NULL, NULL, minilm},
        {"gte-small against the reference", test_reference, NULL, NULL, gte},
        {"gte-small, same bits", test_bits, NULL, NULL, gte},
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
