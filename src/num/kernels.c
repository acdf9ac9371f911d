/* kernels.c - picks the kernel table, once per process (RINGFENCE_KERNELS overrides) */
#include "num/kernels.h"

#include "ringfence.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static const rf_kernel_table *chosen;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void choose(void)
{
    const char *request = getenv("RINGFENCE_KERNELS");
    bool portable = request && strcmp(request, "portable") == 0;
    bool avx2 = request && strcmp(request, "avx2") == 0;
    chosen = rf_kernels_portable();
    if (!portable && rf_kernels_avx2())
        chosen = rf_kernels_avx2();
    if (!portable && !avx2 && rf_kernels_avx512())
        chosen = rf_kernels_avx512();
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
