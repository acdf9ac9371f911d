/*
 * dev_score.h - accuracy and macro-F1 on the dev set
 *
 *   rf_dev_score_clear(&s);
 *   rf_dev_score_add(&s, logits, class_of, n);  // any number of times
 *   *score = rf_dev_score_f1(&s);
 */
#ifndef RF_METHODS_DEV_SCORE_H
#define RF_METHODS_DEV_SCORE_H

#include "base/error.h"

typedef struct rf_dev_score {
    size_t classes;
    size_t *truth, *found, *right; /* [classes] rows, answers, correct answers */
} rf_dev_score;

rf_status rf_dev_score_init(rf_dev_score *s, size_t classes, rf_error *err);
void rf_dev_score_release(rf_dev_score *s); /* accepts a zeroed struct */

void rf_dev_score_clear(rf_dev_score *s);

/* n rows of logits [n, classes]: the answer is the largest, the first one in a tie. Rows
 * of no class (class_of is `classes` or more) are skipped. */
void rf_dev_score_add(rf_dev_score *s, const float *logits, const uint32_t *class_of,
                      size_t n);

/* Counts one row of class truth and its answer, both below classes. */
void rf_dev_score_count(rf_dev_score *s, size_t truth, size_t answer);

/* In percent. F1 is the mean over the classes that occur among rows or answers. */
double rf_dev_score_accuracy(const rf_dev_score *s);
double rf_dev_score_f1(const rf_dev_score *s);

#endif
