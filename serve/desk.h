/*
 * desk.h - short requests that need the store's file, one after the other
 *
 * The I/O thread never waits for the disk. So a request that reads or writes labels is
 * suspended, a thread with its own connection to the store does what it asks for, and the
 * connection is resumed.
 */
#ifndef RF_SERVE_DESK_H
#define RF_SERVE_DESK_H

#include "base/json.h"
#include "base/json_text.h"
#include "model_slot.h"
#include "problem.h"
#include "store/store.h"

struct MHD_Connection;

#define WHO_MAX 40 /* bytes of the name of who asks, NUL included */

/* The lists of a request to label. */
typedef enum label_list {
    LABEL_ROWS,
    LABEL_NOT_RELEVANT,
    LABEL_WITHDRAW,
    LABEL_TEXTS, /* the last one: a text becomes any number of rows */
    N_LABEL_LISTS,
} label_list;

typedef struct desk_task {
    /* On the thread of the desk; sets failure, or writes the reply. */
    void (*run)(struct desk_task *t, store *s);
    char who[WHO_MAX];
    json_t *body;                /* owns the labels */
    store_label *labels;         /* [n] list after list */
    size_t count[N_LABEL_LISTS]; /* as requested */
    size_t n;
    model_slot *models; /* for texts that have no row yet */
    const char *source;
    problem failure;
    rf_text reply;
    bool done;

    struct MHD_Connection *waiting;
    struct desk_task *next;
} desk_task;

desk_task *desk_task_new(void);    /* NULL if there is no memory */
void desk_task_free(desk_task *t); /* accepts NULL */

typedef struct desk desk;

desk *desk_new(const char *path, rf_error *err); /* of a store that exists */
/* Finishes what is waiting. Accepts NULL. */
void desk_free(desk *d);

/* Suspends the connection until the task is done. The task stays the caller's, and must
 * not be freed before the connection is resumed. */
void desk_ask(desk *d, desk_task *t, struct MHD_Connection *c);

#endif
