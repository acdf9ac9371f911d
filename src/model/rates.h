/*
 * rates.h - shares of texts, with how far they can be trusted
 *
 * Texts of one class go together: where one is let in, the next is more likely to be. So
 * an interval is found by drawing classes, not texts.
 */
#ifndef RF_MODEL_RATES_H
#define RF_MODEL_RATES_H

#include "base/error.h"

typedef struct rf_rate {
    size_t hits, n;
    double rate;      /* hits / n; 0 of nothing */
    double low, high; /* 95 % interval */
} rf_rate;

/* Of classes with hits[c] of n[c] texts. The interval is that of 1000 draws of classes,
 * by key. Where nothing (or everything) was hit, all draws are the same; there the far
 * end is that of the rule of three: 3 / n from it. */
rf_status rf_rate_of_classes(rf_rate *r, const size_t *hits, const size_t *n,
                             size_t classes, uint64_t key, rf_error *err);

/* The rows that are needed to say that a rate is at most this, at 95 %: if none of so
 * many is hit, it is (rule of three); SIZE_MAX if it is more than that. And the least
 * rate that so many rows can show. */
size_t rf_rate_rows(double most);
double rf_rate_least(size_t rows);

/* P(X >= count) for a Poisson variable of this mean. */
double rf_poisson_tail(size_t count, double mean);

#endif
