/*
 * numpy_draw.h - numpy's legacy permutation, which gives the published known classes
 *
 * The published splits draw their known classes with np.random.seed(s) and
 * np.random.choice(labels, n, replace=False): the start of a permutation by numpy's
 * legacy generator. That generator will not change, so it can be repeated here: MT19937
 * seeded with one number, Fisher-Yates from the end, indices by masking and rejection.
 */
#ifndef RF_LAB_NUMPY_DRAW_H
#define RF_LAB_NUMPY_DRAW_H

#include <stddef.h>
#include <stdint.h>

/* out[0..n) becomes np.random.seed(seed); np.random.permutation(n). n < 2^32. */
void rf_numpy_permutation(uint32_t *out, size_t n, uint32_t seed);

#endif
