/*
 * train_report.h - what a person should know before and after a training, on stderr
 */
#ifndef RF_CLI_TRAIN_REPORT_H
#define RF_CLI_TRAIN_REPORT_H

#include "train_progress.h"

/* The numbers of a data set and what is odd about it: texts under two labels, small
 * classes, dropped rows, empty texts. *n_odd counts the kinds of oddities. With strict
 * they are shown as errors, also when quiet. `train` is the training set if data is the
 * dev set, else NULL. */
rf_status train_report_data(train_progress *p, const char *path, const rf_dataset *data,
                            const rf_dataset *train, bool strict, size_t *n_odd,
                            rf_error *err);

/* How well the model does on the dev texts, and which heads to doubt. dev may be NULL:
 * rows of train were held out. */
rf_status train_report_model(train_progress *p, const rf_model *model,
                             const rf_dataset *train, const rf_dataset *dev,
                             rf_error *err);

#endif
