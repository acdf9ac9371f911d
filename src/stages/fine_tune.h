/*
 * fine_tune.h - stage 1: fine-tune the upper layers with the classifier of known classes
 *
 * Cross entropy, AdamW, linear warm-up and decay, dropout; after every epoch the dev set
 * decides whether this is the best state so far (paper 3.1). The state between two epochs
 * is a table of arrays and six numbers; restoring it resumes training to the same bits.
 */
#ifndef RF_STAGES_FINE_TUNE_H
#define RF_STAGES_FINE_TUNE_H

#include "encoder/activations.h"
#include "known/known.h"
#include "known/objective.h"
#include "settings/settings.h"

typedef struct rf_labelled {
    const rf_activations *texts;
    const uint32_t *class_of; /* [texts->n_texts] */
} rf_labelled;

/* Progress of training; with the arrays, all that a checkpoint needs. */
typedef struct rf_fine_tune_state {
    size_t epoch;                    /* epochs finished */
    size_t best_epoch;               /* from 1 */
    double best_accuracy, best_loss; /* on dev; accuracy in per cent */
    double loss;                     /* over the last epoch */
    double accuracy;
} rf_fine_tune_state;

typedef struct rf_fine_tune_array {
    char name[64];
    float *data;
    size_t n;
} rf_fine_tune_array;

typedef struct rf_fine_tune rf_fine_tune;

/* Layers layers - live .. layers - 1 of e and all of known will learn; e, known, the
 * texts, the objective and the team are borrowed. objective may be NULL: cross entropy of
 * known's logits. train must start at layer e->layers - live. dev may be
 * empty: then the last epoch counts as the best. */
rf_fine_tune *rf_fine_tune_new(rf_encoder *e, size_t live, rf_known *known,
                               rf_labelled train, rf_labelled dev,
                               rf_objective *objective, const rf_settings *s,
                               uint64_t seed, rf_team *team, rf_error *err);
void rf_fine_tune_free(rf_fine_tune *t); /* accepts NULL */

size_t rf_fine_tune_steps(const rf_fine_tune *t); /* planned in total */
rf_fine_tune_state *rf_fine_tune_where(rf_fine_tune *t);
bool rf_fine_tune_finished(const rf_fine_tune *t);

/* One epoch, then the dev set. A result other than 0 from done stops with
 * RF_ERR_STOPPED; the state is then unusable. */
typedef int (*rf_steps_done)(void *user, size_t done);
rf_status rf_fine_tune_epoch(rf_fine_tune *t, rf_steps_done done, void *user,
                             rf_error *err);

/* Optimiser step number `step` of the whole training, on these rows of the training
 * set (at most s->batch). Returns the mean loss before the step. rf_fine_tune_epoch is
 * made of these. */
double rf_fine_tune_step(rf_fine_tune *t, const uint32_t *rows, size_t n, size_t step);

/* The arrays of the state, n of them: "value", "mean" and "square" (the optimiser's
 * moments) of everything that learns, e.g. "mean.1.qkv.weight" for live layer 1, and
 * "best". Weights are panels (num/panels.h); data may be read and written between
 * epochs. After writing call rf_fine_tune_refresh. */
const rf_fine_tune_array *rf_fine_tune_arrays(rf_fine_tune *t, size_t *n);
void rf_fine_tune_refresh(rf_fine_tune *t);

/* Puts the best state into the encoder and the classifier. */
void rf_fine_tune_restore_best(rf_fine_tune *t);

/* Schedule: the factor of the learning rates at a step, from 0. */
float rf_fine_tune_factor(size_t step, size_t steps, float warmup);

#endif
