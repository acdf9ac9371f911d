/*
 * Times as people write them: every day of four centuries against counting them one by
 * one, and what is refused
 */
#include "when.h"

#include "scratch.h"

#include <stdio.h>
#include <string.h>

#define DAY ((int64_t)86400000)

static void test_every_day(void **state)
{
    (void)state;
    int64_t days = 0, got, moment = 3723000 + 456;
    char text[40], back[WHEN_TEXT], want[80];
    for (int year = 1970; year < 2370; year++)
        for (int month = 1; month <= 12; month++) {
            bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            int length = month == 2 ? 28 + leap
                         : month == 4 || month == 6 || month == 9 || month == 11 ? 30
                                                                                 : 31;
            for (int day = 1; day <= 32; day++) {
                snprintf(text, sizeof text, "%04d-%02d-%02d", year, month, day);
                assert_int_equal(when_date(text, &got), day <= length);
                if (day > length)
                    continue;
                assert_true(got == days * DAY);
                snprintf(want, sizeof want, "%sT01:02:03.456Z", text);
                assert_string_equal(when_write(back, got + moment), want);
                strcat(text, "T23:59:58Z");
                assert_true(when_date(text, &got) && got == ++days * DAY - 2000);
            }
        }
}

static void test_lengths(void **state)
{
    (void)state;
    int64_t ms;
    assert_true(when_length("90s", &ms) && ms == 90000);
    assert_true(when_length("15m", &ms) && ms == 900000);
    assert_true(when_length("24h", &ms) && ms == DAY);
    assert_true(when_length("7d", &ms) && ms == 7 * DAY);
    assert_true(when_length("2w", &ms) && ms == 14 * DAY);
    assert_true(when_length("36525d", &ms));
    static const char *const bad[] = {
        "",   "h",      "7",  "7 d",          "-7d", "7.5d", "7dd",
        "d7", "36526d", "1y", "99999999999d", "+1h", "1D",   "0x1h"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(when_length(bad[i], &ms));
    assert_true(when_since("1h", 10 * DAY, &ms) && ms == 10 * DAY - 3600000);
    assert_true(when_since("1970-01-02", 0, &ms) && ms == DAY);
    assert_false(when_since("yesterday", 0, &ms));
}

static void test_bad_dates(void **state)
{
    (void)state;
    int64_t ms;
    static const char *const bad[] = {"",
                                      "2026",
                                      "2026-1-1",
                                      "2026-00-01",
                                      "2026-13-01",
                                      "2026-01-00",
                                      "1969-12-31",
                                      "2026-01-01 ",
                                      " 2026-01-01",
                                      "2026-01-01T10:00:00",
                                      "2026-01-01T24:00:00Z",
                                      "2026-01-01T10:60:00Z",
                                      "2026-01-01T10:00:60Z",
                                      "2026-01-01T10:00Z",
                                      "2026/01/01",
                                      "+026-01-01"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(when_date(bad[i], &ms));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_day),
        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_bad_dates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
