/* compare.h - what a comparison of two models keeps of every row */
#ifndef RF_ANSWER_COMPARE_H
#define RF_ANSWER_COMPARE_H

#include "base/error.h"
#include "ringfence_improve.h"

/* Ids as in rf_evaluation: the classes of that model, then open. */
typedef struct rf_compared_row {
    size_t truth[2], answer[2];
    float confidence[2];
} rf_compared_row;

/* Fills in everything from the rows: c has its models and finished evaluations. */
rf_status rf_comparison_fill(rf_comparison *c, const rf_compared_row *rows, size_t n,
                             rf_error *err);

#endif
