/*
 * prior_parts.h - what fitting (prior_fit.c) and scoring (prior.c) of the prior share
 */
#ifndef RF_ANS_PRIOR_PARTS_H
#define RF_ANS_PRIOR_PARTS_H

#include "ans/prior.h"

#include <math.h>

/* Offsets of RF_PRIOR_ARRAY_ROWS. With u a row of unit length, t = unit(rotate (u -
 * centre)):
 *   score_c = linear_c . t + square_c . t^2 + means_c . u + constant_c
 *           + texts_weight_c ln(mean over the class's kept texts of exp((t . text - 1) /
 *             RF_PRIOR_REACH)) */
enum {
    RF_PRIOR_CENTRE,
    RF_PRIOR_ROTATE,
    RF_PRIOR_LINEAR,
    RF_PRIOR_SQUARE,
    RF_PRIOR_MEANS,
    RF_PRIOR_CONSTANT,
    RF_PRIOR_TEXTS,
    RF_PRIOR_COUNTS,
    RF_PRIOR_TEXTS_WEIGHT
};

/* Chosen on draws that no result uses (docs/design/few-rows.md). */
#define RF_PRIOR_REACH 0.06f /* in cosine: how near a text must be to count */
/* A sum of similarities so small that there might as well be no text; keeps its logarithm
 * finite. */
#define RF_PRIOR_NO_SIMILARITY 1e-9f

static inline float *rf_prior_array(const rf_method_state *state, size_t first,
                                    size_t which)
{
    return state->arrays[first + which].data;
}

static inline float rf_prior_similarity(float cosine)
{
    return expf((cosine - 1.0f) / RF_PRIOR_REACH);
}

/* out [n, width] = t as above, from panels of `rotate`; scratch is [n, width]. */
void rf_prior_rotate(const float *rotate, const float *centre, const float *unit,
                     size_t n, size_t width, float *out, float *scratch);

#endif
