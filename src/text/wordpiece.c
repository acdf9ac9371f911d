/*
 * wordpiece.c - words as BERT separates and folds them, and their longest pieces
 *
 * The only state is the word being read. Words longer than max_word_chars become one
 * [UNK] whatever they hold, so no more than that many code points are kept, and neither
 * a flood of combining marks nor a gigabyte without a space takes more memory. A word
 * has at most max_word_chars starts of pieces, and the longest match from each looks at
 * most `longest` bytes ahead.
 *
 * Canonical order: stripping accents goes through NFD, which sorts each run of marks by
 * combining class. Most marks are dropped, but those of category Mc are not; they are
 * inserted in order.
 */
#include "text/spelling.h"
#include "text/token_kind.h"

#include <stdlib.h>
#include <string.h>

typedef struct wordpiece {
    const rf_vocab *vocab;
    size_t n_chars;   /* of the word; may exceed max_word_chars, then it is [UNK] */
    size_t run_start; /* where the current run of marks begins in chars */
    int32_t *chars;   /* [max_word_chars + 1] */
    uint8_t *classes; /* likewise */
    char *bytes;      /* [4 * (max_word_chars + 1)] the word as UTF-8 */
    size_t n_bytes;
    int32_t *pieces; /* [max_word_chars + 1] its ids */
} wordpiece;

static void free_state(void *state)
{
    wordpiece *w = state;
    if (!w)
        return;
    free(w->chars);
    free(w->classes);
    free(w->bytes);
    free(w->pieces);
    free(w);
}

static void *make_state(const rf_vocab *vocab, rf_error *err)
{
    size_t n = vocab->max_word_chars + 1; /* a word may be read with a letter more */
    wordpiece *w = calloc(1, sizeof *w);
    if (w)
        *w = (wordpiece){.vocab = vocab,
                         .chars = calloc(n, sizeof *w->chars),
                         .classes = calloc(n, sizeof *w->classes),
                         .bytes = calloc(n, 4),
                         .pieces = calloc(n, sizeof *w->pieces)};
    if (!w || !w->chars || !w->classes || !w->bytes || !w->pieces) {
        rf_fail_nomem(err, n * 13, "tokenizer");
        free_state(w);
        return NULL;
    }
    return w;
}

static void reset_state(void *state)
{
    wordpiece *w = state;
    w->n_chars = w->run_start = 0;
}

/* Greedy longest match from the left; 0 if some part has no piece. */
static size_t match(wordpiece *w, size_t len)
{
    const rf_vocab *v = w->vocab;
    size_t n = 0;
    for (size_t at = 0; at < len;) {
        /* Hash all prefixes at once, then look up from the longest down. */
        uint32_t hashes[4 * RF_MAX_WORD_CHARS];
        size_t room = len - at < v->longest ? len - at : v->longest;
        uint32_t h = at ? RF_HASH_INSIDE : RF_HASH_WORD;
        for (size_t i = 0; i < room; i++)
            hashes[i] = h = rf_hash_byte(h, w->bytes[at + i]);
        int32_t id = -1;
        for (; room > 0; room--) {
            bool boundary = at + room == len || (w->bytes[at + room] & 0xC0) != 0x80;
            id = boundary
                     ? rf_vocab_lookup(v, w->bytes + at, room, hashes[room - 1], at > 0)
                     : -1;
            if (id >= 0 && id != v->cls && id != v->sep) /* cannot be typed */
                break;
            id = -1;
        }
        if (id < 0)
            return 0;
        w->pieces[n++] = id;
        at += room;
    }
    return n;
}

/* Emits the pieces of the word in w->bytes, or [UNK]. */
static rf_status emit_word(rf_tokenizer *t, wordpiece *w, rf_error *err)
{
    t->word_bytes = w->bytes;
    t->word_len = w->n_bytes;
    size_t n = match(w, w->n_bytes);
    rf_status st = n == 0 ? rf_tokenizer_emit(t, t->vocab->unk, err) : RF_OK;
    for (size_t i = 0; i < n && st == RF_OK; i++)
        st = rf_tokenizer_emit(t, w->pieces[i], err);
    return st;
}

static bool in_vocab(const wordpiece *w)
{
    uint32_t hash = RF_HASH_WORD;
    for (size_t i = 0; i < w->n_bytes; i++)
        hash = rf_hash_byte(hash, w->bytes[i]);
    return rf_vocab_lookup(w->vocab, w->bytes, w->n_bytes, hash, false) >= 0;
}

static rf_status end_word(rf_tokenizer *t, wordpiece *w, rf_error *err)
{
    size_t n_chars = w->n_chars, most = t->vocab->max_word_chars;
    w->n_chars = w->run_start = w->n_bytes = 0;
    if (n_chars == 0)
        return RF_OK;
    for (size_t i = 0; i < n_chars && i < most; i++)
        w->n_bytes += rf_utf8_write(w->bytes + w->n_bytes, w->chars[i]);
    if (n_chars > most) {
        t->word_bytes = w->bytes;
        t->word_len = w->n_bytes;
        return rf_tokenizer_emit(t, t->vocab->unk, err);
    }
    if (t->word)
        t->word(t->word_user, w->chars, n_chars, w->bytes, w->n_bytes);
    rf_reading read = {0};
    if (t->spelling && !rf_tokenizer_full(t) && !in_vocab(w))
        read = rf_spelling_read(t->spelling, w->chars, n_chars);
    rf_status st = read.n == 0 ? emit_word(t, w, err) : RF_OK;
    for (size_t i = 0; i < read.n && st == RF_OK; i++) {
        w->n_bytes = strlen(read.word[i]); /* a letter longer at most: still fits */
        memcpy(w->bytes, read.word[i], w->n_bytes);
        st = emit_word(t, w, err);
    }
    return st;
}

/* Appends a character to the word, marks in canonical order: after the last one whose
 * class is not higher. */
static void add_char(wordpiece *w, rf_folded f)
{
    if (f.ccc == 0)
        w->run_start = w->n_chars + !f.drop;
    if (f.drop)
        return;
    if (w->n_chars < w->vocab->max_word_chars) {
        size_t i = w->n_chars;
        for (; f.ccc && i > w->run_start && w->classes[i - 1] > f.ccc; i--) {
            w->chars[i] = w->chars[i - 1];
            w->classes[i] = w->classes[i - 1];
        }
        w->chars[i] = f.cp;
        w->classes[i] = f.ccc;
    }
    w->n_chars++;
}

static rf_status take_char(rf_tokenizer *t, void *state, int32_t cp, rf_error *err)
{
    wordpiece *w = state;
    const rf_vocab *v = t->vocab;
    rf_char_kind kind = rf_char_kind_of(cp);
    if (kind == RF_CHAR_DROP) {
        if (v->clean_text)
            return RF_OK;
        bool space = cp == 0x0B || cp == 0x0C || cp == 0x85;
        kind = space ? RF_CHAR_SPACE : RF_CHAR_WORD;
    }
    if (kind == RF_CHAR_SPACE)
        return end_word(t, w, err);

    bool alone = kind == RF_CHAR_CJK && v->space_cjk;
    rf_status st = alone ? end_word(t, w, err) : RF_OK;
    rf_folded folded[RF_FOLD_MAX];
    size_t n = rf_char_fold(cp, v->fold, folded);
    for (size_t i = 0; i < n && st == RF_OK; i++) {
        bool mark = !folded[i].drop && rf_char_is_punctuation(folded[i].cp);
        if (mark)
            st = end_word(t, w, err);
        add_char(w, folded[i]);
        if (mark && st == RF_OK)
            st = end_word(t, w, err);
    }
    return alone && st == RF_OK ? end_word(t, w, err) : st;
}

static rf_status end_text(rf_tokenizer *t, void *state, rf_error *err)
{
    return end_word(t, state, err);
}

const rf_token_kind rf_wordpiece_kind = {.make = make_state,
                                         .free = free_state,
                                         .reset = reset_state,
                                         .take_char = take_char,
                                         .end_text = end_text};
