/*
 * worker.h - threads that take texts from the queue and answer them
 *
 * Each worker has its own session of the current model, and switches to a newer model
 * between batches. If a batch fails (no memory), its texts are tried one by one, so that
 * only those that cannot be answered fail.
 */
#ifndef RF_SERVE_WORKER_H
#define RF_SERVE_WORKER_H

#include "metrics.h"
#include "model_slot.h"
#include "queue.h"
#include "recorder.h"

typedef struct worker_pool worker_pool;

/* rec: gets every answer; NULL: none is kept. */
worker_pool *worker_pool_new(size_t workers, size_t max_tokens, queue *q,
                             model_slot *models, metrics *counts, recorder *rec,
                             rf_error *err);
/* Closes the queue, waits until it is empty, and ends the workers. Accepts NULL. */
void worker_pool_free(worker_pool *p);

#endif
