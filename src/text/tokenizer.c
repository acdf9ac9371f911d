/*
 * tokenizer.c - bytes to WordPiece ids, in constant memory and linear time
 *
 * A text passes through as a stream: bytes -> code points (utf8) -> words (chars) ->
 * pieces (vocab). The only state is the word being read. Words longer than
 * max_word_chars become one [UNK] whatever they hold, so no more than that many code
 * points are kept, and neither a flood of combining marks nor a gigabyte without a space
 * takes more memory. A word has at most max_word_chars starts of pieces, and the longest
 * match from each looks at most `longest` bytes ahead.
 *
 * Canonical order: stripping accents goes through NFD, which sorts each run of marks by
 * combining class. Most marks are dropped, but those of category Mc are not; they are
 * inserted in order.
 */
#include "text/tokenizer.h"

#include "text/spelling.h"
#include "text/utf8.h"
#include "text/vocab.h"

#include <stdlib.h>
#include <string.h>

struct rf_tokenizer {
    const rf_vocab *vocab;
    rf_token_sink sink;
    void *user;
    size_t max_tokens;           /* 0: no limit */
    const rf_spelling *spelling; /* may be NULL */
    rf_word_sink word;           /* may be NULL */
    void *word_user;

    bool started;
    size_t n_tokens; /* of this text so far, as if there were no limit */
    rf_utf8 utf8;

    size_t n_chars;   /* of the word; may exceed max_word_chars, then it is [UNK] */
    size_t run_start; /* where the current run of marks begins in chars */
    int32_t *chars;   /* [max_word_chars + 1] */
    uint8_t *classes; /* likewise */
    char *bytes;      /* [4 * (max_word_chars + 1)] the word as UTF-8 */
    size_t n_bytes;
    int32_t *pieces; /* [max_word_chars + 1] its ids */
};

rf_tokenizer *rf_tokenizer_new(const rf_vocab *vocab, size_t max_tokens,
                               rf_token_sink sink, void *user, rf_error *err)
{
    if (max_tokens == 1) {
        rf_fail(err, RF_ERR_ARG, 0, "max_tokens is 1, wanted 0 (no limit) or at least 2");
        return NULL;
    }
    size_t n = vocab->max_word_chars + 1; /* a word may be read with a letter more */
    rf_tokenizer *t = calloc(1, sizeof *t);
    if (t) {
        *t = (rf_tokenizer){.vocab = vocab,
                            .sink = sink,
                            .user = user,
                            .max_tokens = max_tokens,
                            .chars = calloc(n, sizeof *t->chars),
                            .classes = calloc(n, sizeof *t->classes),
                            .bytes = calloc(n, 4),
                            .pieces = calloc(n, sizeof *t->pieces)};
    }
    if (!t || !t->chars || !t->classes || !t->bytes || !t->pieces) {
        rf_fail_nomem(err, n * 13, "tokenizer");
        rf_tokenizer_free(t);
        return NULL;
    }
    return t;
}

void rf_tokenizer_free(rf_tokenizer *t)
{
    if (!t)
        return;
    free(t->chars);
    free(t->classes);
    free(t->bytes);
    free(t->pieces);
    free(t);
}

void rf_tokenizer_set_spelling(rf_tokenizer *t, const rf_spelling *spelling)
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
    *len = t->n_bytes;
    return t->bytes;
}

void rf_tokenizer_reset(rf_tokenizer *t)
{
    t->started = false;
    t->utf8 = (rf_utf8){0};
    t->n_tokens = t->n_chars = t->run_start = 0;
}

/* The last place is [SEP]'s, so a word piece must leave room for it. */
static rf_status emit(rf_tokenizer *t, int32_t id, rf_error *err)
{
    t->n_tokens++;
    if (t->max_tokens && t->n_tokens >= t->max_tokens)
        return RF_OK;
    return t->sink(t->user, id, err);
}

/* Greedy longest match from the left; 0 if some part has no piece. */
static size_t match(rf_tokenizer *t, size_t len)
{
    const rf_vocab *v = t->vocab;
    size_t n = 0;
    for (size_t at = 0; at < len;) {
        /* Hash all prefixes at once, then look up from the longest down. */
        uint32_t hashes[4 * RF_MAX_WORD_CHARS];
        size_t room = len - at < v->longest ? len - at : v->longest;
        uint32_t h = at ? RF_HASH_INSIDE : RF_HASH_WORD;
        for (size_t i = 0; i < room; i++)
            hashes[i] = h = rf_hash_byte(h, t->bytes[at + i]);
        int32_t id = -1;
        for (; room > 0; room--) {
            bool boundary = at + room == len || (t->bytes[at + room] & 0xC0) != 0x80;
            id = boundary
                     ? rf_vocab_lookup(v, t->bytes + at, room, hashes[room - 1], at > 0)
                     : -1;
            if (id >= 0 && id != v->cls && id != v->sep) /* cannot be typed */
                break;
            id = -1;
        }
        if (id < 0)
            return 0;
        t->pieces[n++] = id;
        at += room;
    }
    return n;
}

/* Emits the pieces of the word in t->bytes, or [UNK]. */
static rf_status emit_word(rf_tokenizer *t, rf_error *err)
{
    size_t n = match(t, t->n_bytes);
    rf_status st = n == 0 ? emit(t, t->vocab->unk, err) : RF_OK;
    for (size_t i = 0; i < n && st == RF_OK; i++)
        st = emit(t, t->pieces[i], err);
    return st;
}

static bool in_vocab(const rf_tokenizer *t)
{
    uint32_t hash = RF_HASH_WORD;
    for (size_t i = 0; i < t->n_bytes; i++)
        hash = rf_hash_byte(hash, t->bytes[i]);
    return rf_vocab_lookup(t->vocab, t->bytes, t->n_bytes, hash, false) >= 0;
}

/* Words that cannot be emitted any more are not worth looking up. */
static bool is_full(const rf_tokenizer *t)
{
    return t->max_tokens && t->n_tokens + 1 >= t->max_tokens;
}

static rf_status end_word(rf_tokenizer *t, rf_error *err)
{
    size_t n_chars = t->n_chars, most = t->vocab->max_word_chars;
    t->n_chars = t->run_start = t->n_bytes = 0;
    if (n_chars == 0)
        return RF_OK;
    for (size_t i = 0; i < n_chars && i < most; i++)
        t->n_bytes += rf_utf8_write(t->bytes + t->n_bytes, t->chars[i]);
    if (n_chars > most)
        return emit(t, t->vocab->unk, err);
    if (t->word)
        t->word(t->word_user, t->chars, n_chars, t->bytes, t->n_bytes);
    rf_reading read = {0};
    if (t->spelling && !is_full(t) && !in_vocab(t))
        read = rf_spelling_read(t->spelling, t->chars, n_chars);
    rf_status st = read.n == 0 ? emit_word(t, err) : RF_OK;
    for (size_t i = 0; i < read.n && st == RF_OK; i++) {
        t->n_bytes = strlen(read.word[i]); /* a letter longer at most: still fits */
        memcpy(t->bytes, read.word[i], t->n_bytes);
        st = emit_word(t, err);
    }
    return st;
}

/* Appends a character to the word, marks in canonical order: after the last one whose
 * class is not higher. */
static void add_char(rf_tokenizer *t, rf_folded f)
{
    if (f.ccc == 0)
        t->run_start = t->n_chars + !f.drop;
    if (f.drop)
        return;
    if (t->n_chars < t->vocab->max_word_chars) {
        size_t i = t->n_chars;
        for (; f.ccc && i > t->run_start && t->classes[i - 1] > f.ccc; i--) {
            t->chars[i] = t->chars[i - 1];
            t->classes[i] = t->classes[i - 1];
        }
        t->chars[i] = f.cp;
        t->classes[i] = f.ccc;
    }
    t->n_chars++;
}

static rf_status take_char(rf_tokenizer *t, int32_t cp, rf_error *err)
{
    const rf_vocab *v = t->vocab;
    rf_char_kind kind = rf_char_kind_of(cp);
    if (kind == RF_CHAR_DROP) {
        if (v->clean_text)
            return RF_OK;
        bool space = cp == 0x0B || cp == 0x0C || cp == 0x85;
        kind = space ? RF_CHAR_SPACE : RF_CHAR_WORD;
    }
    if (kind == RF_CHAR_SPACE)
        return end_word(t, err);

    bool alone = kind == RF_CHAR_CJK && v->space_cjk;
    rf_status st = alone ? end_word(t, err) : RF_OK;
    rf_folded folded[RF_FOLD_MAX];
    size_t n = rf_char_fold(cp, v->fold, folded);
    for (size_t i = 0; i < n && st == RF_OK; i++) {
        bool mark = !folded[i].drop && rf_char_is_punctuation(folded[i].cp);
        if (mark)
            st = end_word(t, err);
        add_char(t, folded[i]);
        if (mark && st == RF_OK)
            st = end_word(t, err);
    }
    return alone && st == RF_OK ? end_word(t, err) : st;
}

static rf_status start_text(rf_tokenizer *t, rf_error *err)
{
    if (t->started)
        return RF_OK;
    t->started = true;
    t->n_tokens = 1;
    return t->sink(t->user, t->vocab->cls, err);
}

rf_status rf_tokenizer_feed(rf_tokenizer *t, const char *bytes, size_t len, rf_error *err)
{
    rf_status st = start_text(t, err);
    for (size_t i = 0; i < len && st == RF_OK; i++) {
        int32_t cps[2];
        size_t n = rf_utf8_push(&t->utf8, (unsigned char)bytes[i], cps);
        for (size_t j = 0; j < n && st == RF_OK; j++)
            st = take_char(t, cps[j], err);
    }
    if (st != RF_OK)
        rf_tokenizer_reset(t);
    return st;
}

rf_status rf_tokenizer_end(rf_tokenizer *t, size_t *n_tokens, rf_error *err)
{
    rf_status st = start_text(t, err);
    if (st == RF_OK && rf_utf8_end(&t->utf8))
        st = take_char(t, RF_REPLACEMENT, err);
    if (st == RF_OK)
        st = end_word(t, err);
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
