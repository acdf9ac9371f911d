/* hash.h - hash of bytes, for tables in memory only */
#ifndef RF_DATA_HASH_H
#define RF_DATA_HASH_H

#include "base/rng.h"

#include <string.h>

/* Eight bytes at a time through the mixing function of the generator. */
static inline uint64_t rf_hash_bytes(const char *p, size_t n)
{
    uint64_t h = rf_rng_mix((uint64_t)n + RF_RNG_STEP), word;
    for (; n >= sizeof word; p += sizeof word, n -= sizeof word) {
        memcpy(&word, p, sizeof word);
        h = rf_rng_mix((h ^ word) + RF_RNG_STEP);
    }
    word = 0;
    if (n)
        memcpy(&word, p, n);
    return rf_rng_mix((h ^ word) + RF_RNG_STEP);
}

#endif
