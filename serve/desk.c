/* desk.c - the thread that does what suspended requests want from the store */
#include "desk.h"

#include "thread.h"

#include <microhttpd.h>
#include <stdlib.h>
#include <sys/prctl.h>

#define REPLY_BYTES ((size_t)256 << 20)

struct desk {
    store *store; /* the thread's */
    pthread_t thread;
    bool started;

    pthread_mutex_t lock; /* for all below */
    pthread_cond_t wake;
    desk_task *first, **last; /* in the order in which they came */
    bool stop;
};

desk_task *desk_task_new(void)
{
    desk_task *t = calloc(1, sizeof *t);
    if (t)
        rf_text_init(&t->reply, REPLY_BYTES, "an answer");
    return t;
}

void desk_task_free(desk_task *t)
{
    if (!t)
        return;
    free(t->labels);
    json_decref(t->body);
    rf_text_release(&t->reply);
    free(t);
}

/* The next task, or NULL when it is time to end: after the last one. */
static desk_task *wait_for_task(desk *d)
{
    pthread_mutex_lock(&d->lock);
    while (!d->first && !d->stop)
        pthread_cond_wait(&d->wake, &d->lock);
    desk_task *t = d->first;
    if (t && !(d->first = t->next))
        d->last = &d->first;
    pthread_mutex_unlock(&d->lock);
    return t;
}

static void *desk_main(void *arg)
{
    desk *d = arg;
    prctl(PR_SET_NAME, "rf-desk");
    for (desk_task *t; (t = wait_for_task(d));) {
        t->run(t, d->store);
        pthread_mutex_lock(&d->lock); /* it was suspended under it */
        t->done = true;
        MHD_resume_connection(t->waiting);
        pthread_mutex_unlock(&d->lock);
    }
    return NULL;
}

desk *desk_new(const char *path, rf_error *err)
{
    desk *d = calloc(1, sizeof *d);
    if (!d) {
        rf_fail_nomem(err, sizeof *d, "the store");
        return NULL;
    }
    pthread_mutex_init(&d->lock, NULL);
    pthread_cond_init(&d->wake, NULL);
    d->last = &d->first;
    d->store = store_open(path, STORE_WRITE, err);
    d->started = d->store && thread_start(&d->thread, desk_main, d, "a thread for labels",
                                          err) == RF_OK;
    if (d->started)
        return d;
    desk_free(d);
    return NULL;
}

void desk_free(desk *d)
{
    if (!d)
        return;
    if (d->started) {
        pthread_mutex_lock(&d->lock);
        d->stop = true;
        pthread_cond_signal(&d->wake);
        pthread_mutex_unlock(&d->lock);
        pthread_join(d->thread, NULL);
    }
    store_close(d->store);
    pthread_cond_destroy(&d->wake);
    pthread_mutex_destroy(&d->lock);
    free(d);
}

void desk_ask(desk *d, desk_task *t, struct MHD_Connection *c)
{
    pthread_mutex_lock(&d->lock);
    t->waiting = c;
    t->next = NULL;
    *d->last = t;
    d->last = &t->next;
    MHD_suspend_connection(c);
    pthread_cond_signal(&d->wake);
    pthread_mutex_unlock(&d->lock);
}
