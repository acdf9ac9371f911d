/*
 * nearest.h - the nearest neighbours of every row of a matrix, all of them looked at
 */
#ifndef RF_REPORT_NEAREST_H
#define RF_REPORT_NEAREST_H

#include "base/error.h"
#include "base/team.h"

/* The k nearest other rows of each row of x [n, width], k < n, nearest first, ties to the
 * smaller number: rows and squared distances into index [n, k] and squared [n, k]. The
 * search is in single precision with some to spare, the final choice in double. */
rf_status rf_nearest(uint32_t *index, double *squared, const float *x, size_t n,
                     size_t width, size_t k, rf_team *team, rf_error *err);

#endif
