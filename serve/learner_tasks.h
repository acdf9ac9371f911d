/* learner_tasks.h - what the files of the learner share */
#ifndef RF_SERVE_LEARNER_TASKS_H
#define RF_SERVE_LEARNER_TASKS_H

#include "learner.h"
#include "ringfence_improve.h"

#include <pthread.h>

#define LEARNER_JSON ((size_t)256 << 20) /* bytes of a review or a report */

/* A review, ready to be sent. */
typedef struct finished_review {
    rf_text json;
    char model[RF_SHA256_HEX];
    store_state state; /* of the store when it was made */
    bool ready, failed;
    char error[sizeof((rf_error *)0)->msg];
} finished_review;

struct learner {
    learner_options o;
    store *store; /* the thread's, once it has started; NULL: there is none */
    pthread_t thread;
    bool started;

    pthread_mutex_t lock; /* for all below */
    pthread_cond_t wake;
    bool stop;
    bool review_wanted;
    learner_order wanted; /* not a review */
    learner_task running;
    char progress[200];
    size_t undo_steps;

    learner_task last; /* the change that has ended */
    char *report;      /* of it; JSON; NULL: none */
    char error[sizeof((rf_error *)0)->msg];
    finished_review review;
};

/* Notes how far it is. True: go on. */
bool learner_going(learner *l, const char *progress);

/* learner_review.c: replaces *out, unless it is still right. */
rf_status learner_do_review(learner *l, finished_review *out, rf_error *err);

/* learner_update.c: *report is freed with free(). */
rf_status learner_do_update(learner *l, bool preview, const char *who, char **report,
                            rf_error *err);
rf_status learner_do_fence(learner *l, const learner_order *o, rf_error *err);
rf_status learner_do_undo(learner *l, const char *who, rf_error *err);

#endif
