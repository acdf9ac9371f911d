/*
 * queue.h - texts that wait for a worker: bounded, fair, taken in batches
 *
 * Jobs stand in a ring. A batch takes some texts of the first, and if it has more it goes
 * to the end: a request of a thousand texts does not make the single ones wait.
 */
#ifndef RF_SERVE_QUEUE_H
#define RF_SERVE_QUEUE_H

#include "job.h"

typedef struct queue queue;

typedef enum queue_answer {
    QUEUE_TAKEN,
    QUEUE_FULL,
    QUEUE_CLOSED,
} queue_answer;

/* One text that a worker has to finish (job_finish). */
typedef struct queue_item {
    job *job;
    size_t text;
} queue_item;

/* What a worker knows of the queue; zeros at first. */
typedef struct queue_view {
    bool closed;    /* and empty: nothing will come */
    unsigned pokes; /* of those, the last one that it has seen */
} queue_view;

queue *queue_new(size_t capacity, rf_error *err); /* texts */
void queue_free(queue *q);

/* All texts of a job, or none. */
queue_answer queue_add(queue *q, job *j);

/* Waits for texts and takes up to max_items of about max_tokens tokens together, at least
 * one. Waiting texts are divided among the workers that wait. 0: there was a queue_poke
 * since the last call, or the queue is closed and empty. */
size_t queue_take(queue *q, queue_item *items, size_t max_items, size_t max_tokens,
                  queue_view *view);

/* Wakes every worker: those that wait now, and those at work when they come back. */
void queue_poke(queue *q);

/* Nothing can be added any more; what waits can still be taken. */
void queue_close(queue *q);

size_t queue_waiting(queue *q); /* texts */

#endif
