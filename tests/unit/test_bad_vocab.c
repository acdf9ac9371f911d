/*
 * Vocabularies that are nearly right: vocab.txt with tokenizer_config.json, and
 * tokenizer.json. Each mistake is refused with its code and named; each flag is seen to
 * change what a text becomes.
 */
#include "text/vocab.h"

#include "scratch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static rf_vocab *from_text(const char *text, size_t len, const char *config,
                           rf_error *err)
{
    char *copy = malloc(len ? len : 1); /* not NUL-terminated */
    assert_non_null(copy);
    memcpy(copy, text, len);
    rf_vocab *v = rf_vocab_from_text(copy, len, "vocab.txt", config,
                                     config ? strlen(config) : 0, "flags.json", err);
    free(copy);
    return v;
}

static void refuse_text(const char *text, size_t len, rf_status code, const char *a,
                        const char *b)
{
    rf_error err = {0};
    if (from_text(text, len, NULL, &err))
        fail_msg("accepted, wanted a complaint: %s, %s", a, b);
    assert_error(&err, code, "vocab.txt", a, b);
    assert_null(from_text(text, len, NULL, NULL));
}

static rf_vocab *good_text(const char *text, size_t len, const char *config)
{
    rf_error err = {0};
    rf_vocab *v = from_text(text, len, config, &err);
    if (!v)
        fail_msg("%s", err.msg);
    return v;
}

static void assert_piece(const rf_vocab *v, int32_t id, const char *piece)
{
    size_t len = 0;
    assert_string_equal(rf_vocab_piece(v, id, &len), piece);
    assert_int_equal(len, strlen(piece));
}

/* The pieces of a text between [CLS] and [SEP], with a space after each. */
static void assert_tokens(const rf_vocab *v, const char *text, const char *want)
{
    int32_t ids[64];
    size_t n;
    char got[512] = "";
    assert_int_equal(rf_tokenize(v, text, strlen(text), ids, 64, &n, NULL), RF_OK);
    assert_in_range(n, 2, 64);
    assert_int_equal(ids[0], v->cls);
    assert_int_equal(ids[n - 1], v->sep);
    for (size_t i = 1; i + 1 < n; i++) {
        strcat(got, rf_vocab_piece(v, ids[i], NULL));
        strcat(got, " ");
    }
    assert_string_equal(got, want);
}

/* ---- vocab.txt --------------------------------------------------------------------- */

#define TEXT(s) s, sizeof(s) - 1

static void special_tokens(void **state)
{
    (void)state;
    refuse_text(TEXT(""), RF_ERR_FORMAT, "no pieces", "");
    refuse_text(TEXT("\n\n"), RF_ERR_FORMAT, "no unknown token \"[UNK]\"",
                "among 2 pieces");
    refuse_text(TEXT("[CLS]\n[SEP]\na\n"), RF_ERR_FORMAT, "no unknown token \"[UNK]\"",
                "among 3 pieces");
    refuse_text(TEXT("[UNK]\n[SEP]\n"), RF_ERR_FORMAT, "no start token \"[CLS]\"", "");
    refuse_text(TEXT("[UNK]\n[CLS]\n"), RF_ERR_FORMAT, "no end token \"[SEP]\"", "");
    refuse_text(TEXT("[UNK]\n[CLS]\n[sep]\n"), RF_ERR_FORMAT, "no end token \"[SEP]\"",
                "");
    refuse_text(TEXT("[UNK]\n[CLS] \n[SEP]\n"), RF_ERR_FORMAT, "no start token", "");
    refuse_text(TEXT("[UNK]\n[CLS]\n[SEP]\na\n[CLS]\n"), RF_ERR_FORMAT,
                "start token \"[CLS]\"", "at id 1 and again at id 4");
    refuse_text(TEXT("[UNK]\n[UNK]\n[CLS]\n[SEP]\n"), RF_ERR_FORMAT,
                "unknown token \"[UNK]\"", "at id 0 and again at id 1");
    refuse_text(TEXT("[SEP]\n[UNK]\n[CLS]\n[SEP]\n"), RF_ERR_FORMAT,
                "end token \"[SEP]\"", "at id 0 and again at id 3");
}

static void lines(void **state)
{
    (void)state;
    rf_vocab *v = good_text(TEXT("[UNK]\r\n[CLS]\r\n\r\n[SEP]\r\nab\r\n##c"), NULL);
    assert_int_equal(rf_vocab_size(v), 6);
    assert_piece(v, 0, "[UNK]");
    assert_piece(v, 2, ""); /* an empty line takes its id */
    assert_piece(v, 4, "ab");
    assert_piece(v, 5, "##c"); /* no newline at the end */
    assert_null(rf_vocab_piece(v, 6, NULL));
    assert_null(rf_vocab_piece(v, -1, NULL));
    assert_int_equal(rf_vocab_find(v, "ab", 2), 4);
    assert_int_equal(rf_vocab_find(v, "##c", 3), 5);
    assert_int_equal(rf_vocab_find(v, "c", 1), -1);
    assert_int_equal(rf_vocab_find(v, "", 0), -1);
    assert_tokens(v, "abc", "ab ##c ");
    assert_tokens(v, "c", "[UNK] ");
    rf_vocab_free(v);

    /* Of two equal pieces the later wins, as in Python's dict. */
    v = good_text(TEXT("[UNK]\n[CLS]\n[SEP]\nab\nx\nab\n"), NULL);
    assert_int_equal(rf_vocab_find(v, "ab", 2), 5);
    assert_piece(v, 3, "ab");
    rf_vocab_free(v);

    refuse_text(TEXT("[UNK]\n[CLS]\n[SEP]\na\0b\n"), RF_ERR_FORMAT, "line 4",
                "holds a NUL");
    char text[2048] = "[UNK]\n[CLS]\n[SEP]\n";
    size_t start = strlen(text);
    memset(text + start, 'x', 1024);
    refuse_text(text, start + 1024, RF_ERR_FORMAT, "line 4 is 1024 bytes long",
                "wanted a piece of up to 1023");
    v = good_text(text, start + 1023, NULL);
    assert_int_equal(rf_vocab_find(v, text + start, 1023), 3);
    assert_int_equal(rf_vocab_find(v, text + start, 1022), -1);
    rf_vocab_free(v);
}

static void too_many_lines(void **state)
{
    (void)state;
    size_t len = 2 * (RF_MAX_VOCAB + 1);
    char *text = malloc(len);
    assert_non_null(text);
    for (size_t i = 0; i < len; i += 2) {
        text[i] = 'x';
        text[i + 1] = '\n';
    }
    refuse_text(text, len, RF_ERR_LIMIT, "id 1000000", "wanted 0 to 999999");
    free(text);
}

static void config_names(void **state)
{
    (void)state;
    static const char text[] = "<unk>\n<s>\n</s>\na\n";
    rf_vocab *v =
        good_text(TEXT(text), "{\"unk_token\": \"<unk>\", \"cls_token\": {\"content\": "
                              "\"<s>\"}, \"sep_token\": \"</s>\", \"pad_token\": null}");
    assert_int_equal(v->unk, 0);
    assert_int_equal(v->cls, 1);
    assert_int_equal(v->sep, 2);
    assert_tokens(v, "a b", "a <unk> ");
    rf_vocab_free(v);

    static const struct {
        const char *config, *a;
    } bad[] = {
        {"{\"cls_token\": \"<s>\", \"sep_token\": \"</s>\"}",
         "no unknown token \"[UNK]\""},
        {"{\"unk_token\": \"<unk>\", \"cls_token\": \"<t>\", \"sep_token\": \"</s>\"}",
         "no start token \"<t>\""},
        {"{\"unk_token\": \"</s>\", \"cls_token\": \"<s>\", \"sep_token\": \"</s>\"}",
         "the unknown token is also the start or the end token"},
        {"{\"cls_token\": 7}", "cls_token"},
        {"{\"sep_token\": \"\"}", "sep_token"},
        {"{\"unk_token\": {\"content\": null}}", "unk_token"},
        {"{\"unk_token\": \"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
         "xxxx\"}",
         "unk_token"},
        {"{\"do_lower_case\": 1}", "do_lower_case is an integer, wanted true or false"},
        {"{\"strip_accents\": \"true\"}", "strip_accents is a string"},
        {"{\"tokenize_chinese_chars\": []}", "tokenize_chinese_chars is an array"},
        {"", "not valid JSON"},
        {"[]", "holds an array"},
        {"{\"a\": 1, \"a\": 2}", "duplicate"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        rf_error err = {0};
        assert_null(from_text(TEXT(text), bad[i].config, &err));
        assert_error(&err, RF_ERR_FORMAT, i < 3 ? "vocab.txt" : "flags.json", bad[i].a);
    }
}

/* ---- Flags ------------------------------------------------------------------------- */

/* strip_accents that is null or absent goes with lower-casing. */
static void folding(void **state)
{
    (void)state;
    static const char text[] = "[UNK]\n[CLS]\n[SEP]\nE\ne\nÉ\né\n中\n文\n##文\n";
    static const struct {
        const char *lower, *strip;
        const char *want; /* of "É E é e" */
    } cases[] = {
        {"true", NULL, "e e e e "},     {"true", "null", "e e e e "},
        {"true", "true", "e e e e "},   {"true", "false", "é e é e "},
        {"false", NULL, "É E é e "},    {"false", "null", "É E é e "},
        {"false", "false", "É E é e "}, {"false", "true", "E E e e "},
        {"null", NULL, "e e e e "},     {NULL, NULL, "e e e e "},
        {NULL, "false", "é e é e "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char config[100], lower[40] = "", strip[40] = "";
        if (cases[i].lower)
            snprintf(lower, sizeof lower, ", \"do_lower_case\": %s", cases[i].lower);
        if (cases[i].strip)
            snprintf(strip, sizeof strip, ", \"strip_accents\": %s", cases[i].strip);
        snprintf(config, sizeof config, "{\"x\": 0%s%s}", lower, strip);
        rf_vocab *v = good_text(TEXT(text), config);
        assert_tokens(v, "É E é e", cases[i].want);
        assert_tokens(v, "E\xCC\x81",
                      v->fold.strip_accents ? (v->fold.lowercase ? "e " : "E ")
                                            : "[UNK] ");
        rf_vocab_free(v);
    }
    rf_vocab *v = good_text(TEXT(text), "{\"tokenize_chinese_chars\": true}");
    assert_tokens(v, "中文", "中 文 ");
    rf_vocab_free(v);
    v = good_text(TEXT(text), "{\"tokenize_chinese_chars\": false}");
    assert_tokens(v, "中文", "中 ##文 ");
    rf_vocab_free(v);
}

/* ---- tokenizer.json ---------------------------------------------------------------- */

#define NORMALIZER "{\"type\": \"BertNormalizer\"}"
#define PRE "{\"type\": \"BertPreTokenizer\"}"
#define VOCAB "{\"[UNK]\": 0, \"[CLS]\": 1, \"[SEP]\": 2, \"a\": 3, \"##b\": 4, \"B\": 5}"
#define MODEL(more) "{\"type\": \"WordPiece\", \"vocab\": " VOCAB more "}"
#define JSON(normalizer, pre, model, more)                                               \
    "{\"normalizer\": " normalizer ", \"pre_tokenizer\": " pre                           \
    ", \"model\": " model more "}"
#define WITH_MODEL(model) JSON(NORMALIZER, PRE, model, "")

static rf_vocab *from_json(const char *json, size_t len, rf_error *err)
{
    char *copy = malloc(len ? len : 1);
    assert_non_null(copy);
    memcpy(copy, json, len);
    rf_vocab *v = rf_vocab_from_json(copy, len, "tokenizer.json", err);
    free(copy);
    return v;
}

static rf_vocab *good_json(const char *json)
{
    rf_error err = {0};
    rf_vocab *v = from_json(json, strlen(json), &err);
    if (!v)
        fail_msg("%s", err.msg);
    return v;
}

typedef struct bad_json {
    const char *json, *a;
    rf_status code; /* 0: RF_ERR_FORMAT */
} bad_json;

static void refuse_json(const bad_json *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        rf_error err = {0};
        if (from_json(cases[i].json, strlen(cases[i].json), &err))
            fail_msg("accepted, wanted a complaint: %s", cases[i].a);
        assert_error(&err, cases[i].code ? cases[i].code : RF_ERR_FORMAT,
                     "tokenizer.json", cases[i].a);
        assert_null(from_json(cases[i].json, strlen(cases[i].json), NULL));
    }
}

static void json_text(void **state)
{
    (void)state;
    static const bad_json cases[] = {
        {"", "not valid JSON", 0},
        {"[]", "holds an array, wanted an object", 0},
        {"{\"model\": ", "not valid JSON", 0},
        {"{\"model\": {}, \"model\": {}}", "duplicate", 0},
        {WITH_MODEL("{\"type\": \"WordPiece\", \"vocab\": {\"a\": 1, \"a\": 2}}"),
         "duplicate", 0},
        {WITH_MODEL("{\"type\": \"WordPiece\", \"vocab\": {\"\xff\": 1}}"),
         "unable to decode byte 0xff", 0},
        {WITH_MODEL("{\"type\": \"WordPiece\", \"vocab\": {\"\\u0000\": 1}}"),
         "not valid JSON", 0},
    };
    refuse_json(cases, sizeof cases / sizeof cases[0]);
    size_t deep = 100000;
    char *nest = malloc(deep + 1);
    assert_non_null(nest);
    memset(nest, '[', deep);
    nest[deep] = '\0';
    const bad_json nested = {nest, "nested deeper than 64", RF_ERR_LIMIT};
    refuse_json(&nested, 1);
    free(nest);
    /* A tree of these would take 200 MB. */
    size_t many = 2000000, at = 0;
    char *bomb = malloc(3 * many + 8);
    assert_non_null(bomb);
    at += (size_t)sprintf(bomb, "{\"\":[");
    for (size_t i = 0; i < many / 2; i++, at += 3)
        memcpy(bomb + at, "{},", 3);
    strcpy(bomb + at, "{}]}");
    const bad_json large = {bomb, "more than 2000000 values", RF_ERR_LIMIT};
    refuse_json(&large, 1);
    free(bomb);
}

static void json_pipeline(void **state)
{
    (void)state;
    static const bad_json cases[] = {
        {"{}", "model is missing, wanted WordPiece", RF_ERR_VERSION},
        {"{\"model\": null}", "model is null, wanted WordPiece", RF_ERR_VERSION},
        {WITH_MODEL("{\"type\": \"BPE\", \"vocab\": {}}"),
         "model is BPE, wanted WordPiece", RF_ERR_VERSION},
        {WITH_MODEL("{\"type\": 3}"), "model is an object, wanted WordPiece",
         RF_ERR_VERSION},
        {JSON(NORMALIZER, "{\"type\": \"Whitespace\"}", MODEL(""), ""),
         "pre_tokenizer is Whitespace, wanted BertPreTokenizer", RF_ERR_VERSION},
        {JSON(NORMALIZER, "null", MODEL(""), ""), "pre_tokenizer is null",
         RF_ERR_VERSION},
        {JSON("{\"type\": \"NFC\"}", PRE, MODEL(""), ""),
         "normalizer is NFC, wanted BertNormalizer", RF_ERR_VERSION},
        {JSON("[]", PRE, MODEL(""), ""), "normalizer is an array", RF_ERR_VERSION},
        {JSON("{\"type\": \"BertNormalizer\", \"lowercase\": 1}", PRE, MODEL(""), ""),
         "lowercase is an integer, wanted true or false", 0},
        {JSON("{\"type\": \"BertNormalizer\", \"clean_text\": \"no\"}", PRE, MODEL(""),
              ""),
         "clean_text is a string", 0},
        {JSON("{\"type\": \"BertNormalizer\", \"handle_chinese_chars\": {}}", PRE,
              MODEL(""), ""),
         "handle_chinese_chars is an object", 0},
        {JSON("{\"type\": \"BertNormalizer\", \"strip_accents\": 0.5}", PRE, MODEL(""),
              ""),
         "strip_accents is a fraction", 0},
    };
    refuse_json(cases, sizeof cases / sizeof cases[0]);
}

static void json_model(void **state)
{
    (void)state;
#define PIECES(pieces) WITH_MODEL("{\"type\": \"WordPiece\", \"vocab\": " pieces "}")
#define LIMIT(n) WITH_MODEL(MODEL(", \"max_input_chars_per_word\": " n))
#define PREFIX(s) WITH_MODEL(MODEL(", \"continuing_subword_prefix\": " s))
#define ADDED(tokens) JSON(NORMALIZER, PRE, MODEL(""), ", \"added_tokens\": " tokens)
    static const bad_json cases[] = {
        {WITH_MODEL("{\"type\": \"WordPiece\"}"), "model.vocab is missing", 0},
        {PIECES("[]"), "model.vocab is an array, wanted an object", 0},
        {PIECES("{}"), "no pieces", 0},
        {PIECES("{\"[UNK]\": 0}"), "no start token \"[CLS]\"", 0},
        {PIECES("{\"a\": -1}"), "\"a\" has id -1, wanted 0 to 999999", RF_ERR_LIMIT},
        {PIECES("{\"a\": 1000000}"), "\"a\" has id 1000000, wanted 0 to 999999",
         RF_ERR_LIMIT},
        {PIECES("{\"a\": 9223372036854775807}"), "has id 9223372036854775807",
         RF_ERR_LIMIT},
        {PIECES("{\"a\": \"0\"}"), "id of \"a\" is a string, wanted an integer", 0},
        {PIECES("{\"a\": 0.0}"), "id of \"a\" is a fraction", 0},
        {PIECES("{\"a\": null}"), "id of \"a\" is null", 0},
        {PIECES("{\"a\": 7, \"b\": 7}"), "id 7 is both", 0},
        {WITH_MODEL(MODEL(", \"unk_token\": \"<unk>\"")), "no unknown token \"<unk>\"",
         0},
        {WITH_MODEL(MODEL(", \"unk_token\": 0")), "unk_token", 0},
        {LIMIT("0"), "max_input_chars_per_word is 0, wanted 1 to 1000", RF_ERR_LIMIT},
        {LIMIT("-5"), "max_input_chars_per_word is -5", RF_ERR_LIMIT},
        {LIMIT("1000000000"), "max_input_chars_per_word is 1000000000", RF_ERR_LIMIT},
        {LIMIT("\"100\""), "max_input_chars_per_word", RF_ERR_LIMIT},
        {PREFIX("\"0123456789abcdef\""),
         "continuing_subword_prefix is a string of 16 bytes, wanted a string of 1 to 15",
         0},
        {PREFIX("\"\""), "continuing_subword_prefix is a string of 0 bytes", 0},
        {PREFIX("2"), "continuing_subword_prefix is an integer", 0},
        {ADDED("[{\"id\": 6}]"), "added_tokens[0] wants", 0},
        {ADDED("[{\"id\": 6, \"content\": \"x\"}, {\"id\": \"7\", \"content\": \"y\"}]"),
         "added_tokens[1] wants", 0},
        {ADDED("[7]"), "added_tokens[0] wants", 0},
        {ADDED("[{\"id\": -6, \"content\": \"x\"}]"), "\"x\" has id -6", RF_ERR_LIMIT},
        {ADDED("[{\"id\": 3, \"content\": \"x\"}]"), "id 3 is both", 0},
        {ADDED("[{\"id\": 9, \"content\": \"[CLS]\"}]"), "at id 1 and again at id 9", 0},
        {ADDED("{\"x\": 6}"), "added_tokens is an object, wanted an array", 0},
    };
    refuse_json(cases, sizeof cases / sizeof cases[0]);
}

static void json_accepted(void **state)
{
    (void)state;
    rf_vocab *v = good_json(WITH_MODEL(MODEL("")));
    assert_true(v->fold.lowercase && v->fold.strip_accents && v->clean_text);
    assert_tokens(v, "aB Á", "a ##b a ");
    rf_vocab_free(v);

    v = good_json(JSON("null", PRE, MODEL(""), "")); /* text as it is */
    assert_false(v->fold.lowercase || v->fold.strip_accents || v->clean_text ||
                 v->space_cjk);
    assert_tokens(v, "ab B b a\x01", "a ##b B [UNK] [UNK] ");
    rf_vocab_free(v);

    v = good_json(JSON("{\"type\": \"BertNormalizer\", \"lowercase\": false}", PRE,
                       MODEL(", \"max_input_chars_per_word\": 2"), ""));
    assert_tokens(v, "B Á ab abb", "B [UNK] a ##b [UNK] ");
    rf_vocab_free(v);

    v = good_json(PREFIX("\"#\"")); /* "##b" is "#b" inside a word, then */
    assert_tokens(v, "a ab", "a [UNK] ");
    rf_vocab_free(v);

    /* Ids with gaps, an added token beyond them, a special one listed twice. */
    v = good_json(
        ADDED("[{\"id\": 1, \"content\": \"[CLS]\"}, {\"id\": 900, \"content\": "
              "\"new\"}]"));
    assert_int_equal(rf_vocab_size(v), 901);
    assert_int_equal(rf_vocab_find(v, "new", 3), 900);
    assert_null(rf_vocab_piece(v, 899, NULL));
    rf_vocab_free(v);
    v = good_json(ADDED("null"));
    rf_vocab_free(v);
}

/* ---- Directories ------------------------------------------------------------------- */

static void directories(void **state)
{
    (void)state;
    char dir[RF_PATH_MAX];
    rf_error err = {0};
    scratch_make(dir);
    assert_null(rf_vocab_load(dir, &err));
    assert_error(&err, RF_ERR_MISSING, dir, "neither tokenizer.json nor vocab.txt");

    static const char text[] = "[UNK]\n[CLS]\n[SEP]\nx\n";
    scratch_write(dir, "vocab.txt", text, sizeof text - 1);
    rf_vocab *v = rf_vocab_load(dir, &err);
    assert_non_null(v);
    assert_true(v->fold.lowercase); /* without tokenizer_config.json: uncased */
    rf_vocab_free(v);
    scratch_write(dir, "tokenizer_config.json", TEXT("{\"do_lower_case\": false}"));
    v = rf_vocab_load(dir, &err);
    assert_non_null(v);
    assert_false(v->fold.lowercase);
    rf_vocab_free(v);
    scratch_write(dir, "tokenizer_config.json", TEXT("{"));
    assert_null(rf_vocab_load(dir, &err));
    assert_error(&err, RF_ERR_FORMAT, dir, "tokenizer_config.json", "not valid JSON");

    scratch_write(dir, "tokenizer.json", TEXT(WITH_MODEL(MODEL(""))));
    v = rf_vocab_load(dir, &err); /* comes first; the other two are not looked at */
    assert_non_null(v);
    assert_int_equal(rf_vocab_size(v), 6);
    rf_vocab_free(v);
    scratch_write(dir, "tokenizer.json", TEXT("{}"));
    assert_null(rf_vocab_load(dir, &err)); /* and is not skipped when it is wrong */
    assert_error(&err, RF_ERR_VERSION, dir, "tokenizer.json", "model is missing");
    scratch_remove(dir);
    rf_vocab_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(special_tokens), cmocka_unit_test(lines),
        cmocka_unit_test(too_many_lines), cmocka_unit_test(config_names),
        cmocka_unit_test(folding),        cmocka_unit_test(json_text),
        cmocka_unit_test(json_pipeline),  cmocka_unit_test(json_model),
        cmocka_unit_test(json_accepted),  cmocka_unit_test(directories),
    };
    return cmocka_run_group_tests_name("bad vocab", tests, NULL, NULL);
}
