/*
 * objective.h - what stage 1 learns, where it is not plain cross entropy
 *
 * fine_tune.c runs the live layers over a batch and passes the features of the whole
 * batch to the objective, which computes the loss and its gradient and takes a step of
 * the optimiser on parameters of its own (a classifier). An objective is used by one
 * thread; batches come one after another, so nothing in it depends on the number of
 * threads.
 *
 *   rf_objective *o = method->objective(&setting, &err);     // open/method.h
 *   rf_fine_tune_new(..., o, ...);                                // borrows it
 *   rf_objective_free(o);
 */
#ifndef RF_KNOWN_OBJECTIVE_H
#define RF_KNOWN_OBJECTIVE_H

#include "base/error.h"
#include "num/train.h"

/* A batch of stage 1, as an objective sees it. */
typedef struct rf_objective_batch {
    size_t n;
    const float *z;           /* [n, width] features, the live layers in training */
    const uint32_t *rows;     /* [n] of the training set */
    const uint32_t *class_of; /* [n] */
    size_t step;              /* from 0: with seed, names random streams */
    uint64_t seed;
    float dropout;
    const rf_adam *adam; /* for the objective's parameters, schedule included */
} rf_objective_batch;

/* A trained array with its moments: part of the best state and of a checkpoint. */
typedef struct rf_objective_param {
    char name[32]; /* "known.dense.weight" */
    float *value, *m, *v;
    size_t n;
} rf_objective_param;

#define RF_OBJECTIVE_PARAMS 8

typedef struct rf_objective rf_objective;
struct rf_objective {
    rf_objective_param params[RF_OBJECTIVE_PARAMS];
    size_t n_params;
    rf_status failed; /* set by a step that failed; its loss is NaN */

    /* The mean loss over the batch before the step; dz [n, width] = dloss / dz. */
    double (*step)(rf_objective *o, const rf_objective_batch *b, float *dz);

    /* Before an epoch (from 0), with the features of all training rows, without
     * dropout: z [rows, width]. NULL: features are not computed. */
    rf_status (*before_epoch)(rf_objective *o, const float *z, size_t epoch,
                              rf_error *err);

    /* How good the classifier is on n dev rows: a score in per cent, larger is better,
     * and a loss that decides between equal scores. */
    void (*look_at_dev)(rf_objective *o, const float *z, const uint32_t *class_of,
                        size_t n, double *score, double *loss);

    /* After values were changed from outside, before training continues. */
    void (*refresh)(rf_objective *o);

    void (*release)(rf_objective *o); /* frees o too */
};

static inline void rf_objective_free(rf_objective *o) /* accepts NULL */
{
    if (o)
        o->release(o);
}

#endif
