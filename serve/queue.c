#include "queue.h"

#include <stdlib.h>

#define TURN 32 /* texts of a job before the next has its turn */

struct queue {
    pthread_mutex_t lock;
    pthread_cond_t news;
    job *first, *last;
    size_t waiting, capacity; /* texts */
    size_t idle;              /* workers that wait */
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
    pthread_cond_init(&q->news, NULL);
    return q;
}

void queue_free(queue *q)
{
    if (!q)
        return;
    pthread_mutex_destroy(&q->lock);
    pthread_cond_destroy(&q->news);
    free(q);
}

/* ---- The ring, with the lock held -------------------------------------------------- */

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

queue_answer queue_add(queue *q, job *j)
{
    queue_answer a = QUEUE_TAKEN;
    pthread_mutex_lock(&q->lock);
    if (q->closed)
        a = QUEUE_CLOSED;
    else if (j->n > q->capacity - q->waiting)
        a = QUEUE_FULL;
    if (a == QUEUE_TAKEN) {
        job_begin(j);
        push(q, j);
        q->waiting += j->n;
        if (j->n > 1)
            pthread_cond_broadcast(&q->news);
        else
            pthread_cond_signal(&q->news);
    }
    pthread_mutex_unlock(&q->lock);
    return a;
}

/* ---- Taking ------------------------------------------------------------------------ */

/* About four bytes of English make a token; there are two more at the ends, and of long
 * texts encoders see the first 512. */
static size_t tokens_of(const job_text *t)
{
    size_t tokens = t->len / 4 + 2;
    return tokens < 512 ? tokens : 512;
}

/* It may have expired while it waited, or its connection may have ended. */
static bool is_over(job *j)
{
    pthread_mutex_lock(&j->lock);
    bool over = j->over;
    pthread_mutex_unlock(&j->lock);
    return over;
}

/* Texts of the first job; it leaves the ring, or goes to its end. */
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
    while (n < left && n < room && n < TURN && *tokens < max_tokens) {
        items[n] = (queue_item){j, j->taken++};
        *tokens += tokens_of(&j->texts[items[n++].text]);
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
    q->idle++;
    while (!q->first && !q->closed && view->pokes == q->pokes)
        pthread_cond_wait(&q->news, &q->lock);
    size_t share = (q->waiting + q->idle - 1) / q->idle;
    q->idle--;
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
    pthread_cond_broadcast(&q->news);
    pthread_mutex_unlock(&q->lock);
}

void queue_close(queue *q)
{
    pthread_mutex_lock(&q->lock);
    q->closed = true;
    pthread_cond_broadcast(&q->news);
    pthread_mutex_unlock(&q->lock);
}

size_t queue_waiting(queue *q)
{
    pthread_mutex_lock(&q->lock);
    size_t n = q->waiting;
    pthread_mutex_unlock(&q->lock);
    return n;
}
