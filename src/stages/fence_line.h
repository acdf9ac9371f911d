/*
 * fence_line.h - the positions of the fences, for methods that can move them
 *
 * A fence accepts where its margin is 0 or more. Moving it adds to all of its margins.
 */
#ifndef RF_STAGES_FENCE_LINE_H
#define RF_STAGES_FENCE_LINE_H

#include "stages/training.h"

/* Adds offsets [classes] to the margins, or without them the same to all; above 0 the
 * fences move outwards. */
void rf_fence_move(rf_model *m, const float *offsets, float all);

/* The largest margin of each of n features, and its class (may be NULL). */
rf_status rf_fence_margins(const rf_model *m, const float *z, size_t n, rf_team *team,
                           float *margins, uint32_t *classes, rf_error *err);

/* The margins of all fences, [n, classes]. */
rf_status rf_fence_all_margins(const rf_model *m, const float *z, size_t n, rf_team *team,
                               float *margins, rf_error *err);

/* The smallest offset, at least 0, that leaves at most this share of n margins, plus
 * one, below 0. The extra one allows for an outlier. Sorts the margins. */
float rf_fence_loosening(float *margins, size_t n, double share);

/* As the settings say: loosens the fences until the dev texts are accepted
 * (fence_reject), then moves them (fence_offset). */
rf_status rf_fence_place(rf_training *t);

#endif
