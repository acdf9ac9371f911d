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
#include "base/file.h"
#include "encoder/encoder.h"
#include "text/vocab.h"

#include "scratch.h"

#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

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
            assert_error(&err, RF_ERR_NOMEM, "cannot have");
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

static char place[RF_PATH_MAX]; /* where an import writes */

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
        cmocka_unit_test(vocabulary), cmocka_unit_test(tokenizer),
        cmocka_unit_test(loading),    cmocka_unit_test(embedding),
        cmocka_unit_test(importing),
    };
    return cmocka_run_group_tests_name("alloc", tests, set_up, tear_down);
}
