/*
 * grouping.h - points in groups, whose number is found and not given
 *
 *   neighbours   the RF_REVIEW_NEAR nearest points of each, exactly (num/neighbours.h)
 *   linkage      groups whose points are similar enough on average (linkage.h)
 *   moving       each point goes to the group that it is most similar to on average, a
 *                few times over; one that is similar enough to none leaves
 *   size         smaller groups than `least` points do not count
 *
 * Deterministic, and the same bits for any number of threads.
 */
#ifndef RF_REVIEW_GROUPING_H
#define RF_REVIEW_GROUPING_H

#include "base/team.h"

#define RF_REVIEW_NEAR 12
#define RF_NO_GROUP UINT32_MAX

typedef struct rf_grouping {
    size_t n, width, groups;
    uint32_t *group; /* [n] below groups, in order of their first points; RF_NO_GROUP */
    uint32_t *size;  /* [groups] */
    float *mean;     /* [groups, width] of its points */
    float *fit;      /* [n] mean cosine with the others of its group, 0 if it has none */
    double *inside;  /* [groups] mean cosine of two of its points */
    double *apart;   /* [groups] share of its points' nearest points that are its own; as
                      * many of them count as a point could have in the group */
} rf_grouping;

/* Points of unit length; RF_ERR_NUMERIC for one with a NaN. */
rf_status rf_grouping_make(rf_grouping *g, const float *points, size_t n, size_t width,
                           double level, size_t least, rf_team *team, rf_error *err);
void rf_grouping_release(rf_grouping *g); /* accepts a zeroed struct */

#endif
