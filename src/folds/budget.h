/*
 * budget.h - place the fences so that they keep a stated error budget
 *
 * --max-false-accept P: at most a share P of the texts of no class is accepted. Texts of
 * hidden classes in the folds of pseudo_open.h represent them. The fences are as loose
 * as that allows, but no looser than known texts need.
 * --max-false-reject P: at most a share P of the texts of known classes, measured on rows
 * that the folds hold out, is called open. The fences are as tight as that allows, but no
 * tighter than open texts need.
 * With both, the first places the fences, and the second must hold there.
 *
 *   rf_budget_check(t)                  before any work: can the data support the claim?
 *   rf_budget_plan(&b, t, folds, n)     from the outcomes of the folds
 *   ... stage 1, stage 2 without loosening ...
 *   rf_budget_place(&b, t, folds, n)    moves the fences and estimates the rates
 *   rf_budget_release(&b)
 */
#ifndef RF_FOLDS_BUDGET_H
#define RF_FOLDS_BUDGET_H

#include "base/json.h"
#include "folds/pseudo_open.h"
#include "folds/rates.h"

typedef struct rf_budget {
    double max_accept, max_reject; /* 0: none */
    size_t classes;
    double known_share; /* average share of the classes that a fold knows. The model knows
                         * all, and every further fence accepts more, so the folds may use
                         * only this share of the budget. 0 counts as 1 */
    size_t open_rows, hidden_classes; /* each text counts once */
    float common;                     /* added to every margin */
    float *own; /* [classes] added as well: by fence/, 0 after a training */
    rf_rate accept, recall, reject; /* expected rates */
    double *class_accept; /* [classes] share of hidden texts accepted as this one */
} rf_budget;

/* RF_ERR_ARG if the data cannot support the budget; the message says what is missing
 * and what could be promised. */
rf_status rf_budget_check(const rf_training *t);

rf_status rf_budget_plan(rf_budget *b, const rf_training *t, const rf_outcomes *folds,
                         size_t n_folds);
rf_status rf_budget_place(rf_budget *b, rf_training *t, const rf_outcomes *folds,
                          size_t n_folds);
void rf_budget_release(rf_budget *b); /* accepts a zeroed struct */

/* Moves the margins of outcomes by the fences of b: with offset 0 they give its
 * answers. */
void rf_budget_apply(const rf_budget *b, rf_outcomes *folds, size_t n_folds);

/* "budget" of a model's summary; NULL without memory. */
json_t *rf_budget_json(const rf_budget *b, const rf_model *m);

/* ---- Parts, exposed for tests ------------------------------------------------------ */

/* The largest offset at which, judging by n margins of open texts, a new one is
 * accepted with probability at most `most`. Sorts the margins. */
float rf_budget_loosest(float *margins, size_t n, double most);

/* The smallest offset at which, judging by n margins of known texts, a new one is
 * rejected with probability at most `most`. Sorts the margins. */
float rf_budget_tightest(float *margins, size_t n, double most);

/* The offset that keeps one budget, judging by the margins of known and of open texts,
 * both of which it sorts. With max_accept the loosest that this allows, but no looser
 * than needed to accept 99 in 100 known texts: a wide budget should not let in open ones
 * for nothing. With max_reject alone the tightest, but no tighter than needed to reject
 * 99 in 100 open texts. */
float rf_budget_offset(float *known, size_t n_known, float *open, size_t n_open,
                       double max_accept, double max_reject);

/* RF_ERR_ARG if so many rows cannot show that a rate is at most `most`. name, option and
 * what are for the message: "of false accepts", "--max-false-accept", "open texts". */
rf_status rf_budget_enough(double most, const char *name, const char *option, size_t rows,
                           const char *what, rf_error *err);

/* RF_ERR_ARG if the fences of b, placed for max_accept, break max_reject; the message
 * says what could be kept. */
rf_status rf_budget_check_both(const rf_budget *b, const rf_outcomes *folds,
                               size_t n_folds, rf_error *err);

/* Fills b->common from the folds, and clears b->own: see budget.c. */
rf_status rf_budget_fences(rf_budget *b, const rf_outcomes *folds, size_t n_folds,
                           rf_error *err);

/* The answer to a text with the fences of b: a class, or b->classes for open. */
uint32_t rf_budget_answer(const rf_budget *b, const rf_outcome *row);

#endif
