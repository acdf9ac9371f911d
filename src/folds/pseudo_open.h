/*
 * pseudo_open.h - measure how a training handles texts of classes it has not seen
 *
 * There are no texts of unknown classes to test on. But training without some of the
 * classes makes their texts unknown. A fold hides some of the classes; stages 1 and 2
 * learn only from the visible ones. Its outcomes are the answers to the hidden classes'
 * texts (training and dev rows) and to the dev rows of the visible ones. A cross-fit also
 * holds out some of the training rows of the visible classes, whose answers count too.
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
 * The rows of the whole training must be encoded (rf_training_encode). Only its error is
 * changed.
 */
#ifndef RF_FOLDS_PSEUDO_OPEN_H
#define RF_FOLDS_PSEUDO_OPEN_H

#include "folds/fold_plan.h"

/* True, with the reason in words, if this training cannot have folds. Needs its rows,
 * not their activations. */
#define RF_WHY 160
bool rf_folds_impossible(const rf_training *t, char why[RF_WHY]);
bool rf_cross_fit_impossible(const rf_training *t,
                             char why[RF_WHY]); /* needs no dev rows */

/* An outcome holds the margins of this many best heads. Moving fences by class may
 * change which is best, but almost always to another one of these. */
#define RF_OUTCOME_HEADS 4

/* The answer to one text. Classes are those of the whole training. */
typedef struct rf_outcome {
    uint32_t truth;
    bool hidden;                     /* the fold did not know this class */
    uint32_t head[RF_OUTCOME_HEADS]; /* the largest margin first; */
    float margin[RF_OUTCOME_HEADS];  /* -infinity if there are fewer heads */
} rf_outcome;

typedef struct rf_outcomes {
    size_t n, n_hidden;
    rf_outcome *row; /* the known ones first */
    size_t n_given;  /* open texts that came with the training data, held out */
    rf_outcome *given;
} rf_outcomes;

void rf_outcomes_release(rf_outcomes *o); /* accepts a zeroed struct */

/* Fills heads and margins of one outcome; NaNs are ignored. */
void rf_outcome_take(rf_outcome *out, const float *margins, size_t classes);

/* Fills heads and margins of n outcomes, by class of the model. */
rf_status rf_outcomes_judge(const rf_model *m, const float *z, size_t n, rf_team *team,
                            rf_outcome *out, rf_error *err);

/* Receives the share of the current step that is done, 0 to 1; a result other than 0
 * is a stop request. */
typedef int (*rf_fold_progress)(void *user, double done);

typedef struct rf_fold {
    rf_training t; /* of the visible classes: its model, its rows */
    rf_training *whole;
    bool borrows;               /* the encoder of `whole` */
    uint32_t *visible;          /* [t.model->classes] index in the whole training */
    uint32_t *rows[2];          /* of the hidden classes: training, dev */
    size_t n_rows[2], n_hidden; /* n_hidden: the sum */
    float *hidden_z;            /* [n_hidden, width] */
    uint32_t
        *held; /* training rows that are held out: of visible classes, then open ones */
    size_t n_held, n_held_open;
    float *held_z; /* [n_held + n_held_open, width] */
    double effort;
    float share; /* blend of the tuned layers in the features; < 0: none yet */
    rf_fold_progress progress; /* may be NULL */
    void *user;
} rf_fold;

/* Selects the rows and runs stage 1 with the options of the whole training (as many
 * epochs, so fewer steps). After a failure there is nothing to end. */
rf_status rf_fold_begin(rf_fold *f, rf_training *whole, const rf_fold_plan *plan,
                        size_t number, rf_fold_progress progress, void *user);

/* Runs stage 2 with these settings and collects the margins as learnt: fence_reject
 * and fence_offset are ignored, and so are the settings of stage 1 except blend. */
rf_status rf_fold_try(rf_fold *f, const rf_settings *s, rf_outcomes *out);

void rf_fold_end(rf_fold *f); /* accepts a zeroed struct */

#endif
