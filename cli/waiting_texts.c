/* waiting_texts.c - a queue of the texts that have been read but not answered yet */
#include "waiting_texts.h"

#include <string.h>

#define MAX_BYTES ((size_t)1 << 30) /* a longer line is refused */

static size_t end_of(const waiting_texts *w, size_t text)
{
    size_t end;
    memcpy(&end, w->ends.data + text * sizeof end, sizeof end);
    return end;
}

rf_status waiting_texts_add(waiting_texts *w, const char *bytes, size_t len,
                            rf_error *err)
{
    if (w->bytes.ceiling == 0) {
        rf_buffer_init(&w->bytes, MAX_BYTES, "--text: a line");
        rf_buffer_init(&w->ends, MAX_BYTES, "--text: unanswered lines");
    }
    return rf_buffer_add(&w->bytes, bytes, len, err);
}

rf_status waiting_texts_end(waiting_texts *w, rf_error *err)
{
    rf_status st = waiting_texts_add(w, "", 0, err);
    return st == RF_OK ? rf_buffer_add(&w->ends, &w->bytes.len, sizeof(size_t), err) : st;
}

const char *waiting_texts_first(const waiting_texts *w, size_t *len)
{
    *len = end_of(w, w->first) - w->begin;
    return w->bytes.data + w->begin;
}

/* Moves the remaining texts to the front of the buffers. */
static void close_gap(waiting_texts *w)
{
    size_t left = w->ends.len / sizeof(size_t) - w->first;
    for (size_t i = 0; i < left; i++) {
        size_t end = end_of(w, w->first + i) - w->begin;
        memcpy(w->ends.data + i * sizeof end, &end, sizeof end);
    }
    memmove(w->bytes.data, w->bytes.data + w->begin, w->bytes.len - w->begin);
    w->bytes.len -= w->begin;
    w->ends.len = left * sizeof(size_t);
    w->begin = w->first = 0;
}

void waiting_texts_drop_first(waiting_texts *w)
{
    w->begin = end_of(w, w->first++);
    /* Only when half of the texts are gone: so each is moved about once in total. */
    if (2 * w->first * sizeof(size_t) >= w->ends.len)
        close_gap(w);
}

size_t waiting_texts_bytes(const waiting_texts *w)
{
    return w->bytes.len - w->begin;
}

void waiting_texts_release(waiting_texts *w)
{
    rf_buffer_release(&w->bytes);
    rf_buffer_release(&w->ends);
    *w = (waiting_texts){0};
}
