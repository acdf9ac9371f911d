/* clock.c - clocks as seconds, and CLOCK_MONOTONIC for timed waits */
#include "base/clock.h"

static double read_clock(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double rf_clock_seconds(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

double rf_clock_cpu(void)
{
    return read_clock(CLOCK_PROCESS_CPUTIME_ID);
}

struct timespec rf_clock_after(double seconds)
{
    double at = rf_clock_seconds() + seconds;
    time_t whole = (time_t)at;
    return (struct timespec){whole, (long)(1e9 * (at - (double)whole))};
}

void rf_clock_cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &monotonic);
    pthread_condattr_destroy(&monotonic);
}
