/*
 * test_request.c - requests of the service: what is accepted, and how the rest is refused
 *
 * The tables say what each request must become; they were written from
 * docs/SERVE.md, not from the code.
 */
#include "request.h"
#include "tokens.h"

#include "scratch.h"

#include <stdlib.h>
#include <string.h>

static const request_limits limits = {
    .max_texts = 4, .max_text_bytes = 20, .max_deadline_ms = 5000};

/* A copy of the body, as the service has it: freed with the job. */
static bool read_body(job *j, request_kind kind, const char *body, size_t len, problem *p)
{
    char *copy = malloc(len + 1);
    assert_non_null(copy);
    memcpy(copy, body, len);
    copy[len] = '\0';
    return request_read(j, kind, copy, len, &limits, p);
}

static job *new_job(void)
{
    job *j = job_new(NULL);
    assert_non_null(j);
    j->options = rf_answer_options_default();
    return j;
}

/* ---- Without memory ---------------------------------------------------------------- */

static size_t allocations, failing; /* the failing-th of jansson's, from 1 */

static void *allocate(size_t size)
{
    return ++allocations == failing ? NULL : malloc(size);
}

/* It is nobody's fault that sent the request: 503, whichever allocation it is. */
static void no_memory_for_json(void **state)
{
    (void)state;
    static const char body[] = "{\"texts\": [\"a\", \"b\"], \"top_k\": 3}";
    bool read = false;
    json_set_alloc_funcs(allocate, free);
    for (failing = 1; failing < 1000 && !read; failing++) {
        problem p = {0};
        job *j = new_job();
        allocations = 0;
        read = read_body(j, REQUEST_JSON, body, sizeof body - 1, &p);
        if (!read) {
            if (p.status != 503)
                fail_msg("allocation %zu: %u %s", failing, p.status, p.message);
            assert_string_equal(p.code, "out_of_memory");
        }
        job_detach(j);
    }
    json_set_alloc_funcs(malloc, free);
    assert_true(read && failing > 5);
}

/* ---- What is accepted -------------------------------------------------------------- */

static void texts_of(request_kind kind, const char *body, size_t len, size_t n,
                     const char *const *want, const size_t *lens)
{
    problem p = {0};
    job *j = new_job();
    if (!read_body(j, kind, body, len, &p))
        fail_msg("%s: refused: %s", body, p.message);
    assert_int_equal(j->n, n);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(j->texts[i].len, lens ? lens[i] : strlen(want[i]));
        assert_memory_equal(j->texts[i].bytes, want[i], j->texts[i].len);
    }
    job_detach(j);
}

#define TEXTS(kind, body, n, ...)                                                        \
    texts_of(kind, body, sizeof(body) - 1, n, (const char *const[]){__VA_ARGS__}, NULL)

static void accepted(void **state)
{
    (void)state;
    TEXTS(REQUEST_JSON, "{\"text\": \"a\"}", 1, "a");
    TEXTS(REQUEST_JSON, " {\"texts\": [\"a\", \"\", \"\\u00e9\"]} ", 3, "a", "",
          "\xc3\xa9");
    TEXTS(REQUEST_JSON, "{\"texts\": []}", 0, "");
    TEXTS(REQUEST_PLAIN, "", 0, "");
    TEXTS(REQUEST_PLAIN, "a", 1, "a");
    TEXTS(REQUEST_PLAIN, "a\nb\n", 2, "a", "b");
    TEXTS(REQUEST_PLAIN, "\n\r\n x", 3, "", "\r", " x");
    TEXTS(REQUEST_PLAIN, "\xff\n", 1, "\xff"); /* any bytes are a text */
    TEXTS(REQUEST_NDJSON, "\"a\"\n\n \t\r\n{\"text\": \"b\"}", 2, "a", "b");
    TEXTS(REQUEST_NDJSON, "\n\n", 0, "");
    static const char *const zero[] = {"a\0b"};
    static const size_t three[] = {3};
    texts_of(REQUEST_JSON, "{\"text\": \"a\\u0000b\"}", 20, 1, zero, three);
    texts_of(REQUEST_PLAIN, "a\0b", 3, 1, zero, three);
}

static void options_of_the_body(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        size_t top, margins, explain, deadline;
        bool map, single;
    } cases[] = {
        {"{\"text\": \"a\"}", 5, 0, 0, 0, false, true},
        {"{\"texts\": [\"a\"]}", 5, 0, 0, 0, false, false},
        {"{\"text\": \"a\", \"top_k\": 0}", 0, 0, 0, 0, false, true},
        {"{\"text\": \"a\", \"top_k\": 1000, \"margins\": 7}", 1000, 7, 0, 0, false,
         true},
        {"{\"text\": \"a\", \"explain\": true}", 5, 0, 5, 0, false, true},
        {"{\"text\": \"a\", \"explain\": false}", 5, 0, 0, 0, false, true},
        {"{\"explain\": 100, \"text\": \"a\", \"map\": true}", 5, 0, 100, 0, true, true},
        {"{\"deadline_ms\": 5000, \"text\": \"a\"}", 5, 0, 0, 5000, false, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        problem p = {0};
        job *j = new_job();
        if (!read_body(j, REQUEST_JSON, cases[i].body, strlen(cases[i].body), &p))
            fail_msg("%s: %s", cases[i].body, p.message);
        assert_int_equal(j->options.top, cases[i].top);
        assert_int_equal(j->options.margins, cases[i].margins);
        assert_int_equal(j->options.explain, cases[i].explain);
        assert_int_equal(j->deadline_ms, cases[i].deadline);
        assert_int_equal(j->options.map, cases[i].map);
        assert_int_equal(j->single, cases[i].single);
        assert_true(j->fence == 0.0f);
        assert_false(j->no_store);
        job_detach(j);
    }
    static const struct {
        const char *body;
        float fence;
    } fences[] = {{"{\"text\": \"a\", \"fence\": 2}", 2.0f},
                  {"{\"text\": \"a\", \"fence\": -1.5e-1}", -0.15f}};
    for (size_t i = 0; i < sizeof fences / sizeof *fences; i++) {
        problem p = {0};
        job *j = new_job();
        assert_true(
            read_body(j, REQUEST_JSON, fences[i].body, strlen(fences[i].body), &p));
        assert_true(j->fence == fences[i].fence);
        job_detach(j);
    }
    for (int keep = 0; keep < 2; keep++) {
        problem p = {0};
        job *j = new_job();
        const char *body = keep ? "{\"store\": true, \"text\": \"a\"}"
                                : "{\"text\": \"a\", \"store\": false}";
        assert_true(read_body(j, REQUEST_JSON, body, strlen(body), &p));
        assert_int_equal(j->no_store, !keep);
        job_detach(j);
    }
}

static void texts_that_are_not_to_be_kept(void **state)
{
    (void)state;
    static const char *const yes[] = {"1", "true", "yes", "", "no", "2"};
    static const char *const no[] = {NULL, "0", "false", "False"};
    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++)
        assert_true(request_forbids_store(yes[i]));
    for (size_t i = 0; i < sizeof no / sizeof *no; i++)
        assert_false(request_forbids_store(no[i]));
}

static void options_of_the_query(void **state)
{
    (void)state;
    problem p = {0};
    job *j = new_job();
    assert_true(request_option(j, "top_k", "3", &limits, &p));
    assert_true(request_option(j, "margins", "1000", &limits, &p));
    assert_true(request_option(j, "explain", "true", &limits, &p));
    assert_int_equal(j->options.explain, 5);
    assert_true(request_option(j, "explain", "7", &limits, &p));
    assert_true(request_option(j, "map", "true", &limits, &p));
    assert_true(request_option(j, "deadline_ms", "1", &limits, &p));
    assert_true(request_option(j, "fence", "-0.25", &limits, &p));
    assert_true(j->fence == -0.25f);
    assert_true(request_option(j, "fence", "1e6", &limits, &p));
    assert_true(j->fence == 1e6f);
    assert_int_equal(j->options.top, 3);
    assert_int_equal(j->options.margins, 1000);
    assert_int_equal(j->options.explain, 7);
    assert_true(j->options.map);
    assert_int_equal(j->deadline_ms, 1);
    assert_false(j->no_store);
    assert_true(request_option(j, "store", "false", &limits, &p) && j->no_store);
    assert_true(request_option(j, "store", "true", &limits, &p) && !j->no_store);
    static const char *const bad[][2] = {
        {"top_k", "-1"},      {"top_k", "1001"},
        {"top_k", ""},        {"top_k", NULL},
        {"top_k", "1e2"},     {"top_k", "99999999999999999999"},
        {"top_k", " 1"},      {"top_k", "true"},
        {"explain", "0"},     {"explain", "101"},
        {"map", "1"},         {"map", NULL},
        {"store", "0"},       {"store", NULL},
        {"fence", "1000001"}, {"fence", NULL},
        {"fence", ""},        {"fence", "1x"},
        {"fence", "nan"},     {"fence", "0x1"},
        {"fence", "--1"},     {"fence", "-1e7"},
        {"deadline_ms", "0"}, {"deadline_ms", "5001"},
        {"text", "a"},        {"", "1"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        problem q = {0};
        assert_false(request_option(j, bad[i][0], bad[i][1], &limits, &q));
        assert_int_equal(q.status, 400);
        assert_string_equal(q.code, "bad_request");
    }
    job_detach(j);
}

static void content_types(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int kind; /* -1: refused */
    } cases[] = {{NULL, REQUEST_JSON},
                 {"application/json", REQUEST_JSON},
                 {"Application/JSON; charset=utf-8", REQUEST_JSON},
                 {"text/plain;charset=UTF-8", REQUEST_PLAIN},
                 {"application/x-ndjson", REQUEST_NDJSON},
                 {"application/x-www-form-urlencoded", REQUEST_JSON},
                 {"", -1},
                 {"application/jso", -1},
                 {"application/jsonx", -1},
                 {"text/html", -1},
                 {"multipart/form-data", -1},
                 {"text/plain; format=flowed; charset=\"utf-8\"", REQUEST_PLAIN},
                 {"text/plain; CharSet=us-ascii", REQUEST_PLAIN},
                 {"text/plain; xcharset=latin1", REQUEST_PLAIN},
                 {"text/plain; charset", REQUEST_PLAIN},
                 {"text/plain; charset=iso-8859-1", -1},
                 {"text/plain;charset=utf-16", -1},
                 {"application/json; charset=utf-88", -1},
                 {"text/plain; charset=", -1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        request_kind kind;
        problem p = {0};
        bool good = request_kind_of(cases[i].name, &kind, &p);
        assert_int_equal(p.status, good ? 0 : 415);
        assert_int_equal(good ? (int)kind : -1, cases[i].kind);
    }
}

static void streams(void **state)
{
    (void)state;
    static const struct {
        const char *accept;
        bool stream;
    } cases[] = {{"", false},
                 {"*/*", false},
                 {"application/json", false},
                 {"application/x-ndjson", true},
                 {"APPLICATION/X-NDJSON", true},
                 {"application/json, application/x-ndjson;q=0.5", true},
                 {"text/html ,application/x-ndjson ; charset=utf-8; q=1", true},
                 {"application/json, application/x-ndjson;q=0", false},
                 {"application/x-ndjson; q=0.000, application/json;q=1", false},
                 {"application/x-ndjson, application/json;q=0", true},
                 {"application/x-ndjson-not", false},
                 {"xapplication/x-ndjson", false},
                 {",,;", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (request_accepts_stream(cases[i].accept) != cases[i].stream)
            fail_msg("Accept: %s", cases[i].accept);
}

/* ---- What is refused --------------------------------------------------------------- */

static void refused(void **state)
{
    (void)state;
    static const struct {
        request_kind kind;
        const char *body;
        unsigned status;
        const char *code, *pointer;
    } cases[] = {
        {REQUEST_JSON, "", 400, "bad_json", ""},
        {REQUEST_JSON, "{", 400, "bad_json", ""},
        {REQUEST_JSON, "{\"text\": \"a\"} x", 400, "bad_json", ""},
        {REQUEST_JSON, "\xef\xbb\xbf{\"text\": \"a\"}", 400, "bad_json", ""},
        {REQUEST_JSON, "{\"text\": \"\xff\"}", 400, "bad_json", ""},
        {REQUEST_JSON, "{\"text\": \"\\ud800\"}", 400, "bad_json", ""},
        {REQUEST_JSON, "{\"text\": \"a\", \"text\": \"b\"}", 400, "bad_json", ""},
        {REQUEST_JSON, "{\"text\": \"a\", \"top_k\": 1e999}", 400, "bad_json", ""},
        {REQUEST_JSON, "{\"text\": \"a\", \"top_k\": 99999999999999999999}", 400,
         "bad_json", ""},
        {REQUEST_JSON, "[]", 400, "bad_request", ""},
        {REQUEST_JSON, "null", 400, "bad_request", ""},
        {REQUEST_JSON, "{}", 400, "bad_request", ""},
        {REQUEST_JSON, "{\"text\": \"a\", \"texts\": []}", 400, "bad_request", ""},
        {REQUEST_JSON, "{\"text\": 1}", 400, "bad_request", "/text"},
        {REQUEST_JSON, "{\"text\": null}", 400, "bad_request", "/text"},
        {REQUEST_JSON, "{\"texts\": \"a\"}", 400, "bad_request", "/texts"},
        {REQUEST_JSON, "{\"texts\": [\"a\", {}]}", 400, "bad_request", "/texts/1"},
        {REQUEST_JSON, "{\"texts\": [\"\", \"\", \"\", \"\", \"\"]}", 413,
         "too_many_texts", "/texts"},
        {REQUEST_JSON, "{\"texts\": [\"a\", \"123456789012345678901\"]}", 413,
         "text_too_long", "/texts/1"},
        {REQUEST_JSON, "{\"text\": \"a\", \"top_k\": -1}", 400, "bad_request", "/top_k"},
        {REQUEST_JSON, "{\"text\": \"a\", \"fence\": true}", 400, "bad_request",
         "/fence"},
        {REQUEST_JSON, "{\"text\": \"a\", \"fence\": 1e7}", 400, "bad_request", "/fence"},
        {REQUEST_JSON, "{\"text\": \"a\", \"top_k\": 1.0}", 400, "bad_request", "/top_k"},
        {REQUEST_JSON, "{\"text\": \"a\", \"top_k\": true}", 400, "bad_request",
         "/top_k"},
        {REQUEST_JSON, "{\"text\": \"a\", \"top_k\": 9223372036854775807}", 400,
         "bad_request", "/top_k"},
        {REQUEST_JSON, "{\"text\": \"a\", \"margins\": -9223372036854775807}", 400,
         "bad_request", "/margins"},
        {REQUEST_JSON, "{\"text\": \"a\", \"explain\": 0}", 400, "bad_request",
         "/explain"},
        {REQUEST_JSON, "{\"text\": \"a\", \"map\": 1}", 400, "bad_request", "/map"},
        {REQUEST_JSON, "{\"text\": \"a\", \"deadline_ms\": 5001}", 400, "bad_request",
         "/deadline_ms"},
        {REQUEST_JSON, "{\"text\": \"a\", \"a/b~c\": 1}", 400, "bad_request", "/a~1b~0c"},
        {REQUEST_PLAIN, "1\n2\n3\n4\n5", 413, "too_many_texts", ""},
        {REQUEST_PLAIN, "1\n123456789012345678901\n", 413, "text_too_long", "/1"},
        {REQUEST_NDJSON, "\"a\"\n\n{\"text\": \"a\", \"top_k\": 1}", 400, "bad_request",
         "/2"},
        {REQUEST_NDJSON, "\"a\"\n1\n", 400, "bad_request", "/1"},
        {REQUEST_NDJSON, "\"a\"\n\"b\n", 400, "bad_json", "/1"},
        {REQUEST_NDJSON, "{\"text\": []}", 400, "bad_request", "/0"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        problem p = {0};
        job *j = new_job();
        if (read_body(j, cases[i].kind, cases[i].body, strlen(cases[i].body), &p))
            fail_msg("accepted: %s", cases[i].body);
        if (p.status != cases[i].status || strcmp(p.code, cases[i].code) != 0 ||
            strcmp(p.pointer, cases[i].pointer) != 0)
            fail_msg("%s: found %u %s \"%s\" (%s)", cases[i].body, p.status, p.code,
                     p.pointer, p.message);
        job_detach(j);
    }
}

/* An array in an array, a hundred thousand times: no stack is that deep. */
static void deep_nesting(void **state)
{
    (void)state;
    enum { DEEP = 100000 };
    char *body = malloc(2 * DEEP);
    assert_non_null(body);
    memset(body, '[', DEEP);
    memset(body + DEEP, ']', DEEP);
    problem p = {0};
    job *j = new_job();
    assert_false(request_read(j, REQUEST_JSON, body, 2 * DEEP, &limits, &p));
    assert_string_equal(p.code, "bad_json");
    job_detach(j);
}

/* A raw NUL is no white space, and ends nothing. */
static void raw_zero_bytes(void **state)
{
    (void)state;
    static const char line[] = "\"a\"\n\0\n", json[] = "{\"text\": \"a\"}\0";
    problem p = {0};
    job *j = new_job();
    assert_false(read_body(j, REQUEST_NDJSON, line, sizeof line - 1, &p));
    assert_string_equal(p.code, "bad_json");
    assert_string_equal(p.pointer, "/1");
    job_detach(j);
    j = new_job();
    assert_false(read_body(j, REQUEST_JSON, json, sizeof json - 1, &p));
    assert_string_equal(p.code, "bad_json");
    job_detach(j);
}

static void long_keys_are_cut_between_characters(void **state)
{
    (void)state;
    char key[301], pointer[POINTER_MAX];
    for (size_t i = 0; i < 100; i++)
        memcpy(key + 3 * i, "\xe2\x82\xac", 3); /* the euro sign */
    key[300] = '\0';
    problem_pointer(pointer, key);
    size_t len = strlen(pointer);
    assert_in_range(len, POINTER_MAX - 6, POINTER_MAX - 1);
    assert_int_equal((len - 1) % 3, 0);
    memset(key, '/', 300);
    problem_pointer(pointer, key);
    assert_in_range(strlen(pointer), POINTER_MAX - 6, POINTER_MAX - 1);
}

/* ---- Tokens ------------------------------------------------------------------------ */

static void tokens_of_a_file(void **state)
{
    (void)state;
    char dir[RF_PATH_MAX], path[RF_PATH_MAX];
    static tokens t;
    rf_error err = {0};
    scratch_make(dir);
    scratch_path(path, dir, "tokens");
    t.n = 0;
    assert_true(tokens_allow(&t, NULL)); /* none set: everybody */
    static const char good[] =
        "# ours\n0123456789abcdef\r\n\n  \nanother-token-of-mine  \n";
    scratch_write(dir, "tokens", good, sizeof good - 1);
    assert_int_equal(tokens_read(&t, path, &err), RF_OK);
    assert_int_equal(t.n, 2);
    assert_true(tokens_allow(&t, "Bearer 0123456789abcdef"));
    assert_true(tokens_allow(&t, "bearer another-token-of-mine"));
    static const char *const wrong[] = {NULL,
                                        "",
                                        "Bearer",
                                        "Bearer ",
                                        "Bearer 0123456789abcde",
                                        "Bearer 0123456789abcdefg",
                                        "Bearer 0123456789abcdeF",
                                        "Bearer  0123456789 abcdef",
                                        "Basic 0123456789abcdef",
                                        "0123456789abcdef",
                                        "Bearer # ours"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(tokens_allow(&t, wrong[i]));
    static const char *const bad[] = {"", "# only this\n", "short\n",
                                      "a token with spaces in it\n",
                                      "0123456789abcdef\x01\n"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        t.n = 0;
        scratch_write(dir, "tokens", bad[i], strlen(bad[i]));
        assert_int_equal(tokens_read(&t, path, &err), RF_ERR_FORMAT);
        assert_non_null(strstr(err.msg, path));
    }
    scratch_remove(dir);
    t.n = 0;
    assert_int_not_equal(tokens_read(&t, path, &err), RF_OK);
    assert_non_null(strstr(err.msg, path));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accepted),
        cmocka_unit_test(options_of_the_body),
        cmocka_unit_test(texts_that_are_not_to_be_kept),
        cmocka_unit_test(options_of_the_query),
        cmocka_unit_test(content_types),
        cmocka_unit_test(streams),
        cmocka_unit_test(refused),
        cmocka_unit_test(deep_nesting),
        cmocka_unit_test(raw_zero_bytes),
        cmocka_unit_test(long_keys_are_cut_between_characters),
        cmocka_unit_test(tokens_of_a_file),
        cmocka_unit_test(no_memory_for_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
