/* Floats as text: what strtof reads back is what was written */
#include "base/numbers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void check(float v)
{
    char text[RF_NUMBER_MAX + 1];
    size_t n = rf_number_write(text, v);
    assert_in_range(n, 1, RF_NUMBER_MAX);
    text[n] = '\0';
    char *end;
    float back = strtof(text, &end);
    if (*end != '\0' || memcmp(&back, &v, sizeof v) != 0)
        fail_msg("%.9g was written as %s", (double)v, text);
}

static void bit_patterns(void **state)
{
    (void)state;
    uint32_t x = 1;
    for (int i = 0; i < 3000000; i++) {
        x = x * 1664525u + 1013904223u;
        if ((x & 0x7f800000u) == 0x7f800000u)
            continue; /* not a number */
        float v;
        memcpy(&v, &x, sizeof v);
        check(v);
    }
}

static void edges(void **state)
{
    (void)state;
    for (float p = 1e-12f; p < 1e12f; p *= 10.0f) {
        uint32_t bits;
        memcpy(&bits, &p, sizeof bits);
        for (uint32_t d = bits - 50; d != bits + 50; d++) {
            float v;
            memcpy(&v, &d, sizeof v);
            check(v);
            check(-v);
        }
    }
    check(0.0f);
    check(-0.0f);
    check(0.5f);
}

static void plain_text(void **state)
{
    (void)state;
    static const struct {
        float v;
        const char *text;
    } cases[] = {{0.5f, "0.5"},        {-0.25f, "-0.25"}, {1.0f, "1"},
                 {100.0f, "100"},      {-3.5f, "-3.5"},   {0.0009765625f, "0.0009765625"},
                 {123456.0f, "123456"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[RF_NUMBER_MAX + 1];
        text[rf_number_write(text, cases[i].v)] = '\0';
        assert_string_equal(text, cases[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bit_patterns),
        cmocka_unit_test(edges),
        cmocka_unit_test(plain_text),
    };
    return cmocka_run_group_tests_name("numbers", tests, NULL, NULL);
}
