/*
 * statistics.h - mean, spread, interval and paired comparison of a few runs
 *
 * Intervals are 95 % t intervals. Meant for a few to a few hundred numbers.
 */
#ifndef RF_LAB_STATISTICS_H
#define RF_LAB_STATISTICS_H

#include <stddef.h>

typedef struct rf_summary {
    size_t n;
    double mean; /* n >= 1 */
    /* 0 unless n >= 2: one run says nothing about the spread. */
    double sd;        /* divided by n - 1 */
    double low, high; /* 95 % interval of the mean */
} rf_summary;

rf_summary rf_summarize(const double *values, size_t n);

typedef struct rf_paired {
    rf_summary difference; /* of a[i] - b[i] */
    double p; /* two-sided, paired t test; 1 unless n >= 2. If all differences are equal:
               * 1 if they are 0, else 0 */
} rf_paired;

/* a[i] and b[i] are the results of two methods in the same experiment. */
rf_paired rf_compare_paired(const double *a, const double *b, size_t n);

#endif
