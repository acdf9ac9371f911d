/*
 * metrics.h - metrics of open-world classification, from pairs of truth and answer
 *
 *   rf_evaluation e;
 *   if (rf_evaluation_init(&e, classes, rows, err) != RF_OK) ...
 *   rf_evaluation_add(&e, truth, answer);      for every row
 *   rf_evaluation_add_confidence(&e, truth == answer, confidence);    if there is one
 *   rf_evaluation_finish(&e);
 *   e.auroc = rf_auroc(rows, n);               if there are margins
 *   rf_evaluation_release(&e);
 *
 * Definitions: docs/MODEL.md, "Figures".
 */
#ifndef RF_ANSWER_METRICS_H
#define RF_ANSWER_METRICS_H

#include "base/error.h"

/* All zero, for the classes and "open", with room for so many rows; auroc is NaN. */
rf_status rf_evaluation_init(rf_evaluation *e, size_t classes, size_t rows,
                             rf_error *err);

/* Counts one row; class indices, RF_OPEN for open. No more rows than there is room for.
 */
void rf_evaluation_add(rf_evaluation *e, size_t truth, size_t answer);

/* Counts one confidence, 0..1; a NaN counts as 0. */
void rf_evaluation_add_confidence(rf_evaluation *e, bool right, float confidence);

/* Sorts e->confusion, and fills everything but auroc from it and the counts of
 * confidences. May be called again after more rows. */
void rf_evaluation_finish(rf_evaluation *e);

typedef struct rf_margin_row {
    float margin; /* of the deciding fence (rf_decision.margin); not NaN */
    bool open;    /* the label is open */
} rf_margin_row;

/* rf_evaluation.auroc of these rows, in any order; sorts them. */
double rf_auroc(rf_margin_row *rows, size_t n);

#endif
