/*
 * model_slot.h - the model that is serving, and how another takes its place
 *
 * A loaded model is an edition: the model, a session for each worker, and the counts of
 * its answers. Editions are shared; the slot holds the current one. A new file becomes an
 * edition completely, sessions included, before it is put into the slot: if anything
 * fails the old one stays. The old one is freed when the last worker has let go of it.
 */
#ifndef RF_SERVE_MODEL_SLOT_H
#define RF_SERVE_MODEL_SLOT_H

#include "problem.h"

#include <stdatomic.h>

typedef struct edition {
    rf_model *model;
    rf_session **sessions; /* [workers] */
    size_t workers;
    atomic_ullong *answers; /* [classes + 1], "open" last */
    size_t number;          /* the how manieth, from 1 */
    char loaded[32];        /* when, ISO 8601 in UTC */
    atomic_size_t shares;
} edition;

typedef struct model_slot model_slot;

/* Loads the first edition. path is read again by every reload. */
model_slot *model_slot_new(const char *path, size_t workers, size_t threads,
                           rf_error *err);
void model_slot_free(model_slot *s);

/* The current edition, to be given back. */
edition *model_slot_borrow(model_slot *s);
void edition_return(edition *e); /* accepts NULL */

/* Gives *mine back and borrows the current one, if they differ. */
void model_slot_refresh(model_slot *s, edition **mine);

/* A new edition from the file; on failure the old one stays. One thread at a time. */
rf_status model_slot_reload(model_slot *s, rf_error *err);

const char *model_slot_path(const model_slot *s);

/* Does the model have what the options ask for? If not, p says what is missing. */
bool edition_can_answer(const edition *e, const rf_answer_options *o, problem *p);

/* Counts an answer; class_index may be RF_OPEN. */
void edition_count(edition *e, size_t class_index);
/* The counts by label, as metrics. */
void edition_write_counts(edition *e, rf_text *out);

#endif
