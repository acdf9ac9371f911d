/*
 * kmeans.h - k-means: a given number of clusters of points
 *
 * Lloyd's iterations from given clusters, or from k-means++ starts (Arthur and
 * Vassilvitskii 2007), several times; the result with the smallest sum of squared
 * distances is kept. A cluster that
 * loses all its points starts again from the point that is farthest from its centre.
 * Deterministic, and the same bits for any number of threads.
 */
#ifndef RF_LAB_KMEANS_H
#define RF_LAB_KMEANS_H

#include "base/team.h"

typedef struct rf_kmeans_options {
    size_t clusters; /* 1 to n */
    size_t restarts, most_steps;
    uint64_t seed;
    const uint32_t *start; /* [n] clusters to start from, one time; NULL: k-means++ */
} rf_kmeans_options;

/* cluster [n] receives values below `clusters`, *spread the sum of squared distances;
 * spread may be NULL. */
rf_status rf_kmeans(const float *points, size_t n, size_t width,
                    const rf_kmeans_options *o, uint32_t *cluster, double *spread,
                    rf_team *team, rf_error *err);

#endif
