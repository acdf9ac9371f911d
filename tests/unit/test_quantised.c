/*
 * Weights in 8 bits: an ONNX export with integer products becomes an encoder that keeps
 * the bytes, and computes with scale (byte - zero) to the bit; and the features of a real
 * one, against numpy in float64 (tools/make_multilingual_golden.py).
 */
#include "encoder/encoder.h"
#include "encoder/onnx.h"

#include "onnx_build.h"
#include "scratch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TINY GOLDEN_DIR "/tiny/encoder"

/* ---- A small export in 8 bits ------------------------------------------------------ */

typedef struct spoil {
    const char *part; /* of a name */
    bool no_scale;    /* leave it out */
    size_t scales;    /* 1 is right */
    float scale;      /* 0: the right one */
} spoil;

/* Bytes of a tensor, unsigned; scale and zero. */
static unsigned char *to_bytes(const rf_tensor *t, float pair[2])
{
    unsigned char *bytes = malloc(t->count);
    float most = 0.0f, x;
    assert_non_null(bytes);
    for (size_t i = 0; i < t->count; i++) {
        memcpy(&x, t->data + 4 * i, 4);
        most = fabsf(x) > most ? fabsf(x) : most;
    }
    pair[0] = most / 120.0f;
    pair[1] = 131.0f;
    for (size_t i = 0; i < t->count; i++) {
        memcpy(&x, t->data + 4 * i, 4);
        bytes[i] = (unsigned char)lrintf(x / pair[0] + pair[1]);
    }
    return bytes;
}

/* The initialisers of weight `name`: [out, in] of bytes, or transposed; every other one
 * signed. */
static void put_quantised(rf_buffer *graph, const char *name, const rf_tensor *t,
                          bool in_out, bool is_signed, const spoil *s)
{
    float pair[2], scales[4];
    char full[256];
    unsigned char *bytes = to_bytes(t, pair), *out = malloc(t->count);
    size_t rows = t->shape[0], cols = t->shape[1];
    for (size_t i = 0; i < t->count; i++) {
        size_t r = i / cols, c = i % cols;
        out[in_out ? c * rows + r : i] = bytes[i] ^ (is_signed ? 0x80 : 0);
    }
    bool bad = s && strstr(t->name, s->part);
    for (size_t i = 0; i < 4; i++)
        scales[i] = bad && s->scale != 0.0f ? s->scale : pair[0];
    unsigned char zero = (unsigned char)((int)pair[1] ^ (is_signed ? 0x80 : 0));
    snprintf(full, sizeof full, "%s_quantized", name);
    put_tensor(graph, full, is_signed ? 3 : 2,
               (size_t[]){in_out ? cols : rows, in_out ? rows : cols}, 2, out, t->count);
    snprintf(full, sizeof full, "%s_scale", name);
    size_t n = bad && s->scales ? s->scales : 1;
    if (!(bad && s->no_scale))
        put_tensor(graph, full, 1, &n, n == 1 ? 0 : 1, scales, n * sizeof *scales);
    snprintf(full, sizeof full, "%s_zero_point", name);
    put_tensor(graph, full, is_signed ? 3 : 2, NULL, 0, &zero, 1);
    free(bytes);
    free(out);
}

static void put_product(rf_buffer *graph, const char *plain, const char *weight, size_t i)
{
    char bias[256], full[256], product[64], cast[64], scaled[64];
    snprintf(bias, sizeof bias, "%s", plain);
    strcpy(bias + strlen(bias) - strlen("weight"), "bias");
    snprintf(full, sizeof full, "%s_quantized", weight);
    snprintf(product, sizeof product, "product_%zu", i);
    snprintf(cast, sizeof cast, "cast_%zu", i);
    snprintf(scaled, sizeof scaled, "scaled_%zu", i);
    put_node(graph, "", "MatMulInteger", "x_quantized", full, "x_zero", product, NULL);
    put_node(graph, "", "Cast", product, NULL, NULL, cast, NULL);
    put_node(graph, "", "Mul", cast, "scales", NULL, scaled, NULL);
    put_node(graph, "", "Add", bias, scaled, NULL, "y", NULL);
}

/* The tiny encoder as such an export; and, in `plain`, as F32 weights that are the
 * numbers the bytes stand for. */
static void write_export(const char *dir, const char *plain_path, const spoil *s)
{
    rf_safetensors file;
    rf_buffer model = new_bytes(), graph = new_bytes();
    open_weights(&file, TINY "/model.safetensors");
    rf_tensor_out *out = calloc(file.n_tensors, sizeof *out);
    float **values = calloc(file.n_tensors, sizeof *values);
    size_t n = 0;
    put_node(&graph, "", "DynamicQuantizeLinear", "x", NULL, NULL, "x_quantized", NULL);
    for (size_t i = 0; i < file.n_tensors; i++) {
        const rf_tensor *t = &file.tensors[i];
        const char *name = plain_name(t);
        char anonymous[64];
        if (!name)
            continue;
        values[n] = malloc(t->count * sizeof(float));
        memcpy(values[n], t->data, t->count * sizeof(float));
        if (t->rank == 2) {
            float pair[2];
            unsigned char *bytes = to_bytes(t, pair);
            for (size_t j = 0; j < t->count; j++)
                values[n][j] = pair[0] * ((float)bytes[j] - pair[1]);
            free(bytes);
            bool dense = strncmp(name, "encoder.", 8) == 0;
            snprintf(anonymous, sizeof anonymous, "onnx::MatMul_%zu", i);
            put_quantised(&graph, dense ? anonymous : name, t, dense, i % 2, s);
            if (dense)
                put_product(&graph, name, anonymous, i);
        } else {
            put_tensor(&graph, name, 1, t->shape, t->rank, t->data, t->count * 4);
        }
        out[n] = (rf_tensor_out){.name = name, .rank = t->rank, .data = values[n]};
        memcpy(out[n].shape, t->shape, sizeof t->shape);
        n++;
    }
    put_message(&model, 7, &graph);
    scratch_write(dir, "model.onnx", model.data, model.len);
    if (plain_path)
        assert_int_equal(rf_safetensors_write(plain_path, out, n, NULL), RF_OK);
    for (size_t i = 0; i < n; i++)
        free(values[i]);
    free(values);
    free(out);
    rf_buffer_release(&graph);
    rf_buffer_release(&model);
    rf_safetensors_close(&file);
}

static void make_place(char dir[RF_PATH_MAX])
{
    scratch_make(dir);
    scratch_copy(TINY, dir, "config.json");
    scratch_copy(TINY, dir, "vocab.txt");
    scratch_copy(TINY, dir, "tokenizer_config.json");
}

static void features_of(rf_encoder *e, float *out)
{
    static const char *const texts[] = {"where is my ring", "a", "the cat sat"};
    static const size_t lens[] = {16, 1, 11};
    rf_error err = {0};
    assert_non_null(e);
    rf_embedder *m = rf_embedder_new(e, NULL, &err);
    assert_non_null(m);
    assert_int_equal(rf_embed(m, texts, lens, 3, out, &err), RF_OK);
    rf_embedder_free(m);
    rf_encoder_free(e);
}

static void bytes_compute_as_the_numbers_they_stand_for(void **state)
{
    (void)state;
    char dir[RF_PATH_MAX], made[RF_PATH_MAX], onnx[RF_PATH_MAX], plain[RF_PATH_MAX];
    rf_error err = {0};
    make_place(dir);
    scratch_path(made, dir, "made");
    scratch_path(onnx, dir, "model.onnx");
    scratch_path(plain, dir, "model.safetensors");
    write_export(dir, plain, NULL);
    if (rf_encoder_import(onnx, made, &err) != RF_OK)
        fail_msg("%s", err.msg);
    float a[3 * 1024], b[3 * 1024], c[3 * 1024];
    size_t width = 0;
    rf_encoder *e = rf_encoder_load(made, &err);
    if (!e)
        fail_msg("%s", err.msg);
    width = rf_encoder_describe(e).width;
    assert_int_equal(e->words->dtype, RF_U8); /* kept, and mapped */
    assert_true(width <= 1024);
    features_of(e, a);
    features_of(rf_encoder_load(dir, &err), b);
    features_of(rf_encoder_load_half(made, &err), c);
    assert_memory_equal(a, b, 3 * width * sizeof *a);
    /* Vectors are rounded to half precision for training, bytes are not: nearly the
     * same. */
    for (size_t i = 0; i < 3 * width; i++)
        assert_true(fabsf(a[i] - c[i]) <= 2e-2f * (1.0f + fabsf(a[i])));
    scratch_remove(dir);
}

static void import_refuses(const spoil *s, rf_status code, const char *part)
{
    char dir[RF_PATH_MAX], made[RF_PATH_MAX], onnx[RF_PATH_MAX];
    rf_error err = {0};
    make_place(dir);
    scratch_path(made, dir, "made");
    scratch_path(onnx, dir, "model.onnx");
    write_export(dir, NULL, s);
    assert_int_not_equal(rf_encoder_import(onnx, made, &err), RF_OK);
    assert_error(&err, code, "model.onnx", part);
    assert_false(rf_file_exists(made));
    scratch_remove(dir);
}

static void strange_scales(void **state)
{
    (void)state;
    import_refuses(&(spoil){"output.dense", .no_scale = true}, RF_ERR_VERSION,
                   "is missing, wanted one FLOAT");
    import_refuses(&(spoil){"self.query", .scales = 4}, RF_ERR_VERSION,
                   "of another size or type");
    import_refuses(&(spoil){"word_embeddings", .scale = -1.0f}, RF_ERR_NUMERIC,
                   "wanted a number above 0");
    import_refuses(&(spoil){"word_embeddings", .scale = NAN}, RF_ERR_NUMERIC,
                   "wanted a number above 0");
}

/* Bytes in a weight file without their meaning, or with a strange one. */
static void strange_weight_files(void **state)
{
    (void)state;
    char dir[RF_PATH_MAX], onnx[RF_PATH_MAX], made[RF_PATH_MAX], path[RF_PATH_MAX];
    rf_error err = {0};
    make_place(dir);
    scratch_path(onnx, dir, "model.onnx");
    scratch_path(made, dir, "made");
    scratch_path(path, dir, "made/model.safetensors");
    write_export(dir, NULL, NULL);
    assert_int_equal(rf_encoder_import(onnx, made, &err), RF_OK);
    size_t len;
    char *bytes = scratch_read(path, &len);
    char *name = strstr(bytes + 8, "word_embeddings.weight_scale");
    assert_non_null(name);
    name[strlen("word_embeddings.weight_s")] = 'k';
    scratch_write(made, "model.safetensors", bytes, len);
    assert_null(rf_encoder_load(made, &err));
    assert_error(&err, RF_ERR_VERSION, "word_embeddings.weight", "is U8");
    name[strlen("word_embeddings.weight_s")] = 'c';
    rf_safetensors file;
    assert_int_equal(rf_safetensors_parse(&file, (unsigned char *)bytes, len, "x", NULL),
                     RF_OK);
    const rf_tensor *scale =
        rf_safetensors_find(&file, "embeddings.word_embeddings.weight_scale");
    const float nothing = 0.0f;
    memcpy(bytes + scale->offset, &nothing, sizeof nothing);
    rf_safetensors_close(&file);
    scratch_write(made, "model.safetensors", bytes, len);
    assert_null(rf_encoder_load(made, &err));
    assert_error(&err, RF_ERR_NUMERIC, "word_embeddings.weight_scale", "has scale 0");
    free(bytes);
    scratch_remove(dir);
}

/* ---- A real one -------------------------------------------------------------------- */

#define WIDTH 384
#define SUMS 32

/* As in test_features.c: of the text's norm, for the norm and for each sum. */
#define TOLERANCE 1e-4
/* Rounding what enters the dense layers to 8 bits moves features by about 1 %. */
#define TOLERANCE_INT8 0.15

static void check_features(const rf_encoder *e, rf_precision precision, double tolerance)
{
    rf_error err = {0};
    size_t len, want_len;
    char *texts = scratch_read(GOLDEN_DIR "/features/multilingual.txt", &len);
    char *want =
        scratch_read(GOLDEN_DIR "/features/multilingual-e5-small.bin", &want_len);
    rf_embed_options options = rf_embed_options_default();
    options.precision = precision;
    rf_embedder *m = rf_embedder_new(e, &options, &err);
    if (!m)
        fail_msg("%s", err.msg);
    size_t n = 0;
    for (char *line = texts, *end; *line; line = end + 1, n++) {
        end = strchr(line, '\n');
        size_t line_len = (size_t)(end - line);
        const char *text = line;
        float z[WIDTH], record[1 + SUMS];
        assert_int_equal(rf_embed(m, &text, &line_len, 1, z, &err), RF_OK);
        memcpy(record, want + n * sizeof record, sizeof record);
        double norm = 0.0;
        uint32_t u = 2463534242U;
        for (size_t i = 0; i < WIDTH; i++)
            norm += (double)z[i] * (double)z[i];
        norm = sqrt(norm);
        bool near = fabs(norm - (double)record[0]) <= tolerance * (double)record[0];
        for (size_t j = 0; j < SUMS; j++) {
            double sum = 0.0;
            for (size_t i = 0; i < WIDTH; i++) {
                u ^= u << 13;
                u ^= u >> 17;
                u ^= u << 5;
                sum += u >> 31 ? -(double)z[i] : (double)z[i];
            }
            near = near &&
                   fabs(sum - (double)record[1 + j]) <= tolerance * (double)record[0];
        }
        if (!near)
            fail_msg("features of text %zu differ: norm %g, wanted %g", n + 1, norm,
                     (double)record[0]);
    }
    assert_int_equal(n * (1 + SUMS) * sizeof(float), want_len);
    rf_embedder_free(m);
    free(texts);
    free(want);
}

static void features_of_multilingual_e5_small(void **state)
{
    (void)state;
    char dir[RF_PATH_MAX];
    rf_error err = {0};
    if (rf_encoder_path("multilingual", dir, sizeof dir, &err) != RF_OK) {
        printf("SKIPPED: %s\n", err.msg);
        skip();
    }
    rf_encoder *e = rf_encoder_load(dir, &err);
    if (!e)
        fail_msg("%s", err.msg);
    check_features(e, RF_PRECISION_FP32, TOLERANCE);
    check_features(e, RF_PRECISION_INT8, TOLERANCE_INT8);
    rf_encoder_free(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_compute_as_the_numbers_they_stand_for),
        cmocka_unit_test(strange_scales),
        cmocka_unit_test(strange_weight_files),
        cmocka_unit_test(features_of_multilingual_e5_small),
    };
    return cmocka_run_group_tests_name("quantised", tests, NULL, NULL);
}
