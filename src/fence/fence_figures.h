/*
 * fence_figures.h - figures of answers to labelled rows, and what to expect of other rows
 */
#ifndef RF_FENCE_FENCE_FIGURES_H
#define RF_FENCE_FENCE_FIGURES_H

#include "fence/fence_rows.h"

/* The figures of these answers, [all.n]: a class, or r->classes for open. Intervals are
 * for as many other rows of this kind; key seeds their random draws. */
rf_status rf_fence_measure(rf_fence_figures *out, const rf_fence_rows *r,
                           const uint32_t *answer, uint64_t key, rf_error *err);

/* ---- Parts, exposed for tests ------------------------------------------------------ */

/* Mean F1, 0 to 1, of the classes that have rows, open included; row i counts weight[i]
 * times. room is [3 (classes + 1)]. */
double rf_fence_f1(const rf_fence_rows *r, const uint32_t *answer, const uint32_t *weight,
                   double *room);

#endif
