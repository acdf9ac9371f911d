#include "num/kernels.h"

#include "ringfence.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static const rf_kernel_table *chosen;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void choose(void)
{
    const char *wish = getenv("RINGFENCE_KERNELS");
    const rf_kernel_table *fast = rf_kernels_avx2();
    bool portable = wish && strcmp(wish, "portable") == 0;
    chosen = fast && !portable ? fast : rf_kernels_portable();
}

const rf_kernel_table *rf_kernels(void)
{
    pthread_once(&once, choose);
    return chosen;
}

const char *rf_kernels_name(void)
{
    return rf_kernels()->name;
}
