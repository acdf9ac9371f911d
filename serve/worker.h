/*
 * worker.h - threads that take texts from the queue and answer them
 *
 * Each has its own session of the current model and looks for a newer one between two
 * batches. A batch that fails for lack of memory is tried again text by text, so that
 * only what really cannot be answered is refused.
 */
#ifndef RF_SERVE_WORKER_H
#define RF_SERVE_WORKER_H

#include "metrics.h"
#include "model_slot.h"
#include "queue.h"

typedef struct crew crew;

crew *crew_new(size_t workers, size_t max_tokens, queue *q, model_slot *models,
               metrics *counts, rf_error *err);
/* Closes the queue, waits until it is empty and ends the workers. */
void crew_free(crew *c);

#endif
