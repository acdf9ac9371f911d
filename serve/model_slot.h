/*
 * model_slot.h - the model being served, and replacing it
 *
 * A loaded model is reference-counted and comes with a session for each worker and its
 * own answer counts. The slot holds the current one. A new file is loaded completely,
 * sessions included, before it replaces the current model; if anything fails, that one
 * stays. The old model is freed when the last worker has dropped it.
 */
#ifndef RF_SERVE_MODEL_SLOT_H
#define RF_SERVE_MODEL_SLOT_H

#include "base/buffer.h"
#include "base/digest.h"
#include "problem.h"

#include <stdatomic.h>

typedef struct loaded_model {
    rf_buffer bytes; /* the model file, which model reads from */
    rf_model *model;
    rf_session **sessions; /* [workers] */
    size_t workers;
    atomic_ullong *answers;     /* [classes + 1], "open" last */
    size_t generation;          /* 1 for the first model loaded */
    char loaded[32];            /* when, ISO 8601 in UTC */
    char sha256[RF_SHA256_HEX]; /* of the file */
    atomic_size_t refs;         /* the slot's included */
} loaded_model;

/* Models that are not freed yet: after a reload two, until the old one's last job ends.
 */
size_t loaded_models_in_memory(void);

typedef struct model_slot model_slot;

/* Loads the first model. Every reload reads path again. options: of each worker. */
model_slot *model_slot_new(const char *path, size_t workers,
                           const rf_session_options *options, rf_error *err);
void model_slot_free(model_slot *s);

/* A reference to the current model, to be dropped with loaded_model_unref. */
loaded_model *model_slot_acquire(model_slot *s);
void loaded_model_unref(loaded_model *m); /* accepts NULL */

/* Exchanges the reference *mine for one to the current model. */
void model_slot_refresh(model_slot *s, loaded_model **mine);

/* Loads the file again; on failure the old model stays. One thread at a time. */
rf_status model_slot_reload(model_slot *s, rf_error *err);

const char *model_slot_path(const model_slot *s);

/* Does the model have what the options ask for? If not, p says what is missing. */
bool loaded_model_can_answer(const loaded_model *m, const rf_answer_options *o,
                             problem *p);

/* Counts an answer; class_index may be RF_OPEN. */
void loaded_model_count(loaded_model *m, size_t class_index);
/* Writes the counts by label, as metrics. */
void loaded_model_write_counts(loaded_model *m, rf_text *out);

#endif
