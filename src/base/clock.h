/* clock.h - monotonic time, which setting the time of day does not affect; CPU time */
#ifndef RF_BASE_CLOCK_H
#define RF_BASE_CLOCK_H

#include <pthread.h>
#include <time.h>

/* Seconds since some fixed point in the past. */
double rf_clock_seconds(void);

/* Seconds of CPU time that the process has used, all threads together. */
double rf_clock_cpu(void);

/* That many seconds from now, for pthread_cond_timedwait on a condition that was
 * initialized by rf_clock_cond_init. */
struct timespec rf_clock_after(double seconds);
void rf_clock_cond_init(pthread_cond_t *cond);

#endif
