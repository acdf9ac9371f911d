/*
 * fence_rows.h - labelled rows as outcomes: the best margins of a model for each
 *
 *   rf_fence_rows r;
 *   if (rf_fence_rows_read(&r, model, data, 0, NULL, NULL, err) != RF_OK) ...
 *   rf_fence_rows_release(&r);
 */
#ifndef RF_FENCE_FENCE_ROWS_H
#define RF_FENCE_FENCE_ROWS_H

#include "folds/pseudo_open.h"
#include "ringfence_improve.h"

typedef struct rf_fence_rows {
    size_t classes;  /* of the model */
    size_t labels;   /* of the data */
    rf_outcomes all; /* in the order of the data; hidden: a label that is no class */
    uint32_t *label; /* [all.n] of the data: texts of one label resemble each other */
} rf_fence_rows;

/* Classifies every row; progress may be NULL. Nothing to release after a failure. */
rf_status rf_fence_rows_read(rf_fence_rows *r, const rf_model *model,
                             const rf_dataset *data, size_t threads, rf_progress progress,
                             void *user, rf_error *err);
void rf_fence_rows_release(rf_fence_rows *r); /* accepts a zeroed struct */

/* Deals out the rows of every label to so many folds, as evenly as possible. fold is
 * [all.n]. */
rf_status rf_fence_rows_deal(const rf_fence_rows *r, size_t folds, uint64_t key,
                             uint8_t *fold, rf_error *err);

#endif
