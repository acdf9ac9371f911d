/*
 * ans_head.h - training one head from its first step to its last
 *
 * A trainer is one thread's working memory; it trains one head after another.
 */
#ifndef RF_OPEN_ANS_HEAD_H
#define RF_OPEN_ANS_HEAD_H

#include "open/ans.h"
#include "open/ans_step.h"

/* What a random stream is for; its key is rf_rng_key(seed, class key, purpose, index). */
typedef enum rf_ans_purpose {
    RF_ANS_FIRST_WEIGHTS = 1, /* index 0 */
    RF_ANS_OWN_ORDER = 2,     /* of the class's rows; index: which time round */
    RF_ANS_REST_ORDER = 3,    /* of the other rows */
    RF_ANS_NOISE = 4,         /* index: which step */
    RF_ANS_DROPOUT_1 = 5,
    RF_ANS_DROPOUT_2 = 6,
    RF_ANS_POSITIVE_NOISE = 7,
} rf_ans_purpose;

/* What a class that is a single point (one text, or copies of one) borrows. */
typedef struct rf_ans_spread {
    float *variance; /* [width] */
    float distance;  /* D = sqrt(2 sum variance) */
    float smallest;  /* a class with no larger D than this is a point */
} rf_ans_spread;

typedef struct rf_ans_trainer {
    rf_ans_work work;
    uint32_t *rows;   /* [rows of the problem] own rows, then the others */
    uint32_t *batch;  /* [positives + negatives] rows of a step */
    float *deviation; /* [width] 2 sigma */
    float *picked;    /* [RF_SCORE_ROWS, width] */
    float *scratch;   /* [RF_SCORE_SCRATCH] */
} rf_ans_trainer;

rf_status rf_ans_trainer_init(rf_ans_trainer *t, const rf_ans_problem *p,
                              const rf_ans_options *o, rf_error *err);
void rf_ans_trainer_release(rf_ans_trainer *t); /* accepts a zeroed struct */

/* The head of class m, from random weights. The report's loss is NaN if the weights did
 * not stay finite. */
void rf_ans_train_head(rf_ans_trainer *t, const rf_head *head, size_t m,
                       const rf_ans_problem *p, const rf_ans_options *o,
                       const rf_ans_spread *spread, rf_ans_report *report);

#endif
