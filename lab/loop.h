/*
 * loop.h - review, name, accept, again and again: the whole way to new classes, measured
 *
 * A model is trained on some classes of a set. The other rows of the training file come
 * as traffic (traffic.h), `batch` of them with each round. In a round all texts that came
 * and have no label are reviewed (rf_review_texts), an oracle labels groups (oracle.h),
 * and the model learns the labels (rf_update). A class begins when it has RF_ORACLE_LEAST
 * texts; labels of others wait. The last round is the one after which all traffic has
 * come and no group got a name, or the budget of labels is gone. Then a model is trained
 * on the same rows and labels at once.
 */
#ifndef RF_LAB_LOOP_H
#define RF_LAB_LOOP_H

#include "lab/lab.h"
#include "lab/loop_points.h"

/* Called for every round, also for those of earlier calls. Anything but 0 stops with
 * RF_ERR_STOPPED; the next call resumes. */
typedef int (*rf_loop_done)(void *user, const rf_loop_point *point);

/* Of the options, methods, variants and open_texts do not count. progress may be NULL;
 * its events are those of trainings and updates. A round is a line of OUT/loop.jsonl.
 * OUT/cache keeps the first model, and a loop that was interrupted starts again from it:
 * rounds that are in the file are repeated, which gives the same result, but not
 * measured. RF_ERR_ARG if the file has the loop with other settings or texts. */
rf_status rf_lab_loop(const rf_lab_options *options, rf_train_progress progress,
                      rf_loop_done done, void *user, rf_error *err);

#endif
