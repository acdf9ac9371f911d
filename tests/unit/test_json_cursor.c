/*
 * The JSON cursor beside jansson: both must agree about what is valid, on texts written
 * by hand and on thousands that were damaged at random; and strings must come out the
 * same.
 */
#include "base/json.h"
#include "base/rng.h"
#include "data/json_cursor.h"

#include "scratch.h"

#include <stdlib.h>
#include <string.h>

/* What jansson refuses for reasons of its own: numbers that do not fit. */
static bool is_too_big(const json_error_t *e)
{
    return json_error_code(e) == json_error_numeric_overflow;
}

static rf_status skip_all(const char *text, size_t len, rf_error *err)
{
    rf_json_cursor c;
    char *copy = malloc(len + 1);
    memcpy(copy, text, len);
    rf_json_start(&c, copy, len, "x.json", 1);
    rf_status st = rf_json_skip(&c, err);
    if (st == RF_OK)
        st = rf_json_finish(&c, err);
    assert_int_equal(memcmp(copy, text, len), 0); /* skipping changes nothing */
    free(copy);
    return st;
}

static void compare(const char *text, size_t len)
{
    json_error_t e;
    rf_error err = {0};
    json_t *want = json_loadb(text, len, JSON_DECODE_ANY | JSON_ALLOW_NUL, &e);
    rf_status st = skip_all(text, len, &err);
    if (!want != (st != RF_OK) && !(st == RF_OK && is_too_big(&e)))
        fail_msg("%.*s: jansson says \"%s\", we say \"%s\"", (int)len, text,
                 want ? "valid" : e.text, st == RF_OK ? "valid" : err.msg);
    json_decref(want);
}

static const char *const texts[] = {
    "{}",
    "[]",
    "0",
    "-0",
    "1.5e-3",
    "\"\"",
    "true",
    "false",
    "null",
    " [1 , 2]\n",
    "{\"a\": [1, {\"b\": null}], \"c\": \"\\u00e9\\n\\\\\"}",
    "[[[[[]]]], {}]",
    "\"\\ud83d\\ude00 \\/ \\b\"",
    "[1,]",
    "{,}",
    "{\"a\"}",
    "{\"a\":}",
    "{a:1}",
    "[1 2]",
    "01",
    "1.",
    ".5",
    "+1",
    "1e",
    "--1",
    "tru",
    "nulll",
    "\"\\x\"",
    "\"\\ud800\"",
    "\"\\udc00\"",
    "\"\\ud800\\u0041\"",
    "\"a\nb\"",
    "\"",
    "\"\\",
    "\"\\u12",
    "[",
    "]",
    "",
    " ",
    "{}{}",
    "[}",
    "\"\xff\"",
    "\"\xc3\"",
    "\"\xc3\xa9\"",
    "\"\xed\xa0\x80\"",
    "\"\\u0000\"",
    "{\"a\":1,\"a\":2}",
    "[\"\x7f\"]",
    "1e400",
    "99999999999999999999",
    "'a'",
    "[1]/**/",
    "\xef\xbb\xbf[]",
    "{\"a\" : \"b\" , \"c\" : [ ] }",
};
#define N_TEXTS (sizeof texts / sizeof texts[0])

static void as_jansson_does(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_TEXTS; i++)
        for (size_t n = 0; n <= strlen(texts[i]); n++)
            compare(texts[i], n);
}

static void damaged_at_random(void **state)
{
    (void)state;
    static const char parts[] = "{}[],:\"\\u0123456789eE+-.truefalsn \n\xc3\xa9\x01";
    rf_rng rng = rf_rng_open(rf_rng_key(7, 0, 0, 0));
    for (size_t i = 0; i < 30000; i++) {
        char text[200];
        const char *from = texts[rf_rng_below(&rng, N_TEXTS)];
        size_t len = strlen(from);
        memcpy(text, from, len);
        for (size_t k = rf_rng_below(&rng, 4); k > 0 && len > 0; k--) {
            size_t at = rf_rng_below(&rng, len);
            text[at] = parts[rf_rng_below(&rng, sizeof parts - 1)];
        }
        compare(text, len);
    }
}

static void strings_are_decoded(void **state)
{
    (void)state;
    char text[] =
        "[\"a\\u00e9\\ud83d\\ude00\\u0000\\\"\\\\\\/\\b\\f\\n\\r\\tz\", 7, \"x\"]";
    json_t *want = json_loads(text, JSON_ALLOW_NUL, NULL);
    rf_json_cursor c;
    rf_json_list l = {0};
    rf_field got;
    bool more;
    rf_json_start(&c, text, strlen(text), "x.json", 1);
    for (size_t i = 0; i < 3; i++) {
        const json_t *w = json_array_get(want, i);
        assert_int_equal(rf_json_element(&c, &l, &more, NULL), RF_OK);
        assert_true(more);
        assert_int_equal(rf_json_value(&c, &got, NULL), RF_OK);
        assert_int_equal(got.kind, i == 1 ? '0' : 0);
        if (i == 1)
            continue;
        assert_int_equal(got.len, json_string_length(w));
        assert_memory_equal(got.data, json_string_value(w), got.len);
    }
    assert_int_equal(rf_json_element(&c, &l, &more, NULL), RF_OK);
    assert_false(more);
    assert_int_equal(rf_json_finish(&c, NULL), RF_OK);
    json_decref(want);
}

static void depth_is_bounded(void **state)
{
    (void)state;
    char text[2 * RF_JSON_DEPTH + 2];
    rf_error err = {0};
    for (size_t depth = RF_JSON_DEPTH; depth <= RF_JSON_DEPTH + 1; depth++) {
        memset(text, '[', depth);
        memset(text + depth, ']', depth);
        assert_int_equal(skip_all(text, 2 * depth, &err),
                         depth <= RF_JSON_DEPTH ? RF_OK : RF_ERR_LIMIT);
    }
    assert_error(&err, RF_ERR_LIMIT, "x.json: line 1", "256 levels");
}

static void errors_name_line_and_column(void **state)
{
    (void)state;
    rf_error err = {0};
    static const char text[] = "{\"a\": 1,\n \"b\": [1,\n  2 3]}";
    assert_int_equal(skip_all(text, sizeof text - 1, &err), RF_ERR_FORMAT);
    assert_error(&err, RF_ERR_FORMAT, "x.json: line 3", "column 5", "found 3", "comma");
    assert_int_equal(err.pos, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_jansson_does),
        cmocka_unit_test(damaged_at_random),
        cmocka_unit_test(strings_are_decoded),
        cmocka_unit_test(depth_is_bounded),
        cmocka_unit_test(errors_name_line_and_column),
    };
    return cmocka_run_group_tests_name("json_cursor", tests, NULL, NULL);
}
