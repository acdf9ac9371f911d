/*
 * rates.h - rates and their confidence intervals
 *
 * Texts of one class are correlated: where one is accepted, the next is more likely to
 * be. So the bootstrap draws classes, not texts.
 */
#ifndef RF_FOLDS_RATES_H
#define RF_FOLDS_RATES_H

#include "base/error.h"

typedef struct rf_rate {
    size_t hits, n;
    double rate;      /* hits / n; 0 if n is 0 */
    double low, high; /* 95 % interval for as many new classes as these */
} rf_rate;

/* The rate over classes with hits[c] of n[c] texts, with a prediction interval for other
 * classes of the same kind, as many as these: sqrt(2) times as wide as the bootstrap
 * interval of 1000 draws of classes, seeded by key. If nothing (or everything) was hit,
 * all draws are the same and the rule of three gives the far end: 3 / n away. */
rf_status rf_rate_of_classes(rf_rate *r, const size_t *hits, const size_t *n,
                             size_t classes, uint64_t key, rf_error *err);

/* Rows needed to show with 95 % confidence that a rate is at most `most`, if none of
 * them is hit (rule of three); at most SIZE_MAX. And the smallest rate that this many
 * rows can show. */
size_t rf_rate_rows(double most);
double rf_rate_smallest(size_t rows);

#endif
