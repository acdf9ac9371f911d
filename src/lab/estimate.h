/*
 * estimate.h - how long runs may take
 *
 * A crude model (tokens times epochs, heads times steps) with constants measured on one
 * machine; once runs have been finished, their times correct it.
 */
#ifndef RF_LAB_ESTIMATE_H
#define RF_LAB_ESTIMATE_H

#include "lab/material.h"
#include "lab/results.h"
#include "lab/split.h"
#include "open/method.h"

typedef struct rf_estimate {
    size_t n;
    double *seconds;        /* [n] by the model; 0 for runs that are done */
    double left;            /* sum of those that are not done, the one in hand included */
    double model, measured; /* sums over finished runs */
    double begun;           /* when the run in hand began */
} rf_estimate;

rf_status rf_estimate_init(rf_estimate *e, size_t n, rf_error *err);
void rf_estimate_release(rf_estimate *e); /* accepts a zeroed struct */

/* Enters run i. epochs: as asked, 0 for chosen ones; shared: its stage 1 is another's. */
typedef struct rf_estimate_input {
    const rf_material *material;
    rf_split_options split;
    const rf_method *method;
    size_t epochs, threads;
    bool shared;
    const rf_run *done; /* its line if it is finished, else NULL */
} rf_estimate_input;
void rf_estimate_run(rf_estimate *e, size_t i, const rf_estimate_input *in);

double rf_estimate_of(const rf_estimate *e, size_t i);
void rf_estimate_begin(rf_estimate *e);
/* seconds: what stage 1 and the method took; negative if nothing was done. */
void rf_estimate_end(rf_estimate *e, size_t i, double seconds);
double rf_estimate_left(const rf_estimate *e);

#endif
