/*
 * token_kind.h - what all tokenizers share, and what a kind of tokenizer adds
 *
 * tokenizer.c turns bytes into code points, begins and ends texts and counts ids. A kind
 * (WordPiece, unigram) turns code points into ids, one text after another, in memory
 * that does not grow with the text.
 */
#ifndef RF_TEXT_TOKEN_KIND_H
#define RF_TEXT_TOKEN_KIND_H

#include "text/tokenizer.h"
#include "text/utf8.h"
#include "text/vocab.h"

typedef struct rf_token_kind {
    /* The kind's own state; NULL on failure. */
    void *(*make)(const rf_vocab *vocab, rf_error *err);
    void (*free)(void *state); /* accepts NULL */
    void (*reset)(void *state);
    rf_status (*take_char)(rf_tokenizer *t, void *state, int32_t cp, rf_error *err);
    /* Emits what is pending. */
    rf_status (*end_text)(rf_tokenizer *t, void *state, rf_error *err);
} rf_token_kind;

extern const rf_token_kind rf_wordpiece_kind;
extern const rf_token_kind rf_unigram_kind;

struct rf_tokenizer {
    const rf_vocab *vocab;
    const rf_token_kind *kind;
    void *state;
    rf_token_sink sink;
    void *user;
    const char *prefix;                 /* before every text; may be NULL */
    size_t max_tokens;                  /* 0: no limit */
    const struct rf_spelling *spelling; /* may be NULL */
    rf_word_sink word;                  /* may be NULL */
    void *word_user;

    bool started;
    size_t n_tokens; /* of this text so far, as if there were no limit */
    rf_utf8 utf8;
    const char *word_bytes; /* what rf_tokenizer_word gives */
    size_t word_len;
};

/* One id between the start and the end token, within the limit. */
rf_status rf_tokenizer_emit(rf_tokenizer *t, int32_t id, rf_error *err);

/* Words that cannot be emitted any more are not worth looking up. */
static inline bool rf_tokenizer_full(const rf_tokenizer *t)
{
    return t->max_tokens && t->n_tokens + 1 >= t->max_tokens;
}

#endif
