/* kernels.c - picks the kernel table, once per process (RINGFENCE_KERNELS overrides) */
#include "num/kernels.h"

#include "ringfence.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static const rf_kernel_table *paths[RF_KERNEL_PATHS];
static const rf_kernel_table *chosen, *used;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* The last path of the CPU, or the one that the environment names. */
static void choose(void)
{
    const rf_kernel_table *const all[RF_KERNEL_PATHS] = {
        rf_kernels_portable(), rf_kernels_avx2(), rf_kernels_avxvnni(),
        rf_kernels_avx512(), rf_kernels_avx512vnni()};
    const char *request = getenv("RINGFENCE_KERNELS");
    size_t n = 0, named = RF_KERNEL_PATHS;
    for (size_t i = 0; i < RF_KERNEL_PATHS; i++) {
        if (!all[i])
            continue;
        if (request && strcmp(request, all[i]->path) == 0)
            named = n;
        paths[n++] = all[i];
    }
    used = chosen = paths[named < n ? named : n - 1];
}

const rf_kernel_table *rf_kernels(void)
{
    pthread_once(&once, choose);
    return used;
}

void rf_kernels_use(const rf_kernel_table *table)
{
    pthread_once(&once, choose);
    used = table ? table : chosen;
}

const rf_kernel_table *rf_kernels_path(size_t i)
{
    pthread_once(&once, choose);
    return i < RF_KERNEL_PATHS ? paths[i] : NULL;
}

const char *rf_kernels_name(void)
{
    return rf_kernels()->name;
}
