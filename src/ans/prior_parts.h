/*
 * prior_parts.h - what fitting (prior_fit.c) and scoring (prior.c) of the prior share
 */
#ifndef RF_ANS_PRIOR_PARTS_H
#define RF_ANS_PRIOR_PARTS_H

#include "ans/prior.h"

#include "num/kernels.h"

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
    RF_PRIOR_TEXTS_WEIGHT,
    /* For updates; scoring does not use them. */
    RF_PRIOR_SPACE, /* the mean of the class means, and the variances between classes */
    RF_PRIOR_SCALE, /* see below */
    RF_PRIOR_FENCE  /* what was added to constant_c after it was fitted */
};

/* RF_PRIOR_SCALE: the variance within classes, the weights of the three parts, what is
 * subtracted, the rows it was fitted to, and the rows that have changed since. */
enum {
    RF_PRIOR_NOISE,
    RF_PRIOR_WEIGHT,
    RF_PRIOR_LEVEL = RF_PRIOR_WEIGHT + 3,
    RF_PRIOR_ROWS,
    RF_PRIOR_CHANGED
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

/* Cosines become similarities. */
static inline void rf_prior_similarities(float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = (x[i] - 1.0f) / RF_PRIOR_REACH;
    rf_kernels()->exp(x, n);
}

/* rf_prior_fit in the space of another state, which has RF_PRIOR_SPACE and
 * RF_PRIOR_SCALE. */
rf_status rf_prior_fit_within(rf_method_state *state, size_t first, const rf_fit *in,
                              const rf_method_state *space, rf_error *err);

/* out [n, width] = t as above, from panels of `rotate`; scratch is [n, width]. */
void rf_prior_rotate(const float *rotate, const float *centre, const float *unit,
                     size_t n, size_t width, float *out, float *scratch);

#endif
