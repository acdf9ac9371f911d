/* numpy_draw.c - MT19937 and Fisher-Yates as in numpy's legacy generator */
#include "lab/numpy_draw.h"

#include <assert.h>

#define STATE 624 /* words of MT19937 (Matsumoto and Nishimura 1998), and its shift */
#define SHIFT 397

typedef struct twister {
    uint32_t word[STATE];
    size_t next;
} twister;

static void twister_seed(twister *t, uint32_t seed)
{
    t->word[0] = seed;
    for (uint32_t i = 1; i < STATE; i++) {
        uint32_t before = t->word[i - 1];
        t->word[i] = 1812433253u * (before ^ (before >> 30)) + i;
    }
    t->next = STATE;
}

/* Regenerates all words, each from itself, its neighbour and the one SHIFT ahead. */
static void twister_refill(twister *t)
{
    for (size_t i = 0; i < STATE; i++) {
        uint32_t y =
            (t->word[i] & 0x80000000u) | (t->word[(i + 1) % STATE] & 0x7fffffffu);
        t->word[i] =
            t->word[(i + SHIFT) % STATE] ^ (y >> 1) ^ ((y & 1u) ? 0x9908b0dfu : 0u);
    }
    t->next = 0;
}

static uint32_t twister_draw(twister *t)
{
    if (t->next == STATE)
        twister_refill(t);
    uint32_t y = t->word[t->next++];
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680u;
    y ^= (y << 15) & 0xefc60000u;
    return y ^ (y >> 18);
}

/* Uniform on 0..max: the low bits of a word, redrawn while they are too large. */
static uint32_t draw_up_to(twister *t, uint32_t max)
{
    uint32_t mask = max;
    for (unsigned shift = 1; shift < 32; shift *= 2)
        mask |= mask >> shift;
    uint32_t value;
    do
        value = twister_draw(t) & mask;
    while (value > max);
    return value;
}

void rf_numpy_permutation(uint32_t *out, size_t n, uint32_t seed)
{
    assert(n <= UINT32_MAX);
    twister t;
    twister_seed(&t, seed);
    for (size_t i = 0; i < n; i++)
        out[i] = (uint32_t)i;
    for (size_t i = n; i-- > 1;) {
        uint32_t j = draw_up_to(&t, (uint32_t)i);
        uint32_t swap = out[i];
        out[i] = out[j];
        out[j] = swap;
    }
}
