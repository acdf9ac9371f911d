/*
 * self_tune.h - settings chosen on folds that hide some of the known classes
 *
 * A few candidates, each a change of one setting, are tried on the folds of
 * pseudo_open.h and judged by F1 with the fence at its best position. After each fold the
 * worse half of them is given up; the settings that were asked for, the "default", stay
 * to be compared with, fold by fold. They are replaced only by what is better by more
 * than RF_TUNE_ADVANTAGE points on average, and better in most folds; with the fence at
 * its best, and where it will stand. If a budget places the fences (budget.h), no
 * position is chosen here.
 */
#ifndef RF_MODEL_SELF_TUNE_H
#define RF_MODEL_SELF_TUNE_H

#include "base/json.h"
#include "model/fence_choice.h"

#define RF_TUNE_ADVANTAGE 0.5 /* points of F1 */

/* One candidate on the folds that it was tried on. */
typedef struct rf_candidate {
    const char *name;
    rf_train_options o;
    size_t folds; /* the first so many */
    bool alive;   /* still in the race */
    double f1[RF_MAX_FOLDS][RF_FENCE_POSITIONS];
    rf_outcomes outcomes[RF_MAX_FOLDS];

    /* By rf_tuning_compare */
    size_t position;                  /* best on average */
    double mean;                      /* of the default, and the difference to it */
    double sd;                        /* of F1 over the folds; 0 for one fold */
    double difference, difference_sd; /* to the default, in the folds of this trial */
    size_t wins;
} rf_candidate;

#define RF_MAX_TRIALS 8

/* The fence of the chosen candidate at its best position, against where it would stand.
 */
typedef struct rf_fence_gain {
    size_t position; /* 0: it stays */
    double difference, difference_sd;
    size_t wins;
} rf_fence_gain;

typedef struct rf_tuning {
    rf_tune_effort effort; /* RF_TUNE_OFF: only the default was tried, on quick folds */
    size_t folds;
    size_t n; /* trials; the first is the default */
    rf_candidate *trials;
    rf_fence_position positions[RF_FENCE_POSITIONS];
    bool budget; /* places the fences: `fence` stays zeroed */
    size_t chosen;
    rf_fence_gain fence;
    char why_not[RF_WHY]; /* not empty: nothing could be tried, and this is why */
    char verdict[400];    /* how sure it is */
} rf_tuning;

/* Lists the candidates of an effort for options that are resolved; those that would
 * change nothing are left out. */
rf_status rf_tuning_init(rf_tuning *u, rf_tune_effort effort, const rf_train_options *o,
                         rf_error *err);
void rf_tuning_release(rf_tuning *u); /* accepts a zeroed struct */

/* After rf_training_encode: tries them (those of t->o.tune) and puts what was chosen into
 * t->o. If there can be no folds, why_not says so and the options stay. */
rf_status rf_self_tune(rf_training *t, rf_tuning *u);

/* The parts of it, on F1 that is there: figures of each trial; which go on; which won. */
void rf_tuning_compare(rf_tuning *u);
void rf_tuning_halve(rf_tuning *u);
void rf_tuning_decide(rf_tuning *u);

/* The options with what was chosen. */
rf_train_options rf_tuning_options(const rf_tuning *u);

/* "tuning" of a model's summary; NULL without memory. */
json_t *rf_tuning_json(const rf_tuning *u);

#endif
