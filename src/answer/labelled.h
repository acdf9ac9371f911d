/* labelled.h - a model's answers to the rows of a data set, each with the label it had */
#ifndef RF_ANSWER_LABELLED_H
#define RF_ANSWER_LABELLED_H

#include "base/error.h"

/* truth: the class of the model that the row's label names, RF_OPEN if it names none. */
typedef rf_status (*rf_labelled_sink)(void *user, size_t row, size_t truth,
                                      const rf_decision *decision, rf_error *err);

/* Classifies every row, in order. Anything but RF_OK from the sink ends the call. */
rf_status rf_classify_labelled(rf_session *session, const rf_dataset *data,
                               rf_labelled_sink sink, void *user, rf_error *err);

#endif
