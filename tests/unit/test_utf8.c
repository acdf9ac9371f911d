/* UTF-8 decoding, against tables worked out by hand from the Unicode standard */
#include "text/utf8.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define BAD RF_REPLACEMENT

static size_t decode(const char *bytes, size_t len, int32_t *out)
{
    rf_utf8 u = {0};
    size_t n = 0;
    for (size_t i = 0; i < len; i++)
        n += rf_utf8_push(&u, (unsigned char)bytes[i], out + n);
    if (rf_utf8_end(&u))
        out[n++] = BAD;
    return n;
}

static void table(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t len;
        int32_t want[12];
        size_t n;
    } cases[] = {
        {"", 0, {0}, 0},
        {"a\0b", 3, {'a', 0, 'b'}, 3},
        {"\xC2\x80\xDF\xBF", 4, {0x80, 0x7FF}, 2},
        {"\xE0\xA0\x80\xEF\xBF\xBF", 6, {0x800, 0xFFFF}, 2},
        {"\xF0\x90\x80\x80\xF4\x8F\xBF\xBF", 8, {0x10000, 0x10FFFF}, 2},
        {"\xED\x9F\xBF\xEE\x80\x80", 6, {0xD7FF, 0xE000}, 2},
        /* Table 3-8: C0 AF E0 80 BF F0 81 82 41 */
        {"\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41",
         9,
         {BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, 'A'},
         9},
        /* Table 3-9: surrogates ED A0 80 ED BF BF ED AF 41 */
        {"\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41",
         9,
         {BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, 'A'},
         9},
        /* Table 3-10: F4 91 92 93 FF 41 80 BF 42 */
        {"\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42",
         9,
         {BAD, BAD, BAD, BAD, BAD, 'A', BAD, BAD, 'B'},
         9},
        /* Table 3-11, truncated: E1 80 E2 F0 91 92 F1 BF 41 */
        {"\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41", 9, {BAD, BAD, BAD, BAD, 'A'}, 5},
        {"\xF0\x9F\x98", 3, {BAD}, 1},
        {"\xE2\x82", 2, {BAD}, 1},
        {"\xC3\xC3\xA9", 3, {BAD, 0xE9}, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int32_t got[32];
        size_t n = decode(cases[i].bytes, cases[i].len, got);
        assert_int_equal(n, cases[i].n);
        assert_memory_equal(got, cases[i].want, n * sizeof got[0]);
    }
}

/* Every scalar value survives writing and reading; every surrogate and every value past
 * the end does not exist in what is read. */
static void round_trip(void **state)
{
    (void)state;
    for (int32_t cp = 0; cp <= 0x10FFFF; cp++) {
        if (cp >= 0xD800 && cp <= 0xDFFF)
            continue;
        char bytes[4];
        int32_t back[8];
        size_t len = rf_utf8_write(bytes, cp);
        assert_int_equal(decode(bytes, len, back), 1);
        assert_int_equal(back[0], cp);
    }
}

/* No two bytes can produce more than one code point per byte. */
static void bounded(void **state)
{
    (void)state;
    for (int a = 0; a < 256; a++)
        for (int b = 0; b < 256; b++) {
            char bytes[2] = {(char)a, (char)b};
            int32_t out[8];
            size_t n = decode(bytes, 2, out);
            assert_in_range(n, 1, 2);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table),
        cmocka_unit_test(round_trip),
        cmocka_unit_test(bounded),
    };
    return cmocka_run_group_tests_name("utf8", tests, NULL, NULL);
}
