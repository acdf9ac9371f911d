/*
 * ans.h - training the one-versus-rest heads with adaptive negative samples (paper 3.2,
 * 3.3)
 *
 * A head depends only on its class's texts, the other classes' texts and the settings:
 * not on the number of threads, the other heads trained in the same call, or the order
 * of the classes. One thread trains a head from first step to last, so that its weights
 * and moments (2 MB at width 384) stay in that core's cache, and memory does not grow
 * with the number of classes.
 *
 *   rf_ans_training_open(&t, &heads, &fit, &err)      // checks, once
 *   for (size_t m = 0; m < classes; m += 8)           // reports progress every 8 heads
 *       rf_ans_training_run(t, m, min(m + 8, classes), reports + m, &err)
 *   rf_ans_training_close(t)
 */
#ifndef RF_ANS_ANS_H
#define RF_ANS_ANS_H

#include "ans/heads.h"
#include "open/method.h"

/* width and classes of heads must match `in`; both stay until the training is closed. */
typedef struct rf_ans_training rf_ans_training;
rf_status rf_ans_training_open(rf_ans_training **out, rf_heads *heads, const rf_fit *in,
                               rf_error *err);
void rf_ans_training_close(rf_ans_training *t); /* accepts NULL */

/* Trains heads [from, to) on the team's threads. RF_ERR_NUMERIC if a head did not stay
 * finite; after a failure the contents of these heads are undefined. reports is
 * [to - from]. */
rf_status rf_ans_training_run(rf_ans_training *t, size_t from, size_t to,
                              rf_class_report *reports, rf_error *err);

/* All three. */
rf_status rf_ans_train(rf_heads *heads, const rf_fit *in, size_t from, size_t to,
                       rf_class_report *reports, rf_error *err);

/* Trains all heads, a few at a time, with the hooks of `in`, and rounds them to half
 * precision: fit of open/method.h. */
rf_status rf_ans_fit(rf_method_state *state, const rf_fit *in, rf_error *err);

/* The same for the classes with has[c]; the state has its width and classes. */
rf_status rf_ans_fit_some(rf_method_state *state, const bool *has, const rf_fit *in,
                          rf_error *err);

/* negatives of open/method.h */
rf_status rf_ans_negatives(const rf_method_state *state, size_t fence, const rf_fit *in,
                           float radius, float *z, size_t *n, rf_error *err);

#endif
