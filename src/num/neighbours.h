/*
 * neighbours.h - the k nearest of a set of points, exactly
 *
 * For points p and a query x, both less the points' mean, the product gives the score
 * x p - |p|^2 / 2 of a strip of points at a time; the nearest point has the largest.
 * Rounding leaves scores good to about 1e-6 of |x|^2, so the k + 16 best candidates are
 * measured again, coordinate by coordinate. If rounding could have hidden a nearer point
 * (many points within a thousandth of their distance from the mean, such as copies), the
 * query is compared with all points, which takes some 20 times as long.
 *
 * No points x points matrix is ever held.
 */
#ifndef RF_NUM_NEIGHBOURS_H
#define RF_NUM_NEIGHBOURS_H

#include "base/team.h"

typedef struct rf_neighbours {
    size_t n, width;
    const float *points; /* [n, width], the caller's */
    float *block;        /* holds the arrays below */
    float *mean;         /* [width] */
    float *panels;       /* points less mean, packed */
    float *bias;         /* [n] -|p|^2 / 2 */
} rf_neighbours;

#define RF_NEIGHBOURS_ROWS 96 /* queries at a time, at most */
#define RF_NOT_AMONG SIZE_MAX

/* Keeps points by reference. n from 1 to UINT32_MAX; RF_ERR_NUMERIC if a number is not
 * finite or too large to square. */
rf_status rf_neighbours_init(rf_neighbours *s, const float *points, size_t n,
                             size_t width, rf_error *err);
void rf_neighbours_release(rf_neighbours *s); /* accepts a zeroed struct */

/* Floats of scratch that rf_neighbours_find needs. */
size_t rf_neighbours_scratch(const rf_neighbours *s, size_t k);

/* The k nearest points of each of n queries x [n, width]: index and distance, both
 * [n, k], nearest first; ties go to the lower index. If query i is point self + i,
 * which is not its own neighbour, give self; else RF_NOT_AMONG. 1 <= k <= points left. A
 * row's result depends on that row alone. */
void rf_neighbours_find(const rf_neighbours *s, const float *x, size_t n, size_t k,
                        size_t self, uint32_t *index, float *distance, float *scratch);

/* The same for any number of queries; with `own` they are the points themselves, each
 * without itself. */
rf_status rf_neighbours_find_all(const rf_neighbours *s, const float *x, size_t n,
                                 size_t k, bool own, uint32_t *index, float *distance,
                                 rf_team *team, rf_error *err);

#endif
