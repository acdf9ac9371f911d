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
 *   for (size_t m = 0; m < classes; m += 8) {   // reports progress every 8 heads
 *       size_t end = min(m + 8, classes);
 *       if (rf_ans_train(&heads, &fit, m, end, reports + m, &err) != RF_OK) ...
 *   }
 */
#ifndef RF_ANS_ANS_H
#define RF_ANS_ANS_H

#include "ans/heads.h"
#include "open/method.h"

/* Trains heads [from, to) on the team's threads; width and classes of heads must match
 * `in`. RF_ERR_NUMERIC if a head did not stay finite; after a failure the contents of
 * these heads are undefined. reports is [to - from]. */
rf_status rf_ans_train(rf_heads *heads, const rf_fit *in, size_t from, size_t to,
                       rf_class_report *reports, rf_error *err);

/* Trains all heads, a few at a time, with the hooks of `in`: fit of open/method.h. */
rf_status rf_ans_fit(rf_method_state *state, const rf_fit *in, rf_error *err);

/* negatives of open/method.h */
rf_status rf_ans_negatives(const rf_method_state *state, size_t fence, const rf_fit *in,
                           float radius, float *z, size_t *n, rf_error *err);

#endif
