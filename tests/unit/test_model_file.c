/*
 * Model files: saved and loaded a model is the same to the last bit, slim or full; a
 * damaged file, a hostile one and a write that fails end in words and in nothing else.
 * Half precision is compared with the rounding of PyTorch (tests/golden/tiny/encoder_f16
 * is tests/golden/tiny/encoder rounded by it).
 */
#include "scratch.h"
#include "sealed.h"
#include "small_model.h"

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

#define TINY GOLDEN_DIR "/tiny/"
enum { CLASSES = 3 };

static char dir[RF_PATH_MAX], path[RF_PATH_MAX];

static int set_up(void **state)
{
    (void)state;
    scratch_make(dir);
    scratch_path(path, dir, "model.rf");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    scratch_remove(dir);
    return 0;
}

static rf_model *make(const char *encoder, size_t tuned)
{
    rf_error err = {0};
    rf_model *m = small_model(encoder, CLASSES, tuned, &err);
    if (!m)
        fail_msg("%s", err.msg);
    return m;
}

static void save(const rf_model *m, rf_save_options o)
{
    rf_error err = {0};
    if (rf_model_save(m, path, &o, &err) != RF_OK)
        fail_msg("%s", err.msg);
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
    assert_int_equal(b->heads.width, d);
    assert_int_equal(b->heads.classes, c);
    same(a->heads.block, b->heads.block, c * rf_head_floats(d));
    assert_int_equal(b->stats.width, d);
    assert_int_equal(b->stats.classes, c);
    same(a->stats.mean, b->stats.mean, c * d);
    same(a->stats.variance, b->stats.variance, c * d);
    same(a->stats.distance, b->stats.distance, c);
    same(a->stats.rows, b->stats.rows, c);
    same(a->radius, b->radius, c);
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
}

/* ---- Saved and loaded -------------------------------------------------------------- */

static const char *const variants[] = {"encoder", "encoder_f16", "encoder_bf16",
                                       "encoder_eps"};

static void the_same_again(void **state)
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

/* From a full file to a slim one and back: nothing is lost on the way. */
static void saved_again(void **state)
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

static void what_is_left_out(void **state)
{
    (void)state;
    rf_error err = {0};
    rf_model *a = make(TINY "encoder", 0);
    save(a, (rf_save_options){0});
    rf_model *b = load();
    same_rows(a, b, false);
    assert_int_equal(
        rf_model_save(b, path, &(rf_save_options){.keep_examples = true}, &err),
        RF_ERR_MISSING);
    assert_error(&err, RF_ERR_MISSING, path, "no training texts");
    rf_model_free(b);
    save(a, (rf_save_options){.no_features = true});
    b = load();
    assert_int_equal(b->n_rows, 0);
    assert_null(b->features);
    same_classifier(a, b);
    rf_model_free(b);
    assert_int_equal(
        rf_model_save(a, path,
                      &(rf_save_options){.keep_examples = true, .no_features = true},
                      &err),
        RF_ERR_ARG);
    assert_error(&err, RF_ERR_ARG, path, "examples");
    rf_model_free(a);
}

/* The tensors that the format promises, with their types, in rows, not in panels. */
static void as_specified(void **state)
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
    /* 5 of the embeddings, 16 of each layer, 3 files, 19 as above, the seal */
    assert_int_equal(c.file.n_tensors, 5 + 2 * 16 + 3 + 19 + 1);

    /* By the definition of panels: row 2, column 5 of a head's first layer. */
    const float *w =
        (const float *)(const void *)rf_safetensors_find(&c.file, "open.hidden1.weight")
            ->data;
    rf_head h = rf_head_at(&m->heads, 1);
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
    /* and no time, no place: the same model, the same bytes */
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

/* Reading with rounding is what PyTorch makes of the same weights. */
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

/* ---- What a model says ------------------------------------------------------------- */

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
               {{"a", "b "}, "label 2, \"b \", has spaces around it"}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(rf_model_set_labels(m, bad[i].names, 2, &err), RF_ERR_FORMAT);
        assert_error(&err, RF_ERR_FORMAT, bad[i].words);
    }
    assert_int_equal(rf_model_set_labels(m, names, 0, &err), RF_ERR_FORMAT);
    assert_int_equal(rf_model_classes(m), 6); /* as it was */
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
    assert_string_equal(method, "ans");
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

/* ---- Slim models and their encoder ------------------------------------------------- */

static void refuse(rf_status code, const char *a, const char *b)
{
    rf_error err = {0};
    if (rf_model_load(path, &err))
        fail_msg("loaded, wanted a complaint: %s, %s", a, b);
    assert_error(&err, code, path, a, b);
    assert_null(rf_model_load(path, NULL));
}

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
    for (size_t i = 0; i < 4; i++) { /* another file that would load as well */
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
    save(m, (rf_save_options){0}); /* memory has all it takes for a full one */
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

/* ---- Damage ------------------------------------------------------------------------ */

static rf_status try(const unsigned char *bytes, size_t len, rf_error *err)
{
    rf_container c;
    rf_status st = rf_container_parse(&c, bytes, len, "model.rf", "model", err);
    rf_model *m = st == RF_OK ? rf_model_from(&c, err) : NULL;
    if (st == RF_OK && !m)
        st = err->code;
    rf_model_free(m);
    return st;
}

static unsigned char *saved(size_t classes, bool slim, size_t *len)
{
    rf_error err = {0};
    rf_model *m = small_model(TINY "encoder", classes, slim ? 0 : 1, &err);
    if (!m)
        fail_msg("%s", err.msg);
    save(m, (rf_save_options){.slim = slim, .keep_examples = true});
    rf_model_free(m);
    return (unsigned char *)scratch_read(path, len);
}

/* All of the header, every step-th byte of the data, and the last hundred. */
static void change_bytes(bool slim, size_t step)
{
    size_t len;
    rf_error err = {0};
    unsigned char *file = saved(1, slim, &len);
    size_t header = 8 + (size_t)file[0] + ((size_t)file[1] << 8);
    assert_in_range(header, 2000, 40000);
    assert_int_equal(try(file, len, &err), RF_OK);
    for (size_t i = 0; i < len; i += i < header || i + 100 > len ? 1 : step) {
        unsigned char change = (unsigned char)(1u << i % 8);
        file[i] ^= change;
        rf_status st = try(file, len, &err);
        if (st == RF_OK)
            fail_msg("bit %zu of byte %zu changed, not noticed", i % 8, i);
        assert_error(&err, st, "model.rf");
        assert_true(st == RF_ERR_FORMAT || st == RF_ERR_VERSION || st == RF_ERR_LIMIT);
        file[i] ^= change;
    }
    free(file);
}

static void bytes_changed(void **state)
{
    (void)state;
    change_bytes(false, 61);
    change_bytes(true, 7); /* a quarter of the header: it is what takes the time */
}

static void cut_anywhere(void **state)
{
    (void)state;
    size_t len;
    rf_error err = {0};
    unsigned char *file = saved(1, false, &len);
    for (size_t n = 0; n < len; n += n < 100 || n + 100 > len ? 1 : 31) {
        unsigned char *cut = malloc(n ? n : 1); /* a step outside is one outside */
        assert_non_null(cut);
        memcpy(cut, file, n);
        assert_int_equal(try(cut, n, &err), RF_ERR_FORMAT);
        assert_error(&err, RF_ERR_FORMAT, "model.rf", "not a ringfence model");
        free(cut);
    }
    free(file);
}

/* ---- Hostile files: properly sealed, but wrong ------------------------------------- */

/* The file with one thing changed by `spoil`. */
static void spoiled(void (*spoil)(sealed *s, const void *how), const void *how,
                    rf_status code, const char *a, const char *b)
{
    size_t len;
    rf_error err = {0};
    sealed s;
    unsigned char *file = saved(CLASSES, false, &len);
    assert_true(sealed_take_apart(&s, file, len));
    free(file);
    spoil(&s, how);
    file = sealed_put_together(&s, &len);
    assert_non_null(file);
    rf_status st = try(file, len, &err);
    if (st == RF_OK)
        fail_msg("loaded, wanted a complaint: %s, %s", a, b);
    assert_error(&err, code, "model.rf", a, b);
    free(file);
    sealed_release(&s);
}

/* A tensor under another name. */
static void rename_tensor(sealed *s, const void *how)
{
    json_t *t = json_incref(json_object_get(s->header, how));
    assert_non_null(t);
    json_object_del(s->header, how);
    json_object_set_new(s->header, "other", t);
}

typedef struct retyped {
    const char *name, *dtype, *shape;
} retyped;

/* The same bytes as something else. */
static void retype(sealed *s, const void *how)
{
    const retyped *r = how;
    json_t *t = json_object_get(s->header, r->name);
    assert_non_null(t);
    if (r->dtype)
        json_object_set_new(t, "dtype", json_string(r->dtype));
    json_object_set_new(t, "shape", json_loads(r->shape, 0, NULL));
}

typedef struct poked {
    const char *name;
    size_t at; /* byte */
    const void *bytes;
    size_t n;
} poked;

static void poke(sealed *s, const void *how)
{
    const poked *p = how;
    size_t len;
    unsigned char *t = sealed_tensor(s, p->name, &len);
    assert_non_null(t);
    assert_true(p->at + p->n <= len);
    memcpy(t + p->at, p->bytes, p->n);
}

/* A value of the description replaced: {place, JSON text}; text NULL removes it. */
static void tell(sealed *s, const void *how)
{
    const char *const *pair = how;
    char place[64];
    snprintf(place, sizeof place, "%s", pair[0]);
    json_t *at = s->about;
    char *key = place;
    for (char *dot; (dot = strchr(key, '.')); key = dot + 1) {
        *dot = '\0';
        at = json_is_array(at) ? json_array_get(at, strtoul(key, NULL, 10))
                               : json_object_get(at, key);
    }
    json_t *value = pair[1] ? json_loads(pair[1], JSON_DECODE_ANY, NULL) : NULL;
    assert_true(value || !pair[1]);
    if (value)
        assert_int_equal(json_object_set_new(at, key, value), 0);
    else
        assert_int_equal(json_object_del(at, key), 0);
}

static void the_tester_itself(void **state)
{
    (void)state;
    size_t len;
    sealed s;
    rf_error err = {0};
    unsigned char *file = saved(CLASSES, false, &len);
    assert_true(sealed_take_apart(&s, file, len));
    free(file);
    json_object_set_new(s.about, "more", json_true()); /* more words do no harm */
    json_object_set_new(json_object_get(s.about, "encoder"), "more", json_true());
    json_object_set_new(s.about, "program", json_string("ringfence 9.9"));
    file = sealed_put_together(&s, &len);
    if (try(file, len, &err) != RF_OK)
        fail_msg("%s", err.msg);
    free(file);
    sealed_release(&s);
}

static void missing_tensors(void **state)
{
    (void)state;
    static const char *const names[] = {"embeddings.word_embeddings.weight",
                                        "encoder.layer.0.attention.self.query.weight",
                                        "encoder.layer.1.output.LayerNorm.bias",
                                        "known.dense.weight",
                                        "known.dense.bias",
                                        "known.out.weight",
                                        "known.out.bias",
                                        "open.hidden1.weight",
                                        "open.hidden1.bias",
                                        "open.hidden2.weight",
                                        "open.hidden2.bias",
                                        "open.out.weight",
                                        "open.out.bias",
                                        "classes.mean",
                                        "classes.variance",
                                        "classes.distance",
                                        "classes.radius",
                                        "classes.rows",
                                        "train.classes",
                                        "train.text_ends",
                                        "files/config.json",
                                        "files/vocab.txt"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char words[128];
        snprintf(words, sizeof words, "tensor \"%s\" is missing", names[i]);
        spoiled(rename_tensor, names[i], RF_ERR_FORMAT, words, "");
    }
    /* what may be missing must not be announced */
    spoiled(rename_tensor, "train.features", RF_ERR_FORMAT, "description",
            "\"kept.rows\"");
    spoiled(rename_tensor, "train.texts", RF_ERR_FORMAT, "description", "\"kept.texts\"");
    spoiled(rename_tensor, "files/tokenizer_config.json", RF_ERR_FORMAT,
            "its encoder has a tokenizer_config.json", "which is not in model.rf");
}

static void wrong_shapes(void **state)
{
    (void)state;
    static const struct {
        retyped r;
        rf_status code;
        const char *words;
    } bad[] = {
        {{"known.dense.weight", NULL, "[1024]"}, 0, "is F32 [1024], wanted F32 [32, 32]"},
        {{"known.out.weight", NULL, "[32,3]"}, 0, "[32, 3], wanted F32 [3, 32]"},
        {{"known.out.weight", "I32", "[3,32]"}, 0, "is I32 [3, 32], wanted F32 [3, 32]"},
        {{"open.hidden1.weight", NULL, "[3,32,256]"}, 0, "wanted F32 [3, 256, 32]"},
        {{"open.hidden2.weight", NULL, "[3,256,64]"}, 0, "wanted F32 [3, 64, 256]"},
        {{"open.out.weight", NULL, "[64,3]"}, 0, "wanted F32 [3, 64]"},
        {{"classes.mean", NULL, "[96]"}, 0, "wanted F32 [3, 32]"},
        {{"classes.rows", "F64", "[3]"}, 0, "is F64 [3], wanted I64 [3]"},
        {{"train.features", NULL, "[18,16]"}, 0, "is F16 [18, 16], wanted F16 [any, 32]"},
        {{"train.features", "BF16", "[9,32]"}, 0, "is BF16 [9, 32]"},
        {{"train.features", NULL, "[288]"}, 0, "wanted F16 [any, 32]"},
        {{"train.classes", "F32", "[9]"}, 0, "wanted I32 [9]"},
        {{"train.texts", "I8", "[36]"}, 0, "wanted U8 [any]"},
        {{"train.text_ends", NULL, "[3,3]"}, 0, "wanted I64 [9]"},
        {{"files/config.json", NULL, "[2,173]"}, 0, "wanted bytes (U8)"},
        {{"files/vocab.txt", "I8", "[440]"}, 0, "wanted bytes (U8)"},
        {{"embeddings.word_embeddings.weight", NULL, "[32,119]"},
         0,
         "is [32, 119], wanted [119, 32]"},
        {{"encoder.layer.1.output.dense.weight", "BF16", "[32,72]"},
         RF_ERR_VERSION,
         "is BF16, wanted F16"},
        {{"embeddings.LayerNorm.bias", "I16", "[32]"},
         RF_ERR_VERSION,
         "is I16, wanted F16"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        spoiled(retype, &bad[i].r, bad[i].code ? bad[i].code : RF_ERR_FORMAT,
                bad[i].r.name, bad[i].words);
}

static void wrong_numbers(void **state)
{
    (void)state;
    static const uint32_t nan = 0x7fc00001, inf = 0xff800000, minus = 0xbf800000;
    static const uint16_t half_nan = 0x7e00, half_inf = 0xfc00;
    static const int32_t three = 3, below = -1;
    static const int64_t zero = 0, far = INT64_MAX, back = 2, few = 35, under = -1;
    static const struct {
        poked p;
        rf_status code;
        const char *words;
    } bad[] = {
        {{"known.dense.weight", 4092, &nan, 4}, RF_ERR_NUMERIC, "a NaN or an infinity"},
        {{"known.dense.bias", 0, &inf, 4}, RF_ERR_NUMERIC, "a NaN or an infinity"},
        {{"known.out.bias", 8, &inf, 4}, RF_ERR_NUMERIC, "a NaN or an infinity"},
        {{"known.out.weight", 0, &nan, 4}, RF_ERR_NUMERIC, "a NaN or an infinity"},
        {{"open.hidden1.weight", 3 * 256 * 32 * 4 - 4, &nan, 4}, RF_ERR_NUMERIC, "NaN"},
        {{"open.hidden1.bias", 0, &nan, 4}, RF_ERR_NUMERIC, "NaN"},
        {{"open.hidden2.weight", 0, &inf, 4}, RF_ERR_NUMERIC, "NaN"},
        {{"open.hidden2.bias", 0, &nan, 4}, RF_ERR_NUMERIC, "NaN"},
        {{"open.out.weight", 0, &nan, 4}, RF_ERR_NUMERIC, "NaN"},
        {{"open.out.bias", 8, &nan, 4}, RF_ERR_NUMERIC, "NaN"},
        {{"classes.mean", 0, &inf, 4}, RF_ERR_NUMERIC, "NaN"},
        {{"classes.variance", 4, &nan, 4}, RF_ERR_NUMERIC, "NaN"},
        {{"classes.variance", 4, &minus, 4}, RF_ERR_FORMAT, "element 1 is -1"},
        {{"classes.distance", 0, &minus, 4}, RF_ERR_FORMAT, "wanted 0 or more"},
        {{"classes.radius", 0, &minus, 4}, RF_ERR_FORMAT, "wanted 0 or more"},
        {{"classes.rows", 8, &zero, 8}, RF_ERR_FORMAT, "class 2 has 0 rows"},
        {{"classes.rows", 8, &under, 8}, RF_ERR_FORMAT, "class 2 has -1 rows"},
        {{"classes.rows", 8, &far, 8}, RF_ERR_FORMAT, "does not fit the content"},
        {{"train.features", 2 * 33, &half_nan, 2}, RF_ERR_NUMERIC, "in row 1"},
        {{"train.features", 0, &half_inf, 2}, RF_ERR_NUMERIC, "in row 0"},
        {{"train.classes", 4, &three, 4}, RF_ERR_FORMAT, "row 1 is of class 3, wanted 0"},
        {{"train.classes", 0, &below, 4}, RF_ERR_FORMAT, "row 0 is of class -1"},
        {{"train.text_ends", 8 * 3, &back, 8}, RF_ERR_FORMAT, "text 3 ends at 2"},
        {{"train.text_ends", 8 * 2, &far, 8}, RF_ERR_FORMAT, "text 2 ends at"},
        {{"train.text_ends", 0, &under, 8}, RF_ERR_FORMAT, "text 0 ends at 1844674"},
        {{"train.text_ends", 8 * 8, &few, 8},
         RF_ERR_FORMAT,
         "text 8 ends at 35, wanted 36 to 36"},
        {{"embeddings.word_embeddings.weight", 100, &half_nan, 2}, RF_ERR_NUMERIC, "NaN"},
        {{"embeddings.position_embeddings.weight", 0, &half_inf, 2},
         RF_ERR_NUMERIC,
         "NaN"},
        {{"encoder.layer.0.intermediate.dense.weight", 0, &half_inf, 2},
         RF_ERR_NUMERIC,
         "NaN"},
        {{"encoder.layer.1.attention.self.value.bias", 0, &half_nan, 2},
         RF_ERR_NUMERIC,
         "NaN"},
        {{"files/config.json", 0, "[", 1}, RF_ERR_FORMAT, "not valid JSON"},
        {{"files/vocab.txt", 0, "\0", 1}, RF_ERR_FORMAT, "line 1"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        spoiled(poke, &bad[i].p, bad[i].code, bad[i].p.name, bad[i].words);
}

static void wrong_description(void **state)
{
    (void)state;
    static const struct {
        const char *how[2];
        rf_status code;
        const char *a, *b;
    } bad[] = {
        {{"format", "2"}, 0, "does not fit the content", "\"format\""},
        {{"kind", "\"checkpoint\""}, 0, "does not fit", "\"kind\""},
        {{"method", "\"doc\""}, RF_ERR_VERSION, "method \"doc\"", "knows \"ans\""},
        {{"method", "7"}, 0, "\"method\" is an integer", "wanted a string"},
        {{"method", NULL}, 0, "\"method\" is missing", ""},
        {{"labels", NULL}, 0, "\"labels\" is missing", "wanted an array"},
        {{"labels", "{}"}, 0, "\"labels\" is an object", ""},
        {{"labels", "[]"}, 0, "no labels", ""},
        {{"labels", "[\"a\", \"b\", 3]"}, 0, "label 3 is an integer", ""},
        {{"labels", "[\"a\", \"a\", \"b\"]"}, 0, "label 2", "does not come after"},
        {{"labels", "[\"b\", \"a\", \"c\"]"}, 0, "label 2", "does not come after"},
        {{"labels", "[\"\", \"a\", \"c\"]"}, 0, "label 1: the label is empty", ""},
        {{"labels", "[\"a\", \"b\\u0007\", \"c\"]"}, 0, "label 2: the label", ""},
        {{"labels", "[\"a\", \"b\"]"}, 0, "known.out.weight", "wanted F32 [2, 32]"},
        {{"labels", "[\"a\", \"b\", \"c\"]"}, 0, "does not fit", "classes.label"},
        {{"classes.1.rows", "4"}, 0, "does not fit", "classes.rows"},
        {{"classes.2.radius", "1"}, 0, "does not fit", "classes.radius"},
        {{"classes", "[]"}, 0, "does not fit", "\"classes\""},
        {{"encoder", NULL}, 0, "\"encoder\" is missing", "wanted an object"},
        {{"encoder.name", "[]"}, 0, "\"name\" is an array", ""},
        {{"encoder.sha256", "\"12\""}, 0, "a sha256 of 64", ""},
        {{"encoder.contained", "1"}, 0, "\"contained\" true or false", ""},
        {{"encoder.width", "33"}, 0, "does not fit", "encoder.width"},
        {{"encoder.layers", NULL}, 0, "does not fit", "encoder.layers"},
        {{"encoder.tuned_layers", "3"}, 0, "3 tuned layers of 2", ""},
        {{"encoder.tuned_layers", "-1"}, 0, "\"tuned_layers\" is negative", ""},
        {{"encoder.tuned_layers", "1.0"}, 0, "\"tuned_layers\" is a fraction", ""},
        {{"encoder.max_tokens", "41"}, 0, "\"max_tokens\" is 41", "wanted 2 to 40"},
        {{"encoder.max_tokens", "1"}, 0, "\"max_tokens\" is 1", "wanted 2 to 40"},
        {{"encoder.files", "{}"}, 0, "does not fit", "encoder.files.config.json"},
        {{"kept.rows", "8"}, 0, "does not fit", "kept.rows"},
        {{"kept.texts", "false"}, 0, "does not fit", "kept.texts"},
        {{"settings", "[]"}, 0, "\"settings\" is an array", "wanted an object"},
        {{"summary", NULL}, 0, "\"summary\" is missing", "wanted an object"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        spoiled(tell, bad[i].how, bad[i].code ? bad[i].code : RF_ERR_FORMAT, bad[i].a,
                bad[i].b);
}

/* A full file that says it is slim takes its frozen part from the directory: the same
 * model. */
static void full_file_called_slim(void **state)
{
    (void)state;
    static const char *const how[] = {"encoder.contained", "false"};
    size_t len;
    sealed s;
    unsigned char *file = saved(CLASSES, false, &len);
    assert_true(sealed_take_apart(&s, file, len));
    free(file);
    tell(&s, how);
    file = sealed_put_together(&s, &len);
    scratch_write(dir, "model.rf", file, len);
    free(file);
    sealed_release(&s);
    rf_model *a = make(TINY "encoder", 1), *b = load();
    same_encoder(a->encoder, b->encoder);
    rf_model_free(a);
    rf_model_free(b);
}

static void newer_version(void **state)
{
    (void)state;
    size_t len;
    sealed s;
    unsigned char *file = saved(CLASSES, false, &len);
    assert_true(sealed_take_apart(&s, file, len));
    free(file);
    sealed_set(&s, "ringfence.version", "2");
    file = sealed_put_together(&s, &len);
    scratch_write(dir, "model.rf", file, len);
    free(file);
    sealed_release(&s);
    refuse(RF_ERR_VERSION, "model.rf: format version 2, this program knows up to 1", "");
    rf_error err = {0};
    if (rf_container_write(path, "checkpoint", "{}", NULL, 0, &err) != RF_OK)
        fail_msg("%s", err.msg);
    refuse(RF_ERR_FORMAT, "holds a ringfence checkpoint, wanted a model", "");
}

/* ---- Saving that fails ------------------------------------------------------------- */

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
            rf_model_save(m, path, &(rf_save_options){.keep_examples = true}, &err);
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

/* What could not be loaded again is not written. */
static void numbers_not_to_be_saved(void **state)
{
    (void)state;
    rf_error err = {0};
    rf_model *m = make(TINY "encoder", 1);
    float *places[] = {m->known.dense_w + 5,
                       m->known.out_b,
                       rf_head_at(&m->heads, 2).b3,
                       m->stats.mean,
                       m->stats.variance,
                       m->stats.distance + 1,
                       m->radius + 2,
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
        TEST(the_same_again),
        TEST(saved_again),
        TEST(what_is_left_out),
        TEST(as_specified),
        TEST(half_precision),
        TEST(too_large_for_half),
        TEST(labels),
        TEST(description),
        TEST(encoder_of_a_slim_model),
        TEST(cached_encoder),
        TEST(bytes_changed),
        TEST(cut_anywhere),
        TEST(the_tester_itself),
        TEST(missing_tensors),
        TEST(wrong_shapes),
        TEST(wrong_numbers),
        TEST(wrong_description),
        TEST(full_file_called_slim),
        TEST(newer_version),
        TEST(full_disk),
        TEST(numbers_not_to_be_saved),
    };
    return cmocka_run_group_tests_name("model file", tests, NULL, NULL);
}
