/*
 * Memory that runs out: every allocation of an operation made to fail in turn. The
 * operation must say RF_ERR_NOMEM, leave nothing behind (the address sanitizer counts),
 * and work again the next time.
 *
 * The linker sends our calls of malloc and its kin to the functions below (--wrap), and
 * jansson is told to use them. A run fails either the n-th allocation of ours alone, or
 * the n-th of all and every later one. jansson is spared the first kind: its lexer drops
 * the byte for which its buffer could not grow and reads on (2.14), which is harmless
 * only if the next request fails too.
 */
#include "ans/heads.h"
#include "base/file.h"
#include "encoder/encoder.h"
#include "lab/results.h"
#include "lab/split.h"
#include "text/vocab.h"

#include "scratch.h"
#include "small_model.h"
#include "tiny_model.h"
#include "lab/lab.h"
#include "ringfence_improve.h"

#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TINY GOLDEN_DIR "/tiny/"

/* ---- The allocator ----------------------------------------------------------------- */

typedef enum failing { NONE, ONE, ALL_FROM } failing;

static struct {
    failing mode;
    size_t at; /* the first that fails, counted from 1 */
    atomic_size_t count;
    atomic_bool met;
} plan;

static bool refused(void)
{
    if (plan.mode == NONE)
        return false;
    size_t n = atomic_fetch_add(&plan.count, 1) + 1;
    if (plan.mode == ONE ? n != plan.at : n < plan.at)
        return false;
    atomic_store(&plan.met, true);
    errno = ENOMEM;
    return true;
}

static void arm(failing mode, size_t at)
{
    atomic_store(&plan.count, 0);
    atomic_store(&plan.met, false);
    plan.at = at;
    plan.mode = mode;
}

static bool disarm(void)
{
    plan.mode = NONE;
    return atomic_load(&plan.met);
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_aligned_alloc(size_t align, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_aligned_alloc(size_t align, size_t size);

void *__wrap_malloc(size_t size)
{
    return refused() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return refused() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return refused() ? NULL : __real_realloc(old, size);
}

void *__wrap_aligned_alloc(size_t align, size_t size)
{
    return refused() ? NULL : __real_aligned_alloc(align, size);
}

static void *jansson_malloc(size_t size)
{
    return plan.mode == ALL_FROM ? malloc(size) : __real_malloc(size);
}

static void jansson_free(void *p)
{
    free(p);
}

/* ---- Failing in turn --------------------------------------------------------------- */

typedef rf_status (*operation)(rf_error *err);

static void fail_in_turn(operation run, failing mode, bool with_error)
{
    for (size_t n = 1;; n++) {
        rf_error err = {0};
        arm(mode, n);
        rf_status st = run(with_error ? &err : NULL);
        if (!disarm()) { /* more than it asks for: all have had their turn */
            if (st != RF_OK)
                fail_msg("failed without reason: %s", err.msg);
            assert_true(n > 1);
            return;
        }
        if (st == RF_OK)
            fail_msg("allocation %zu failed and nobody noticed", n);
        if (st != RF_ERR_NOMEM)
            fail_msg("allocation %zu failed: %s (%s), wanted out of memory", n,
                     rf_status_name(st), err.msg);
        if (with_error)
            assert_error(&err, RF_ERR_NOMEM, "cannot allocate");
    }
}

static void fail_each(operation run)
{
    fail_in_turn(run, ONE, true);
    fail_in_turn(run, ONE, false);
    fail_in_turn(run, ALL_FROM, true);
    fail_in_turn(run, ALL_FROM, false);
}

/* For functions that return NULL: without an rf_error there is no more to know. */
static rf_status status_of(const void *made, const rf_error *err)
{
    if (made)
        return RF_OK;
    return err ? err->code : RF_ERR_NOMEM;
}

/* ---- The operations ---------------------------------------------------------------- */

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
    size_t before = atomic_load(&plan.count);
    if (st == RF_OK)
        st = rf_embed(m, texts, lens, 3, out, err);
    assert_int_equal(atomic_load(&plan.count), before); /* all memory was had before */
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
    size_t before = atomic_load(&plan.count);
    if (st == RF_OK)
        st = rf_classify(s, "please cancel my order", 22, &d, err);
    assert_int_equal(atomic_load(&plan.count), before); /* all memory was had before */
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

static size_t files_in(const char *path)
{
    DIR *dir = opendir(path);
    assert_non_null(dir);
    size_t n = 0;
    while (readdir(dir))
        n++;
    closedir(dir);
    return n - 2; /* . and .. */
}

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
        if (st != RF_OK && plan.mode == ALL_FROM)
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
        assert_int_equal(rf_model_save(m, path, &o, NULL), RF_OK);
        fail_each(load_model);
        assert_int_equal(unlink(path), 0);
    }
    rf_model_free(m);
    scratch_remove(place);
}

static const char *method; /* NULL: ans, with a checkpoint */

static rf_status train_model(rf_error *err)
{
    char dir[RF_PATH_MAX];
    rf_train_options o = rf_train_options_default();
    o.encoder = TINY "encoder";
    o.threads = threads;
    o.settings = "epochs=2 head_steps=1 train_layers=1 neighbours=3";
    o.dev_share = 0.2;
    o.map_points = 7; /* of 12 rows: a sample */
    scratch_path(dir, place, "checkpoint");
    o.checkpoint = method ? NULL : dir;
    o.resume = !method; /* whatever a failed run left behind must do */
    o.method = method;
    o.open_texts = method && strcmp(method, "selfsup") == 0 ? asked : NULL;
    rf_model *m = rf_train(asked, NULL, &o, err);
    rf_status st = status_of(m, err);
    rf_model_free(m);
    return st;
}

static void ask_orders(void)
{
    asked = rf_dataset_new(NULL);
    for (int i = 0; i < 15; i++) {
        char text[32], label[8];
        int n = snprintf(text, sizeof text, "where is order %d", i * 7);
        int m = snprintf(label, sizeof label, "c%d", i % 3);
        assert_int_equal(rf_dataset_add(asked, text, (size_t)n, label, (size_t)m, NULL),
                         RF_OK);
    }
}

static void training(void **state)
{
    (void)state;
    ask_orders();
    scratch_make(place);
    threads = 1; /* jansson 2.14 asserts when it runs out inside a string: left alone */
    fail_in_turn(train_model, ONE, true);
    fail_in_turn(train_model, ONE, false);
    scratch_remove(place);
    rf_dataset_free(asked);
}

static const rf_dataset *more_rows;

static rf_status update_model(rf_error *err)
{
    const rf_class_edit edit = {.from = "c2", .to = "other"};
    rf_update_options o = rf_update_options_default();
    o.threads = threads;
    o.edits = &edit;
    o.n_edits = 1;
    o.dev = asked;
    char *report;
    rf_model *m = rf_update(model, more_rows, &o, &report, err);
    rf_status st = status_of(m, err);
    free(report);
    rf_model_free(m);
    return st;
}

/* A row is relabelled, one is new, and one class has a new name. */
static void updating(void)
{
    rf_dataset *few = rf_dataset_new(NULL), *many = rf_dataset_new(NULL);
    assert_int_equal(rf_dataset_add(few, "where is order 7", 16, "c0", 2, NULL), RF_OK);
    for (int i = 0; i < 40; i++) { /* half as many as there are: the space is fitted */
        char text[32];
        int n = snprintf(text, sizeof text, "is it %d", i);
        assert_int_equal(rf_dataset_add(i ? many : few, text, (size_t)n, "new", 3, NULL),
                         RF_OK);
    }
    threads = 1;
    more_rows = few;
    fail_in_turn(update_model, ONE, true); /* jansson: see training */
    fail_in_turn(update_model, ONE, false);
    more_rows = many;
    fail_in_turn(update_model, ONE, true);
    rf_dataset_free(few);
    rf_dataset_free(many);
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
    ask_orders();
    for (int i = 0; i < 50; i++)
        assert_int_equal(rf_dataset_add(asked, "hello again", 11, "c0", 2, NULL), RF_OK);
    rf_model *m = rf_train(asked, NULL, &o, NULL);
    assert_non_null(m);
    model = m;
    for (threads = 1; threads <= 2; threads++)
        fail_each(answer);
    scratch_make(place);
    scratch_path(path, place, "model.rf");
    assert_int_equal(rf_model_save(m, path, NULL, NULL), RF_OK);
    fail_each(load_model);
    scratch_remove(place);
    updating();
    rf_model_free(m);
    rf_dataset_free(asked);
}

static void training_by_other_methods(void **state)
{
    (void)state;
    ask_orders();
    threads = 1;
    for (size_t i = 0; (method = rf_method_name(i, NULL, NULL)); i++)
        fail_in_turn(train_model, ONE, true); /* jansson: see above */
    rf_dataset_free(asked);
}

static rf_status append_run(rf_error *err)
{
    rf_run run = {.set = "banking", .ratio = 0.25, .method = "adb", .encoder = "e"};
    return rf_run_append(place, &run, err);
}

static rf_status write_tables(rf_error *err)
{
    char *text;
    rf_status st = rf_lab_table(place, NULL, &text, err);
    free(text);
    return st;
}

static rf_status split(rf_error *err)
{
    rf_split s;
    rf_split_options o = {.ratio = 0.5, .rows_per_class = 2};
    rf_status st = rf_split_make(&s, asked, asked, asked, &o, err);
    rf_split_release(&s);
    return st;
}

static void lab(void **state)
{
    static const char *const variants[] = {"", "ablation=noise", "radius=8", "ascent=1"};
    static const char *const methods[] = {"ans", "msp", "msp-neg", "adb"};
    (void)state;
    scratch_make(place);
    fail_in_turn(append_run, ONE, true); /* jansson left alone, see training() */
    fail_in_turn(append_run, ONE, false);
    for (size_t i = 0; i < 32; i++) {
        rf_run run = {.set = "banking", .ratio = 0.25, .seed = i / 16, .encoder = "e"};
        strcpy(run.method, methods[i % 4]);
        strcpy(run.variant, variants[i / 4 % 4]);
        assert_int_equal(rf_run_append(place, &run, NULL), RF_OK);
    }
    fail_in_turn(write_tables, ONE, true);
    fail_in_turn(write_tables, ONE, false);
    scratch_remove(place);
    asked = rf_dataset_new(NULL);
    for (int i = 0; i < 40; i++)
        assert_int_equal(rf_dataset_add(asked, "x", 1, &"abcde"[i % 5], 1, NULL), RF_OK);
    fail_each(split);
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

static rf_status check_data(rf_error *err)
{
    rf_check_options o = rf_check_options_default();
    o.encoder = TINY "encoder";
    o.threads = threads;
    rf_findings *found = rf_check(asked, &o, err);
    rf_status st = status_of(found, err);
    rf_findings_free(found);
    return st;
}

/* Rows with a finding of most kinds; every row is in a fold with its copies. */
static void checking(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"where is it", "a"}, {"where is it", "b"}, {"x y z", "B "},     {"x y z", "B "},
        {"", "oos"},          {"\xe9", "a"},        {"x y z x y z", "b"}};
    asked = rf_dataset_new(NULL);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(rf_dataset_add(asked, rows[i][0], strlen(rows[i][0]), rows[i][1],
                                        strlen(rows[i][1]), NULL),
                         RF_OK);
    for (int i = 0; i < 40; i++)
        assert_int_equal(rf_dataset_add(asked, i % 2 ? "x y z is" : "where is it",
                                        i % 2 ? 8 : 11, i % 2 ? "b" : "a", 1, NULL),
                         RF_OK);
    threads = 1;
    fail_each(check_data);
    threads = 2;
    fail_in_turn(check_data, ONE, true);
    rf_dataset_free(asked);
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
    json_set_alloc_funcs(jansson_malloc, jansson_free);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vocabulary),
        cmocka_unit_test(tokenizer),
        cmocka_unit_test(loading),
        cmocka_unit_test(embedding),
        cmocka_unit_test(answering),
        cmocka_unit_test(explaining),
        cmocka_unit_test(evaluating),
        cmocka_unit_test(moving_fences),
        cmocka_unit_test(importing),
        cmocka_unit_test(labelled_data),
        cmocka_unit_test(models),
        cmocka_unit_test(training),
        cmocka_unit_test(lab),
        cmocka_unit_test(reporting),
        cmocka_unit_test(checking),
        cmocka_unit_test(models_of_the_default_method),
        cmocka_unit_test(training_by_other_methods),
    };
    return cmocka_run_group_tests_name("alloc", tests, set_up, tear_down);
}
