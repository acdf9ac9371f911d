/*
 * ward.h - Ward's method: clusters joined so that squared distances grow least
 *
 *   rf_ward tree;
 *   rf_ward_make(&tree, points, n, width, team, err);
 *   rf_ward_cut(&tree, 150, cluster, err);       any number of clusters, from one tree
 *   rf_ward_release(&tree);
 *
 * Joining clusters a and b adds n_a n_b / (n_a + n_b) |c_a - c_b|^2 to the sum of squared
 * distances from the centres c. The pair that adds least is joined, again and again. The
 * joins are found by chains of nearest clusters, each the nearest of the one before
 * (Murtagh 1983), in time n^2 and memory n. Deterministic, and the same bits for any
 * number of threads.
 */
#ifndef RF_LAB_WARD_H
#define RF_LAB_WARD_H

#include "base/team.h"

typedef struct rf_ward_join {
    double cost;
    uint32_t a, b; /* points of the two clusters */
} rf_ward_join;

typedef struct rf_ward {
    size_t n;
    rf_ward_join *joins; /* [n - 1] the cheapest first */
} rf_ward;

rf_status rf_ward_make(rf_ward *tree, const float *points, size_t n, size_t width,
                       rf_team *team, rf_error *err);
void rf_ward_release(rf_ward *tree); /* accepts a zeroed struct */

/* cluster [n] receives values below `clusters`, which is 1 to n, in the order of their
 * first points. */
rf_status rf_ward_cut(const rf_ward *tree, size_t clusters, uint32_t *cluster,
                      rf_error *err);

#endif
