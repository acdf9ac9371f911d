/*
 * Tokens, exactly: against ids that tools/make_token_golden.py worked out with its own
 * implementation on Python's Unicode data, and against the reference ids of the
 * benchmark sets where those are at hand.
 */
#include "base/file.h"
#include "text/vocab.h"

#include "token_cases.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static rf_vocab *small_vocab(bool lowercase)
{
    rf_error err = {0};
    rf_buffer file;
    rf_buffer_init(&file, 1 << 20, "small_vocab.txt");
    assert_int_equal(rf_file_read(GOLDEN_DIR "/tokens/small_vocab.txt", &file, NULL),
                     RF_OK);
    const char *config = lowercase ? "{}" : "{\"do_lower_case\": false}";
    rf_vocab *v = rf_vocab_from_text(file.data, file.len, "small_vocab.txt", config,
                                     strlen(config), "config", &err);
    if (!v)
        fail_msg("%s", err.msg);
    rf_buffer_release(&file);
    return v;
}

/* The full BERT vocabulary comes with an encoder; without one, says so and returns NULL.
 */
static rf_vocab *full_vocab(void)
{
    char dir[RF_PATH_MAX];
    if (rf_encoder_path("minilm", dir, sizeof dir, NULL) != RF_OK) {
        printf("SKIPPED: encoder minilm is not in the cache\n");
        return NULL;
    }
    return rf_vocab_load(dir, NULL);
}

static void hard_small(void **state)
{
    (void)state;
    rf_vocab *v = small_vocab(true);
    token_check_strings(v, GOLDEN_DIR "/tokens/hard.jsonl",
                        GOLDEN_DIR "/tokens/hard_small.ids", 200, 0, NULL);
    rf_vocab_free(v);
}

static void hard_full(void **state)
{
    (void)state;
    rf_vocab *v = full_vocab();
    if (!v)
        skip();
    token_check_strings(v, GOLDEN_DIR "/tokens/hard.jsonl", GOLDEN_DIR "/tokens/hard.ids",
                        200, 0, NULL);
    v->fold = (rf_fold_flags){0};
    token_check_strings(v, GOLDEN_DIR "/tokens/hard.jsonl",
                        GOLDEN_DIR "/tokens/hard_cased.ids", 200, 0, NULL);
    rf_vocab_free(v);
}

static void malformed(void **state)
{
    (void)state;
    rf_vocab *small = small_vocab(true), *full = full_vocab();
    token_lines l;
    assert_true(token_lines_load(&l, GOLDEN_DIR "/tokens/malformed.tsv"));
    assert_true(l.n >= 40);
    for (size_t i = 0; i < l.n; i++) {
        char *hex = l.line[i], bytes[4096];
        char *want_full = strchr(hex, '\t'), *want_small;
        assert_non_null(want_full);
        *want_full++ = '\0';
        want_small = strchr(want_full, '\t');
        assert_non_null(want_small);
        *want_small++ = '\0';
        size_t n = 0;
        for (; hex[2 * n]; n++) {
            unsigned byte;
            assert_int_equal(sscanf(hex + 2 * n, "%2x", &byte), 1);
            bytes[n] = (char)byte;
        }
        token_check(small, bytes, n, want_small, "malformed.tsv", i + 1);
        if (full)
            token_check(full, bytes, n, want_full, "malformed.tsv", i + 1);
    }
    token_lines_release(&l);
    rf_vocab_free(small);
    rf_vocab_free(full);
}

/* ---- The benchmark sets -------------------------------------------------------------
 */

static void check_set(const rf_vocab *v, const char *set, const char *split)
{
    char path[RF_PATH_MAX];
    token_lines rows, ids;
    snprintf(path, sizeof path, "%s/%s/%s.tsv", SHARED_DATA_DIR, set, split);
    assert_true(token_lines_load(&rows, path));
    snprintf(path, sizeof path, "%s/token_ids/%s_%s.ids", SHARED_DATA_DIR, set, split);
    assert_true(token_lines_load(&ids, path));
    size_t used = 0;
    rf_buffer b;
    rf_buffer_init(&b, (size_t)1 << 24, "ids");
    for (size_t i = 1; i < rows.n; i++) { /* the published reading: see docs/TESTING.md */
        char *tab = strchr(rows.line[i], '\t');
        if (!tab || strchr(tab + 1, '\t'))
            continue;
        assert_true(used < ids.n);
        const char *want = strchr(ids.line[used++], '\t') + 1;
        token_ids(v, rows.line[i], (size_t)(tab - rows.line[i]), 0, 0, &b);
        if (strcmp(b.data, want) != 0)
            fail_msg("%s %s line %zu: got %s, want %s", set, split, i + 1, b.data, want);
    }
    assert_int_equal(used, ids.n);
    rf_buffer_release(&b);
    token_lines_release(&rows);
    token_lines_release(&ids);
}

static void benchmark_sets(void **state)
{
    (void)state;
    static const char *const sets[] = {"banking", "oos", "stackoverflow"};
    static const char *const splits[] = {"train", "dev", "test"};
    if (!rf_file_exists(SHARED_DATA_DIR "/token_ids")) {
        printf("SKIPPED: no benchmark data beside the repository\n");
        skip();
    }
    rf_vocab *v = full_vocab();
    if (!v)
        skip();
    for (size_t i = 0; i < 3; i++)
        for (size_t j = 0; j < 3; j++)
            check_set(v, sets[i], splits[j]);
    /* Line 19 types the five special tokens. Its reference ids take them for the real
     * ones; our rule, and that of the file's own description, is that nobody can type a
     * special token: they are ordinary characters. */
    token_check_strings(
        v, SHARED_DATA_DIR "/token_ids/hard_strings.jsonl",
        SHARED_DATA_DIR "/token_ids/hard_strings.ids", 751, 19,
        "101 1031 18856 2015 1033 1031 19802 1033 1031 7308 1033 1031 4895 2243 "
        "1033 1031 11687 1033 102");
    rf_vocab_free(v);
}

/* ---- Behaviour ----------------------------------------------------------------------
 */

static void truncation_keeps_sep(void **state)
{
    (void)state;
    rf_vocab *v = small_vocab(true);
    rf_buffer b;
    char want[64];
    rf_buffer_init(&b, 1 << 16, "ids");
    int a = rf_vocab_find(v, "a", 1);
    assert_true(a >= 0);
    snprintf(want, sizeof want, "%d %d", v->cls, v->sep);
    assert_string_equal(token_ids(v, "a a a", 5, 0, 2, &b), want);
    snprintf(want, sizeof want, "%d %d %d %d", v->cls, a, a, v->sep);
    assert_string_equal(token_ids(v, "a a a", 5, 0, 4, &b), want);
    snprintf(want, sizeof want, "%d %d %d %d %d", v->cls, a, a, a, v->sep);
    assert_string_equal(token_ids(v, "a a a", 5, 0, 5, &b), want);
    assert_string_equal(token_ids(v, "a a a", 5, 0, 6, &b), want);
    rf_buffer_release(&b);

    int32_t ids[3];
    size_t n = 0;
    assert_int_equal(rf_tokenize(v, "a a a", 5, ids, 3, &n, NULL), RF_OK);
    assert_int_equal(n, 5);
    assert_int_equal(ids[2], a);
    rf_error err = {0};
    assert_null(rf_tokenizer_new(v, 1, token_put, &b, &err));
    assert_int_equal(err.code, RF_ERR_ARG);
    rf_vocab_free(v);
}

static rf_status count(void *user, int32_t id, rf_error *err)
{
    (void)id, (void)err;
    ++*(size_t *)user;
    return RF_OK;
}

/* Sixteen megabytes of each: with anything worse than linear time, or memory that grows,
 * this test would not end. */
static void floods(void **state)
{
    (void)state;
    static const struct {
        const char *unit; /* repeated */
        size_t per_token; /* units per token; 0: all of it is one token */
    } cases[] = {
        {"a", 0},                            /* one endless word */
        {"\xCC\x81", SIZE_MAX},              /* combining acute, all dropped */
        {"\xE3\x80\xAE", 0},                 /* a mark that is not dropped, class 224 */
        {"\xCC\x81\xE3\x80\xAE\xCC\x96", 0}, /* marks out of order */
        {" ", SIZE_MAX},
        {"!", 1},
        {"\xE4\xB8\xAD", 1}, /* an ideograph is a word */
        {"\xFF", SIZE_MAX},
        {"\0", SIZE_MAX},
    };
    rf_vocab *v = small_vocab(true);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t unit = cases[i].unit[0] ? strlen(cases[i].unit) : 1, n = 0, total = 0;
        size_t units = ((size_t)16 << 20) / unit;
        char *block = malloc(unit * 4096);
        for (size_t j = 0; j < 4096; j++)
            memcpy(block + j * unit, cases[i].unit, unit);
        rf_tokenizer *t = rf_tokenizer_new(v, 0, count, &n, NULL);
        for (size_t j = 0; j < units / 4096; j++)
            assert_int_equal(rf_tokenizer_feed(t, block, unit * 4096, NULL), RF_OK);
        assert_int_equal(rf_tokenizer_end(t, &total, NULL), RF_OK);
        size_t words = cases[i].per_token == SIZE_MAX ? 0
                       : cases[i].per_token == 0      ? 1
                                                      : units / 4096 * 4096;
        assert_int_equal(n, words + 2);
        assert_int_equal(total, n);
        rf_tokenizer_free(t);
        free(block);
    }
    rf_vocab_free(v);
}

static rf_status refuse(void *user, int32_t id, rf_error *err)
{
    size_t *left = user;
    (void)id;
    return (*left)-- ? RF_OK : rf_fail(err, RF_ERR_IO, 0, "no more");
}

static void a_failing_sink_stops_the_text_and_no_other(void **state)
{
    (void)state;
    rf_vocab *v = small_vocab(true);
    for (size_t at = 0; at < 5; at++) {
        size_t left = at;
        rf_error err = {0};
        rf_tokenizer *t = rf_tokenizer_new(v, 0, refuse, &left, NULL);
        rf_status st = rf_tokenizer_feed(t, "a a a ", 6, &err);
        if (st == RF_OK)
            st = rf_tokenizer_end(t, NULL, &err);
        assert_int_equal(st, RF_ERR_IO);
        assert_string_equal(err.msg, "no more");
        left = 5;
        assert_int_equal(rf_tokenizer_feed(t, "a a a", 5, &err), RF_OK);
        assert_int_equal(rf_tokenizer_end(t, NULL, &err), RF_OK);
        rf_tokenizer_free(t);
    }
    rf_vocab_free(v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hard_small),
        cmocka_unit_test(hard_full),
        cmocka_unit_test(malformed),
        cmocka_unit_test(benchmark_sets),
        cmocka_unit_test(truncation_keeps_sep),
        cmocka_unit_test(floods),
        cmocka_unit_test(a_failing_sink_stops_the_text_and_no_other),
    };
    return cmocka_run_group_tests_name("tokenizer", tests, NULL, NULL);
}
