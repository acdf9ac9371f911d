/*
 * statistics.h - what a handful of runs says: mean, spread, interval, paired comparison
 *
 * Intervals are Student's, 95 %. Everything is for a few to a few hundred numbers.
 */
#ifndef RF_LAB_STATISTICS_H
#define RF_LAB_STATISTICS_H

#include <stddef.h>

typedef struct rf_summary {
    size_t n;
    double mean; /* n >= 1 */
    /* n >= 2, else 0: one run tells nothing about spread. */
    double sd;        /* of a sample: divided by n - 1 */
    double low, high; /* the mean is between them with 95 % confidence */
} rf_summary;

rf_summary rf_summarize(const double *values, size_t n);

typedef struct rf_paired {
    rf_summary difference; /* of a[i] - b[i] */
    double p; /* two-sided, paired t test; n >= 2, else 1. With no spread at all: 1 if the
               * differences are 0, else 0 */
} rf_paired;

/* a[i] and b[i] are results of two methods in the same experiment. */
rf_paired rf_compare_paired(const double *a, const double *b, size_t n);

/* Student's t distribution, df > 0: P(|T| >= |t|), and the t that |T| exceeds with
 * probability p, 0 < p < 1. */
double rf_t_tails(double t, double df);
double rf_t_bound(double p, double df);

#endif
