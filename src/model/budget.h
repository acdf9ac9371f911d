/*
 * budget.h - a stated error budget: where the fences have to stand to keep it
 *
 * --max-false-accept P: of the texts of no class, at most P are to be let in. The texts
 * of hidden classes in the folds of pseudo_open.h stand for them. The fences are put as
 * far out as that allows, or as known texts need.
 * --max-false-reject P: of the texts of known classes, at most P are to be called open,
 * by the dev texts. The fences are put as close as that allows, or as it takes.
 * With both, the first says where, and the second must hold there.
 *
 *   rf_budget_check(t)                  before any work: can the data support the claim?
 *   rf_budget_plan(&b, t, folds, n)     from the outcomes of the folds
 *   ... stage 1, stage 2 without loosening ...
 *   rf_budget_settle(&b, t, folds, n)   moves the fences, and says what to expect
 *   rf_budget_release(&b)
 */
#ifndef RF_MODEL_BUDGET_H
#define RF_MODEL_BUDGET_H

#include "base/json.h"
#include "model/pseudo_open.h"
#include "model/rates.h"

typedef struct rf_budget {
    double max_accept, max_reject; /* 0: none */
    size_t classes;
    double kept; /* share of the classes that a fold knows, on average; the model knows
                  * all, and each fence more lets in more: so many times as many false
                  * accepts are allowed in the folds. 0 counts as 1 */
    size_t open_rows, hidden_classes; /* rows: each text once */
    float common;                     /* added to every margin */
    float *own;                       /* [classes] and this; never above 0 */
    rf_rate accept, recall, reject;   /* what to expect */
    double dev_recall;                /* of the model itself; it is part of recall */
    double *class_accept;             /* [classes] hidden texts let in as this one */
} rf_budget;

/* RF_ERR_ARG with a message that says what is missing, and what could be promised. */
rf_status rf_budget_check(const rf_training *t);

rf_status rf_budget_plan(rf_budget *b, const rf_training *t, const rf_outcomes *folds,
                         size_t n_folds);
rf_status rf_budget_settle(rf_budget *b, rf_training *t, const rf_outcomes *folds,
                           size_t n_folds);
void rf_budget_release(rf_budget *b); /* accepts a zeroed struct */

/* "budget" of a model's summary; NULL without memory. */
json_t *rf_budget_json(const rf_budget *b, const rf_model *m);

/* ---- The parts of it --------------------------------------------------------------- */

/* The largest offset at which, by n margins of open texts, a new one is let in with a
 * probability of at most `most`: so many less one of n + 1. Sorts. */
float rf_budget_loosest(float *margins, size_t n, double most);

/* The least offset at which, by n margins of known texts, a new one is rejected with a
 * probability of at most `most`. Sorts. */
float rf_budget_tightest(float *margins, size_t n, double most);

/* Fills b->own and b->common from the folds: see budget.c. */
rf_status rf_budget_fences(rf_budget *b, const rf_outcomes *folds, size_t n_folds,
                           rf_error *err);

/* The answer to a text with the fences of b: a class, or b->classes for open. */
uint32_t rf_budget_answer(const rf_budget *b, const rf_outcome *row);

#endif
