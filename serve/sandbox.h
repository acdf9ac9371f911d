/*
 * sandbox.h - system calls that the service never needs are forbidden, for good
 *
 * Running programs, tracing other processes, mounting, loading code into the kernel: an
 * attacker who has found a mistake of ours would want them. They fail with EPERM.
 */
#ifndef RF_SERVE_SANDBOX_H
#define RF_SERVE_SANDBOX_H

#include <stdbool.h>

/* For the calling thread and those it starts. False if the system has no such filter. */
bool sandbox_enter(void);

#endif
