/*
 * judge.h - features in, verdicts out: the classifier of known classes and the fences
 * over a block of rows
 *
 *   features --> known, then judge: logits, verdicts, margins  } tasks that the threads
 *   [rows, d]    or score: margins [rows, C]                    } take one after another
 *
 * With many fences only those on a row's shortlist are scored.
 *
 * A task is some rows through the classifier and the method, or one fence over some rows
 * (open/method.h, judge and score). Every output belongs to one task and depends on its
 * own row only, so the bits do not depend on which thread takes which task, nor on what
 * else is in the block.
 */
#ifndef RF_ANSWER_JUDGE_H
#define RF_ANSWER_JUDGE_H

#include "answer/shortlist.h"
#include "base/team.h"
#include "model/model.h"

/* A block of verdicts; C classes. */
typedef struct rf_judge {
    size_t max_rows, classes;
    float *probabilities; /* [max_rows, C] of the known classes among themselves */
    float *margins;       /* [max_rows, C] */
    rf_verdict *verdicts; /* [max_rows] */
    float *scratch;       /* [threads][scratch_size] */
    size_t scratch_size;
    rf_shortlist shortlist;
    bool all_fences; /* ask all, with no shortlist */
} rf_judge;

/* Allocates a block of a good size for this model, at most `most` rows. */
rf_status rf_judge_init(rf_judge *j, const rf_model *m, size_t most, size_t threads,
                        rf_error *err);
void rf_judge_release(rf_judge *j); /* accepts a zeroed struct */

/* Fills the first n rows, n at most max_rows; features is [n, width]. The team must
 * not have more threads than j was made for. */
void rf_judge_rows(rf_judge *j, const rf_model *m, const float *features, size_t n,
                   rf_team *team);

/* Any number of rows, block by block: calls `seen` after each block of n rows, which
 * starts at row `from` of `features`. all_fences: as in rf_judge. */
typedef void (*rf_block_seen)(void *user, const rf_judge *j, size_t from, size_t n);
rf_status rf_judge_all(const rf_model *m, const float *features, size_t n,
                       bool all_fences, rf_team *team, rf_block_seen seen, void *user,
                       rf_error *err);

/* The answer for row i of the block: a class, or RF_OPEN. */
size_t rf_judge_answer(const rf_judge *j, const rf_model *m, size_t i);

#endif
