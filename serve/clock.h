/* clock.h - seconds that only go forward */
#ifndef RF_SERVE_CLOCK_H
#define RF_SERVE_CLOCK_H

#include <time.h>

static inline double clock_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#endif
