/*
 * fence_choice.h - candidate positions of the fence, and the F1 of a fold at each
 *
 * A position is a pair of fence_reject and fence_offset: the fence is loosened until at
 * most this share of the known texts (plus one) is rejected, then moved. Trying one needs
 * no training: the outcomes hold the margins before either step.
 */
#ifndef RF_FOLDS_FENCE_CHOICE_H
#define RF_FOLDS_FENCE_CHOICE_H

#include "folds/pseudo_open.h"

typedef struct rf_fence_position {
    float reject, offset;
} rf_fence_position;

#define RF_FENCE_POSITIONS (1 + 9 * 4)

/* The position in the settings first, then a grid. */
void rf_fence_positions(rf_fence_position out[RF_FENCE_POSITIONS], const rf_settings *s);

/* F1 in per cent at each of n positions: the mean over the known classes of the
 * outcomes and over "open", the hidden ones. Hidden texts together weigh as much as
 * known texts together, since precision depends on their ratio, which is an accident
 * of the folds. classes: of the whole training. */
rf_status rf_outcomes_f1(const rf_outcomes *o, size_t classes,
                         const rf_fence_position *positions, size_t n, double *f1,
                         rf_error *err);

#endif
