/*
 * self_tune.h - settings chosen on folds that hide some of the known classes
 *
 * A few candidates, each a change of one setting, are tried on the folds of pseudo_open.h
 * and judged by F1 with the fence at its best position. After each fold the worse half is
 * dropped; the requested settings, the "default", always stay for a comparison fold by
 * fold. A candidate replaces them only if it is better by more than RF_TUNE_ADVANTAGE
 * points on average and in most folds, both at its best fence and at its final one. If a
 * budget (budget.h) or a cross-fit (cross_fit.h) places the fences, no position is chosen
 * here.
 */
#ifndef RF_FOLDS_SELF_TUNE_H
#define RF_FOLDS_SELF_TUNE_H

#include "base/json.h"
#include "folds/fence_choice.h"

#define RF_TUNE_ADVANTAGE 0.5 /* points of F1 */

/* A candidate and its results on the folds where it was tried. */
typedef struct rf_candidate {
    const char *name;
    rf_settings s;
    size_t folds; /* tried on the first this many */
    bool alive;   /* still in the race */
    double f1[RF_MAX_FOLDS][RF_FENCE_POSITIONS];
    rf_outcomes outcomes[RF_MAX_FOLDS];

    /* Filled by rf_tuning_compare */
    size_t position;                  /* best on average */
    double mean;                      /* mean of the default plus the difference to it */
    double sd;                        /* of F1 over the folds; 0 for one fold */
    double difference, difference_sd; /* to the default, in the folds of this trial */
    size_t wins;
} rf_candidate;

#define RF_MAX_TRIALS 8

/* The gain of moving the fence of the chosen candidate to its best position. */
typedef struct rf_fence_gain {
    size_t position; /* 0: not moved */
    double difference, difference_sd;
    size_t wins;
} rf_fence_gain;

typedef struct rf_tuning {
    rf_tune_effort effort; /* RF_TUNE_OFF: only the default was tried, on quick folds */
    size_t folds;
    size_t n; /* trials; the first is the default */
    rf_candidate *trials;
    rf_fence_position positions[RF_FENCE_POSITIONS];
    bool budget;          /* places the fences, */
    bool fence_elsewhere; /* or something else than tuning does: `fence` stays zeroed */
    size_t chosen;
    rf_fence_gain fence;
    char why_not[RF_WHY]; /* not empty: why nothing could be tried */
    char verdict[400];    /* the result in words */
} rf_tuning;

/* Lists the candidates of an effort for resolved settings, without those that would
 * change nothing. */
rf_status rf_tuning_init(rf_tuning *u, rf_tune_effort effort, const rf_settings *s,
                         rf_error *err);
void rf_tuning_release(rf_tuning *u); /* accepts a zeroed struct */

/* After rf_training_encode: tries the candidates of t->o.tune and stores the chosen
 * settings in t->s. If folds are impossible, why_not says why and the settings stay. */
rf_status rf_self_tune(rf_training *t, rf_tuning *u);

/* Parts of it, given the F1 values: statistics of each trial; drop the worse half;
 * choose the winner. */
void rf_tuning_compare(rf_tuning *u);
void rf_tuning_halve(rf_tuning *u);
void rf_tuning_decide(rf_tuning *u);

/* The chosen settings, including the fence. */
rf_settings rf_tuning_settings(const rf_tuning *u);

/* "tuning" of a model's summary; NULL without memory. */
json_t *rf_tuning_json(const rf_tuning *u);

#endif
