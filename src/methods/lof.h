/*
 * lof.h - the local outlier factor (Breunig et al. 2000) as a building block: is a
 * point as densely surrounded as its neighbours?
 *
 *   kdist(o)   distance of training point o to its k-th neighbour
 *   reach(x,o) max(|x - o|, kdist(o))
 *   lrd(x)     1 / (mean of reach over the k neighbours of x + 1e-10)
 *   score(x)   -(mean of lrd over the k neighbours of x) / lrd(x)
 *
 * A training point is not its own neighbour. offset is the `contamination` quantile of
 * the training points' scores; a point with a lower score is open. This is what
 * scikit-learn's LocalOutlierFactor(novelty=True) computes.
 *
 * A method that uses it puts rf_lof_arrays, rf_lof_prepare, rf_lof_release and
 * rf_lof_scratch into its table; its own fit and judge choose the features.
 */
#ifndef RF_METHODS_LOF_H
#define RF_METHODS_LOF_H

#include "open/method.h"

#define RF_LOF_K 20

#define RF_LOF_N_ARRAYS 5
extern const rf_method_array rf_lof_arrays[RF_LOF_N_ARRAYS];

/* Fits the arrays to a copy of points [in->rows, in->width]. in->o->neighbours 0 means
 * RF_LOF_K; at most rows - 1 are used. A single point has no neighbours: its kdist is 0,
 * and every other point is open. */
rf_status rf_lof_fit(rf_method_state *state, const rf_fit *in, const float *points,
                     rf_error *err);

/* The same on the known classifier's hidden layer, normalised or not. */
rf_status rf_lof_fit_hidden(rf_method_state *state, const rf_fit *in, bool normalise,
                            rf_error *err);

rf_status rf_lof_prepare(rf_method_state *state, rf_error *err);
void rf_lof_release(rf_method_state *state);
size_t rf_lof_scratch(const rf_method_state *state);

/* score - offset of x [n, width], n <= RF_JUDGE_ROWS: below 0 is open. */
void rf_lof_score(const rf_method_state *state, const float *x, size_t n, float *scores,
                  float *scratch);

/* rf_method.judge on features x [s->n, width]: the class has the largest logit, and every
 * class's margin is the score of x. */
void rf_lof_judge(const rf_method_state *state, const rf_signals *s, const float *x,
                  rf_verdict *out, float *margins, float *scratch);

#endif
