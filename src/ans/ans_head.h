/*
 * ans_head.h - training one head from its first step to its last
 *
 * A trainer is one thread's working memory, used for one head after another.
 */
#ifndef RF_ANS_ANS_HEAD_H
#define RF_ANS_ANS_HEAD_H

#include "ans/ans.h"
#include "ans/ans_step.h"

/* The spread used for a class that is a single point (one text, or copies of one). */
typedef struct rf_ans_spread {
    float *variance; /* [width] */
    float distance;  /* D = sqrt(2 sum variance) */
    float smallest;  /* a class whose D is at most this is a point */
} rf_ans_spread;

typedef struct rf_ans_trainer {
    rf_ans_work work;
    uint32_t *rows;   /* [rows of the fit] own rows, then the others */
    uint32_t *batch;  /* [positives + negatives] rows of a step */
    float *deviation; /* [width] 2 sigma */
    float *picked;    /* [RF_SCORE_ROWS, width] rows to measure recall on */
    float *scratch;   /* [RF_SCORE_SCRATCH] */
} rf_ans_trainer;

rf_status rf_ans_trainer_init(rf_ans_trainer *t, const rf_fit *in, rf_error *err);
void rf_ans_trainer_release(rf_ans_trainer *t); /* accepts a zeroed struct */

/* Trains the head of class m from random weights. The report's loss is NaN if the
 * weights did not stay finite. */
void rf_ans_train_head(rf_ans_trainer *t, const rf_head *head, size_t m, const rf_fit *in,
                       const rf_ans_spread *spread, rf_class_report *report);

#endif
