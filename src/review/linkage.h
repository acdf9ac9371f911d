/*
 * linkage.h - joins points by average linkage, among near ones only
 *
 * Two groups are as similar as their points are on average: of unit vectors, the mean
 * cosine of all pairs is S_a . S_b / (n_a n_b), S being sums. Starting from single
 * points, groups are joined while that is at least `level`, the most similar ones first.
 * Only groups that a pair of near neighbours connects are compared, so the work grows
 * with the number of points and not with its square.
 *
 * Joining goes down a ladder of similarities, STEP apart: on each rung every group joins
 * the one most similar to it, if that is similar enough, until none is. So exact average
 * linkage is followed within STEP, in some hundred rounds for any number of points. (One
 * pair at a time, a large group would take as many rounds as it has points.)
 */
#ifndef RF_REVIEW_LINKAGE_H
#define RF_REVIEW_LINKAGE_H

#include "base/team.h"

/* Points [n, width] of unit length; near [n, k]: neighbours of each. group [n] receives
 * the lowest point of each point's group, sum [n, width] and size [n] what belongs to
 * that point. The same bits for any number of threads. */
rf_status rf_linkage(const float *points, size_t n, size_t width, const uint32_t *near,
                     size_t k, double level, uint32_t *group, float *sum, uint32_t *size,
                     rf_team *team, rf_error *err);

/* The product of two rows, summed in a fixed order. */
double rf_review_dot(const float *a, const float *b, size_t n);

#endif
