/*
 * learner.h - reviews and updates, in the background
 *
 * One thread of low priority with its own connection to the store. It groups open texts
 * (learner_review.c), and learns the labels that people gave (learner_update.c): as a
 * preview, or for good, which replaces the model file and the model in service. One
 * preview, update or undo at a time; a review gives way to them.
 */
#ifndef RF_SERVE_LEARNER_H
#define RF_SERVE_LEARNER_H

#include "base/json_text.h"
#include "desk.h"
#include "model_slot.h"

typedef enum learner_task {
    TASK_NONE,
    TASK_REVIEW,
    TASK_PREVIEW, /* what an update would change */
    TASK_UPDATE,
    TASK_UNDO, /* back to the model before the last update */
} learner_task;

typedef struct learner learner;

typedef struct learner_options {
    const char *path; /* of the store */
    model_slot *models;
    /* Reloads the model file and waits until the new model is in service. */
    rf_status (*reload)(void *user, rf_error *err);
    void *user;
} learner_options;

learner *learner_new(const learner_options *o, rf_error *err);
/* Stops what is going on; an update that is stopped changes nothing. Accepts NULL. */
void learner_free(learner *l);

/* Starts a preview, an update or an undo. False with a problem if one is going on. */
bool learner_start(learner *l, learner_task task, const char *who, problem *p);

/* Writes the state of the last preview, update or undo. */
void learner_write_update(learner *l, rf_text *out);

/* Writes the last review, if it is of the model in service and no new one is wanted: 200.
 * Else asks for one, and writes how far it is: 202. A problem if it has failed. */
unsigned learner_write_review(learner *l, bool refresh, rf_text *out, problem *p);

#endif
