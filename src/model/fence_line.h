/*
 * fence_line.h - where the fences of a model with heads stand
 *
 * A head accepts where its margin is 0 or more. All margins can be moved by the same
 * amount: that is the bias of each head's last layer, so it costs nothing at run time.
 */
#ifndef RF_MODEL_FENCE_LINE_H
#define RF_MODEL_FENCE_LINE_H

#include "model/training.h"

/* Adds to every margin; above 0 the fences stand further out. */
void rf_fence_move(rf_model *m, float offset);
void rf_fence_move_each(rf_model *m, const float *offsets); /* [classes] */

/* The largest margin of each of n features, and its class (may be NULL). */
rf_status rf_fence_margins(const rf_model *m, const float *z, size_t n, rf_team *team,
                           float *margins, uint32_t *classes, rf_error *err);

/* The margins of all fences, [n, classes]. */
rf_status rf_fence_all_margins(const rf_model *m, const float *z, size_t n, rf_team *team,
                               float *margins, rf_error *err);

/* What has to be added to n margins for no more than this share of them, and one, to be
 * below 0; never less than 0. The one is for the odd text that one should not follow.
 * Sorts the margins. */
float rf_fence_loosening(float *margins, size_t n, double share);

/* As the options ask: loosened until the dev texts are let in, then moved. */
rf_status rf_fence_settle(rf_training *t);

#endif
