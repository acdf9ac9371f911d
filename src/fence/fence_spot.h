/*
 * fence_spot.h - where the fences go, judging by outcomes with labels
 *
 * One offset for all classes: the best by F1 or accuracy, or as an error budget asks.
 * With per_class a class gets an offset of its own if its rows justify one.
 *
 *   rf_budget b = {.classes = classes, .own = own, .max_accept = 0.05};
 *   if (rf_fence_spot(&b, &goal, rows, n, err) != RF_OK) ...
 *   rf_budget_answer(&b, row)
 */
#ifndef RF_FENCE_FENCE_SPOT_H
#define RF_FENCE_FENCE_SPOT_H

#include "folds/budget.h"
#include "ringfence_improve.h"

typedef struct rf_fence_goal {
    double f1_share; /* without a budget: 1 for the best F1, 0 for the best accuracy */
    bool per_class;
} rf_fence_goal;

/* Fills b->common and b->own [b->classes]; the limits of b are the budget, if any. If
 * both are set, the first places the fences (see rf_budget_check_both). */
rf_status rf_fence_spot(rf_budget *b, const rf_fence_goal *goal,
                        const rf_outcome *const *rows, size_t n, rf_error *err);

#endif
