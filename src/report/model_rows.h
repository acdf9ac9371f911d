/* model_rows.h - a model's answers to every text of a test set */
#ifndef RF_REPORT_MODEL_ROWS_H
#define RF_REPORT_MODEL_ROWS_H

#include "base/error.h"

typedef struct rf_answer {
    size_t truth, answer; /* class of the model; its number of classes stands for open */
    float confidence, margin;
} rf_answer;

typedef struct rf_answers {
    size_t n, classes, width;
    rf_answer *rows;     /* [n] */
    size_t n_sampled;    /* rows with features */
    uint32_t *sampled;   /* [n_sampled] ascending */
    float *features;     /* [n_sampled, width] */
    rf_evaluation score; /* of all rows */
} rf_answers;

/* Classifies every row and keeps the features of a random sample of at most max_points.
 */
rf_status rf_answers_init(rf_answers *a, const rf_model *model, const rf_dataset *data,
                          const rf_report_options *o, size_t threads, rf_error *err);
void rf_answers_release(rf_answers *a); /* accepts a zeroed struct */

#endif
