/*
 * judge.h - features in, verdicts out: the classifier of known classes and the fences
 * over a block of rows
 *
 *   features --> known:  logits, softmax          } tasks that the threads
 *   [rows, d]    heads:  margins [rows, C], or    } take one after another
 *                method: margins and verdicts     }
 *
 * A task is some rows through the classifier (and the method), or one head over some
 * rows. Every output belongs to one task and depends on its own row only, so the bits do
 * not depend on how the tasks fall to the threads, nor on what else is in the block.
 */
#ifndef RF_MODEL_JUDGE_H
#define RF_MODEL_JUDGE_H

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
} rf_judge;

/* Room for as many rows at a time as are good for this model, at most `most`. */
rf_status rf_judge_init(rf_judge *j, const rf_model *m, size_t most, size_t threads,
                        rf_error *err);
void rf_judge_release(rf_judge *j); /* accepts a zeroed struct */

/* Fills the first n rows, n at most max_rows; features is [n, width]. The team has at
 * most the threads that j was made for. */
void rf_judge_rows(rf_judge *j, const rf_model *m, const float *features, size_t n,
                   rf_team *team);

/* Any number of rows, block by block: `seen` is told where in `features` each block of n
 * rows begins. */
typedef void (*rf_block_seen)(void *user, const rf_judge *j, size_t from, size_t n);
rf_status rf_judge_all(const rf_model *m, const float *features, size_t n, rf_team *team,
                       rf_block_seen seen, void *user, rf_error *err);

/* The class that row i of the block is answered with, RF_OPEN for open. */
size_t rf_judge_answer(const rf_judge *j, const rf_model *m, size_t i);

#endif
