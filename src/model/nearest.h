/*
 * nearest.h - the kept training rows nearest to a feature
 *
 * Every row is looked at: a training set has thousands of rows, not millions, and an
 * explanation that may miss the nearest one explains nothing. Distances are summed in
 * double, so what is nearer comes first also where single precision would see a tie; real
 * ties go to the earlier row.
 */
#ifndef RF_MODEL_NEAREST_H
#define RF_MODEL_NEAREST_H

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
