/*
 * label_texts.h - rows of the store for texts that people label by themselves
 *
 * A text may have come once, several times, or never, if it was not in the sample or
 * somebody typed it. All its rows get the label; if there is none, one is added, with the
 * answer of the model in service.
 */
#ifndef RF_SERVE_LABEL_TEXTS_H
#define RF_SERVE_LABEL_TEXTS_H

#include "model_slot.h"
#include "store/store.h"

typedef struct label_rows {
    model_slot *models;
    const char *source;  /* of a new row */
    store_label *labels; /* [n] freed with free() */
    size_t n, room;
} label_rows;

/* Adds the rows of a text, with this label. On the thread of the store; takes as long as
 * reading all rows, and classifying the text. */
rf_status label_rows_find(label_rows *r, store *s, const char *text, size_t len,
                          const char *label, rf_error *err);

#endif
