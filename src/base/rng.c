/* rng.c - unbiased draws and shuffles */
#include "base/rng.h"

size_t rf_rng_below(rf_rng *r, size_t n)
{
    /* Values above the last whole multiple of n would favour small results. */
    uint64_t limit = UINT64_MAX - UINT64_MAX % n, x;
    do
        x = rf_rng_next(r);
    while (x >= limit);
    return (size_t)(x % n);
}

void rf_rng_shuffle(rf_rng *r, uint32_t *a, size_t n)
{
    for (size_t i = n; i > 1; i--) {
        size_t j = rf_rng_below(r, i);
        uint32_t t = a[i - 1];
        a[i - 1] = a[j];
        a[j] = t;
    }
}
