/*
 * out_of_fold.h - what every row looks like to those that were not fitted on it
 *
 * The rows are cut into folds, each with its share of every class. For each fold the
 * closed-form prior (ans/prior.h) is fitted to the other rows and scores this one's.
 * Copies of a text are in one fold: else they would vouch for each other.
 */
#ifndef RF_CHECK_OUT_OF_FOLD_H
#define RF_CHECK_OUT_OF_FOLD_H

#include "check/encoded_rows.h"

#define RF_CHECK_FOLDS 10

/* Scores are those of the prior: a usual text has RF_PRIOR_UNIT in its class, 0 in the
 * others. */
typedef struct rf_outside_view {
    float own;      /* score in its own class; NAN if no other row has this class */
    float best;     /* highest score in another; NAN if there is none */
    uint32_t other; /* that class */
} rf_outside_view;

/* Views [e->n]. Rows that are left_out [e->n] are scored, but nothing is fitted to them;
 * NULL: none. */
rf_status rf_out_of_fold(const rf_encoded *e, const bool *left_out, rf_team *team,
                         rf_outside_view *views, rf_error *err);

#endif
