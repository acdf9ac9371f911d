/*
 * memory.h - sizes that cannot overflow, and blocks for numbers
 *
 * Sizes that come from a file go through rf_size_mul before they reach an allocator.
 */
#ifndef RF_BASE_MEMORY_H
#define RF_BASE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* *out = a * b; false if that does not fit. */
static inline bool rf_size_mul(size_t a, size_t b, size_t *out)
{
    return !__builtin_mul_overflow(a, b, out);
}

/* *out = a + b; false if that does not fit. */
static inline bool rf_size_add(size_t a, size_t b, size_t *out)
{
    return !__builtin_add_overflow(a, b, out);
}

/* Room for n floats, aligned to a cache line, contents undefined; NULL if there is
 * no memory. Blocks of megabytes ask for huge pages: streaming 40 MB of weights through 4
 * KB pages costs a TLB miss per 16 columns. Freed with free(). */
float *rf_floats_new(size_t n);

#endif
