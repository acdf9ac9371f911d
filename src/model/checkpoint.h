/*
 * checkpoint.h - training that survives being killed
 *
 * A directory with sealed files (container.h):
 *   lock              held by the trainer that uses it
 *   known.ckpt        stage 1 after its last finished epoch
 *   heads-N.ckpt      some finished heads of stage 2, the first of them number N
 * Each appears complete or not at all, and says what training it belongs to: program,
 * kernels, encoder, settings, data. Since every random number has a name (base/rng.h) and
 * everything else follows from these, going on from the files gives the same bits as not
 * having stopped.
 */
#ifndef RF_MODEL_CHECKPOINT_H
#define RF_MODEL_CHECKPOINT_H

#include "base/json.h"
#include "known/tune.h"
#include "open/ans.h"
#include "open/heads.h"

typedef struct rf_checkpoint {
    char dir[RF_PATH_MAX]; /* empty: no checkpoints, every call below does nothing */
    int lock;              /* file descriptor, -1: none */
    json_t *identity;
    bool resume;
} rf_checkpoint;

/* Takes the directory, making it if needed. dir NULL: no checkpoints. Without resume it
 * must not hold a checkpoint. identity is an object of strings: which training this is.
 */
rf_status rf_checkpoint_open(rf_checkpoint *c, const char *dir, bool resume,
                             const json_t *identity, rf_error *err);
void rf_checkpoint_close(rf_checkpoint *c); /* accepts a zeroed struct */

/* Stage 1. Loading leaves *found false if there is nothing to go on from. */
rf_status rf_checkpoint_save_known(rf_checkpoint *c, rf_tune *t, rf_error *err);
rf_status rf_checkpoint_load_known(rf_checkpoint *c, rf_tune *t, bool *found,
                                   rf_error *err);

/* Heads [from, from + *n) of stage 2; *n is 0 if there is no file for `from`. */
rf_status rf_checkpoint_save_heads(rf_checkpoint *c, const rf_heads *h, size_t from,
                                   size_t n, const rf_ans_report *reports, rf_error *err);
rf_status rf_checkpoint_load_heads(rf_checkpoint *c, rf_heads *h, size_t from, size_t *n,
                                   rf_ans_report *reports, rf_error *err);

#endif
