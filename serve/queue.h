/*
 * queue.h - texts that wait for a worker: bounded, fair, taken in batches
 *
 * Jobs take turns: a batch takes some texts of the first job, which then goes to the end
 * of the queue if it has more. A request of a thousand texts does not hold up single
 * ones.
 */
#ifndef RF_SERVE_QUEUE_H
#define RF_SERVE_QUEUE_H

#include "job.h"

typedef struct queue queue;

typedef enum queue_result {
    QUEUE_ADDED,
    QUEUE_FULL,
    QUEUE_CLOSED,
} queue_result;

/* One text for a worker, who must finish it (job_finish). */
typedef struct queue_item {
    job *job;
    size_t text;
} queue_item;

/* What a worker has seen of the queue; zeros at first. */
typedef struct queue_view {
    bool closed;    /* and empty: no more texts will come */
    unsigned pokes; /* number of queue_poke calls seen */
} queue_view;

queue *queue_new(size_t capacity, rf_error *err); /* in texts */
void queue_free(queue *q);

/* Adds all texts of a job, or none. */
queue_result queue_add(queue *q, job *j);

/* Waits for texts, and takes at least one: up to max_items, of about max_tokens tokens
 * together. Idle workers share the waiting texts. Returns 0 if queue_poke was called
 * since the last time, or if the queue is closed and empty. */
size_t queue_take(queue *q, queue_item *items, size_t max_items, size_t max_tokens,
                  queue_view *view);

/* Wakes every worker once: idle ones now, busy ones when they come back. */
void queue_poke(queue *q);

/* Nothing can be added any more; waiting texts can still be taken. */
void queue_close(queue *q);

size_t queue_waiting(queue *q); /* texts */

#endif
