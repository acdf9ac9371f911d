/*
 * fence_choice.h - where the fence could stand, and how good the outcomes of a fold are
 * there
 *
 * A position is what fence_reject and fence_offset say: the fence is loosened until at
 * most this share of the known texts (and one) is rejected, then moved. It does not ask
 * for another training: the outcomes hold margins before any of it.
 */
#ifndef RF_MODEL_FENCE_CHOICE_H
#define RF_MODEL_FENCE_CHOICE_H

#include "model/pseudo_open.h"

typedef struct rf_fence_position {
    float reject, offset;
} rf_fence_position;

#define RF_FENCE_POSITIONS (1 + 9 * 4)

/* That of the options first, then a grid. */
void rf_fence_positions(rf_fence_position out[RF_FENCE_POSITIONS],
                        const rf_train_options *o);

/* F1 in per cent at each of n positions: the mean over the known classes of the outcomes
 * and over "open", the hidden ones. The hidden texts together weigh as much as the known
 * together: how many of each there are is an accident of folding, and precision depends
 * on it. classes: of the whole training. */
rf_status rf_outcomes_f1(const rf_outcomes *o, size_t classes,
                         const rf_fence_position *positions, size_t n, double *f1,
                         rf_error *err);

#endif
