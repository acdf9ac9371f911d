/*
 * checkpoint.h - training that survives being killed
 *
 * A directory with sealed files (container.h):
 *   lock              held by the trainer that uses it
 *   known.ckpt        stage 1 after its last finished epoch
 *   heads-N.ckpt      finished classes of stage 2 from class N on
 * Each is written atomically and records which training it belongs to: program, kernels,
 * encoder, settings, data. These determine everything else, since every random number is
 * keyed (base/rng.h), so resuming gives the same bits as never having stopped.
 */
#ifndef RF_STAGES_CHECKPOINT_H
#define RF_STAGES_CHECKPOINT_H

#include "base/json.h"
#include "stages/fine_tune.h"
#include "open/method.h"

typedef struct rf_checkpoint {
    char dir[RF_PATH_MAX]; /* empty: no checkpoints, every call below does nothing */
    int lock;              /* file descriptor, -1: none */
    json_t *identity;
    bool resume;
} rf_checkpoint;

/* Locks the directory, creating it if needed. dir NULL: no checkpoints. Without resume
 * it must not hold a checkpoint. identity is an object of strings that identifies the
 * training. */
rf_status rf_checkpoint_open(rf_checkpoint *c, const char *dir, bool resume,
                             const json_t *identity, rf_error *err);
void rf_checkpoint_close(rf_checkpoint *c); /* accepts a zeroed struct */

/* Stage 1. Loading leaves *found false if there is nothing to resume from. */
rf_status rf_checkpoint_save_known(rf_checkpoint *c, rf_fine_tune *t, rf_error *err);
rf_status rf_checkpoint_load_known(rf_checkpoint *c, rf_fine_tune *t, bool *found,
                                   rf_error *err);

/* Finished classes of stage 2 (rf_fit_hooks). Loading sets part->n to 0 if there is no
 * file for part->from. */
rf_status rf_checkpoint_save_part(rf_checkpoint *c, const rf_fit_part *part,
                                  rf_error *err);
rf_status rf_checkpoint_load_part(rf_checkpoint *c, rf_fit_part *part, rf_error *err);

#endif
