/* waiting_texts.h - a queue of the texts that have been read but not answered yet */
#ifndef RF_CLI_WAITING_TEXTS_H
#define RF_CLI_WAITING_TEXTS_H

#include "base/buffer.h"

typedef struct waiting_texts {
    rf_buffer bytes; /* the texts one after another, then the one being read */
    rf_buffer ends;  /* size_t each: where in bytes a text ends */
    size_t begin;    /* where in bytes the first text begins */
    size_t first;    /* its index in ends */
} waiting_texts;

/* Add bytes to the text being read, and end it. A zeroed struct is empty. */
rf_status waiting_texts_add(waiting_texts *w, const char *bytes, size_t len,
                            rf_error *err);
rf_status waiting_texts_end(waiting_texts *w, rf_error *err);

/* The oldest text; at least one must have ended. Valid until the next call. */
const char *waiting_texts_first(const waiting_texts *w, size_t *len);
void waiting_texts_drop_first(waiting_texts *w);

/* Bytes in the queue. */
size_t waiting_texts_bytes(const waiting_texts *w);

void waiting_texts_release(waiting_texts *w);

#endif
