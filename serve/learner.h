/*
 * learner.h - reviews and changes of the model, in the background
 *
 * One thread of low priority with its own connection to the store, if there is one. It
 * groups open texts (learner_review.c), learns the labels that people gave, as a preview
 * or for good, moves the fences, and goes back (learner_update.c). A change replaces the
 * model file and the model in service. One preview or change at a time; a review gives
 * way to them.
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
    TASK_FENCE, /* other fences, placed by hand */
    TASK_UNDO,  /* back to the model before the last change */
} learner_task;

typedef struct learner_order {
    learner_task task; /* not a review */
    char who[WHO_MAX];
    double offset;     /* TASK_FENCE: added to every margin */
    size_t generation; /* TASK_FENCE: of this model alone; 0: of any */
} learner_order;

typedef struct learner learner;

typedef struct learner_options {
    const char *path; /* of the store; NULL: none, then only TASK_FENCE and TASK_UNDO */
    model_slot *models;
    /* Reloads the model file and waits until the new model is in service. */
    rf_status (*reload)(void *user, rf_error *err);
    void *user;
} learner_options;

learner *learner_new(const learner_options *o, rf_error *err);
/* Stops what is going on; a change that is stopped changes nothing. Accepts NULL. */
void learner_free(learner *l);

/* Starts a preview or a change. False with a problem if one is going on. */
bool learner_start(learner *l, const learner_order *o, problem *p);

/* Writes the state of the last preview or change. */
void learner_write_update(learner *l, rf_text *out);

/* Writes the last review, if it is of the model in service and no new one is wanted: 200.
 * Else asks for one, and writes how far it is: 202. A problem if it has failed. */
unsigned learner_write_review(learner *l, bool refresh, rf_text *out, problem *p);

#endif
