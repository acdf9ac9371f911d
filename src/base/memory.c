/* memory.c - aligned blocks of floats */
#define _GNU_SOURCE
#include "base/memory.h"

#include <stdlib.h>
#include <sys/mman.h>

#define LINE ((size_t)64)
#define HUGE_PAGE ((size_t)2 << 20)

float *rf_floats_new(size_t n)
{
    size_t bytes;
    if (!rf_size_mul(n ? n : 1, sizeof(float), &bytes) || bytes > SIZE_MAX / 2)
        return NULL;
    size_t align = bytes >= 2 * HUGE_PAGE ? HUGE_PAGE : LINE;
    bytes = (bytes + align - 1) / align * align;
    float *p = aligned_alloc(align, bytes);
    if (p && align == HUGE_PAGE)
        (void)madvise(p, bytes, MADV_HUGEPAGE); /* best effort */
    return p;
}
