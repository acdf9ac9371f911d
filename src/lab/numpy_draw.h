/*
 * numpy_draw.h - the permutation that numpy draws, to get the published known classes
 *
 * The published splits take their known classes from np.random.seed(s) and
 * np.random.choice(labels, n, replace=False), which is the start of a permutation by
 * numpy's old generator. That one is frozen for good, so it can be repeated here: MT19937
 * seeded by one number, Fisher-Yates from the end, and each place drawn by masking bits
 * off and trying again.
 */
#ifndef RF_LAB_NUMPY_DRAW_H
#define RF_LAB_NUMPY_DRAW_H

#include <stddef.h>
#include <stdint.h>

/* out[0..n) becomes np.random.seed(seed); np.random.permutation(n). n < 2^32. */
void rf_numpy_permutation(uint32_t *out, size_t n, uint32_t seed);

#endif
