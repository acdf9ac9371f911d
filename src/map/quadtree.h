/*
 * quadtree.h - repulsion between points of the plane, far ones grouped (Barnes and Hut
 * 1986)
 *
 *   rf_quadtree t;
 *   if (rf_quadtree_init(&t, n, err) != RF_OK) ...
 *   rf_quadtree_build(&t, points);                    whenever they moved
 *   double force[2], sum;
 *   rf_quadtree_repel(&t, x, y, 0.5, force, &sum);
 *   rf_quadtree_release(&t);
 *
 * After building, any number of threads may query.
 */
#ifndef RF_MAP_QUADTREE_H
#define RF_MAP_QUADTREE_H

#include "base/error.h"

/* Cells are in depth-first order: the first child of cell c is c + 1, and the cell after
 * its last descendant is `after`, so walking needs no stack. */
typedef struct rf_cell {
    double x, y;           /* centre of mass */
    double squared;        /* side, squared */
    uint32_t first, count; /* points, in the tree's order */
    uint32_t after;
    bool leaf;
} rf_cell;

typedef struct rf_quadtree {
    size_t n;
    double *points;          /* [n, 2] in the tree's order: neighbours are near */
    uint32_t *order;         /* [n] numbers of these points */
    uint64_t *codes, *spare; /* [n] */
    uint32_t *spare_order;
    rf_cell *cells;
    size_t n_cells, max_cells;
} rf_quadtree;

rf_status rf_quadtree_init(rf_quadtree *t, size_t n, rf_error *err);
void rf_quadtree_release(rf_quadtree *t); /* accepts a zeroed struct */

/* points is [n, 2], finite. */
void rf_quadtree_build(rf_quadtree *t, const double *points);

/* With q = 1 / (1 + d^2) of the distance d from (x, y) to each point:
 * force = sum of q^2 ((x, y) - point), *sum = sum of q. A point at (x, y) itself adds 1
 * to the sum. A cell whose side is below theta times its distance counts as one point;
 * theta 0 visits every point. theta is at most 0.7, so that this never happens to a
 * point's own cell. */
void rf_quadtree_repel(const rf_quadtree *t, double x, double y, double theta,
                       double force[2], double *sum);

#endif
