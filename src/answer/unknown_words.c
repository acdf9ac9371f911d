/* unknown_words.c - the words of a text that the encoder has no pieces for */
#include "base/buffer.h"
#include "model/model.h"
#include "text/tokenizer.h"
#include "text/vocab.h"

#include <string.h>

#define MAX_WORDS 50 /* bounds the time to look for words that occurred before */

typedef struct listing {
    const rf_tokenizer *tokenizer;
    int32_t unknown;
    rf_buffer words; /* each ends with NUL */
    size_t n;
} listing;

/* The words hold no NUL: a text may, but it is a control character, which readers drop
 * or, with a vocabulary that keeps them, is all that we show of the word. */
static bool is_listed(const listing *l, const char *word, size_t len)
{
    const char *at = l->words.data;
    for (size_t i = 0; i < l->n; i++, at += strlen(at) + 1)
        if (strlen(at) == len && memcmp(at, word, len) == 0)
            return true;
    return false;
}

static rf_status list_word(void *user, int32_t id, rf_error *err)
{
    listing *l = user;
    size_t len;
    if (id != l->unknown || l->n == MAX_WORDS)
        return RF_OK;
    const char *word = rf_tokenizer_word(l->tokenizer, &len);
    const char *nul = memchr(word, 0, len);
    len = nul ? (size_t)(nul - word) : len;
    if (len == 0 || is_listed(l, word, len))
        return RF_OK;
    rf_status st = rf_buffer_add(&l->words, word, len, err);
    if (st == RF_OK)
        st = rf_buffer_add(&l->words, "", 1, err);
    l->n += st == RF_OK;
    return st;
}

rf_status rf_unknown_words(const rf_model *m, const char *text, size_t len, char **words,
                           size_t *n, rf_error *err)
{
    const rf_vocab *vocab = rf_encoder_vocab(m->encoder);
    listing l = {.unknown = vocab->unk};
    *words = NULL;
    *n = 0;
    rf_buffer_init(&l.words, MAX_WORDS * (4 * RF_MAX_WORD_CHARS + 1), "unknown words");
    rf_tokenizer *t = rf_tokenizer_new(vocab, m->max_tokens, list_word, &l, err);
    if (!t)
        return RF_ERR_NOMEM;
    l.tokenizer = t;
    rf_status st = rf_tokenizer_feed(t, text, len, err);
    if (st == RF_OK)
        st = rf_tokenizer_end(t, NULL, err);
    if (st == RF_OK) /* so that there is something to free() */
        st = rf_buffer_add(&l.words, "", 1, err);
    rf_tokenizer_free(t);
    if (st != RF_OK) {
        rf_buffer_release(&l.words);
        return st;
    }
    *words = l.words.data;
    *n = l.n;
    return RF_OK;
}
