/*
 * Unigram models of SentencePiece, exactly: against ids that SentencePiece itself gave to
 * the same models (tools/make_unigram_golden.py), and files that are nearly right.
 */
#include "base/digest.h"
#include "base/file.h"
#include "text/tokenizer.h"
#include "text/unigram.h"

#include "failing.h"
#include "scratch.h"
#include "token_cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOKENS GOLDEN_DIR "/tokens/"

static rf_vocab *small_vocab(const char *name)
{
    char dir[RF_PATH_MAX];
    rf_error err = {0};
    snprintf(dir, sizeof dir, TOKENS "%s", name);
    rf_vocab *v = rf_vocab_load(dir, &err);
    if (!v)
        fail_msg("%s", err.msg);
    return v;
}

/* The vocabulary of XLM-R comes with an encoder; without one, says so. */
static rf_vocab *full_vocab(void)
{
    char dir[RF_PATH_MAX];
    const char *own = getenv("RINGFENCE_TEST_XLMR");
    if (own)
        return rf_vocab_load(own, NULL);
    if (rf_encoder_path("multilingual-e5-small", dir, sizeof dir, NULL) != RF_OK) {
        printf("SKIPPED: encoder multilingual-e5-small is not in the cache\n");
        return NULL;
    }
    return rf_vocab_load(dir, NULL);
}

static void hard_strings(void **state)
{
    (void)state;
    rf_vocab *v = small_vocab("unigram");
    token_check_strings(v, TOKENS "scripts.jsonl", TOKENS "unigram.ids", 500, 0, NULL);
    rf_vocab_free(v);
}

static void byte_fallback(void **state)
{
    (void)state;
    rf_vocab *v = small_vocab("unigram_bytes");
    token_check_strings(v, TOKENS "scripts.jsonl", TOKENS "unigram_bytes.ids", 500, 0,
                        NULL);
    rf_vocab_free(v);
}

static void hard_strings_of_xlmr(void **state)
{
    (void)state;
    rf_vocab *v = full_vocab();
    if (!v)
        skip();
    token_check_strings(v, TOKENS "scripts.jsonl", TOKENS "xlmr.ids", 500, 0, NULL);
    rf_vocab_free(v);
}

/* ---- The benchmark sets ------------------------------------------------------------ */

/* The ids of all rows, a line each. */
static size_t set_ids(const rf_vocab *v, const char *path, rf_buffer *all)
{
    token_lines rows;
    rf_buffer line;
    size_t used = 0;
    rf_buffer_init(&line, (size_t)1 << 24, "ids");
    assert_true(token_lines_load(&rows, path));
    for (size_t i = 1; i < rows.n; i++) { /* the published reading: docs/TESTING.md */
        char *tab = strchr(rows.line[i], '\t');
        if (!tab || strchr(tab + 1, '\t'))
            continue;
        used++;
        token_ids(v, rows.line[i], (size_t)(tab - rows.line[i]), 0, 0, &line);
        assert_int_equal(rf_buffer_add(all, line.data, line.len, NULL), RF_OK);
        assert_int_equal(rf_buffer_add(all, "\n", 1, NULL), RF_OK);
    }
    token_lines_release(&rows);
    rf_buffer_release(&line);
    return used;
}

static void benchmark_sets_of_xlmr(void **state)
{
    (void)state;
    token_lines want;
    if (!rf_file_exists(SHARED_DATA_DIR)) {
        printf("SKIPPED: no benchmark data beside the repository\n");
        skip();
    }
    rf_vocab *v = full_vocab();
    if (!v)
        skip();
    assert_true(token_lines_load(&want, TOKENS "xlmr_sets.tsv"));
    assert_int_equal(want.n, 9);
    for (size_t i = 0; i < want.n; i++) {
        char set[32], split[32], hex[65], got[RF_SHA256_HEX], path[RF_PATH_MAX];
        size_t rows;
        rf_buffer all;
        assert_int_equal(
            sscanf(want.line[i], "%31s %31s %zu %64s", set, split, &rows, hex), 4);
        snprintf(path, sizeof path, "%s/%s/%s.tsv", SHARED_DATA_DIR, set, split);
        rf_buffer_init(&all, (size_t)1 << 28, "ids");
        assert_int_equal(set_ids(v, path, &all), rows);
        rf_sha256_bytes(all.data, all.len, got);
        if (strcmp(got, hex) != 0)
            fail_msg("%s: ids differ from SentencePiece's", path);
        rf_buffer_release(&all);
    }
    token_lines_release(&want);
    rf_vocab_free(v);
}

/* ---- Behaviour --------------------------------------------------------------------- */

static void truncation_keeps_the_end_token(void **state)
{
    (void)state;
    rf_vocab *v = small_vocab("unigram");
    static const char text[] = "Where is my new bank card?";
    rf_buffer whole, cut;
    rf_buffer_init(&whole, 1 << 16, "ids");
    rf_buffer_init(&cut, 1 << 16, "ids");
    token_ids(v, text, sizeof text - 1, 0, 0, &whole);
    token_ids(v, text, sizeof text - 1, 0, 4, &cut);
    char *third = whole.data;
    for (int i = 0; i < 3; i++)
        third = strchr(third, ' ') + 1;
    third[-1] = '\0';
    char want[64];
    snprintf(want, sizeof want, "%s %d", whole.data, (int)v->sep);
    assert_string_equal(cut.data, want);
    assert_string_equal(token_ids(v, text, sizeof text - 1, 0, 2, &cut), "0 2");
    rf_buffer_release(&whole);
    rf_buffer_release(&cut);
    rf_vocab_free(v);
}

static rf_status count(void *user, int32_t id, rf_error *err)
{
    (void)id, (void)err;
    ++*(size_t *)user;
    return RF_OK;
}

/* Megabytes without a space, of spaces, of unknown characters and of characters that are
 * dropped: time is linear and memory does not grow. */
static void floods(void **state)
{
    (void)state;
    static const char *const units[] = {"a",
                                        "\xE6\xBC\xA2",
                                        " ",
                                        "x ",
                                        "\xF0\x93\x80\x80",
                                        "\xE2\x80\x8B",
                                        "\xEF\xB7\xBA",
                                        "e\xCC\x81",
                                        "\xE2\x96\x81",
                                        "\xFF"};
    rf_vocab *v = small_vocab("unigram");
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        size_t unit = strlen(units[i]), n = 0, total = 0;
        char *block = malloc(unit * 4096);
        for (size_t j = 0; j < 4096; j++)
            memcpy(block + j * unit, units[i], unit);
        rf_tokenizer *t = rf_tokenizer_new(v, 0, count, &n, NULL);
        for (size_t j = 0; j < 64; j++)
            assert_int_equal(rf_tokenizer_feed(t, block, unit * 4096, NULL), RF_OK);
        assert_int_equal(rf_tokenizer_end(t, &total, NULL), RF_OK);
        assert_int_equal(total, n);
        if (strcmp(units[i], " ") == 0 || strcmp(units[i], "\xFF") == 0)
            assert_int_equal(n, 3); /* as one space */
        if (strcmp(units[i], "\xE2\x80\x8B") == 0)
            assert_int_equal(n, 2); /* nothing is left */
        if (strcmp(units[i], "\xF0\x93\x80\x80") == 0)
            assert_int_equal(n, 4); /* the space and one unknown token, divided or not */
        rf_tokenizer_free(t);
        free(block);
    }
    rf_vocab_free(v);
}

static void note(void *user, const int32_t *chars, size_t n, const char *bytes,
                 size_t len)
{
    (void)chars;
    (void)n;
    rf_buffer *b = user;
    assert_int_equal(rf_buffer_add(b, bytes, len, NULL), RF_OK);
    assert_int_equal(rf_buffer_add(b, "|", 1, NULL), RF_OK);
}

static void words_are_shown_without_punctuation(void **state)
{
    (void)state;
    rf_vocab *v = small_vocab("unigram");
    rf_buffer b;
    size_t n = 0;
    rf_buffer_init(&b, 1 << 16, "words");
    rf_tokenizer *t = rf_tokenizer_new(v, 0, count, &n, NULL);
    rf_tokenizer_watch_words(t, note, &b);
    static const char text[] = " Where (is) my \xE3\x82\xAB\xE3\x83\xBC\xE3\x83\x89, !? ";
    assert_int_equal(rf_tokenizer_feed(t, text, sizeof text - 1, NULL), RF_OK);
    assert_int_equal(rf_tokenizer_end(t, NULL, NULL), RF_OK);
    assert_int_equal(rf_buffer_add(&b, "", 1, NULL), RF_OK);
    assert_string_equal(b.data, "Where|is|my|\xE3\x82\xAB\xE3\x83\xBC\xE3\x83\x89|");
    rf_tokenizer_free(t);
    rf_buffer_release(&b);
    rf_vocab_free(v);
}

/* ---- Files that are nearly right --------------------------------------------------- */

#define NORMALIZER "\"normalizer\": null"
#define WORDS "\"pre_tokenizer\": {\"type\": \"Metaspace\", \"replacement\": \"\\u2581\"}"
#define TEMPLATE                                                                         \
    "\"post_processor\": {\"type\": \"RobertaProcessing\", \"cls\": [\"<s>\", 0], "      \
    "\"sep\": [\"</s>\", 1]}"
#define PIECES                                                                           \
    "[\"<s>\", 0], [\"</s>\", 0], [\"<unk>\", 0], [\"a\", -1], [\"\\u2581\", -2], "      \
    "[\"\\u2581a\", -2.5], [\"aa\", -1.5]"
#define MODEL "\"model\": {\"type\": \"Unigram\", \"unk_id\": 2, \"vocab\": [" PIECES "]}"
#define FILE_OF(n, w, t, m) "{" n ", " w ", " t ", " m "}"

static rf_vocab *read_json(const char *json, rf_error *err)
{
    return rf_vocab_from_json(json, strlen(json), "tokenizer.json", err);
}

static void refused(void **state)
{
    (void)state;
    static const struct {
        const char *json, *part;
        rf_status code;
    } cases[] = {
        {FILE_OF("\"normalizer\": {\"type\": \"NFKC\"}", WORDS, TEMPLATE, MODEL),
         "normalizer is NFKC, wanted Precompiled", RF_ERR_VERSION},
        {FILE_OF("\"normalizer\": {\"type\": \"Replace\", \"pattern\": {\"String\": "
                 "\"x\"}, \"content\": \"y\"}",
                 WORDS, TEMPLATE, MODEL),
         "normalizer is another Replace", RF_ERR_VERSION},
        {FILE_OF("\"normalizer\": {\"type\": \"Sequence\", \"normalizers\": [{\"type\": "
                 "\"Strip\"}, {\"type\": \"Precompiled\"}]}",
                 WORDS, TEMPLATE, MODEL),
         "Precompiled after others", RF_ERR_VERSION},
        {FILE_OF("\"normalizer\": {\"type\": \"Precompiled\", \"precompiled_charsmap\": "
                 "7}",
                 WORDS, TEMPLATE, MODEL),
         "precompiled_charsmap is an integer", RF_ERR_FORMAT},
        {FILE_OF("\"normalizer\": {\"type\": \"Precompiled\", \"precompiled_charsmap\": "
                 "\"!!!!\"}",
                 WORDS, TEMPLATE, MODEL),
         "not base64", RF_ERR_FORMAT},
        {FILE_OF("\"normalizer\": {\"type\": \"Precompiled\", \"precompiled_charsmap\": "
                 "\"AAAA\"}",
                 WORDS, TEMPLATE, MODEL),
         "3 bytes with a trie of 0", RF_ERR_FORMAT},
        {FILE_OF("\"normalizer\": {\"type\": \"Precompiled\", \"precompiled_charsmap\": "
                 "\"BAAAAAAAAAA=\"}",
                 WORDS, TEMPLATE, MODEL),
         "8 bytes with a trie of 4", RF_ERR_FORMAT},
        {FILE_OF("\"normalizer\": {\"type\": \"Precompiled\", \"precompiled_charsmap\": "
                 "\"BAAAAAAAAABh\"}",
                 WORDS, TEMPLATE, MODEL),
         "has no end", RF_ERR_FORMAT},
        {FILE_OF(NORMALIZER, "\"pre_tokenizer\": {\"type\": \"ByteLevel\"}", TEMPLATE,
                 MODEL),
         "pre_tokenizer is ByteLevel, wanted Metaspace", RF_ERR_VERSION},
        {FILE_OF(NORMALIZER,
                 "\"pre_tokenizer\": {\"type\": \"Metaspace\", \"replacement\": \"_\"}",
                 TEMPLATE, MODEL),
         "wanted U+2581", RF_ERR_VERSION},
        {FILE_OF(NORMALIZER,
                 "\"pre_tokenizer\": {\"type\": \"Metaspace\", \"replacement\": "
                 "\"\\u2581\", \"prepend_scheme\": \"never\"}",
                 TEMPLATE, MODEL),
         "without a space before the text", RF_ERR_VERSION},
        {FILE_OF(NORMALIZER,
                 "\"pre_tokenizer\": {\"type\": \"Metaspace\", \"replacement\": "
                 "\"\\u2581\", \"split\": false}",
                 TEMPLATE, MODEL),
         "Metaspace without split", RF_ERR_VERSION},
        {FILE_OF(NORMALIZER, WORDS, "\"post_processor\": null", MODEL),
         "post_processor is null, wanted TemplateProcessing", RF_ERR_VERSION},
        {FILE_OF(NORMALIZER, WORDS,
                 "\"post_processor\": {\"type\": \"TemplateProcessing\", \"single\": []}",
                 MODEL),
         "another template", RF_ERR_VERSION},
        {FILE_OF(NORMALIZER, WORDS,
                 "\"post_processor\": {\"type\": \"BertProcessing\", \"cls\": [\"<x>\", "
                 "0], \"sep\": [\"</s>\", 1]}",
                 MODEL),
         "no start token \"<x>\"", RF_ERR_FORMAT},
        {FILE_OF(NORMALIZER, WORDS, TEMPLATE,
                 "\"model\": {\"type\": \"Unigram\", \"unk_id\": 7, \"vocab\": [" PIECES
                 "]}"),
         "model.unk_id is an integer 7, wanted one of the 7 pieces", RF_ERR_FORMAT},
        {FILE_OF(NORMALIZER, WORDS, TEMPLATE,
                 "\"model\": {\"type\": \"Unigram\", \"vocab\": [" PIECES "]}"),
         "model.unk_id is missing", RF_ERR_FORMAT},
        {FILE_OF(NORMALIZER, WORDS, TEMPLATE,
                 "\"model\": {\"type\": \"Unigram\", \"unk_id\": 2, \"vocab\": {}}"),
         "model.vocab is an object", RF_ERR_FORMAT},
        {FILE_OF(NORMALIZER, WORDS, TEMPLATE,
                 "\"model\": {\"type\": \"Unigram\", \"unk_id\": 2, \"vocab\": [" PIECES
                 ", [\"b\", \"c\"]]}"),
         "model.vocab[7] wants a piece and its score", RF_ERR_FORMAT},
        {FILE_OF(NORMALIZER, WORDS, TEMPLATE,
                 "\"model\": {\"type\": \"Unigram\", \"unk_id\": 2, \"byte_fallback\": "
                 "true, \"vocab\": [" PIECES "]}"),
         "byte_fallback without a piece \"<0x00>\"", RF_ERR_FORMAT},
        {FILE_OF(NORMALIZER, WORDS, TEMPLATE,
                 MODEL ", \"added_tokens\": [{\"id\": 7, \"content\": \"x\"}]"),
         "added token \"x\" is not special", RF_ERR_VERSION},
        {FILE_OF(NORMALIZER, WORDS, TEMPLATE,
                 MODEL ", \"added_tokens\": [{\"id\": 3, \"content\": \"x\", "
                       "\"special\": true}]"),
         "id 3 is both \"a\" and \"x\"", RF_ERR_FORMAT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        rf_error err = {0};
        if (read_json(cases[i].json, &err))
            fail_msg("accepted: %s", cases[i].json);
        assert_error(&err, cases[i].code, "tokenizer.json", cases[i].part);
        assert_null(read_json(cases[i].json, NULL));
    }
}

static void too_long(void **state)
{
    (void)state;
    rf_error err = {0};
    char json[4096], piece[RF_UNIGRAM_PIECE + 2];
    memset(piece, 'b', sizeof piece - 1);
    piece[sizeof piece - 1] = '\0';
    snprintf(json, sizeof json,
             FILE_OF(NORMALIZER, WORDS, TEMPLATE,
                     "\"model\": {\"type\": \"Unigram\", \"unk_id\": 2, \"vocab\": "
                     "[" PIECES ", [\"%s\", -3]]}"),
             piece);
    assert_null(read_json(json, &err));
    assert_error(&err, RF_ERR_LIMIT, "model.vocab[7] is a piece of 513 bytes");
}

/* By hand: "aaa" is "▁a" + "aa" (-4.0), not "▁" + "a" + "aa" (-4.5); "b" is unknown, and
 * two of them are one token. */
static void by_hand(void **state)
{
    (void)state;
    rf_error err = {0};
    rf_vocab *v = read_json(FILE_OF(NORMALIZER, WORDS, TEMPLATE, MODEL), &err);
    rf_buffer b;
    rf_buffer_init(&b, 4096, "ids");
    if (!v)
        fail_msg("%s", err.msg);
    assert_string_equal(token_ids(v, "aaa", 3, 0, 0, &b), "0 5 6 1");
    assert_string_equal(token_ids(v, "abba", 4, 0, 0, &b), "0 5 2 3 1");
    assert_string_equal(token_ids(v, "", 0, 0, 0, &b), "0 1");
    assert_string_equal(token_ids(v, "a  a ", 5, 0, 0, &b), "0 5 4 5 4 1");
    assert_string_equal(token_ids(v, "<s>", 3, 0, 0, &b), "0 4 2 1");
    rf_buffer_release(&b);
    rf_vocab_free(v);
}

/* A word that is longer than the buffer gets the pieces that it has as a whole. (The
 * scores are such that sums of them are exact.) */
static void long_words_are_divided_without_a_seam(void **state)
{
    (void)state;
    rf_vocab *v = read_json(FILE_OF(NORMALIZER, WORDS, TEMPLATE, MODEL), NULL);
    size_t len = 3 * RF_UNIGRAM_WORD + 1, n = 0;
    char *word = malloc(RF_METASPACE_LEN + len);
    rf_unigram_node *nodes = calloc(RF_METASPACE_LEN + len + 1, sizeof *nodes);
    int32_t *ids = calloc(len + 3, sizeof *ids);
    memcpy(word, RF_METASPACE, RF_METASPACE_LEN);
    for (size_t i = 0; i < len; i++)
        word[RF_METASPACE_LEN + i] = i % 7 == 3 && i % 5 == 1 ? 'b' : 'a';
    rf_unigram_path(v, word, RF_METASPACE_LEN + len, 0.0f, nodes);
    assert_int_equal(rf_tokenize(v, word + RF_METASPACE_LEN, len, ids, len + 3, &n, NULL),
                     RF_OK);
    size_t at = 0, k = 1;
    for (; at < RF_METASPACE_LEN + len; k++) {
        at = nodes[at].next;
        assert_int_equal(ids[k], nodes[at].id);
    }
    assert_int_equal(n, k + 1);
    free(word);
    free(nodes);
    free(ids);
    rf_vocab_free(v);
}

/* ---- Memory that runs out ---------------------------------------------------------- */

static rf_status load(rf_error *err)
{
    rf_vocab *v = read_json(FILE_OF(NORMALIZER, WORDS, TEMPLATE, MODEL), err);
    rf_status st = status_of(v, err);
    rf_vocab_free(v);
    return st;
}

static const rf_vocab *loaded;

static rf_status tokenize(rf_error *err)
{
    int32_t ids[8];
    size_t n;
    return rf_tokenize(loaded, "a a", 3, ids, 8, &n, err);
}

static void memory_runs_out(void **state)
{
    (void)state;
    rf_vocab *v = small_vocab("unigram");
    fail_each(load);
    loaded = v;
    fail_each(tokenize);
    rf_vocab_free(v);
}

int main(void)
{
    failing_set_up();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hard_strings),
        cmocka_unit_test(byte_fallback),
        cmocka_unit_test(hard_strings_of_xlmr),
        cmocka_unit_test(benchmark_sets_of_xlmr),
        cmocka_unit_test(truncation_keeps_the_end_token),
        cmocka_unit_test(floods),
        cmocka_unit_test(long_words_are_divided_without_a_seam),
        cmocka_unit_test(words_are_shown_without_punctuation),
        cmocka_unit_test(refused),
        cmocka_unit_test(too_long),
        cmocka_unit_test(by_hand),
        cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests_name("unigram", tests, NULL, NULL);
}
