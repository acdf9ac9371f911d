/* tokenizer.h - what the embedder uses of a tokenizer beyond the public calls */
#ifndef RF_TEXT_TOKENIZER_H
#define RF_TEXT_TOKENIZER_H

#include "ringfence_encoder.h"

/* Whether a text was started by rf_tokenizer_feed and not ended. */
bool rf_tokenizer_in_text(const rf_tokenizer *t);

/* The word whose token the sink is receiving, folded as the vocabulary has it; of an
 * overlong one the beginning. Not NUL-terminated, valid during the call. */
const char *rf_tokenizer_word(const rf_tokenizer *t, size_t *len);

/* Discards the current text, if any. */
void rf_tokenizer_reset(rf_tokenizer *t);

/* Reads words that the vocabulary lacks as `spelling` says; NULL: as they are. Must
 * outlive t. */
struct rf_spelling;
void rf_tokenizer_set_spelling(rf_tokenizer *t, const struct rf_spelling *spelling);

/* Puts `prefix` before every text, NUL-terminated; NULL: nothing. Must outlive t. */
void rf_tokenizer_set_prefix(rf_tokenizer *t, const char *prefix);

/* Calls `word` with each word of a text, folded, as code points and as UTF-8, both valid
 * during the call; words that are too long to have pieces are left out. */
typedef void (*rf_word_sink)(void *user, const int32_t *chars, size_t n,
                             const char *bytes, size_t len);
void rf_tokenizer_watch_words(rf_tokenizer *t, rf_word_sink word, void *user);

#endif
