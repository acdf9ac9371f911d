/*
 * lof.h - the local outlier factor (Breunig et al. 2000) as a part of a method: is a
 * point as densely surrounded as its neighbours are?
 *
 *   kdist(o)   distance of training point o to its k-th neighbour
 *   reach(x,o) max(|x - o|, kdist(o))
 *   lrd(x)     1 / (mean of reach over the k neighbours of x + 1e-10)
 *   score(x)   -(mean of lrd over the k neighbours of x) / lrd(x)
 *
 * A training point is no neighbour of itself. offset is the quantile `contamination` of
 * the training points' scores; a point with a lower score is open. This is what
 * scikit-learn's LocalOutlierFactor(novelty=True) computes.
 *
 * A method that uses it declares RF_LOF_ARRAYS among its arrays, from `first` on; its
 * prepared is then ours:
 *
 *   static const rf_fence_array arrays[] = {RF_LOF_ARRAYS};
 *   static rf_status fit(rf_fence *f, const rf_fit *in, rf_error *err)
 *   {
 *       return rf_lof_fit(f, 0, in->z, in->rows, in->width, in->o->neighbours,
 *                         in->o->contamination, in->team, err);
 *   }
 *   static rf_status prepare(rf_fence *f, rf_error *err)
 *   {
 *       return rf_lof_prepare(f, 0, err);
 *   }
 *   static void judge(const rf_fence *f, const rf_signals *s, rf_verdict *out,
 *                     float *margins, float *scratch)
 *   {
 *       rf_lof_judge(f, s->z, s->logits, f->classes, s->n, out, margins, scratch);
 *   }
 *   ... .release = rf_lof_release, .scratch = rf_lof_scratch
 */
#ifndef RF_OPEN_LOF_H
#define RF_OPEN_LOF_H

#include "base/team.h"
#include "open/fence.h"
#include "open/method.h"

#define RF_LOF_K 20

#define RF_LOF_ARRAYS                                                                    \
    {"points", 2, {RF_DIM_ANY, RF_DIM_WIDTH}}, {"kdist", 1, {RF_DIM_ANY, 1}},            \
        {"lrd", 1, {RF_DIM_ANY, 1}}, {"offset", 1, {1, 1}},                              \
    {                                                                                    \
        "k", 1,                                                                          \
        {                                                                                \
            1, 1                                                                         \
        }                                                                                \
    }
#define RF_LOF_N_ARRAYS 5

/* Fills f's arrays first .. first + 4 from points [n, width], which are copied. k 0:
 * RF_LOF_K; at most n - 1 is used. A single point has no neighbours: its kdist is 0, and
 * whatever does not lie on it is open. */
rf_status rf_lof_fit(rf_fence *f, size_t first, const float *points, size_t n,
                     size_t width, size_t k, float contamination, rf_team *team,
                     rf_error *err);

/* Makes f->prepared from those arrays. */
rf_status rf_lof_prepare(rf_fence *f, size_t first, rf_error *err);
void rf_lof_release(rf_fence *f); /* accepts a fence that was never prepared */

/* Floats of scratch for both functions below. */
size_t rf_lof_scratch(const rf_fence *f);

/* score - offset of x [n, width], n <= RF_JUDGE_ROWS: below 0 is open. */
void rf_lof_score(const rf_fence *f, const float *x, size_t n, float *scores,
                  float *scratch);

/* A whole judge(): the class is the largest of logits (rows ld apart), every class's
 * margin is the score of x. */
void rf_lof_judge(const rf_fence *f, const float *x, const float *logits, size_t ld,
                  size_t n, rf_verdict *out, float *margins, float *scratch);

#endif
