/*
 * Memory that runs out while a model is read, asked, saved and reported on: every
 * allocation made to fail in turn (failing.h).
 */
#include "ans/heads.h"
#include "base/file.h"
#include "encoder/encoder.h"
#include "text/vocab.h"

#include "failing.h"
#include "orders.h"
#include "scratch.h"
#include "small_model.h"
#include "tiny_model.h"
#include "ringfence_improve.h"
#include "ringfence_review.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TINY GOLDEN_DIR "/tiny/"

static rf_status load_text(rf_error *err)
{
    rf_vocab *v = rf_vocab_load(TINY "encoder", err);
    rf_status st = status_of(v, err);
    rf_vocab_free(v);
    return st;
}

static rf_status load_json(rf_error *err)
{
    rf_vocab *v = rf_vocab_load(TINY "encoder_eps", err);
    rf_status st = status_of(v, err);
    rf_vocab_free(v);
    return st;
}

static void vocabulary(void **state)
{
    (void)state;
    fail_each(load_text);
    fail_each(load_json);
}

static const rf_encoder *encoder; /* for the operations that need one */
static size_t threads;

static rf_status ignore_id(void *user, int32_t id, rf_error *err)
{
    (void)user, (void)id, (void)err;
    return RF_OK;
}

static rf_status tokenize(rf_error *err)
{
    rf_tokenizer *t = rf_tokenizer_new(encoder->vocab, 0, ignore_id, NULL, err);
    rf_status st = status_of(t, err);
    if (st == RF_OK)
        st = rf_tokenizer_feed(t, "where is my ring", 16, err);
    if (st == RF_OK)
        st = rf_tokenizer_end(t, NULL, err);
    rf_tokenizer_free(t);
    return st;
}

static rf_status tokenize_at_once(rf_error *err)
{
    int32_t ids[8];
    size_t n;
    return rf_tokenize(encoder->vocab, "where is my ring", 16, ids, 8, &n, err);
}

static void tokenizer(void **state)
{
    (void)state;
    fail_each(tokenize);
    fail_each(tokenize_at_once);
}

static rf_status load_encoder(rf_error *err)
{
    rf_encoder *e = rf_encoder_load(TINY "encoder", err);
    rf_status st = status_of(e, err);
    rf_encoder_free(e);
    return st;
}

static rf_status load_encoder_json(rf_error *err)
{
    rf_encoder *e = rf_encoder_load(TINY "encoder_eps", err);
    rf_status st = status_of(e, err);
    rf_encoder_free(e);
    return st;
}

static void loading(void **state)
{
    (void)state;
    fail_each(load_encoder);
    fail_each(load_encoder_json);
}

static rf_status embed(rf_error *err)
{
    static const char *const texts[] = {"please cancel my order", "", "where is it?"};
    static const size_t lens[] = {22, 0, 12};
    float out[3 * 32];
    rf_embed_options o = rf_embed_options_default();
    o.threads = threads;
    o.long_text = RF_LONG_WINDOW;
    rf_embedder *m = rf_embedder_new(encoder, &o, err);
    rf_status st = status_of(m, err);
    size_t before = failing_count();
    if (st == RF_OK)
        st = rf_embed(m, texts, lens, 3, out, err);
    assert_int_equal(failing_count(), before); /* all memory was had before */
    rf_embedder_free(m);
    return st;
}

static void embedding(void **state)
{
    (void)state;
    for (threads = 1; threads <= 2; threads++)
        fail_each(embed);
}

static const rf_model *model;

static rf_status answer(rf_error *err)
{
    rf_decision d;
    rf_session *s = rf_session_new(model, threads, err);
    rf_status st = status_of(s, err);
    size_t before = failing_count();
    if (st == RF_OK)
        st = rf_classify(s, "please cancel my order", 22, &d, err);
    assert_int_equal(failing_count(), before); /* all memory was had before */
    rf_session_free(s);
    return st;
}

static void answering(void **state)
{
    (void)state;
    rf_model *m = tiny_model_new(3, 0.0f);
    model = m;
    for (threads = 1; threads <= 2; threads++)
        fail_each(answer);
    rf_model_free(m);
}

static rf_status explain(rf_error *err)
{
    float z[32] = {0};
    rf_neighbour near[4];
    size_t n = 4;
    return rf_explain(model, z, near, &n, err);
}

static rf_status put_on_map(rf_error *err)
{
    float z[32] = {0}, x, y;
    return rf_model_place(model, z, &x, &y, err);
}

static rf_status put_into_words(rf_error *err)
{
    static float zero[32];
    const rf_decision d = {.probabilities = zero, .margins = zero, .feature = zero};
    const rf_answer_options o = {.struct_size = sizeof o,
                                 .top = 3,
                                 .margins = 3,
                                 .explain = 4,
                                 .map = true,
                                 .source = "a \xe6\xbc\xa2",
                                 .source_len = 5};
    char *json;
    rf_status st = rf_decision_json(model, &d, &o, &json, NULL, err);
    assert_int_equal(json != NULL, st == RF_OK);
    free(json);
    return st;
}

static void explaining(void **state)
{
    (void)state;
    rf_model *m = tiny_model_new(3, 0.0f);
    model = m;
    tiny_model_keep(m, 20, true);
    tiny_model_map(m, 2);
    fail_each(explain);
    fail_each(put_on_map);
    fail_each(put_into_words);
    rf_model_free(m);
}

static rf_session *session;
static rf_dataset *asked;

static rf_status evaluate(rf_error *err)
{
    rf_evaluation e;
    rf_confusion *list = NULL;
    size_t n;
    rf_status st = rf_evaluate(session, asked, &e, err);
    if (st == RF_OK)
        st = rf_evaluation_confusions(&e, &list, &n, err);
    free(list);
    rf_evaluation_release(&e); /* holds nothing after a failure */
    return st;
}

static rf_status compare(rf_error *err)
{
    rf_comparison c;
    rf_status st = rf_compare(session, session, asked, &c, err);
    rf_comparison_release(&c); /* holds nothing after a failure */
    return st;
}

static void evaluating(void **state)
{
    (void)state;
    rf_model *m = tiny_model_new(3, 0.0f);
    session = rf_session_new(m, 1, NULL);
    asked = rf_dataset_new(NULL);
    assert_int_equal(rf_dataset_add(asked, "where is it?", 12, "c0001", 5, NULL), RF_OK);
    assert_int_equal(rf_dataset_add(asked, "hello", 5, "oos", 3, NULL), RF_OK);
    fail_each(evaluate);
    fail_each(compare);
    rf_dataset_free(asked);
    rf_session_free(session);
    rf_model_free(m);
}

static rf_model *movable;

/* After a failure the model is as it was. */
static rf_status move_fences(rf_error *err)
{
    const float *fence = rf_head_at(&movable->state, 0).b3, was = *fence;
    const char *json = movable->json;
    rf_fence_options o = {.struct_size = sizeof o, .per_class = true, .threads = 1};
    rf_status st = rf_model_move_fences(movable, asked, &o, NULL, err);
    if (st != RF_OK)
        assert_true(*fence == was && movable->json == json);
    return st;
}

static void moving_fences(void **state)
{
    (void)state;
    movable = small_model(TINY "encoder", 2, 1, NULL);
    asked = rf_dataset_new(NULL);
    assert_true(movable && asked);
    for (unsigned i = 0; i < 24; i++) {
        const char *label = i % 2 ? "oos" : rf_model_label(movable, i % 4 / 2);
        char text[16];
        snprintf(text, sizeof text, "where is %u", i);
        assert_int_equal(
            rf_dataset_add(asked, text, strlen(text), label, strlen(label), NULL), RF_OK);
    }
    assert_int_equal(rf_dataset_class(asked, 0) < 3, 1); /* sorts the labels */
    fail_each(move_fences);
    rf_dataset_free(asked);
    rf_model_free(movable);
}

static char place[RF_PATH_MAX]; /* where an import writes, and labelled data lies */

static rf_status import(rf_error *err)
{
    char target[RF_PATH_MAX];
    scratch_path(target, place, "imported");
    rf_status st = rf_encoder_import(TINY "onnx/model.onnx", target, err);
    if (st != RF_OK) { /* the target is not there, nor anything half-made beside it */
        assert_int_equal(files_in(place), 0);
        return st;
    }
    assert_int_equal(files_in(target), 4);
    scratch_remove(target);
    return st;
}

static void importing(void **state)
{
    (void)state;
    scratch_make(place);
    fail_each(import);
    scratch_remove(place);
}

static rf_status read_data(const char *name, rf_error *err)
{
    char path[RF_PATH_MAX];
    rf_data_summary sum;
    scratch_path(path, place, name);
    rf_dataset *data = rf_dataset_read(path, NULL, err);
    rf_status st = status_of(data, err);
    if (st == RF_OK)
        st = rf_dataset_summarize(data, &sum, err);
    if (st == RF_OK)
        assert_int_equal(sum.rows, 100);
    rf_dataset_free(data);
    return st;
}

static rf_status read_csv(rf_error *err)
{
    return read_data("data.csv", err);
}

static rf_status read_jsonl(rf_error *err)
{
    return read_data("data.jsonl", err);
}

/* A row that fails leaves the set as it was, and can be tried again. */
static rf_status add_rows(rf_error *err)
{
    rf_dataset *data = rf_dataset_new(err);
    rf_status st = status_of(data, err), failed = st;
    for (size_t i = 0; data && i < 100; i++) {
        char label[16];
        int n = snprintf(label, sizeof label, "%zu", i);
        st = rf_dataset_add(data, label, (size_t)n, label, (size_t)n, err);
        if (st != RF_OK && failed == RF_OK)
            failed = st;
        size_t rows = i + (st == RF_OK);
        assert_int_equal(rf_dataset_rows(data), rows);
        assert_int_equal(rf_dataset_classes(data), rows);
        if (st != RF_OK && failing_mode() == ALL_FROM)
            break;
        if (st != RF_OK)
            i--;
    }
    rf_dataset_free(data);
    return failed;
}

static void labelled_data(void **state)
{
    (void)state;
    char csv[8192] = "text,label\n", jsonl[8192] = "";
    for (size_t i = 0; i < 100; i++) {
        size_t n = strlen(csv), m = strlen(jsonl);
        snprintf(csv + n, sizeof csv - n, "\"some, text\",label %zu\n", i);
        snprintf(jsonl + m, sizeof jsonl - m,
                 "{\"text\": \"some text\", \"label\": \"label %zu\"}\n", i);
    }
    scratch_make(place);
    scratch_write(place, "data.csv", csv, strlen(csv));
    scratch_write(place, "data.jsonl", jsonl, strlen(jsonl));
    fail_each(read_csv);
    fail_each(read_jsonl);
    fail_each(add_rows);
    scratch_remove(place);
}

static bool slim;

static rf_status save_model(rf_error *err)
{
    char path[RF_PATH_MAX];
    const rf_save_options o = {
        .struct_size = sizeof o, .slim = slim, .keep_examples = true};
    scratch_path(path, place, "model.rf");
    rf_status st = rf_model_save(model, path, &o, err);
    assert_int_equal(files_in(place), st == RF_OK); /* complete or not at all */
    if (st == RF_OK)
        assert_int_equal(unlink(path), 0);
    return st;
}

static rf_status save_bytes(rf_error *err)
{
    const rf_save_options o = {
        .struct_size = sizeof o, .slim = slim, .keep_examples = true};
    void *bytes;
    size_t len;
    rf_status st = rf_model_save_bytes(model, &o, &bytes, &len, err);
    assert_int_equal(bytes != NULL, st == RF_OK);
    free(bytes);
    return st;
}

static rf_status load_model(rf_error *err)
{
    char path[RF_PATH_MAX];
    scratch_path(path, place, "model.rf");
    rf_model *m = rf_model_load(path, err);
    rf_status st = status_of(m, err);
    rf_model_free(m);
    return st;
}

static void models(void **state)
{
    (void)state;
    char path[RF_PATH_MAX];
    scratch_make(place);
    scratch_path(path, place, "model.rf");
    rf_model *m = small_model(TINY "encoder", 2, 1, NULL);
    assert_non_null(m);
    model = m;
    for (int i = 0; i <= 1; i++) {
        slim = i;
        const rf_save_options o = {
            .struct_size = sizeof o, .slim = slim, .keep_examples = true};
        fail_each(save_model);
        if (slim) /* the other takes no other way, and more time */
            fail_each(save_bytes);
        assert_int_equal(rf_model_save(m, path, &o, NULL), RF_OK);
        fail_each(load_model);
        assert_int_equal(unlink(path), 0);
    }
    rf_model_free(m);
    scratch_remove(place);
}

static rf_status review_texts(rf_error *err)
{
    char path[RF_PATH_MAX], text[8][32];
    const char *texts[8];
    size_t lens[8];
    rf_review_options o = rf_review_options_default();
    o.threads = threads;
    o.doubt = 1.0;
    o.min_texts = 2;
    for (size_t i = 0; i < 8; i++) {
        texts[i] = text[i];
        lens[i] = (size_t)snprintf(text[i], sizeof text[i], "%s %zu",
                                   i % 2 ? "where is order" : "hello you", i / 3);
    }
    rf_review *r = rf_review_texts(model, texts, lens, 8, &o, err);
    rf_status st = status_of(r, err);
    scratch_path(path, place, "review.html");
    if (r)
        st = rf_report_review(r, NULL, path, err);
    assert_int_equal(files_in(place), st == RF_OK);
    if (st == RF_OK)
        assert_int_equal(unlink(path), 0);
    rf_review_free(r);
    return st;
}

/* The default method has more to load and to answer with than small_model. One class has
 * a head. */
static void models_of_the_default_method(void **state)
{
    (void)state;
    char path[RF_PATH_MAX];
    rf_train_options o = rf_train_options_default();
    o.encoder = TINY "encoder";
    o.threads = 1;
    o.settings = "epochs=1 head_steps=1 train_layers=1";
    asked = orders_new_with_head();
    rf_model *m = rf_train(asked, NULL, &o, NULL);
    assert_non_null(m);
    model = m;
    for (threads = 1; threads <= 2; threads++)
        fail_each(answer);
    scratch_make(place);
    scratch_path(path, place, "model.rf");
    assert_int_equal(rf_model_save(m, path, NULL, NULL), RF_OK);
    fail_each(load_model);
    assert_int_equal(unlink(path), 0);
    for (threads = 1; threads <= 2; threads++)
        fail_each(review_texts);
    scratch_remove(place);
    rf_model_free(m);
    rf_dataset_free(asked);
}

static rf_status report(rf_error *err)
{
    char path[RF_PATH_MAX];
    rf_report_options o = rf_report_options_default();
    o.threads = 1;
    o.max_points = 3;
    scratch_path(path, place, "report.html");
    rf_status st = rf_report_model(model, asked, &o, path, err);
    assert_int_equal(files_in(place), st == RF_OK);
    if (st == RF_OK)
        assert_int_equal(unlink(path), 0);
    return st;
}

static rf_status report_comparison(rf_error *err)
{
    char path[RF_PATH_MAX];
    rf_comparison c = {0};
    scratch_path(path, place, "compare.html");
    rf_status st = rf_compare(session, session, asked, &c, err);
    if (st == RF_OK)
        st = rf_report_comparison(&c, asked, NULL, NULL, path, err);
    rf_comparison_release(&c);
    assert_int_equal(files_in(place), st == RF_OK);
    if (st == RF_OK)
        assert_int_equal(unlink(path), 0);
    return st;
}

static void reporting(void **state)
{
    (void)state;
    scratch_make(place);
    rf_model *m = small_model(TINY "encoder", 2, 1, NULL);
    assert_non_null(m);
    model = m;
    asked = rf_dataset_new(NULL);
    assert_int_equal(rf_dataset_add(asked, "where is it?", 12, "caf\xc3\xa9 01", 8, NULL),
                     RF_OK);
    for (int i = 0; i < 4; i++)
        assert_int_equal(rf_dataset_add(asked, "hello", 5, "oos", 3, NULL), RF_OK);
    fail_in_turn(report, ONE, true); /* jansson: see training */
    fail_in_turn(report, ONE, false);
    session = rf_session_new(m, 1, NULL);
    fail_each(report_comparison);
    rf_session_free(session);
    rf_dataset_free(asked);
    rf_model_free(m);
    scratch_remove(place);
}

static int set_up(void **state)
{
    (void)state;
    encoder = rf_encoder_load(TINY "encoder", NULL);
    return encoder ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    rf_encoder_free((rf_encoder *)(uintptr_t)encoder);
    return 0;
}

int main(void)
{
    failing_set_up();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vocabulary), cmocka_unit_test(tokenizer),
        cmocka_unit_test(loading),    cmocka_unit_test(embedding),
        cmocka_unit_test(answering),  cmocka_unit_test(explaining),
        cmocka_unit_test(evaluating), cmocka_unit_test(moving_fences),
        cmocka_unit_test(importing),  cmocka_unit_test(labelled_data),
        cmocka_unit_test(models),     cmocka_unit_test(models_of_the_default_method),
        cmocka_unit_test(reporting),
    };
    return cmocka_run_group_tests_name("alloc", tests, set_up, tear_down);
}
