/*
 * tokenizer.c - bytes to ids, in constant memory and linear time
 *
 * A text passes through as a stream: bytes -> code points (utf8) -> words -> pieces. The
 * last two steps depend on the kind of tokenizer (token_kind.h).
 */
#include "text/token_kind.h"

#include <stdlib.h>
#include <string.h>

rf_tokenizer *rf_tokenizer_new(const rf_vocab *vocab, size_t max_tokens,
                               rf_token_sink sink, void *user, rf_error *err)
{
    if (max_tokens == 1) {
        rf_fail(err, RF_ERR_ARG, 0, "max_tokens is 1, wanted 0 (no limit) or at least 2");
        return NULL;
    }
    rf_tokenizer *t = calloc(1, sizeof *t);
    if (!t) {
        rf_fail_nomem(err, sizeof *t, "tokenizer");
        return NULL;
    }
    *t = (rf_tokenizer){.vocab = vocab,
                        .kind = vocab->unigram ? &rf_unigram_kind : &rf_wordpiece_kind,
                        .sink = sink,
                        .user = user,
                        .max_tokens = max_tokens,
                        .word_bytes = ""};
    t->state = t->kind->make(vocab, err);
    if (t->state)
        return t;
    free(t);
    return NULL;
}

void rf_tokenizer_free(rf_tokenizer *t)
{
    if (!t)
        return;
    t->kind->free(t->state);
    free(t);
}

void rf_tokenizer_set_spelling(rf_tokenizer *t, const struct rf_spelling *spelling)
{
    t->spelling = spelling;
}

void rf_tokenizer_watch_words(rf_tokenizer *t, rf_word_sink word, void *user)
{
    t->word = word;
    t->word_user = user;
}

bool rf_tokenizer_in_text(const rf_tokenizer *t)
{
    return t->started;
}

const char *rf_tokenizer_word(const rf_tokenizer *t, size_t *len)
{
    *len = t->word_len;
    return t->word_bytes;
}

void rf_tokenizer_reset(rf_tokenizer *t)
{
    t->started = false;
    t->utf8 = (rf_utf8){0};
    t->n_tokens = 0;
    t->kind->reset(t->state);
}

/* The last place is the end token's, so a piece must leave room for it. */
rf_status rf_tokenizer_emit(rf_tokenizer *t, int32_t id, rf_error *err)
{
    t->n_tokens++;
    if (t->max_tokens && t->n_tokens >= t->max_tokens)
        return RF_OK;
    return t->sink(t->user, id, err);
}

void rf_tokenizer_set_prefix(rf_tokenizer *t, const char *prefix)
{
    t->prefix = prefix;
}

static rf_status take_bytes(rf_tokenizer *t, const char *bytes, size_t len, rf_error *err)
{
    rf_status st = RF_OK;
    for (size_t i = 0; i < len && st == RF_OK; i++) {
        int32_t cps[2];
        size_t n = rf_utf8_push(&t->utf8, (unsigned char)bytes[i], cps);
        for (size_t j = 0; j < n && st == RF_OK; j++)
            st = t->kind->take_char(t, t->state, cps[j], err);
    }
    return st;
}

static rf_status start_text(rf_tokenizer *t, rf_error *err)
{
    if (t->started)
        return RF_OK;
    t->started = true;
    t->n_tokens = 1;
    rf_status st = t->sink(t->user, t->vocab->cls, err);
    return st == RF_OK && t->prefix ? take_bytes(t, t->prefix, strlen(t->prefix), err)
                                    : st;
}

rf_status rf_tokenizer_feed(rf_tokenizer *t, const char *bytes, size_t len, rf_error *err)
{
    rf_status st = start_text(t, err);
    if (st == RF_OK)
        st = take_bytes(t, bytes, len, err);
    if (st != RF_OK)
        rf_tokenizer_reset(t);
    return st;
}

rf_status rf_tokenizer_end(rf_tokenizer *t, size_t *n_tokens, rf_error *err)
{
    rf_status st = start_text(t, err);
    if (st == RF_OK && rf_utf8_end(&t->utf8))
        st = t->kind->take_char(t, t->state, RF_REPLACEMENT, err);
    if (st == RF_OK)
        st = t->kind->end_text(t, t->state, err);
    if (st == RF_OK) {
        if (n_tokens)
            *n_tokens = t->n_tokens + 1;
        st = t->sink(t->user, t->vocab->sep, err);
    }
    rf_tokenizer_reset(t);
    return st;
}

typedef struct id_array {
    int32_t *ids;
    size_t n, cap;
} id_array;

static rf_status collect(void *user, int32_t id, rf_error *err)
{
    (void)err;
    id_array *a = user;
    if (a->n < a->cap)
        a->ids[a->n] = id;
    a->n++;
    return RF_OK;
}

rf_status rf_tokenize(const rf_vocab *vocab, const char *text, size_t len, int32_t *ids,
                      size_t cap, size_t *n_tokens, rf_error *err)
{
    id_array a = {.ids = ids, .cap = cap};
    rf_tokenizer *t = rf_tokenizer_new(vocab, 0, collect, &a, err);
    if (!t)
        return RF_ERR_NOMEM;
    rf_status st = rf_tokenizer_feed(t, text, len, err);
    if (st == RF_OK)
        st = rf_tokenizer_end(t, n_tokens, err);
    rf_tokenizer_free(t);
    return st;
}
