/* test_framing.c - sound requests pass, whatever the pieces; doubtful ones are refused */
#include "framing.h"

#include <stdarg.h>
#include <stdio.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#define HOST "Host: localhost\r\n"
#define POST "POST /v1/classify HTTP/1.1\r\n" HOST
#define GET "GET /healthz HTTP/1.1\r\n" HOST "\r\n"
#define CHUNKED POST "Transfer-Encoding: chunked\r\n\r\n"

/* How many bytes are let through, and how many heads, in pieces of that size. */
static size_t read_pieces(const char *bytes, size_t n, size_t piece, framing *f)
{
    size_t good = 0;
    *f = (framing){0};
    for (size_t at = 0; at < n && !f->fault; at += piece) {
        size_t len = n - at < piece ? n - at : piece;
        good += framing_read(f, bytes + at, len);
    }
    return good;
}

static void check_sound(const char *bytes, size_t n, size_t heads)
{
    for (size_t piece = 1; piece <= n; piece++) {
        framing f;
        assert_int_equal(read_pieces(bytes, n, piece, &f), n);
        assert_null(f.fault);
        assert_int_equal(f.heads, heads);
    }
}

static void test_sound(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t heads;
    } cases[] = {
        {GET, 1},
        {GET GET GET, 3},
        {"\r\n\r\n" GET "\r\n" GET, 2},
        {"GET /v1/model HTTP/1.0\r\n\r\n" GET, 2},
        {"GET /\xc3\xbc?a=b&c HTTP/1.1\r\nX: \xc3\xbc\ty \r\nhost:x\r\n\r\n", 1},
        {POST "Content-Length: 5\r\n\r\nhello" GET, 2},
        {POST "content-LENGTH:\t 0005\r\n\r\n\r\n\r\n\n" GET, 2},
        {POST "Content-Length: 0\r\n\r\n" GET, 2},
        {POST "X-Content-Length: 9\r\nTransfer-Encodings: gzip\r\n\r\n" GET, 2},
        {CHUNKED "0\r\n\r\n" GET, 2},
        {CHUNKED "5\r\nhello\r\n00;a=\"b\"\r\n\r\n" GET, 2},
        {CHUNKED "00A;x\r\n0123456789\r\n1\r\n\n\r\n0\r\n\r\n" GET, 2},
        {CHUNKED "0\r\nContent-Length: 100\r\nHost: x\r\nHost: y\r\n\r\n" GET, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_sound(cases[i].bytes, strlen(cases[i].bytes), cases[i].heads);
}

/* The request before passes, nothing of the one after does, and of the bad one only what
 * came in earlier pieces. */
static void check_refused(const char *bytes, size_t n, const char *words)
{
    size_t before = strlen(GET), all = before + n;
    char *stream = malloc(all);
    assert_non_null(stream);
    memcpy(stream, GET, before);
    memcpy(stream + before, bytes, n);
    for (size_t piece = 1; piece <= all; piece++) {
        framing f;
        size_t good = read_pieces(stream, all, piece, &f);
        if (!f.fault || !strstr(f.fault, words))
            fail_msg("%s: \"%s\", wanted \"%s\"", bytes, f.fault ? f.fault : "sound",
                     words);
        assert_true(good >= before && good < all);
        assert_int_equal(framing_read(&f, GET, before), 0); /* it stays refused */
        if (piece == all)
            assert_int_equal(good, before);
    }
    free(stream);
}

static void test_doubtful(void **state)
{
    (void)state;
    static const struct {
        const char *bytes, *words;
    } cases[] = {
        {POST "Content-Length:\r\n 47\r\n\r\n", "end of the body"},
        {POST "Transfer-Encoding:\r\n chunked\r\n\r\n", "end of the body"},
        {POST "Content-Lengt: 47\r\n h\r\n\r\n", "folded"},
        {POST "X: a\r\n\tb\r\n\r\n", "folded"},
        {"GET / HTTP/1.1\r\n X: y\r\n" HOST "\r\n", "folded"},
        {POST "Content-Length: 16abc\r\n\r\n", "end of the body"},
        {POST "Content-Length: +5\r\n\r\n", "end of the body"},
        {POST "Content-Length: 5 \r\n\r\n", "end of the body"},
        {POST "Content-Length: 1 6\r\n\r\n", "end of the body"},
        {POST "Content-Length: \r\n\r\n", "end of the body"},
        {POST "Content-Length: 5\r\nContent-Length: 5\r\n\r\n", "end of the body"},
        {POST "Content-Length: 9999999999999999999\r\n\r\n", "end of the body"},
        {POST "Content-Length : 5\r\n\r\n", "Name: value"},
        {POST "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
         "end of the body"},
        {POST "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n",
         "end of the body"},
        {POST "Transfer-Encoding: chunked \r\n\r\n", "end of the body"},
        {POST "Transfer-Encoding: gzip, chunked\r\n\r\n", "end of the body"},
        {POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
         "end of the body"},
        {"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", "end of the body"},
        {POST HOST "\r\n", "Host"},
        {"GET / HTTP/1.1\r\n\r\n", "Host"},
        {"GET / HTTP/1.1\nHost: x\n\n", "version"},
        {"GET / HTTP/1.1\r\nHost: x\n\r\n", "control"},
        {"GET / HTTP/1.1\r\nHost: x\r\r\n", "line end"},
        {"GET / HTTP/1.1\r\n" HOST "\rX", "line end"},
        {"GET /\x01 HTTP/1.1\r\n", "target"},
        {"GET / x HTTP/1.1\r\n", "version"},
        {"GET  / HTTP/1.1\r\n", "target"},
        {"GET / HTTP/2.0\r\n", "version"},
        {"GET\t/ HTTP/1.1\r\n", "request line"},
        {"\x16\x03\x01", "request line"},
        {POST "X\r\n\r\n", "Name: value"},
        {POST ": x\r\n\r\n", "Name: value"},
        {POST "X: \x7f\r\n\r\n", "control"},
        {CHUNKED "2;\nxx\r\n0\r\n\r\n", "control"},
        {CHUNKED "5\nhello\r\n0\r\n\r\n", "without a size"},
        {CHUNKED "5\r\nhello\n0\r\n\r\n", "longer"},
        {CHUNKED "5\r\nhelloX\r\n0\r\n\r\n", "longer"},
        {CHUNKED "\r\n", "without a size"},
        {CHUNKED "-1\r\n", "without a size"},
        {CHUNKED "0x5\r\n", "without a size"},
        {CHUNKED "5 \r\n", "without a size"},
        {CHUNKED "0000000000000005\r\nhello\r\n", "without a size"},
        {CHUNKED "0\r\n\n", "Name: value"},
        {CHUNKED "0\r\n x: y\r\n", "folded"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_refused(cases[i].bytes, strlen(cases[i].bytes), cases[i].words);
    static const char nul_target[] = "GET /v1/model\0/x HTTP/1.1\r\n",
                      nul_length[] = POST "Content-Length: 5\0\r\n\r\nhello",
                      nul_name[] = POST "Content-Length\0: 5\r\n\r\nhello";
    check_refused(nul_target, sizeof nul_target - 1, "target");
    check_refused(nul_length, sizeof nul_length - 1, "control");
    check_refused(nul_name, sizeof nul_name - 1, "Name: value");
}

/* before + unit repeated n times + after */
static char *repeat(const char *before, const char *unit, size_t n, const char *after)
{
    char *all = calloc(1, strlen(before) + n * strlen(unit) + strlen(after) + 1);
    assert_non_null(all);
    strcpy(all, before);
    for (size_t i = 0; i < n; i++)
        memcpy(all + strlen(before) + i * strlen(unit), unit, strlen(unit));
    strcat(all, after);
    return all;
}

static void test_parts(void **state)
{
    (void)state;
    static const struct {
        const char *before, *unit, *after;
    } cases[] = {{"GET /?a", "&a", " HTTP/1.1\r\n" HOST "\r\n"},
                 {"GET / HTTP/1.1\r\n" HOST "Cookie: a", ";a", "\r\n\r\n"}};
    for (size_t i = 0; i < 2; i++) {
        char *few = repeat(cases[i].before, cases[i].unit, 199, cases[i].after);
        char *many = repeat(cases[i].before, cases[i].unit, 1000, cases[i].after);
        check_sound(few, strlen(few), 1);
        check_refused(many, strlen(many), "too many");
        free(few);
        free(many);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sound),
                                       cmocka_unit_test(test_doubtful),
                                       cmocka_unit_test(test_parts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
