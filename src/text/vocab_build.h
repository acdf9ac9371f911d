/* vocab_build.h - making an rf_vocab piece by piece; used by the readers only */
#ifndef RF_TEXT_VOCAB_BUILD_H
#define RF_TEXT_VOCAB_BUILD_H

#include "base/buffer.h"
#include "text/vocab.h"

typedef struct rf_vocab_builder {
    const char *name; /* of the file, for messages */
    rf_buffer bytes;
    rf_buffer pieces; /* of rf_piece */
    rf_vocab *vocab;  /* flags are set here by the reader; uncased BERT at first */
} rf_vocab_builder;

typedef struct rf_special_names {
    char unk[64], cls[64], sep[64];
} rf_special_names;

rf_status rf_vocab_builder_init(rf_vocab_builder *b, const char *name, rf_error *err);
void rf_vocab_builder_release(rf_vocab_builder *b);

/* Gives a piece an id. text must be followed by a NUL byte at text[len] or later, for
 * messages. The same piece twice under one id is fine; two pieces are not. */
rf_status rf_vocab_builder_add(rf_vocab_builder *b, int64_t id, const char *text,
                               size_t len, rf_error *err);

/* Checks special tokens, builds the table and returns the vocabulary. NULL on failure;
 * the builder must be released either way. */
rf_vocab *rf_vocab_builder_finish(rf_vocab_builder *b, const rf_special_names *names,
                                  rf_error *err);

#endif
