/*
 * plan.h - the list of runs that a lab is asked for
 */
#ifndef RF_LAB_PLAN_H
#define RF_LAB_PLAN_H

#include "lab/results.h"
#include "lab/split.h"
#include "methods/methods.h"
#include "lab/lab.h"

/* One run to be. */
typedef struct rf_planned {
    size_t set; /* index into rf_plan.sets */
    double ratio;
    uint64_t seed;
    const rf_method *method;
    char variant[96]; /* as in rf_run */
} rf_planned;

typedef struct rf_plan {
    char (*sets)[64];
    size_t n_sets;
    rf_planned *runs; /* by seed, then set, then ratio: whole grids come first */
    size_t n;
} rf_plan;

rf_status rf_plan_make(rf_plan *plan, const rf_lab_options *o, rf_error *err);
void rf_plan_release(rf_plan *plan); /* accepts a zeroed struct */

#endif
