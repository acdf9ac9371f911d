/*
 * paired.h - two models on the same rows: intervals and tests of their difference
 *
 * Definitions and sources: docs/MODEL.md, "Comparing two models".
 */
#ifndef RF_ANSWER_PAIRED_H
#define RF_ANSWER_PAIRED_H

#include <stddef.h>

/* Differences of single rows, as they come. Each is at most about 1 in size: what one row
 * of n adds to n times the difference of the two figures. */
typedef struct rf_paired_rows {
    size_t n;
    double sum, squares;
} rf_paired_rows;

static inline void rf_paired_add(rf_paired_rows *rows, double difference)
{
    rows->n++;
    rows->sum += difference;
    rows->squares += difference * difference;
}

/* The 95 % interval of their mean, within -1..1. */
void rf_paired_interval(const rf_paired_rows *rows, double *low, double *high);

/* Exact McNemar test: the chance that a + b fair coins fall at least as unevenly as a to
 * b. 1 if both are 0. */
double rf_paired_p(size_t a, size_t b);

#endif
