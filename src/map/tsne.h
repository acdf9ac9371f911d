/*
 * tsne.h - a 2-D map of high-dimensional points: Barnes-Hut t-SNE
 *
 *   rf_tsne_options o = rf_tsne_options_default();
 *   double *map = malloc(2 * n * sizeof *map);
 *   if (rf_tsne(map, features, n, width, &o, team, err) != RF_OK) ...
 *
 * What is near in the map is near in the features; distances between far groups and the
 * sizes of groups say nothing (van der Maaten and Hinton 2008; van der Maaten 2014). The
 * start is the plane of the two largest principal components, so a map does not depend on
 * luck, and it is the same to the last bit for any number of threads.
 */
#ifndef RF_MAP_TSNE_H
#define RF_MAP_TSNE_H

#include "base/team.h"
#include "map/affinity.h"
#include "map/quadtree.h"

typedef struct rf_tsne_options {
    double perplexity;   /* about the number of neighbours that count */
    double theta;        /* 0: exact forces, slow; at most 0.7 */
    size_t iterations;   /* total */
    size_t early;        /* of them with exaggerated attraction and little momentum */
    double exaggeration; /* of the attraction, early on */
    double rate;         /* of the steps; 0: max(n / (4 exaggeration), 50) */
    uint64_t seed;       /* of the jitter that separates equal points */
    /* Called now and then; anything but 0 stops with RF_ERR_STOPPED. May be NULL. */
    int (*progress)(void *user, size_t done, size_t total);
    void *user;
} rf_tsne_options;

rf_tsne_options rf_tsne_options_default(void);

/* map [n, 2] of x [n, width]; its centre is 0. RF_ERR_NUMERIC if x is not finite. */
rf_status rf_tsne(double *map, const float *x, size_t n, size_t width,
                  const rf_tsne_options *options, rf_team *team, rf_error *err);

/* ---- The parts, for tests ---------------------------------------------------------- */

/* gradient [n, 2] of the divergence sum P log(P / Q) by the points of the map, P times
 * `exaggeration` where it attracts. sums is [n] of scratch; the tree is rebuilt. */
void rf_tsne_gradient(double *gradient, const double *map, const rf_affinities *p,
                      double exaggeration, double theta, rf_quadtree *tree, double *sums,
                      rf_team *team);

/* map [n, 2]: x in the plane of its two largest principal components, the first with a
 * standard deviation of 1e-4. */
rf_status rf_tsne_start(double *map, const float *x, size_t n, size_t width,
                        uint64_t seed, rf_team *team, rf_error *err);

#endif
