/*
 * The public header as a contract between versions: options of older and newer callers,
 * models from memory, typed facts, and long calls that a caller can end.
 */
#include "tiny_model.h"

#include "scratch.h"
#include "small_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TINY GOLDEN_DIR "/tiny/encoder"

static void versions_agree(void **state)
{
    (void)state;
    char text[32];
    snprintf(text, sizeof text, "%d.%d.%d", RF_VERSION_MAJOR, RF_VERSION_MINOR,
             RF_VERSION_PATCH);
    assert_string_equal(text, RF_VERSION);
    assert_string_equal(text, rf_version());
}

/* ---- Options that grow ------------------------------------------------------------- */

/* A caller compiled before `layer` existed: the default, -1, must hold. Layer 0, which
 * the bytes beyond its struct say, would give other features. */
static void an_older_caller_gets_defaults(void **state)
{
    (void)state;
    rf_error err = {0};
    rf_encoder *e = rf_encoder_load(TINY, &err);
    size_t width = rf_encoder_describe(e).width;
    const char *texts[] = {"a few words"};
    size_t lens[] = {11};
    float *z[3];
    for (int i = 0; i < 3; i++) {
        rf_embed_options o = rf_embed_options_default();
        if (i > 0)
            o.layer = 0;
        if (i == 1)
            o.struct_size = offsetof(rf_embed_options, layer);
        rf_embedder *m = rf_embedder_new(e, &o, &err);
        z[i] = malloc(width * sizeof(float));
        assert_int_equal(rf_embed(m, texts, lens, 1, z[i], &err), RF_OK);
        rf_embedder_free(m);
    }
    assert_memory_equal(z[0], z[1], width * sizeof(float));
    assert_memory_not_equal(z[0], z[2], width * sizeof(float));
    for (int i = 0; i < 3; i++)
        free(z[i]);
    rf_encoder_free(e);
}

static void a_newer_caller_is_told(void **state)
{
    (void)state;
    struct {
        rf_embed_options o;
        int new_field;
    } newer = {.o = rf_embed_options_default()};
    rf_error err = {0};
    rf_encoder *e = rf_encoder_load(TINY, &err);
    newer.o.struct_size = sizeof newer;
    rf_embedder *m = rf_embedder_new(e, &newer.o, &err); /* it is not used */
    assert_non_null(m);
    rf_embedder_free(m);
    newer.new_field = 1;
    assert_null(rf_embedder_new(e, &newer.o, &err));
    assert_error(&err, RF_ERR_VERSION, "rf_embed_options", "newer", RF_VERSION);
    rf_encoder_free(e);
}

static void a_newer_caller_gets_zeroes_beyond(void **state)
{
    (void)state;
    struct {
        rf_answer_options o;
        size_t new_field;
    } newer;
    memset(&newer, 0x55, sizeof newer);
    rf_answer_options_init(&newer.o, sizeof newer);
    assert_int_equal(newer.o.struct_size, sizeof newer);
    assert_int_equal(newer.o.top, 5);
    assert_int_equal(newer.new_field, 0);
}

static void a_struct_without_size_is_refused(void **state)
{
    (void)state;
    rf_error err = {0};
    rf_data_options o = {.format = RF_DATA_TSV};
    assert_null(rf_dataset_read("/nowhere", &o, &err));
    assert_error(&err, RF_ERR_ARG, "rf_data_options", "struct_size",
                 "rf_data_options_default()");
}

/* ---- Models from memory ------------------------------------------------------------ */

static void a_model_in_memory_is_the_model(void **state)
{
    (void)state;
    char dir[RF_PATH_MAX], path[RF_PATH_MAX];
    rf_error err = {0};
    rf_decision a, b;
    size_t len;
    scratch_make(dir);
    scratch_path(path, dir, "m.rf");
    rf_model *m = small_model(TINY, 5, 1, &err);
    assert_int_equal(rf_model_save(m, path, NULL, &err), RF_OK);
    rf_model_free(m);
    char *bytes = scratch_read(path, &len);
    rf_model *file = rf_model_load(path, &err);
    rf_model *memory = rf_model_load_bytes(bytes, len, NULL, &err);
    assert_non_null(memory);
    assert_string_equal(rf_model_json(file), rf_model_json(memory));
    rf_session *s = rf_session_new(file, 1, &err), *t = rf_session_new(memory, 1, &err);
    assert_int_equal(rf_classify(s, "some words", 10, &a, &err), RF_OK);
    assert_int_equal(rf_classify(t, "some words", 10, &b, &err), RF_OK);
    assert_memory_equal(a.margins, b.margins, 5 * sizeof(float));
    rf_session_free(s);
    rf_session_free(t);
    rf_model_free(file);
    rf_model_free(memory);

    char *moved = malloc(len + 1);
    memcpy(moved + 1, bytes, len);
    assert_null(rf_model_load_bytes(moved + 1, len, "moved", &err));
    assert_error(&err, RF_ERR_ARG, "moved", "multiple of 8");
    free(moved);
    assert_null(rf_model_load_bytes(bytes, len - 1, "short", &err));
    assert_error(&err, RF_ERR_FORMAT, "short");
    assert_null(rf_model_load_bytes(bytes, 0, NULL, &err));
    assert_error(&err, RF_ERR_FORMAT, "memory");
    bytes[len / 2] ^= 1;
    assert_null(rf_model_load_bytes(bytes, len, "bent", &err));
    assert_error(&err, RF_ERR_FORMAT, "bent", "damaged");
    free(bytes);
    scratch_remove(dir);
}

/* The bytes in memory are those of the file, in every way of saving it. */
static void bytes_of_a_model_are_its_file(void **state)
{
    (void)state;
    char dir[RF_PATH_MAX], path[RF_PATH_MAX];
    rf_error err = {0};
    scratch_make(dir);
    scratch_path(path, dir, "m.rf");
    rf_model *m = small_model(TINY, 3, 1, &err);
    for (int i = 0; i < 3; i++) {
        rf_save_options o = rf_save_options_default();
        o.slim = i == 1;
        o.no_features = i == 2;
        void *bytes;
        size_t len, want_len;
        assert_int_equal(rf_model_save(m, path, &o, &err), RF_OK);
        assert_int_equal(rf_model_save_bytes(m, &o, &bytes, &len, &err), RF_OK);
        char *want = scratch_read(path, &want_len);
        assert_int_equal(len, want_len);
        assert_memory_equal(bytes, want, len);
        rf_model *again = rf_model_load_bytes(bytes, len, NULL, &err);
        assert_non_null(again);
        rf_model_free(again);
        free(bytes);
        free(want);
    }
    rf_save_options bad = {0};
    void *bytes = &bad;
    size_t len = 1;
    assert_int_equal(rf_model_save_bytes(m, &bad, &bytes, &len, &err), RF_ERR_ARG);
    assert_error(&err, RF_ERR_ARG, "rf_save_options", "struct_size");
    assert_null(bytes);
    rf_model_free(m);
    scratch_remove(dir);
}

/* ---- Facts ------------------------------------------------------------------------- */

static void number_is(const json_t *object, const char *key, double value)
{
    const json_t *v = json_object_get(object, key);
    assert_true(json_is_number(v));
    assert_true(json_number_value(v) == value);
}

/* What the typed summary says is what the description says. */
static void facts_are_those_of_the_description(void **state)
{
    (void)state;
    rf_error err = {0};
    rf_model_summary s;
    rf_class_summary c;
    rf_model *m = small_model(TINY, 4, 1, &err);
    json_decref(m->summary);
    m->summary =
        json_pack("{s:i, s:i, s:b, s:i, s:{s:i, s:i, s:f, s:f}, s:[{s:f, s:f}, {s:f}]}",
                  "rows", 12, "dev_rows", 3, "dev_held_out", 1, "cut_texts", 2, "known",
                  "epochs", 7, "best_epoch", 5, "loss", 0.25, "dev_accuracy", 87.5,
                  "heads", "recall", 0.75, "dev_recall", 0.5, "recall", 1.0);
    assert_int_equal(rf_model_describe(m, &err), RF_OK);
    json_t *root = json_loads(rf_model_json(m), 0, NULL);
    const json_t *encoder = json_object_get(root, "encoder");
    rf_model_summarize(m, &s);
    assert_string_equal(s.program, json_string_value(json_object_get(root, "program")));
    assert_string_equal(s.method, json_string_value(json_object_get(root, "method")));
    assert_string_equal(s.encoder_sha256,
                        json_string_value(json_object_get(encoder, "sha256")));
    assert_int_equal(s.encoder_contained,
                     json_is_true(json_object_get(encoder, "contained")));
    number_is(encoder, "layers", (double)s.layers);
    number_is(encoder, "tuned_layers", (double)s.tuned_layers);
    number_is(encoder, "width", (double)s.width);
    number_is(encoder, "parameters", (double)s.parameters);
    number_is(encoder, "max_tokens", (double)s.max_tokens);
    number_is(json_object_get(root, "kept"), "rows", (double)s.kept_rows);
    number_is(json_object_get(root, "kept"), "map", (double)s.map_points);
    assert_int_equal(s.classes, 4);
    assert_int_equal(s.rows, 12);
    assert_int_equal(s.dev_rows, 3);
    assert_true(s.dev_held_out);
    assert_int_equal(s.cut_texts, 2);
    assert_int_equal(s.open_texts, 0);
    assert_int_equal(s.epochs, 7);
    assert_int_equal(s.best_epoch, 5);
    assert_true(s.loss == 0.25);
    assert_true(s.dev_accuracy == 87.5);
    for (size_t i = 0; i < 4; i++) {
        const json_t *own = json_array_get(json_object_get(root, "classes"), i);
        assert_true(rf_model_class(m, i, &c));
        assert_string_equal(c.label, rf_model_label(m, i));
        number_is(own, "rows", (double)c.rows);
        number_is(own, "distance", c.distance);
        number_is(own, "radius", c.radius);
        assert_true(c.recall == (i == 0 ? 0.75 : i == 1 ? 1.0 : -1.0));
        assert_true(c.dev_recall == (i == 0 ? 0.5 : -1.0));
    }
    assert_false(rf_model_class(m, 4, &c));
    json_decref(root);
    rf_model_free(m);
}

/* ---- Stop requests ----------------------------------------------------------------- */

static int stop_at_once(void *user, const char *line)
{
    assert_non_null(line);
    ++*(int *)user;
    return 1;
}

static void a_report_can_be_stopped(void **state)
{
    (void)state;
    char dir[RF_PATH_MAX], path[RF_PATH_MAX], text[40];
    rf_error err = {0};
    int calls = 0;
    rf_model *m = tiny_model_new(3, 0.0f);
    rf_dataset *data = rf_dataset_new(&err);
    for (uint64_t i = 0; i < 60; i++) {
        tiny_text(text, 30, i);
        assert_int_equal(rf_dataset_add(data, text, 30, "c0001", 5, &err), RF_OK);
    }
    scratch_make(dir);
    scratch_path(path, dir, "report.html");
    rf_report_options o = rf_report_options_default();
    o.progress = stop_at_once;
    o.user = &calls;
    assert_int_equal(rf_report_model(m, data, &o, path, &err), RF_ERR_STOPPED);
    assert_int_equal(calls, 1);
    FILE *page = fopen(path, "r");
    assert_null(page);
    scratch_remove(dir);
    rf_dataset_free(data);
    rf_model_free(m);
}

/* Stopped before npm is started, so nothing is fetched, and nothing is left behind. */
static void fetching_can_be_stopped(void **state)
{
    (void)state;
    char dir[RF_PATH_MAX], found[RF_PATH_MAX];
    rf_error err = {0};
    int calls = 0;
    scratch_make(dir);
    assert_int_equal(setenv("RINGFENCE_CACHE", dir, 1), 0);
    assert_int_equal(rf_encoder_get("minilm", stop_at_once, &calls, &err),
                     RF_ERR_STOPPED);
    assert_int_equal(calls, 1);
    assert_int_equal(rf_encoder_path("minilm", found, sizeof found, &err),
                     RF_ERR_MISSING);
    assert_int_equal(unsetenv("RINGFENCE_CACHE"), 0);
    scratch_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(versions_agree),
        cmocka_unit_test(an_older_caller_gets_defaults),
        cmocka_unit_test(a_newer_caller_is_told),
        cmocka_unit_test(a_newer_caller_gets_zeroes_beyond),
        cmocka_unit_test(a_struct_without_size_is_refused),
        cmocka_unit_test(a_model_in_memory_is_the_model),
        cmocka_unit_test(bytes_of_a_model_are_its_file),
        cmocka_unit_test(facts_are_those_of_the_description),
        cmocka_unit_test(a_report_can_be_stopped),
        cmocka_unit_test(fetching_can_be_stopped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
