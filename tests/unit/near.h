/* near.h - comparing arrays of floats; a NaN always fails, the worst element is shown */
#ifndef RF_TEST_NEAR_H
#define RF_TEST_NEAR_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* |got - want| <= atol + rtol * |want| for every element */
static inline void assert_near(const char *what, const float *got, const float *want,
                               size_t n, double atol, double rtol)
{
    size_t worst = 0, bad = 0;
    double excess = -INFINITY;
    for (size_t i = 0; i < n; i++) {
        double e = fabs((double)got[i] - (double)want[i]) -
                   (atol + rtol * fabs((double)want[i]));
        bad += !(e <= 0.0);
        if (!(e <= excess)) {
            excess = e;
            worst = i;
        }
    }
    if (bad)
        fail_msg("%s: %zu of %zu differ, worst [%zu] got %.9g want %.9g", what, bad, n,
                 worst, (double)got[worst], (double)want[worst]);
}

#endif
