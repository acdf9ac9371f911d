/*
 * test_onnx_import.c - importing an encoder from an ONNX export
 *
 * tests/golden/tiny/onnx is an export by PyTorch of tests/golden/tiny/encoder: importing
 * it must give the same weights to the bit. Other ways to write the same graph are built
 * here; so are the files that must be refused. Every refusal is checked to leave nothing
 * behind.
 */
#include "encoder/onnx.h"
#include "num/kernels.h"

#include "onnx_build.h"
#include "scratch.h"
#include "ringfence_encoder.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <jansson.h>

#define TINY GOLDEN_DIR "/tiny"

/* ---- Files ------------------------------------------------------------------------- */

/* Made new for each test; holds src/ (an export) and becomes the home of out/. */
typedef struct place {
    char dir[RF_PATH_MAX];
} place;

static const char *path_in(const place *p, const char *name)
{
    static char paths[4][RF_PATH_MAX]; /* as many as one expression uses */
    static size_t next;
    char *out = paths[next++ % 4];
    scratch_path(out, p->dir, name);
    return out;
}

static void assert_same_file(const char *a, const char *b)
{
    size_t x_len, y_len;
    char *x = scratch_read(a, &x_len), *y = scratch_read(b, &y_len);
    assert_int_equal(x_len, y_len);
    assert_memory_equal(x, y, x_len);
    free(x);
    free(y);
}

static int set_up(void **state)
{
    static const char *const names[] = {"model.onnx", "config.json", "vocab.txt",
                                        "tokenizer_config.json"};
    place *p = calloc(1, sizeof *p);
    if (!p)
        return -1;
    scratch_make(p->dir);
    if (mkdir(path_in(p, "src"), 0777) != 0)
        return -1;
    *state = p;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        scratch_copy(TINY "/onnx", path_in(p, "src"), names[i]);
    return 0;
}

static int tear_down(void **state)
{
    place *p = *state;
    scratch_remove(p->dir);
    free(p);
    return 0;
}

static size_t count_entries(const char *path)
{
    size_t n = 0;
    DIR *dir = opendir(path);
    assert_non_null(dir);
    while (readdir(dir))
        n++;
    closedir(dir);
    return n - 2; /* . and .. */
}

/* ---- Importing --------------------------------------------------------------------- */

static void import_ok(const place *p)
{
    rf_error err = {0};
    if (rf_encoder_import(path_in(p, "src/model.onnx"), path_in(p, "out"), &err) != RF_OK)
        fail_msg("%s", err.msg);
}

/* Importing fails with this status, says these words (NULL: no more), and leaves nothing
 * but what was there. */
static void import_fails(const place *p, rf_status code, const char *a, const char *b)
{
    rf_error err = {0};
    rf_status st =
        rf_encoder_import(path_in(p, "src/model.onnx"), path_in(p, "out"), &err);
    assert_error(&err, code, a, b);
    assert_int_equal(st, code);
    assert_int_equal(count_entries(p->dir), 1);
}

static void widen(float *out, const rf_tensor *t)
{
    if (t->dtype == RF_F32) {
        memcpy(out, t->data, t->count * sizeof *out);
        return;
    }
    assert_int_equal(t->dtype, RF_F16);
    for (size_t i = 0; i < t->count; i++) {
        uint16_t half;
        memcpy(&half, t->data + 2 * i, 2);
        rf_kernels()->widen_f16(out + i, &half, 1);
    }
}

/* out/model.safetensors holds the weights of a file, but for the pooler, to the bit. */
static void assert_weights(const char *made_path, const char *want_path)
{
    rf_safetensors made, want;
    size_t n = 0;
    open_weights(&made, made_path);
    open_weights(&want, want_path);
    for (size_t i = 0; i < want.n_tensors; i++) {
        const rf_tensor *w = &want.tensors[i];
        const char *name = plain_name(w);
        if (!name)
            continue;
        const rf_tensor *m = rf_safetensors_find(&made, name);
        if (!m)
            fail_msg("%s is missing", name);
        assert_int_equal(m->dtype, RF_F32);
        assert_int_equal(m->rank, w->rank);
        assert_memory_equal(m->shape, w->shape, w->rank * sizeof w->shape[0]);
        float *x = malloc(w->count * sizeof *x);
        assert_non_null(x);
        widen(x, w);
        if (memcmp(m->data, x, w->count * sizeof *x) != 0)
            fail_msg("%s differs", name);
        free(x);
        n++;
    }
    assert_int_equal(made.n_tensors, n);
    rf_safetensors_close(&made);
    rf_safetensors_close(&want);
}

static void test_import_gives_the_encoder(void **state)
{
    const place *p = *state;
    rf_error err = {0};
    import_ok(p);
    assert_weights(path_in(p, "out/model.safetensors"),
                   TINY "/encoder/model.safetensors");
    assert_same_file(path_in(p, "out/config.json"), TINY "/onnx/config.json");
    assert_same_file(path_in(p, "out/vocab.txt"), TINY "/onnx/vocab.txt");
    assert_same_file(path_in(p, "out/tokenizer_config.json"),
                     TINY "/onnx/tokenizer_config.json");
    assert_int_equal(count_entries(path_in(p, "out")), 4);
    assert_int_equal(count_entries(p->dir), 2);
    rf_encoder *encoder = rf_encoder_load(path_in(p, "out"), &err);
    if (!encoder)
        fail_msg("%s", err.msg);
    assert_int_equal(rf_encoder_describe(encoder).layers, 2);
    rf_encoder_free(encoder);
}

static void test_import_makes_parents(void **state)
{
    const place *p = *state;
    rf_error err = {0};
    if (rf_encoder_import(path_in(p, "src/model.onnx"), path_in(p, "a/b/out//"), &err) !=
        RF_OK)
        fail_msg("%s", err.msg);
    assert_int_equal(count_entries(path_in(p, "a/b")), 1);
    assert_int_equal(count_entries(path_in(p, "a/b/out")), 4);
}

static void test_import_looks_one_directory_up(void **state)
{
    const place *p = *state;
    rf_error err = {0};
    assert_int_equal(mkdir(path_in(p, "src/onnx"), 0777), 0);
    assert_int_equal(
        rename(path_in(p, "src/model.onnx"), path_in(p, "src/onnx/model.onnx")), 0);
    if (rf_encoder_import(path_in(p, "src/onnx/model.onnx"), path_in(p, "out"), &err) !=
        RF_OK)
        fail_msg("%s", err.msg);
    assert_weights(path_in(p, "out/model.safetensors"),
                   TINY "/encoder/model.safetensors");
}

static void test_import_refuses_bad_arguments(void **state)
{
    (void)state;
    assert_int_equal(rf_encoder_import(NULL, "x", NULL), RF_ERR_ARG);
    assert_int_equal(rf_encoder_import("x", NULL, NULL), RF_ERR_ARG);
    assert_int_equal(rf_encoder_import("x", "", NULL), RF_ERR_ARG);
    assert_int_equal(rf_encoder_import("x", "/", NULL), RF_ERR_IO);
    assert_int_equal(rf_encoder_import("/nonexistent.onnx", "/nonexistent", NULL),
                     RF_ERR_MISSING);
}

static void test_import_refuses_existing_target(void **state)
{
    const place *p = *state;
    rf_error err = {0};
    assert_int_equal(mkdir(path_in(p, "out"), 0777), 0);
    assert_int_equal(
        rf_encoder_import(path_in(p, "src/model.onnx"), path_in(p, "out"), &err),
        RF_ERR_IO);
    assert_error(&err, RF_ERR_IO, "exists already");
    assert_int_equal(count_entries(path_in(p, "out")), 0);
    assert_int_equal(count_entries(p->dir), 2);
}

/* The disk is full at every point where it can be: each limit stops another write. */
static void test_import_cleans_up_after_failed_writes(void **state)
{
    const place *p = *state;
    struct rlimit old, small;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    for (rlim_t limit = 0; limit < 97000; limit = limit * 3 + 50) {
        small = (struct rlimit){limit, old.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
        rf_error err = {0};
        rf_status st =
            rf_encoder_import(path_in(p, "src/model.onnx"), path_in(p, "out"), &err);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
        assert_int_equal(st, RF_ERR_IO);
        assert_int_equal(count_entries(p->dir), 1);
    }
    (void)signal(SIGXFSZ, handler);
    import_ok(p);
}

/* ---- config.json and tokenizers ---------------------------------------------------- */

static void test_import_wants_config(void **state)
{
    const place *p = *state;
    assert_int_equal(remove(path_in(p, "src/config.json")), 0);
    import_fails(p, RF_ERR_MISSING, "src/model.onnx", "config.json");
}

static void test_import_wants_tokenizer(void **state)
{
    const place *p = *state;
    assert_int_equal(remove(path_in(p, "src/vocab.txt")), 0);
    import_fails(p, RF_ERR_MISSING, "tokenizer.json", "vocab.txt");
}

static void test_import_checks_tokenizer(void **state)
{
    const place *p = *state;
    scratch_copy(TINY "/encoder_eps", path_in(p, "src"), "tokenizer.json");
    import_fails(p, RF_ERR_FORMAT, "130 pieces", "119");
    scratch_write(p->dir, "src/tokenizer.json", "{}", 2);
    import_fails(p, RF_ERR_VERSION, "src/tokenizer.json", NULL);
}

/* src/tokenizer.json with the pieces of the vocab.txt of the export. */
static void write_tokenizer_json(const place *p, bool lowercase)
{
    char *text = scratch_read(TINY "/onnx/vocab.txt", NULL);
    json_t *pieces = json_object();
    json_int_t id = 0;
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        json_object_set_new(pieces, line, json_integer(id++));
    json_t *root = json_pack(
        "{s:{s:s,s:b,s:b,s:b,s:n},s:{s:s},s:{s:s,s:s,s:o}}", "normalizer", "type",
        "BertNormalizer", "clean_text", 1, "handle_chinese_chars", 1, "lowercase",
        lowercase, "strip_accents", "pre_tokenizer", "type", "BertPreTokenizer", "model",
        "type", "WordPiece", "unk_token", "[UNK]", "vocab", pieces);
    assert_non_null(root);
    char *json = json_dumps(root, 0);
    assert_non_null(json);
    scratch_write(p->dir, "src/tokenizer.json", json, strlen(json));
    free(json);
    json_decref(root);
    free(text);
}

static void test_import_prefers_vocab_that_agrees(void **state)
{
    const place *p = *state;
    write_tokenizer_json(p, true);
    import_ok(p);
    assert_true(rf_file_exists(path_in(p, "out/vocab.txt")));
    assert_true(rf_file_exists(path_in(p, "out/tokenizer_config.json")));
    assert_false(rf_file_exists(path_in(p, "out/tokenizer.json")));
}

static void test_import_prefers_json_over_other_vocab(void **state)
{
    const place *p = *state;
    write_tokenizer_json(p, false);
    import_ok(p);
    assert_false(rf_file_exists(path_in(p, "out/vocab.txt")));
    assert_same_file(path_in(p, "out/tokenizer.json"), path_in(p, "src/tokenizer.json"));
    assert_true(rf_file_exists(path_in(p, "out/tokenizer_config.json")));
}

static void test_import_takes_json_without_its_config(void **state)
{
    const place *p = *state;
    write_tokenizer_json(p, true);
    assert_int_equal(remove(path_in(p, "src/tokenizer_config.json")), 0);
    import_ok(p);
    assert_false(rf_file_exists(path_in(p, "out/vocab.txt")));
    assert_int_equal(count_entries(path_in(p, "out")), 3);
}

/* config.json with one number changed. */
static void change_config(const place *p, const char *key, json_int_t value)
{
    json_error_t e;
    json_t *root = json_load_file(TINY "/onnx/config.json", 0, &e);
    assert_non_null(root);
    json_object_set_new(root, key, json_integer(value));
    char *json = json_dumps(root, 0);
    scratch_write(p->dir, "src/config.json", json, strlen(json));
    free(json);
    json_decref(root);
}

static void test_import_checks_shapes(void **state)
{
    const place *p = *state;
    change_config(p, "vocab_size", 120);
    import_fails(p, RF_ERR_FORMAT, "embeddings.word_embeddings.weight",
                 "is [119, 32], wanted [120, 32]");
    change_config(p, "intermediate_size", 71);
    import_fails(p, RF_ERR_FORMAT, "encoder.layer.0.intermediate.dense.weight",
                 "is [32, 72], wanted [32, 71]");
    change_config(p, "max_position_embeddings", 41);
    import_fails(p, RF_ERR_FORMAT, "embeddings.position_embeddings.weight",
                 "is [40, 32], wanted [41, 32]");
    change_config(p, "num_hidden_layers", 1);
    import_fails(p, RF_ERR_FORMAT, "encoder.layer.1.attention.self.query.bias",
                 "config.json says 1 layers");
    change_config(p, "num_hidden_layers", 3);
    import_fails(p, RF_ERR_FORMAT, "encoder.layer.2.attention.self.query", "missing");
}

/* ---- The export, altered ----------------------------------------------------------- */

/* Replace each occurrence by bytes of the same length. */
static void patch(char *bytes, size_t n_bytes, const char *from, const char *to)
{
    size_t len = strlen(from), n = 0;
    assert_int_equal(len, strlen(to));
    for (size_t i = 0; i + len <= n_bytes; i++)
        if (memcmp(bytes + i, from, len) == 0) {
            memcpy(bytes + i, to, len);
            n++;
        }
    assert_true(n > 0);
}

static void patch_model(const place *p, const char *from, const char *to)
{
    size_t len;
    char *bytes = scratch_read(path_in(p, "src/model.onnx"), &len);
    patch(bytes, len, from, to);
    scratch_write(p->dir, "src/model.onnx", bytes, len);
    free(bytes);
}

/* The field op_type of a node. Octal, as "\x03Add" would be one long hex escape. */
#define OP_ADD "\042\003Add"
#define OP_SUM "\042\003Sum"
#define OP_TRANSPOSE "\042\011Transpose"
#define OP_ATTENTION "\042\011Attention"

static void test_import_by_node_names(void **state)
{
    const place *p = *state;
    patch_model(p, OP_ADD, OP_SUM);
    import_ok(p);
    assert_weights(path_in(p, "out/model.safetensors"),
                   TINY "/encoder/model.safetensors");
}

static void test_import_by_biases(void **state)
{
    const place *p = *state;
    patch_model(p, "/dense/MatMul", "/dense/xxxxxx");
    patch_model(p, "/query/MatMul", "/query/xxxxxx");
    patch_model(p, "/value/MatMul", "/value/xxxxxx");
    patch_model(p, "/key/MatMul", "/key/xxxxxx");
    import_ok(p);
    assert_weights(path_in(p, "out/model.safetensors"),
                   TINY "/encoder/model.safetensors");
}

static void test_import_without_either(void **state)
{
    const place *p = *state;
    patch_model(p, OP_ADD, OP_SUM);
    patch_model(p, "/query/MatMul", "/query/xxxxxx");
    import_fails(p, RF_ERR_FORMAT, "\"encoder.layer.0.attention.self.query.weight\"",
                 "\"/encoder/layer.0/attention/self/query/MatMul\"");
    patch_model(p, OP_TRANSPOSE, OP_ATTENTION);
    import_fails(p, RF_ERR_VERSION, "operator Attention", "the graph was optimised");
}

static void test_import_names_missing_tensors(void **state)
{
    const place *p = *state;
    patch_model(p, "embeddings.position_embeddings.weight",
                "embeddings.position_embeddings.w8____");
    import_fails(p, RF_ERR_FORMAT,
                 "\"embeddings.position_embeddings.weight\" is missing, wanted [40, 32]",
                 "model.onnx");
    patch_model(p, "embeddings.word_embeddings.weight",
                "embeddings.word_embeddings.w8____");
    import_fails(p, RF_ERR_FORMAT, "\"embeddings.word_embeddings.weight\"",
                 "not an export");
}

static void test_import_refuses_nan(void **state)
{
    const place *p = *state;
    static const char *const names[] = {"encoder.layer.1.output.LayerNorm.bias",
                                        "onnx::MatMul_226"};
    size_t len;
    char *bytes = scratch_read(path_in(p, "src/model.onnx"), &len);
    for (size_t i = 0; i < 2; i++) {
        rf_onnx o;
        assert_int_equal(
            rf_onnx_parse(&o, (unsigned char *)bytes, len, "model.onnx", NULL), RF_OK);
        const rf_onnx_tensor *t = rf_onnx_find(&o, rf_onnx_name(names[i]));
        assert_non_null(t);
        size_t at = (size_t)(t->raw - (unsigned char *)bytes) + 4 * (t->count - 1);
        char keep[4];
        memcpy(keep, bytes + at, 4);
        memcpy(bytes + at, i ? "\0\0\x80\x7f" : "\1\0\xc0\x7f", 4);
        scratch_write(p->dir, "src/model.onnx", bytes, len);
        import_fails(p, RF_ERR_NUMERIC, names[i], "finite");
        memcpy(bytes + at, keep, 4);
        rf_onnx_close(&o);
    }
    free(bytes);
}

/* ---- Models built here ------------------------------------------------------------- */

static void test_import_follows_every_style(void **state)
{
    const place *p = *state;
    for (dense_style style = MATMUL; style <= NAMED_ONLY; style++)
        for (int half = 0; half < 2; half++) {
            const char *weights = half ? TINY "/encoder_f16/model.safetensors"
                                       : TINY "/encoder/model.safetensors";
            rf_buffer model = build(weights, style, half ? "" : "bert.");
            scratch_write(p->dir, "src/model.onnx", model.data, model.len);
            import_ok(p);
            assert_weights(path_in(p, "out/model.safetensors"), weights);
            scratch_remove(path_in(p, "out"));
            rf_buffer_release(&model);
        }
}

static void test_import_refuses_two_encoders(void **state)
{
    const place *p = *state;
    rf_buffer graph = new_bytes(), model = new_bytes();
    const size_t shape[1] = {1};
    put_tensor(&graph, "a.embeddings.word_embeddings.weight", 1, shape, 1, "\0\0\0\0", 4);
    put_tensor(&graph, "b.embeddings.word_embeddings.weight", 1, shape, 1, "\0\0\0\0", 4);
    put_message(&model, 7, &graph);
    scratch_write(p->dir, "src/model.onnx", model.data, model.len);
    import_fails(p, RF_ERR_VERSION, "found 2", "one BERT encoder");
    rf_buffer_release(&graph);
    rf_buffer_release(&model);
}

static void test_import_refuses_altered_gemm(void **state)
{
    const place *p = *state;
    rf_buffer model = build(TINY "/encoder/model.safetensors", NAMED_GEMM, "");
    patch(model.data, model.len, "transB", "transA");
    scratch_write(p->dir, "src/model.onnx", model.data, model.len);
    import_fails(p, RF_ERR_VERSION, "transA", "plain");
    rf_buffer_release(&model);
}

static void test_import_refuses_quantized(void **state)
{
    static const char *const ops[] = {"QLinearMatMul", "QuantizeLinear", "MatMulNBits"};
    const place *p = *state;
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
        rf_buffer graph = new_bytes(), model = new_bytes();
        put_node(&graph, "n", ops[i], "x", NULL, NULL, "y", NULL);
        put_message(&model, 7, &graph);
        scratch_write(p->dir, "src/model.onnx", model.data, model.len);
        import_fails(p, RF_ERR_VERSION, "quantized", "fp32");
        import_fails(p, RF_ERR_VERSION, ops[i], NULL);
        rf_buffer_release(&graph);
        rf_buffer_release(&model);
    }
}

static void test_import_refuses_other_types(void **state)
{
    const place *p = *state;
    rf_buffer model = build(TINY "/encoder_f16/model.safetensors", MATMUL, "");
    /* data_type, before raw_data */
    patch(model.data, model.len, "\x10\x0a\x4a", "\x10\x10\x4a");
    scratch_write(p->dir, "src/model.onnx", model.data, model.len);
    import_fails(p, RF_ERR_VERSION, "BFLOAT16", "embeddings.word_embeddings.weight");
    rf_buffer_release(&model);
}

/* One matrix for all layers: a small file must not claim a large memory. */
static void test_import_refuses_amplification(void **state)
{
    const place *p = *state;
    rf_buffer graph = new_bytes();
    enum { N = 64 };
    static float square[N * N];
    const size_t wide[2] = {N, N}, one[1] = {N};
    static const char *const dense[] = {"attention.self.query", "attention.self.key",
                                        "attention.self.value", "attention.output.dense",
                                        "intermediate.dense",   "output.dense"};
    static const char *const norm[] = {"attention.output.LayerNorm", "output.LayerNorm"};
    const char *e = "embeddings.";
    char name[128], product[128];
    put_tensor(&graph, "embeddings.word_embeddings.weight", 1, wide, 2, square,
               sizeof square);
    put_tensor(&graph, "vector", 1, one, 1, square, N * sizeof square[0]);
    for (size_t i = 0; i < 2; i++) {
        snprintf(name, sizeof name, "%s%s_embeddings.weight", e,
                 i ? "position" : "token_type");
        put_node(&graph, "", "Identity", "embeddings.word_embeddings.weight", NULL, NULL,
                 name, NULL);
        snprintf(name, sizeof name, "%sLayerNorm.%s", e, i ? "weight" : "bias");
        put_node(&graph, "", "Identity", "vector", NULL, NULL, name, NULL);
    }
    for (size_t layer = 0; layer < 8; layer++) {
        for (size_t i = 0; i < 6; i++) {
            snprintf(name, sizeof name, "encoder.layer.%zu.%s.bias", layer, dense[i]);
            snprintf(product, sizeof product, "product.%zu.%zu", layer, i);
            put_node(&graph, "", "Identity", "vector", NULL, NULL, name, NULL);
            put_node(&graph, "", "MatMul", "x", "embeddings.word_embeddings.weight", NULL,
                     product, NULL);
            put_node(&graph, "", "Add", product, name, NULL, "y", NULL);
        }
        for (size_t i = 0; i < 4; i++) {
            snprintf(name, sizeof name, "encoder.layer.%zu.%s.%s", layer, norm[i / 2],
                     i % 2 ? "weight" : "bias");
            put_node(&graph, "", "Identity", "vector", NULL, NULL, name, NULL);
        }
    }
    rf_buffer small = new_bytes();
    put_message(&small, 7, &graph);
    scratch_write(p->dir, "src/model.onnx", small.data, small.len);
    static const char config[] =
        "{\"model_type\":\"bert\",\"num_hidden_layers\":8,\"hidden_size\":64,"
        "\"num_attention_heads\":4,\"intermediate_size\":64,\"vocab_size\":64,"
        "\"max_position_embeddings\":64,\"type_vocab_size\":64}";
    scratch_write(p->dir, "src/config.json", config, sizeof config - 1);
    scratch_write(p->dir, "src/vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n", 24);
    import_fails(p, RF_ERR_FORMAT, "weights by config.json in a file of", NULL);
    rf_buffer_release(&graph);
    rf_buffer_release(&small);
}

#define IN_PLACE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest import[] = {
        cmocka_unit_test(test_import_refuses_bad_arguments),
        IN_PLACE(test_import_gives_the_encoder),
        IN_PLACE(test_import_makes_parents),
        IN_PLACE(test_import_looks_one_directory_up),
        IN_PLACE(test_import_refuses_existing_target),
        IN_PLACE(test_import_cleans_up_after_failed_writes),
        IN_PLACE(test_import_wants_config),
        IN_PLACE(test_import_wants_tokenizer),
        IN_PLACE(test_import_checks_tokenizer),
        IN_PLACE(test_import_prefers_vocab_that_agrees),
        IN_PLACE(test_import_prefers_json_over_other_vocab),
        IN_PLACE(test_import_takes_json_without_its_config),
        IN_PLACE(test_import_checks_shapes),
        IN_PLACE(test_import_by_node_names),
        IN_PLACE(test_import_by_biases),
        IN_PLACE(test_import_without_either),
        IN_PLACE(test_import_names_missing_tensors),
        IN_PLACE(test_import_refuses_nan),
        IN_PLACE(test_import_follows_every_style),
        IN_PLACE(test_import_refuses_two_encoders),
        IN_PLACE(test_import_refuses_altered_gemm),
        IN_PLACE(test_import_refuses_quantized),
        IN_PLACE(test_import_refuses_other_types),
        IN_PLACE(test_import_refuses_amplification),
    };
    return cmocka_run_group_tests_name("onnx import", import, NULL, NULL);
}
