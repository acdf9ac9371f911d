/*
 * metrics.h - figures of open-world classification, from pairs of truth and answer
 *
 *   rf_evaluation e;
 *   if (rf_evaluation_init(&e, classes, err) != RF_OK) ...
 *   rf_evaluation_add(&e, truth, answer);      for every row
 *   rf_evaluation_add_confidence(&e, truth == answer, confidence);    if there is one
 *   rf_evaluation_finish(&e);
 *   rf_evaluation_release(&e);
 *
 * docs/MODEL.md, "Figures", has the definitions.
 */
#ifndef RF_MODEL_METRICS_H
#define RF_MODEL_METRICS_H

#include "base/error.h"

/* Everything zero, room for classes and "open". */
rf_status rf_evaluation_init(rf_evaluation *e, size_t classes, rf_error *err);

/* Counts one row; class indices, RF_OPEN for open. */
void rf_evaluation_add(rf_evaluation *e, size_t truth, size_t answer);

/* Counts one confidence, 0..1; what is not a number counts as 0. */
void rf_evaluation_add_confidence(rf_evaluation *e, bool right, float confidence);

/* Fills everything else from e->confusion and the counts of confidences. May be called
 * again after more rows. */
void rf_evaluation_finish(rf_evaluation *e);

#endif
