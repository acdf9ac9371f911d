/*
 * buffer.h - a growing block of bytes with a stated ceiling
 *
 * Every buffer whose size follows from input has a ceiling, so that bad input ends in
 * RF_ERR_LIMIT and not in an exhausted machine.
 */
#ifndef RF_BASE_BUFFER_H
#define RF_BASE_BUFFER_H

#include "base/error.h"

typedef struct rf_buffer {
    char *data; /* always followed by a NUL once something was added */
    size_t len;
    size_t cap;
    size_t ceiling;
    const char *what; /* for messages: "labels.tsv: line" */
} rf_buffer;

void rf_buffer_init(rf_buffer *b, size_t ceiling, const char *what);
void rf_buffer_release(rf_buffer *b); /* accepts a zeroed buffer, twice is harmless */

rf_status rf_buffer_add(rf_buffer *b, const void *bytes, size_t n, rf_error *err);

/* Makes room for n more bytes at data + len; the caller adds to len what it used. */
rf_status rf_buffer_reserve(rf_buffer *b, size_t n, rf_error *err);

static inline void rf_buffer_clear(rf_buffer *b)
{
    b->len = 0;
}

#endif
