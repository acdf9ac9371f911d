/*
 * fold_plan.h - which fold hides which classes and holds out which rows
 */
#ifndef RF_FOLDS_FOLD_PLAN_H
#define RF_FOLDS_FOLD_PLAN_H

#include "stages/training.h"

/* Three folds hide a third of the classes each, every class exactly once. */
#define RF_FOLDS_OF_A_PARTITION 3
#define RF_MAX_FOLDS (2 * RF_FOLDS_OF_A_PARTITION)

typedef struct rf_fold_plan {
    size_t folds, classes;
    bool *hidden; /* [folds, classes] */
    /* Of a cross-fit: training row i is used by no fold (RF_ROW_UNUSED) or held out by
     * fold row_fold[i] if its class is visible there; NULL: no row is held out. */
    uint8_t *row_fold; /* [rows], open texts included */
    double effort;     /* share of epochs and steps that a fold takes; 0 counts as 1 */
} rf_fold_plan;

#define RF_ROW_UNUSED 255

/* quick: one partition; thorough: two different ones, if possible (3 classes have only
 * one). Needs at least 3 classes, see rf_folds_impossible. */
rf_status rf_fold_plan_make(rf_fold_plan *p, size_t classes, rf_tune_effort effort,
                            uint64_t seed, rf_error *err);
void rf_fold_plan_release(rf_fold_plan *p); /* accepts a zeroed struct */

/* Every class is hidden once, and every training row held out once unless its class is
 * hidden at the time, or it is the only one of its class. Of large classes only some rows
 * are used. */
#define RF_CROSS_FOLDS 5 /* at most RF_MAX_FOLDS */
rf_status rf_fold_plan_cross(rf_fold_plan *p, const rf_training *t, rf_error *err);

/* Deals the rows of a cross-fit again, so that texts of a class that are alike are held
 * out together. Needs the activations of the training rows and the encoder as it came. */
rf_status rf_fold_plan_chain(rf_fold_plan *p, const rf_training *t, rf_error *err);

#endif
