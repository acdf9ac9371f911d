/*
 * traffic.h - the training file of a set, cut into what a first model learns from and
 * what comes later as traffic
 *
 * Rows of unknown classes are traffic, and so is every RF_TRAFFIC_KNOWN-th row of a known
 * class. They come in the order of np.random.seed(seed); np.random.permutation(rows).
 */
#ifndef RF_LAB_TRAFFIC_H
#define RF_LAB_TRAFFIC_H

#include "lab/split.h"

#define RF_TRAFFIC_KNOWN 5

typedef struct rf_traffic {
    rf_dataset *first; /* rows of the known classes that are no traffic */
    size_t n;
    uint32_t *row;   /* [n] of the training file, in the order in which they come */
    uint32_t *truth; /* [n] their classes there */
} rf_traffic;

/* known: those of split. */
rf_status rf_traffic_make(rf_traffic *t, const rf_dataset *train, const rf_split *known,
                          uint64_t seed, rf_error *err);
void rf_traffic_release(rf_traffic *t); /* accepts a zeroed struct */

#endif
