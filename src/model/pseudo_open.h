/*
 * pseudo_open.h - what a training would do with texts of classes it has not seen
 *
 * Nobody has texts of the unknown. But a training can be run without some of its classes,
 * and then their texts are unknown to it. A fold hides some of the classes; stages 1 and
 * 2 learn from the others alone, and the answers to the hidden classes' texts (training
 * and dev rows) and to the dev rows of the others are its outcomes.
 *
 *   rf_fold_plan plan;
 *   rf_fold_plan_make(&plan, classes, RF_TUNE_QUICK, seed, err);
 *   for (size_t i = 0; i < plan.folds; i++) {
 *       rf_fold fold;
 *       rf_outcomes outcomes;
 *       rf_fold_begin(&fold, t, &plan, i, NULL, NULL);  stage 1
 *       rf_fold_try(&fold, &fold.t.o, &outcomes);       stage 2 with some options
 *       rf_outcomes_release(&outcomes);
 *       rf_fold_end(&fold);
 *   }
 *   rf_fold_plan_release(&plan);
 *
 * The whole training must have its rows encoded (rf_training_encode); nothing in it
 * changes but its error.
 */
#ifndef RF_MODEL_PSEUDO_OPEN_H
#define RF_MODEL_PSEUDO_OPEN_H

#include "model/training.h"

/* Three folds hide each class exactly once: a third of the classes each. */
#define RF_FOLDS_OF_A_PARTITION 3
#define RF_MAX_FOLDS (2 * RF_FOLDS_OF_A_PARTITION)

typedef struct rf_fold_plan {
    size_t folds, classes;
    bool *hidden; /* [folds, classes] */
} rf_fold_plan;

/* quick: one partition; thorough: two different ones, if there are two (3 classes can be
 * hidden one by one in one way only). At least 3 classes, see rf_folds_impossible. */
rf_status rf_fold_plan_make(rf_fold_plan *p, size_t classes, rf_tune_effort effort,
                            uint64_t seed, rf_error *err);
void rf_fold_plan_release(rf_fold_plan *p); /* accepts a zeroed struct */

/* Why there can be no folds of this training, in words; false if there can. Needs its
 * rows, not their activations. */
#define RF_WHY 160
bool rf_folds_impossible(const rf_training *t, char why[RF_WHY]);

/* Heads whose margins an outcome holds: the best ones. Fences that are moved one by one
 * may make another head the best; it will almost always be among so many. */
#define RF_OUTCOME_HEADS 4

/* The answer to one text. Classes are those of the whole training. */
typedef struct rf_outcome {
    uint32_t truth;
    bool hidden;                     /* the fold did not know this class */
    uint32_t head[RF_OUTCOME_HEADS]; /* the largest margin first; */
    float margin[RF_OUTCOME_HEADS];  /* of fewer heads, the rest is -infinity */
} rf_outcome;

typedef struct rf_outcomes {
    size_t n, n_hidden;
    rf_outcome *row; /* the known ones first */
} rf_outcomes;

void rf_outcomes_release(rf_outcomes *o); /* accepts a zeroed struct */

/* Fills heads and margins of n outcomes, by class of the model. */
rf_status rf_outcomes_judge(const rf_model *m, const float *z, size_t n, rf_team *team,
                            rf_outcome *out, rf_error *err);

/* Told how much of a step of a fold is done, 0 to 1; anything but 0 means stop. */
typedef int (*rf_fold_progress)(void *user, double done);

typedef struct rf_fold {
    rf_training t; /* of the kept classes: its model, its rows */
    rf_training *whole;
    uint32_t *kept;             /* [t.model->classes] by number in the whole */
    uint32_t *rows[2];          /* of the hidden classes: training, dev */
    size_t n_rows[2], n_hidden; /* n_hidden: both */
    float *hidden_z;            /* [n_hidden, width] */
    float share;               /* of what stage 1 learnt in the features; < 0: none yet */
    rf_fold_progress progress; /* may be NULL */
    void *user;
} rf_fold;

/* Takes the rows and runs stage 1, with the options of the whole training (as many
 * epochs: of fewer rows, so fewer steps). On failure nothing has to be ended. */
rf_status rf_fold_begin(rf_fold *f, rf_training *whole, const rf_fold_plan *plan,
                        size_t number, rf_fold_progress progress, void *user);

/* Stage 2 with these options, and the margins as the heads have learnt them: neither
 * fence_reject nor fence_offset counts. Of the options for stage 1 only blend does. */
rf_status rf_fold_try(rf_fold *f, const rf_train_options *o, rf_outcomes *out);

void rf_fold_end(rf_fold *f); /* accepts a zeroed struct */

#endif
