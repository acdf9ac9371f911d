/* numbers.c - floats to decimal text */
#include "base/numbers.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8, 1e9,
                                1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18};

/*
 * Nine digits always distinguish a float from its neighbours, which are at least 6e-8 of
 * it apart. |v| is scaled to nine digits before the point in double precision (off by
 * less than 1e-15) and rounded: at most half a unit of the ninth digit, 5e-9, is lost.
 * Nearly all features are between 1e-8 and 1e9; the others go through printf.
 */
size_t rf_number_write(char out[RF_NUMBER_MAX], float v)
{
    double a = fabs((double)v);
    if (!(a >= 1e-8 && a < 1e9))
        return (size_t)snprintf(out, RF_NUMBER_MAX, "%.9g", (double)v);
    int before = 0; /* digits before the point; negative: zeroes after it */
    while (before < 9 && a >= powers[before])
        before++;
    while (before > -8 && before <= 0 && a * powers[-before + 1] < 1.0)
        before--;
    uint64_t digits = (uint64_t)(a * powers[9 - before] + 0.5);
    if (digits >= 1000000000u) { /* 0.9999999996: one digit more before the point */
        digits = 100000000u;
        before++;
    }
    char text[9];
    for (int i = 8; i >= 0; i--, digits /= 10)
        text[i] = (char)('0' + digits % 10);
    int n = 9;
    while (n > 1 && n > before && text[n - 1] == '0')
        n--;

    char *p = out;
    if (v < 0)
        *p++ = '-';
    if (before <= 0) {
        *p++ = '0';
        *p++ = '.';
        memset(p, '0', (size_t)-before);
        p += -before;
        memcpy(p, text, (size_t)n);
        p += n;
    } else {
        memcpy(p, text, (size_t)before);
        p += before;
        if (n > before) {
            *p++ = '.';
            memcpy(p, text + before, (size_t)(n - before));
            p += n - before;
        }
    }
    return (size_t)(p - out);
}
