/* clock.h - seconds that only go forward, whatever is done to the time of day */
#ifndef RF_SERVE_CLOCK_H
#define RF_SERVE_CLOCK_H

#include <pthread.h>
#include <time.h>

static inline double clock_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A condition that can be waited for until clock_in(seconds). */
static inline void clock_cond_init(pthread_cond_t *c)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(c, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

static inline struct timespec clock_in(double seconds)
{
    double at = clock_now() + seconds;
    time_t whole = (time_t)at;
    return (struct timespec){whole, (long)(1e9 * (at - (double)whole))};
}

#endif
