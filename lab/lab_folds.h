/*
 * lab_folds.h - where the folds of a cross-fit put the fence of an experiment
 *
 * What folds/cross_fit.h finds before stage 1, cached as CACHE/folds-HASH.st and named by
 * everything it depends on.
 */
#ifndef RF_LAB_LAB_FOLDS_H
#define RF_LAB_LAB_FOLDS_H

#include "lab/stage1.h"

typedef struct rf_lab_folds {
    float fence; /* rf_training.fence */
    float blend; /* of the tuned layers */
    double seconds;
} rf_lab_folds;

/* Reads it from the cache, or runs the folds and fills the cache. For a method, or
 * settings, without a cross-fit: no fence, and the blend of the settings. */
rf_status rf_lab_folds_get(rf_lab_folds *f, const rf_stage1_problem *p, rf_error *err);

#endif
