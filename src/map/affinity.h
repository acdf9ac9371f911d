/*
 * affinity.h - neighbour probabilities of t-SNE
 *
 *   rf_affinities p;
 *   if (rf_affinities_init(&p, x, n, width, 30.0, team, err) != RF_OK) ...
 *   for (size_t e = p.begin[i]; e < p.begin[i + 1]; e++)
 *       p.row[e], p.value[e]            P(i, j): symmetric, all of them sum to 1
 *   rf_affinities_release(&p);
 *
 * p(j|i) = exp(-beta_i |x_i - x_j|^2) over the 3 * perplexity nearest j, beta_i such that
 * the entropy is log perplexity; P(i, j) = (p(j|i) + p(i|j)) / 2n (van der Maaten 2014,
 * section 3).
 */
#ifndef RF_MAP_AFFINITY_H
#define RF_MAP_AFFINITY_H

#include "base/error.h"
#include "base/team.h"

typedef struct rf_affinities {
    size_t n;
    size_t *begin; /* [n + 1] */
    uint32_t *row; /* ascending within a row */
    double *value;
} rf_affinities;

/* x is [n, width], finite. A perplexity above (n - 1) / 3 is lowered to that; it is at
 * least 1. Fewer than 2 rows have no entries. */
rf_status rf_affinities_init(rf_affinities *p, const float *x, size_t n, size_t width,
                             double perplexity, rf_team *team, rf_error *err);
void rf_affinities_release(rf_affinities *p); /* accepts a zeroed struct */

#endif
