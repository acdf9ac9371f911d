/* train_report.h - reports on stderr about the data before a training and the model after
 */
#ifndef RF_CLI_TRAIN_REPORT_H
#define RF_CLI_TRAIN_REPORT_H

#include "train_progress.h"

/* Reports the size of a data set and what is suspicious about it: texts under two labels,
 * small classes, dropped rows, empty texts. *n_odd counts these warnings. With strict
 * they are errors, shown even when quiet. `train` is the training set if data is the dev
 * set, else NULL. */
rf_status train_report_data(train_progress *p, const char *path, const rf_dataset *data,
                            const rf_dataset *train, bool strict, size_t *n_odd,
                            rf_error *err);

/* Reports how well the model does on the dev texts, and which heads reject their own
 * training texts. dev may be NULL: then rows of train were held out. */
rf_status train_report_model(train_progress *p, const rf_model *model,
                             const rf_dataset *train, const rf_dataset *dev,
                             rf_error *err);

#endif
