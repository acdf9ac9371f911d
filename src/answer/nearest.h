/*
 * nearest.h - the stored training rows nearest to a feature
 *
 * The search is exhaustive: a training set has thousands of rows, not millions, and an
 * explanation that may miss the nearest one explains nothing. Distances are summed in
 * double, so that single precision causes no ties; real ties go to the earlier row.
 */
#ifndef RF_ANSWER_NEAREST_H
#define RF_ANSWER_NEAREST_H

#include "model/model.h"

typedef struct rf_nearest {
    double squared; /* distance */
    size_t at;      /* in the list of rows */
} rf_nearest;

/* The k <= n nearest of the rows rows[0..n); rows NULL: of the first n. Nearest
 * first. RF_ERR_NUMERIC if the feature is not finite. */
rf_status rf_model_nearest(const rf_model *m, const float *feature, const int32_t *rows,
                           size_t n, rf_nearest *out, size_t k, rf_error *err);

#endif
