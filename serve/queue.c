/* queue.c - a linked list of jobs under one lock, and how batches are taken from it */
#include "queue.h"

#include <stdlib.h>

#define TURN_TEXTS 32 /* of a job in a batch, before the next job has its turn */

struct queue {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    job *first, *last;
    size_t waiting, capacity; /* texts */
    size_t idle_workers;
    unsigned pokes;
    bool closed;
};

queue *queue_new(size_t capacity, rf_error *err)
{
    queue *q = calloc(1, sizeof *q);
    if (!q) {
        rf_fail_nomem(err, sizeof *q, "the queue");
        return NULL;
    }
    q->capacity = capacity;
    pthread_mutex_init(&q->lock, NULL);
    pthread_cond_init(&q->changed, NULL);
    return q;
}

void queue_free(queue *q)
{
    if (!q)
        return;
    pthread_mutex_destroy(&q->lock);
    pthread_cond_destroy(&q->changed);
    free(q);
}

/* ---- Adding ------------------------------------------------------------------------ */

/* push, pop and take_turn are called with the lock held. */

static void push(queue *q, job *j)
{
    j->next = NULL;
    if (q->last)
        q->last->next = j;
    else
        q->first = j;
    q->last = j;
}

static void pop(queue *q)
{
    q->first = q->first->next;
    if (!q->first)
        q->last = NULL;
}

queue_result queue_add(queue *q, job *j)
{
    queue_result r = QUEUE_ADDED;
    pthread_mutex_lock(&q->lock);
    if (q->closed)
        r = QUEUE_CLOSED;
    else if (j->n > q->capacity - q->waiting)
        r = QUEUE_FULL;
    if (r == QUEUE_ADDED) {
        job_begin(j);
        push(q, j);
        q->waiting += j->n;
        if (j->n > 1)
            pthread_cond_broadcast(&q->changed);
        else
            pthread_cond_signal(&q->changed);
    }
    pthread_mutex_unlock(&q->lock);
    return r;
}

/* ---- Taking ------------------------------------------------------------------------ */

/* An estimate: about four bytes of English per token, two more at the ends, and encoders
 * read the first 512 only. */
static size_t estimate_tokens(const job_text *t)
{
    size_t tokens = t->len / 4 + 2;
    return tokens < 512 ? tokens : 512;
}

/* Expired while it waited, or its connection is gone. */
static bool is_over(job *j)
{
    pthread_mutex_lock(&j->lock);
    bool over = j->over;
    pthread_mutex_unlock(&j->lock);
    return over;
}

/* Takes texts of the first job, which leaves the queue or goes to its end. */
static size_t take_turn(queue *q, queue_item *items, size_t room, size_t *tokens,
                        size_t max_tokens)
{
    job *j = q->first;
    size_t n = 0, left = j->n - j->taken;
    pop(q);
    if (is_over(j)) {
        q->waiting -= left;
        job_drop(j, left);
        return 0;
    }
    while (n < left && n < room && n < TURN_TEXTS && *tokens < max_tokens) {
        items[n] = (queue_item){j, j->taken++};
        *tokens += estimate_tokens(&j->texts[items[n++].text]);
    }
    q->waiting -= n;
    if (n < left)
        push(q, j);
    return n;
}

size_t queue_take(queue *q, queue_item *items, size_t max_items, size_t max_tokens,
                  queue_view *view)
{
    size_t n = 0, tokens = 0;
    pthread_mutex_lock(&q->lock);
    q->idle_workers++;
    while (!q->first && !q->closed && view->pokes == q->pokes)
        pthread_cond_wait(&q->changed, &q->lock);
    size_t share = (q->waiting + q->idle_workers - 1) / q->idle_workers;
    q->idle_workers--;
    if (share < max_items)
        max_items = share;
    while (q->first && n < max_items && tokens < max_tokens)
        n += take_turn(q, items + n, max_items - n, &tokens, max_tokens);
    *view = (queue_view){q->closed && !q->first && n == 0, q->pokes};
    pthread_mutex_unlock(&q->lock);
    return n;
}

void queue_poke(queue *q)
{
    pthread_mutex_lock(&q->lock);
    q->pokes++;
    pthread_cond_broadcast(&q->changed);
    pthread_mutex_unlock(&q->lock);
}

void queue_close(queue *q)
{
    pthread_mutex_lock(&q->lock);
    q->closed = true;
    pthread_cond_broadcast(&q->changed);
    pthread_mutex_unlock(&q->lock);
}

size_t queue_waiting(queue *q)
{
    pthread_mutex_lock(&q->lock);
    size_t n = q->waiting;
    pthread_mutex_unlock(&q->lock);
    return n;
}
