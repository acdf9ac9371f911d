/* thread.h - start a thread, or say why not */
#ifndef RF_SERVE_THREAD_H
#define RF_SERVE_THREAD_H

#include "base/error.h"

#include <pthread.h>
#include <string.h>

/* what: "a thread for the log" */
static inline rf_status thread_start(pthread_t *thread, void *(*run)(void *), void *arg,
                                     const char *what, rf_error *err)
{
    int code = pthread_create(thread, NULL, run, arg);
    return code == 0
               ? RF_OK
               : rf_fail(err, RF_ERR_IO, 0, "cannot start %s: %s", what, strerror(code));
}

#endif
