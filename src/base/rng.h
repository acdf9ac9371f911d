/*
 * rng.h - random numbers by position, not by history
 *
 * A stream is named by a seed and three numbers (what for, which step, which row ...) and
 * gives the same values whoever draws, in whatever order: nothing random depends on the
 * number of threads, and a checkpoint needs no generator state. The generator is
 * SplitMix64; names are hashed with its own mixing function.
 */
#ifndef RF_BASE_RNG_H
#define RF_BASE_RNG_H

#include <stddef.h>
#include <stdint.h>

#define RF_RNG_STEP 0x9e3779b97f4a7c15u

static inline uint64_t rf_rng_mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* The key of the stream with this name. Its i-th value (from 0) is
 * rf_rng_mix(key + (i + 1) * RF_RNG_STEP). */
static inline uint64_t rf_rng_key(uint64_t seed, uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t h = rf_rng_mix(seed + RF_RNG_STEP);
    h = rf_rng_mix((h ^ a) + RF_RNG_STEP);
    h = rf_rng_mix((h ^ b) + RF_RNG_STEP);
    return rf_rng_mix((h ^ c) + RF_RNG_STEP);
}

/* A stream read in order. */
typedef struct rf_rng {
    uint64_t state;
} rf_rng;

static inline rf_rng rf_rng_open(uint64_t key)
{
    return (rf_rng){key};
}

static inline uint64_t rf_rng_next(rf_rng *r)
{
    return rf_rng_mix(r->state += RF_RNG_STEP);
}

/* Uniform in 0..n-1, n > 0. */
size_t rf_rng_below(rf_rng *r, size_t n);

/* Uniform in [0, 1), 24 bits. */
static inline float rf_rng_uniform(rf_rng *r)
{
    return (float)(rf_rng_next(r) >> 40) * 0x1p-24f;
}

/* Shuffles a[0..n). */
void rf_rng_shuffle(rf_rng *r, uint32_t *a, size_t n);

#endif
