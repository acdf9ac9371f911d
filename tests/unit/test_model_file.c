/*
 * test_model_file.c - a saved and loaded model is the same to the last bit, slim or full;
 * a failed write gives an error and leaves no file. Damaged files: test_bad_model.c. Half
 * precision is compared with the rounding of PyTorch (tests/golden/tiny/encoder_f16 is
 * tests/golden/tiny/encoder rounded by it).
 */
#include "ans/heads.h"
#include "model_place.h"
#include "sealed.h"

#include "num/kernels.h"
#include "num/panels.h"

#include <dirent.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CLASSES = 3 };

static rf_model *make(const char *encoder, size_t tuned)
{
    rf_error err = {0};
    rf_model *m = small_model(encoder, CLASSES, tuned, &err);
    if (!m)
        fail_msg("%s", err.msg);
    return m;
}

static rf_model *load(void)
{
    rf_error err = {0};
    rf_model *m = rf_model_load(path, &err);
    if (!m)
        fail_msg("%s", err.msg);
    return m;
}

/* ---- Equality ---------------------------------------------------------------------- */

#define same(a, b, n) assert_memory_equal((a), (b), (n) * sizeof *(a))

/* Features of texts short and long: out is [6, width]. */
static void embed(const rf_model *m, float *out)
{
    static const char *const texts[] = {
        "",
        "ring",
        "where is my parcel?",
        "the chain fell off",
        "caf\xc3\xa9 42 !",
        "a b c d e f g h i j k l m n o p q r s t u v w x y z a b c d e f g h i j k l m"};
    size_t lens[6];
    rf_error err = {0};
    rf_embed_options o = rf_embed_options_default();
    o.threads = 1;
    for (size_t i = 0; i < 6; i++)
        lens[i] = strlen(texts[i]);
    rf_embedder *e = rf_embedder_new(m->encoder, &o, &err);
    if (!e || rf_embed(e, texts, lens, 6, out, &err) != RF_OK)
        fail_msg("%s", err.msg);
    rf_embedder_free(e);
}

static void same_features(const rf_model *a, const rf_model *b)
{
    float x[6 * 32], y[6 * 32];
    size_t width = a->encoder->config.width;
    assert_true(width <= 32);
    embed(a, x);
    embed(b, y);
    same(x, y, 6 * width);
}

static void same_encoder(const rf_encoder *a, const rf_encoder *b)
{
    const rf_config *c = &a->config;
    assert_memory_equal(c, &b->config, sizeof *c);
    assert_int_equal(a->parameters, b->parameters);
    for (size_t i = 0; i < c->vocab_size; i++) {
        float x[32], y[32];
        rf_encoder_word(a, (int32_t)i, x);
        rf_encoder_word(b, (int32_t)i, y);
        same(x, y, c->width);
    }
    same(a->positions, b->positions, c->positions * c->width);
    same(a->embed_gain, b->embed_gain, c->width);
    same(a->embed_shift, b->embed_shift, c->width);
    for (size_t l = 0; l < c->layers; l++)
        for (size_t i = 0; i < RF_LAYER_GROUPS; i++) {
            rf_layer_group x = rf_encoder_layer_group(a, l, i);
            rf_layer_group y = rf_encoder_layer_group(b, l, i);
            size_t rows = x.n_names * x.out;
            same(x.weight, y.weight, x.in ? rf_panels_floats(rows, x.in) : rows);
            same(x.bias, y.bias, rows);
        }
    assert_int_equal(rf_vocab_size(a->vocab), rf_vocab_size(b->vocab));
    for (size_t i = 0; i < rf_vocab_size(a->vocab); i++)
        assert_string_equal(rf_vocab_piece(a->vocab, (int32_t)i, NULL),
                            rf_vocab_piece(b->vocab, (int32_t)i, NULL));
}

static void same_classifier(const rf_model *a, const rf_model *b)
{
    size_t d = a->encoder->config.width, c = a->classes;
    assert_int_equal(b->classes, c);
    assert_int_equal(a->max_tokens, b->max_tokens);
    assert_int_equal(a->tuned, b->tuned);
    assert_string_equal(a->encoder_name, b->encoder_name);
    assert_string_equal(a->encoder_sha256, b->encoder_sha256);
    for (size_t i = 0; i < c; i++)
        assert_string_equal(rf_model_label(a, i), rf_model_label(b, i));
    assert_int_equal(b->known.width, d);
    assert_int_equal(b->known.classes, c);
    assert_int_equal(a->known.floats, b->known.floats);
    same(a->known.block, b->known.block, a->known.floats);
    assert_int_equal(b->state.width, d);
    assert_int_equal(b->state.classes, c);
    same(a->state.block, b->state.block, c * rf_head_floats(d));
    assert_int_equal(b->stats.width, d);
    assert_int_equal(b->stats.classes, c);
    same(a->stats.mean, b->stats.mean, c * d);
    same(a->stats.variance, b->stats.variance, c * d);
    same(a->stats.distance, b->stats.distance, c);
    same(a->stats.rows, b->stats.rows, c);
    same(a->radius, b->radius, c);
    same(&a->calibration.slope, &b->calibration.slope, 1);
    same(&a->calibration.bias, &b->calibration.bias, 1);
    same(&a->calibration.temperature, &b->calibration.temperature, 1);
    assert_int_equal(a->calibration.from, b->calibration.from);
    assert_true(json_equal(a->settings, b->settings));
    assert_true(json_equal(a->summary, b->summary));
}

static void same_rows(const rf_model *a, const rf_model *b, bool texts)
{
    size_t n = a->n_rows;
    assert_int_equal(b->n_rows, n);
    same(a->features, b->features, n * a->encoder->config.width);
    same(a->row_class, b->row_class, n);
    assert_true(!b->texts == !texts);
    if (texts) {
        same(a->text_ends, b->text_ends, n);
        assert_memory_equal(a->texts, b->texts, a->text_ends[n - 1]);
    }
    assert_int_equal(b->map_n, a->map_n);
    same(a->map_rows, b->map_rows, a->map_n);
    same(a->map_xy, b->map_xy, 2 * a->map_n);
}

/* ---- Saved and loaded -------------------------------------------------------------- */

static const char *const variants[] = {"encoder", "encoder_f16", "encoder_bf16",
                                       "encoder_eps"};

static void saved_and_loaded_is_the_same(void **state)
{
    (void)state;
    for (size_t v = 0; v < 4; v++)
        for (size_t tuned = 0; tuned <= 2; tuned++)
            for (int slim = 0; slim <= 1; slim++) {
                char from[RF_PATH_MAX];
                scratch_path(from, GOLDEN_DIR "/tiny", variants[v]);
                rf_model *a = make(from, tuned);
                save(a, (rf_save_options){.slim = slim, .keep_examples = true});
                rf_model *b = load();
                same_encoder(a->encoder, b->encoder);
                same_features(a, b);
                same_classifier(a, b);
                same_rows(a, b, true);
                rf_model_free(a);
                rf_model_free(b);
            }
}

/* From a full file to a slim one and back without loss. */
static void slim_and_full_convert_without_loss(void **state)
{
    (void)state;
    size_t lens[2];
    char *files[2];
    rf_save_options full = {.keep_examples = true}, slim = {.slim = true};
    slim.keep_examples = true;
    rf_model *a = make(TINY "encoder", 1);
    save(a, full);
    files[0] = scratch_read(path, &lens[0]);
    rf_model *b = load();
    save(b, slim); /* over the file that b is mapped from */
    rf_model *c = load();
    same_features(a, b);
    save(c, full);
    files[1] = scratch_read(path, &lens[1]);
    assert_int_equal(lens[0], lens[1]);
    assert_memory_equal(files[0], files[1], lens[0]);
    same_encoder(a->encoder, c->encoder);
    same_rows(a, c, true);
    rf_model_free(a);
    rf_model_free(b);
    rf_model_free(c);
    free(files[0]);
    free(files[1]);
}

static void optional_parts_are_omitted(void **state)
{
    (void)state;
    rf_model *a = make(TINY "encoder", 0);
    save(a, (rf_save_options){0});
    rf_model *b = load();
    same_rows(a, b, false);
    save(b, rf_save_options_default()); /* nothing to keep: no error */
    rf_model *c = load();
    same_rows(b, c, false);
    rf_model_free(c);
    rf_model_free(b);
    save(a, (rf_save_options){.no_features = true});
    b = load();
    assert_int_equal(b->n_rows, 0);
    assert_null(b->features);
    assert_int_equal(b->map_n, 0);
    assert_int_equal(rf_model_map_size(b), 0);
    same_classifier(a, b);
    rf_model_free(b);
    save(a, (rf_save_options){.no_features = true, .keep_examples = true});
    b = load();
    assert_int_equal(b->n_rows, 0);
    assert_false(rf_model_has_examples(b));
    rf_model_free(b);
    assert_int_equal(rf_model_save(a, path, NULL, NULL), RF_OK); /* kept by default */
    b = load();
    same_rows(a, b, true);
    rf_model_free(b);
    rf_model_free(a);
}

/* All tensors of the format, with their types, as plain rows, not panels. */
static void tensors_match_the_specification(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        rf_dtype dtype;
        size_t rank, shape[3];
    } want[] = {
        {"embeddings.word_embeddings.weight", RF_F16, 2, {119, 32}},
        {"embeddings.position_embeddings.weight", RF_F16, 2, {40, 32}},
        {"embeddings.token_type_embeddings.weight", RF_F16, 2, {2, 32}},
        {"embeddings.LayerNorm.weight", RF_F16, 1, {32}},
        {"embeddings.LayerNorm.bias", RF_F16, 1, {32}},
        {"encoder.layer.0.attention.self.query.weight", RF_F16, 2, {32, 32}},
        {"encoder.layer.0.attention.self.key.bias", RF_F16, 1, {32}},
        {"encoder.layer.1.attention.self.value.weight", RF_F16, 2, {32, 32}},
        {"encoder.layer.1.attention.output.dense.weight", RF_F16, 2, {32, 32}},
        {"encoder.layer.1.attention.output.LayerNorm.weight", RF_F16, 1, {32}},
        {"encoder.layer.1.intermediate.dense.weight", RF_F16, 2, {72, 32}},
        {"encoder.layer.1.intermediate.dense.bias", RF_F16, 1, {72}},
        {"encoder.layer.1.output.dense.weight", RF_F16, 2, {32, 72}},
        {"encoder.layer.1.output.LayerNorm.bias", RF_F16, 1, {32}},
        {"files/config.json", RF_U8, 1, {346}},
        {"files/vocab.txt", RF_U8, 1, {440}},
        {"files/tokenizer_config.json", RF_U8, 1, {64}},
        {"known.dense.weight", RF_F32, 2, {32, 32}},
        {"known.dense.bias", RF_F32, 1, {32}},
        {"known.out.weight", RF_F32, 2, {3, 32}},
        {"known.out.bias", RF_F32, 1, {3}},
        {"open.hidden1.weight", RF_F32, 3, {3, 256, 32}},
        {"open.hidden1.bias", RF_F32, 2, {3, 256}},
        {"open.hidden2.weight", RF_F32, 3, {3, 64, 256}},
        {"open.hidden2.bias", RF_F32, 2, {3, 64}},
        {"open.out.weight", RF_F32, 2, {3, 64}},
        {"open.out.bias", RF_F32, 1, {3}},
        {"classes.mean", RF_F32, 2, {3, 32}},
        {"classes.variance", RF_F32, 2, {3, 32}},
        {"classes.distance", RF_F32, 1, {3}},
        {"classes.radius", RF_F32, 1, {3}},
        {"classes.rows", RF_I64, 1, {3}},
        {"train.features", RF_F16, 2, {9, 32}},
        {"train.classes", RF_I32, 1, {9}},
        {"train.texts", RF_U8, 1, {36}},
        {"train.text_ends", RF_I64, 1, {9}},
        {"map.rows", RF_I32, 1, {8}},
        {"map.points", RF_F32, 2, {8, 2}},
    };
    rf_model *m = make(TINY "encoder", 1);
    save(m, (rf_save_options){.keep_examples = true});
    rf_container c;
    rf_error err = {0};
    assert_int_equal(rf_container_open(&c, path, "model", NULL), RF_OK);
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++)
        if (!rf_container_find(&c, want[i].name, want[i].dtype, want[i].rank,
                               want[i].shape, &err))
            fail_msg("%s", err.msg);
    /* 5 of the embeddings, 16 of each layer, 3 files, 21 as above, the seal */
    assert_int_equal(c.file.n_tensors, 5 + 2 * 16 + 3 + 21 + 1);

    /* By the definition of panels: row 2, column 5 of a head's first layer. */
    const float *w =
        (const float *)(const void *)rf_safetensors_find(&c.file, "open.hidden1.weight")
            ->data;
    rf_head h = rf_head_at(&m->state, 1);
    assert_true(w[(1 * 256 + 18) * 32 + 5] == h.w1[(1 * 32 + 5) * 16 + 2]);
    w = (const float *)(const void *)rf_safetensors_find(&c.file, "known.out.weight")
            ->data;
    assert_true(w[2 * 32 + 31] == m->known.out_w[31 * 16 + 2]);
    rf_container_close(&c);

    char *file;
    size_t len;
    save(m, (rf_save_options){.slim = true, .no_features = true});
    assert_int_equal(rf_container_open(&c, path, "model", NULL), RF_OK);
    assert_int_equal(c.file.n_tensors, 16 + 15 + 1);
    rf_container_close(&c);
    /* no times or paths: the same model gives the same bytes */
    file = scratch_read(path, &len);
    rf_model *again = make(TINY "encoder", 1);
    save(again, (rf_save_options){.slim = true, .no_features = true});
    size_t len_again;
    char *file_again = scratch_read(path, &len_again);
    assert_int_equal(len, len_again);
    assert_memory_equal(file, file_again, len);
    free(file);
    free(file_again);
    rf_model_free(m);
    rf_model_free(again);
}

/* Rounding on reading matches PyTorch. */
static void half_precision(void **state)
{
    (void)state;
    rf_error err = {0};
    rf_encoder *a = rf_encoder_load_half(TINY "encoder", &err);
    rf_encoder *b = rf_encoder_load(TINY "encoder_f16", &err);
    rf_encoder *c = rf_encoder_load(TINY "encoder", &err);
    if (!a || !b || !c)
        fail_msg("%s", err.msg);
    same_encoder(a, b);
    size_t n = a->config.positions * a->config.width;
    assert_int_not_equal(memcmp(a->positions, c->positions, n * sizeof(float)), 0);
    rf_encoder_free(a);
    rf_encoder_free(b);
    rf_encoder_free(c);
}

/* A weight between the largest half and the next power of two. */
static void too_large_for_half(void **state)
{
    (void)state;
    static const char *const names[] = {"embeddings.word_embeddings.weight",
                                        "embeddings.position_embeddings.weight",
                                        "embeddings.token_type_embeddings.weight",
                                        "embeddings.LayerNorm.bias",
                                        "encoder.layer.1.attention.self.key.weight",
                                        "encoder.layer.0.output.dense.bias"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        for (int large = 0; large <= 1; large++) {
            char weights[RF_PATH_MAX];
            rf_error err = {0};
            rf_safetensors st;
            scratch_encoder(dir, "encoder");
            scratch_path(weights, dir, "model.safetensors");
            assert_int_equal(rf_safetensors_open(&st, weights, NULL), RF_OK);
            size_t at = rf_safetensors_find(&st, names[i])->offset;
            rf_safetensors_close(&st);
            FILE *f = fopen(weights, "r+b");
            float x = large ? 65520.0f : 65519.0f; /* halfway to 65536 rounds up */
            assert_non_null(f);
            assert_int_equal(fseek(f, (long)at, SEEK_SET), 0);
            assert_int_equal(fwrite(&x, sizeof x, 1, f), 1);
            assert_int_equal(fclose(f), 0);
            rf_encoder *e = rf_encoder_load_half(dir, &err);
            if (large) {
                assert_null(e);
                assert_error(&err, RF_ERR_NUMERIC, weights, names[i], "half precision",
                             "65504");
            } else if (!e) {
                fail_msg("%s", err.msg);
            }
            rf_encoder_free(e);
            e = rf_encoder_load(dir, &err); /* single precision holds it */
            assert_non_null(e);
            rf_encoder_free(e);
        }
}

/* ---- Description ------------------------------------------------------------------- */

static void labels(void **state)
{
    (void)state;
    rf_error err = {0};
    rf_model *m = rf_model_new(&err);
    static const char *const names[] = {"A", "a", "a b", "ab", "b", "\xc3\xa9"};
    assert_int_equal(rf_model_set_labels(m, names, 6, &err), RF_OK);
    assert_int_equal(rf_model_classes(m), 6);
    for (size_t i = 0; i < 6; i++) {
        assert_string_equal(rf_model_label(m, i), names[i]);
        assert_int_equal(rf_model_find(m, names[i], strlen(names[i])), i);
    }
    assert_int_equal(rf_model_find(m, "abc", 2), 3); /* not NUL-terminated */
    static const char *const not_there[] = {"", "B", "a ", "aa", "abc", "c", "\xff"};
    for (size_t i = 0; i < sizeof not_there / sizeof not_there[0]; i++)
        assert_true(rf_model_find(m, not_there[i], strlen(not_there[i])) == RF_OPEN);
    assert_true(rf_model_find(m, NULL, 0) == RF_OPEN);
    assert_string_equal(rf_model_label(m, RF_OPEN), "open");
    assert_null(rf_model_label(m, 6));

    static const struct {
        const char *names[2], *words;
    } bad[] = {{{"b", "a"}, "label 2, \"a\", does not come after \"b\""},
               {{"a", "a"}, "label 2, \"a\", does not come after \"a\""},
               {{"", "a"}, "label 1: the label is empty"},
               {{"a", "b\xff"}, "label 2: the label \"b\xff\" is not UTF-8"},
               {{"a", "\xed\xa0\x80"}, "is not UTF-8"},
               {{"a", "b\x1b[m"}, "label 2: the label"},
               {{"a", "b "}, "label 2, \"b \", has spaces around it"},
               {{"a", "open"}, "label 2 is \"open\", which is the answer"}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(rf_model_set_labels(m, bad[i].names, 2, &err), RF_ERR_FORMAT);
        assert_error(&err, RF_ERR_FORMAT, bad[i].words);
    }
    assert_int_equal(rf_model_set_labels(m, names, 0, &err), RF_ERR_FORMAT);
    assert_int_equal(rf_model_classes(m), 6); /* unchanged */
    rf_model_free(m);
    rf_model_free(NULL);
}

static void description(void **state)
{
    (void)state;
    rf_model *m = make(TINY "encoder", 1);
    save(m, (rf_save_options){.slim = true});
    rf_model *b = load();
    json_t *about = json_loads(rf_model_json(b), 0, NULL), *encoder, *kept, *classes;
    const char *kind, *method, *program, *name, *sha256;
    int format, layers, width, tuned, most, contained, rows;
    assert_int_equal(json_unpack(about, "{s:i, s:s, s:s, s:s, s:o, s:o, s:o}", "format",
                                 &format, "kind", &kind, "method", &method, "program",
                                 &program, "encoder", &encoder, "kept", &kept, "classes",
                                 &classes),
                     0);
    assert_int_equal(format, 1);
    assert_string_equal(kind, "model");
    assert_string_equal(method, "heads");
    assert_string_equal(program, "ringfence " RF_VERSION);
    assert_int_equal(json_unpack(encoder, "{s:s, s:s, s:b, s:i, s:i, s:i, s:i}", "name",
                                 &name, "sha256", &sha256, "contained", &contained,
                                 "layers", &layers, "width", &width, "tuned_layers",
                                 &tuned, "max_tokens", &most),
                     0);
    char real[RF_SHA256_HEX];
    assert_int_equal(rf_sha256_file(TINY "encoder/model.safetensors", real, NULL), RF_OK);
    assert_string_equal(sha256, real);
    assert_string_equal(strrchr(name, '/'), "/encoder");
    assert_int_equal(name[0], '/');
    assert_false(contained);
    assert_int_equal(layers, 2);
    assert_int_equal(width, 32);
    assert_int_equal(tuned, 1);
    assert_int_equal(most, 40);
    assert_int_equal(rf_sha256_file(TINY "encoder/vocab.txt", real, NULL), RF_OK);
    assert_string_equal(json_string_value(json_object_get(
                            json_object_get(encoder, "files"), "vocab.txt")),
                        real);
    assert_int_equal(json_integer_value(json_object_get(kept, "rows")), 9);
    assert_true(json_is_true(json_object_get(kept, "features")));
    assert_true(json_is_false(json_object_get(kept, "texts")));
    assert_int_equal(json_integer_value(json_object_get(kept, "map")), 8);
    assert_int_equal(json_array_size(classes), 3);
    for (size_t i = 0; i < 3; i++) {
        const char *label;
        double distance, radius;
        assert_int_equal(json_unpack(json_array_get(classes, i), "{s:s, s:i, s:F, s:F}",
                                     "label", &label, "rows", &rows, "distance",
                                     &distance, "radius", &radius),
                         0);
        assert_string_equal(label, rf_model_label(m, i));
        assert_int_equal(rows, TINY_ROWS);
        assert_true((float)distance == m->stats.distance[i]);
        assert_true((float)radius == m->radius[i]);
    }
    assert_true(json_equal(json_object_get(about, "settings"), m->settings));
    json_decref(about);
    rf_model_free(b);
    rf_model_free(m);
}

/* All floats survive to the bit; a model without calibration omits it and loads
 * without. */
static void calibration(void **state)
{
    (void)state;
    static const rf_calibration kinds[] = {
        {0.9f, 0.2f, 1.0f, RF_CALIBRATION_FROM_DEFAULTS},
        {0x1.fffffep-126f, -0x1.234566p90f, 1e6f, RF_CALIBRATION_FROM_PSEUDO_OPEN},
        {0x1.fffffep+127f, 0x1p-149f, 0x1.000002p-20f, RF_CALIBRATION_FROM_DEFAULTS},
        {1.0f, 0.0f, 1.0f, RF_CALIBRATION_FROM_NOTHING}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        rf_model *m = make(TINY "encoder", 1);
        m->calibration = kinds[i];
        save(m, (rf_save_options){0});
        rf_model *b = load();
        same_classifier(m, b);
        assert_memory_equal(&b->calibration, &kinds[i], sizeof kinds[i]);
        assert_int_equal(strstr(rf_model_json(b), "\"calibration\"") == NULL, i == 3);
        rf_model_free(m);
        rf_model_free(b);
    }
}

/* ---- Slim models and their encoder ------------------------------------------------- */

static void encoder_of_a_slim_model(void **state)
{
    (void)state;
    char home[RF_PATH_MAX], file[RF_PATH_MAX];
    scratch_path(home, dir, "home");
    assert_int_equal(mkdir(home, 0755), 0);
    scratch_encoder(home, "encoder");
    rf_model *m = make(home, 1);
    save(m, (rf_save_options){.slim = true});
    rf_model_free(load());

    static const char *const names[] = {"config.json", "model.safetensors", "vocab.txt",
                                        "tokenizer_config.json"};
    for (size_t i = 0; i < 4; i++) { /* another file that loads as well */
        size_t len;
        scratch_path(file, home, names[i]);
        char *bytes = scratch_read(file, &len);
        if (i == 1) {
            bytes[len - 1] ^= 1;
            scratch_write(home, names[i], bytes, len);
        } else {
            FILE *f = fopen(file, "ab");
            assert_non_null(f);
            assert_true(fputs("\n", f) >= 0);
            assert_int_equal(fclose(f), 0);
        }
        rf_encoder *e = rf_encoder_load(home, NULL);
        assert_true(e || i == 2); /* a line more in vocab.txt is a piece more */
        rf_encoder_free(e);
        char want[RF_SHA256_HEX], found[RF_SHA256_HEX];
        rf_sha256_bytes(bytes, len, found);
        if (i == 1) {
            bytes[len - 1] ^= 1;
            rf_sha256_bytes(bytes, len, want);
        } else {
            memcpy(want, found, sizeof want);
            assert_int_equal(rf_sha256_file(file, found, NULL), RF_OK);
        }
        refuse(RF_ERR_FORMAT, file, found);
        refuse(RF_ERR_FORMAT, want, home);
        free(bytes);
        scratch_encoder(home, "encoder");
    }
    scratch_write(home, "tokenizer.json", "{}", 2); /* would come first */
    refuse(RF_ERR_FORMAT, "tokenizer.json", "wanted no such file");
    scratch_path(file, home, "tokenizer.json");
    assert_int_equal(unlink(file), 0);
    scratch_path(file, home, "tokenizer_config.json"); /* its absence is noticed too */
    assert_int_equal(unlink(file), 0);
    refuse(RF_ERR_FORMAT, "its encoder has a tokenizer_config.json, which is not in",
           home);
    scratch_encoder(home, "encoder");
    rf_model_free(load());

    scratch_path(file, dir, "gone");
    assert_int_equal(rename(home, file), 0);
    refuse(RF_ERR_MISSING, "refers to its encoder", home);
    save(m, (rf_save_options){0}); /* memory holds everything for a full one */
    rf_model *b = load();
    same_encoder(m->encoder, b->encoder);
    rf_model_free(b);
    rf_model_free(m);
}

/* A name of the catalogue leads to the cache. */
static void cached_encoder(void **state)
{
    (void)state;
    char cache[RF_PATH_MAX];
    rf_error err = {0};
    setenv("RINGFENCE_CACHE", dir, 1);
    scratch_path(cache, dir, "encoders");
    assert_int_equal(mkdir(cache, 0755), 0);
    scratch_path(cache, dir, "encoders/minilm");
    assert_int_equal(mkdir(cache, 0755), 0);
    scratch_encoder(cache, "encoder");
    rf_model *m = make("minilm", 0);
    assert_string_equal(m->encoder_name, "minilm");
    save(m, (rf_save_options){.slim = true});
    rf_model *b = load();
    assert_string_equal(b->encoder_name, "minilm");
    same_features(m, b);
    rf_model_free(b);
    rf_model_free(m);
    scratch_remove(cache);
    refuse(RF_ERR_MISSING, "encoder minilm is not in the cache", "encoder get minilm");
    assert_null(small_model("minilm", CLASSES, 0, &err));
    assert_error(&err, RF_ERR_MISSING, "encoder get minilm");
    unsetenv("RINGFENCE_CACHE");
}

/* ---- Failed saves ------------------------------------------------------------------ */

static size_t files_in(const char *where)
{
    DIR *d = opendir(where);
    assert_non_null(d);
    size_t n = 0;
    while (readdir(d))
        n++;
    closedir(d);
    return n - 2;
}

static void full_disk(void **state)
{
    (void)state;
    struct rlimit old, tight;
    size_t len, len_now;
    unsigned char *before = saved(CLASSES, false, &len);
    rf_model *m = make(TINY "encoder", 0);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    assert_true(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
    for (size_t room = 0; room < len; room += len / 23) {
        rf_error err = {0};
        tight = old;
        tight.rlim_cur = room;
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
        rf_status st =
            rf_model_save(m, path,
                          &(rf_save_options){.struct_size = sizeof(rf_save_options),
                                             .keep_examples = true},
                          &err);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
        assert_int_equal(st, RF_ERR_IO);
        assert_error(&err, RF_ERR_IO, path, "the file that was there is unchanged");
        assert_int_equal(files_in(dir), 1);
    }
    unsigned char *after = (unsigned char *)scratch_read(path, &len_now);
    assert_int_equal(len_now, len);
    assert_memory_equal(after, before, len);
    free(before);
    free(after);
    rf_model_free(m);
}

/* A file that could not be loaded is not written. */
static void non_finite_numbers_are_not_saved(void **state)
{
    (void)state;
    rf_error err = {0};
    rf_model *m = make(TINY "encoder", 1);
    float *places[] = {m->known.dense_w + 5,
                       m->known.out_b,
                       rf_head_at(&m->state, 2).b3,
                       m->stats.mean,
                       m->stats.variance,
                       m->stats.distance + 1,
                       m->radius + 2,
                       &m->calibration.slope,
                       &m->calibration.bias,
                       &m->calibration.temperature,
                       m->encoder->layers[1].up_w + 7,
                       m->encoder->layers[1].out_shift};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        float old = *places[i];
        *places[i] = i % 2 ? (float)INFINITY : (float)NAN;
        assert_int_equal(rf_model_save(m, path, NULL, &err), RF_ERR_NUMERIC);
        assert_int_equal(files_in(dir), 0);
        *places[i] = old;
    }
    m->encoder->layers[1].up_b[0] = 70000.0f;
    assert_int_equal(rf_model_save(m, path, NULL, &err), RF_ERR_NUMERIC);
    assert_error(&err, RF_ERR_NUMERIC, "encoder.layer.1.intermediate.dense.bias",
                 "half precision");
    rf_model_free(m);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(saved_and_loaded_is_the_same),
        TEST(slim_and_full_convert_without_loss),
        TEST(optional_parts_are_omitted),
        TEST(tensors_match_the_specification),
        TEST(half_precision),
        TEST(too_large_for_half),
        TEST(labels),
        TEST(description),
        TEST(calibration),
        TEST(encoder_of_a_slim_model),
        TEST(cached_encoder),
        TEST(full_disk),
        TEST(non_finite_numbers_are_not_saved),
    };
    return cmocka_run_group_tests_name("model file", tests, NULL, NULL);
}
