/* when.c - lengths of time and dates, read and written without the time zone */
#include "when.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define DAY_MS ((int64_t)86400000)

bool when_length(const char *text, int64_t *ms)
{
    static const struct {
        char letter;
        int64_t ms;
    } units[] = {
        {'s', 1000}, {'m', 60000}, {'h', 3600000}, {'d', DAY_MS}, {'w', 7 * DAY_MS}};
    size_t digits = strspn(text, "0123456789");
    int64_t n = 0;
    if (digits < 1 || digits > 10 || strlen(text) != digits + 1)
        return false;
    for (size_t i = 0; i < digits; i++)
        n = 10 * n + (text[i] - '0');
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (text[digits] == units[i].letter) {
            *ms = n * units[i].ms;
            return n <= 36525 * DAY_MS / units[i].ms;
        }
    return false;
}

/* Days from 1970 to a date of the Gregorian calendar: years begin in March, so that the
 * leap day is the last. */
static int64_t days_since_1970(int year, int month, int day)
{
    int64_t y = month > 2 ? year : year - 1, m = (month + 9) % 12;
    return 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 1 - 719468;
}

/* "0000-00-00": digits where the pattern has them, else the same character. */
static bool fits(const char *text, const char *pattern)
{
    for (; *pattern; pattern++, text++)
        if (*pattern == '0' ? *text < '0' || *text > '9' : *text != *pattern)
            return false;
    return *text == '\0';
}

bool when_date(const char *text, int64_t *ms)
{
    static const int lengths[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int year, month, day, hour = 0, minute = 0, second = 0;
    bool day_only = fits(text, "0000-00-00");
    if (!day_only && !fits(text, "0000-00-00T00:00:00Z"))
        return false;
    if (sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d", &year, &month, &day, &hour, &minute,
               &second) < 3)
        return false;
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    if (year < 1970 || month < 1 || month > 12 || day < 1 || day > lengths[month - 1] ||
        (month == 2 && day == 29 && !leap) || hour > 23 || minute > 59 || second > 59)
        return false;
    *ms = days_since_1970(year, month, day) * DAY_MS +
          1000 * (int64_t)(3600 * hour + 60 * minute + second);
    return true;
}

bool when_since(const char *text, int64_t now_ms, int64_t *ms)
{
    int64_t length;
    if (when_date(text, ms))
        return true;
    if (!when_length(text, &length))
        return false;
    *ms = now_ms - length;
    return true;
}

char *when_write(char out[WHEN_TEXT], int64_t ms)
{
    time_t seconds = (time_t)(ms / 1000);
    struct tm utc;
    size_t n = strftime(out, WHEN_TEXT, "%Y-%m-%dT%H:%M:%S", gmtime_r(&seconds, &utc));
    snprintf(out + n, WHEN_TEXT - n, ".%03dZ", (int)(ms % 1000));
    return out;
}
