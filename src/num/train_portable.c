/* train_portable.c - the training kernels for any CPU, and the choice between the two */
#include "num/train_body.h"

#include <pthread.h>

static const rf_train_table *chosen;
static pthread_once_t once = PTHREAD_ONCE_INIT;

const rf_train_table *rf_train_portable(void)
{
    return &train_table;
}

/* Once: asking the CPU what it is takes microseconds inside a virtual machine. */
static void choose(void)
{
    chosen = rf_kernels() == rf_kernels_portable() ? &train_table : rf_train_avx2();
}

const rf_train_table *rf_train_kernels(void)
{
    pthread_once(&once, choose);
    return chosen;
}
