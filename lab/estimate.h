/*
 * estimate.h - how long the runs of a plan will take
 *
 * A cost model (tokens times steps, heads) gives the proportions. Finished runs give the
 * scale: those of the plan that were done before, and those finished since. Without any,
 * the times are those of the machine on which the model's constants were measured.
 */
#ifndef RF_LAB_ESTIMATE_H
#define RF_LAB_ESTIMATE_H

#include "lab/lab_set.h"
#include "lab/results.h"
#include "lab/split.h"
#include "open/method.h"

typedef struct rf_estimate {
    double *seconds;           /* [runs] by the model; 0 for runs that are done */
    double left;               /* sum of seconds */
    double modelled, measured; /* sums over finished runs */
    double begun;              /* when the current run began */
} rf_estimate;

rf_status rf_estimate_init(rf_estimate *e, size_t n_runs, rf_error *err);
void rf_estimate_release(rf_estimate *e); /* accepts a zeroed struct */

typedef struct rf_estimate_input {
    const rf_lab_set *set;
    rf_split_options split;
    const rf_method *method;
    size_t epochs; /* 0: chosen from the data */
    size_t threads;
    bool shared;        /* another run of the plan trains its stage 1 */
    const rf_run *done; /* its line if it is finished, else NULL */
} rf_estimate_input;

/* Adds run i of the plan. */
void rf_estimate_run(rf_estimate *e, size_t i, const rf_estimate_input *in);

/* Run i begins; it ends after `seconds` of training, negative if it did not run. */
void rf_estimate_begin(rf_estimate *e);
void rf_estimate_end(rf_estimate *e, size_t i, double seconds);

double rf_estimate_of(const rf_estimate *e, size_t i); /* seconds of run i */
double rf_estimate_left(const rf_estimate *e);         /* seconds of all that is left */
bool rf_estimate_scaled(const rf_estimate *e);         /* by finished runs */

#endif
