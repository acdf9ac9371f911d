/*
 * unigram_words.c - normalises a text, divides it into words and emits their pieces
 *
 *   "Ｈｉ  you" --charmap--> "Hi  you" --spaces--> "▁Hi" "▁you" --path--> ids
 *
 * What is kept: the end of the text as long as it may be the beginning of a key of the
 * charmap, the number of spaces since the last character, and the word being read.
 */
#include "text/token_kind.h"
#include "text/unigram.h"

#include <stdlib.h>
#include <string.h>

#define PENDING 1024      /* bytes not yet normalised; more than a key has */
#define WATCHED_CHARS 100 /* longer words are not shown to watchers, as in BERT */

typedef struct unigram {
    const rf_vocab *vocab;
    char pending[PENDING];
    size_t n_pending;
    size_t spaces; /* since the last character */
    bool any;      /* a character came since the text or, with split, the part began */
    char *word;    /* [RF_UNIGRAM_WORD] */
    size_t len;
    float sum;              /* of the scores before the word */
    bool watched;           /* the word was shown already: it is being divided */
    bool unknown;           /* the last token was the unknown one, and may grow */
    rf_unigram_node *nodes; /* [RF_UNIGRAM_WORD + 1] */
} unigram;

static void free_state(void *state)
{
    unigram *s = state;
    if (!s)
        return;
    free(s->word);
    free(s->nodes);
    free(s);
}

static void *make_state(const rf_vocab *vocab, rf_error *err)
{
    unigram *s = calloc(1, sizeof *s);
    if (s) {
        s->vocab = vocab;
        s->word = malloc(RF_UNIGRAM_WORD);
        s->nodes = malloc((RF_UNIGRAM_WORD + 1) * sizeof *s->nodes);
    }
    if (!s || !s->word || !s->nodes) {
        rf_fail_nomem(err, RF_UNIGRAM_WORD * (sizeof *s->nodes + 1), "tokenizer");
        free_state(s);
        return NULL;
    }
    return s;
}

static void reset_state(void *state)
{
    unigram *s = state;
    s->n_pending = s->spaces = s->len = 0;
    s->any = s->watched = s->unknown = false;
    s->sum = 0.0f;
}

/* ---- A word ------------------------------------------------------------------------ */

static bool is_metaspace(const char *at, size_t n)
{
    return n == RF_METASPACE_LEN && memcmp(at, RF_METASPACE, RF_METASPACE_LEN) == 0;
}

/* Shows the word to whoever watches, without punctuation around it. */
static void show_word(rf_tokenizer *t, unigram *s)
{
    int32_t chars[WATCHED_CHARS + 1];
    size_t starts[WATCHED_CHARS + 2], n = 0;
    size_t skip = s->len >= RF_METASPACE_LEN && is_metaspace(s->word, RF_METASPACE_LEN)
                      ? RF_METASPACE_LEN
                      : 0;
    t->word_bytes = s->word + skip;
    t->word_len = s->len - skip;
    if (t->word_len > (size_t)4 * RF_MAX_WORD_CHARS)
        t->word_len = (size_t)4 * RF_MAX_WORD_CHARS;
    if (!t->word || s->watched)
        return;
    rf_utf8 u = {0};
    size_t start = skip;
    for (size_t i = skip; i < s->len && n <= WATCHED_CHARS; i++) {
        int32_t cps[2];
        size_t got = rf_utf8_push(&u, (unsigned char)s->word[i], cps);
        for (size_t j = 0; j < got && n <= WATCHED_CHARS; j++) {
            chars[n] = cps[j];
            starts[n++] = start;
            start = i + 1;
        }
    }
    if (n == 0 || n > WATCHED_CHARS)
        return;
    starts[n] = s->len;
    size_t from = 0;
    while (from < n && rf_char_is_punctuation(chars[from]))
        from++;
    while (n > from && rf_char_is_punctuation(chars[n - 1]))
        n--;
    if (n > from)
        t->word(t->word_user, chars + from, n - from, s->word + starts[from],
                starts[n] - starts[from]);
}

static rf_status emit_unknown(rf_tokenizer *t, unigram *s, size_t from, size_t to,
                              rf_error *err)
{
    const rf_unigram *u = s->vocab->unigram;
    rf_status st = RF_OK;
    if (u->byte_fallback) {
        for (size_t i = from; i < to && st == RF_OK; i++)
            st = rf_tokenizer_emit(t, u->bytes[(unsigned char)s->word[i]], err);
        return st;
    }
    if (!s->unknown)
        st = rf_tokenizer_emit(t, s->vocab->unk, err);
    s->unknown = true;
    return st;
}

/* The pieces of the best path up to a boundary of it. */
static rf_status emit_path(rf_tokenizer *t, unigram *s, size_t end, rf_error *err)
{
    rf_status st = RF_OK;
    for (size_t at = 0, next; at < end && st == RF_OK; at = next) {
        next = s->nodes[at].next;
        int32_t id = s->nodes[next].id;
        if (id == s->vocab->unk) {
            st = emit_unknown(t, s, at, next, err);
        } else {
            s->unknown = false;
            st = rf_tokenizer_emit(t, id, err);
        }
    }
    return st;
}

static void go_on_from(unigram *s, size_t at)
{
    float sum = s->nodes[at].score;
    s->sum = sum < RF_UNIGRAM_LOWEST ? 0.0f : sum;
}

static rf_status end_word(rf_tokenizer *t, unigram *s, rf_error *err)
{
    if (s->len == 0)
        return RF_OK;
    show_word(t, s);
    rf_unigram_path(s->vocab, s->word, s->len, s->sum, s->nodes);
    rf_status st = emit_path(t, s, s->len, err);
    go_on_from(s, s->len);
    s->len = 0;
    s->watched = s->unknown = false;
    return st;
}

/* Makes room in a word that has no more: emits all but its end, whose pieces may still
 * change. */
static rf_status divide_word(rf_tokenizer *t, unigram *s, rf_error *err)
{
    show_word(t, s);
    s->watched = true;
    rf_unigram_path(s->vocab, s->word, s->len, s->sum, s->nodes);
    size_t end = 0, most = s->len - (size_t)2 * RF_UNIGRAM_PIECE;
    while (s->nodes[end].next <= most)
        end = s->nodes[end].next;
    rf_status st = emit_path(t, s, end, err);
    go_on_from(s, end);
    s->len -= end;
    memmove(s->word, s->word + end, s->len);
    return st;
}

static rf_status append(rf_tokenizer *t, unigram *s, const char *bytes, size_t n,
                        rf_error *err)
{
    rf_status st = RF_OK;
    if (s->len + n > RF_UNIGRAM_WORD)
        st = divide_word(t, s, err);
    memcpy(s->word + s->len, bytes, n);
    s->len += n;
    return st;
}

static rf_status begin_word(rf_tokenizer *t, unigram *s, rf_error *err)
{
    rf_status st = end_word(t, s, err);
    s->any = true;
    return st == RF_OK ? append(t, s, RF_METASPACE, RF_METASPACE_LEN, err) : st;
}

/* ---- Spaces ------------------------------------------------------------------------ */

static bool is_white(const char *at, size_t n)
{
    static const char *const others[] = {"\xC2\x85",     "\xC2\xA0",     "\xE1\x9A\x80",
                                         "\xE2\x80\xA8", "\xE2\x80\xA9", "\xE2\x80\xAF",
                                         "\xE2\x81\x9F", "\xE3\x80\x80"};
    if (n == 1)
        return *at == ' ' || (*at >= '\t' && *at <= '\r');
    if (n == 3 && memcmp(at, "\xE2\x80", 2) == 0 && (unsigned char)at[2] <= 0x8A)
        return true; /* U+2000 to U+200A */
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (strlen(others[i]) == n && memcmp(at, others[i], n) == 0)
            return true;
    return false;
}

/* Each space that counts begins a word; the last of them is that of the next
 * character. */
static rf_status release_spaces(rf_tokenizer *t, unigram *s, bool at_end, rf_error *err)
{
    const rf_unigram *u = s->vocab->unigram;
    size_t n = s->spaces;
    s->spaces = 0;
    if (n == 0)
        return RF_OK;
    if (u->split) {
        s->any = false;
        return end_word(t, s, err);
    }
    if ((u->strip_left && !s->any) || (u->strip_right && at_end))
        n = 0;
    if (u->collapse && n > 1)
        n = 1;
    rf_status st = RF_OK;
    for (; n > 0 && st == RF_OK; n--)
        st = begin_word(t, s, err);
    return st;
}

static rf_status put_char(rf_tokenizer *t, unigram *s, const char *at, size_t n,
                          rf_error *err)
{
    if ((n == 1 && *at == ' ') || (s->vocab->unigram->split && is_white(at, n))) {
        s->spaces++;
        return RF_OK;
    }
    rf_status st = release_spaces(t, s, false, err);
    bool meta = is_metaspace(at, n);
    if (st == RF_OK && (meta || !s->any))
        st = begin_word(t, s, err);
    return st == RF_OK && !meta ? append(t, s, at, n, err) : st;
}

/* ---- The text ---------------------------------------------------------------------- */

/* Bytes of the character at `at`; stray bytes count as characters. */
static size_t char_len(const char *at, size_t left)
{
    unsigned char lead = (unsigned char)*at;
    size_t n = lead < 0xC0 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    return n < left ? n : left;
}

static rf_status put(rf_tokenizer *t, unigram *s, const char *at, size_t len,
                     rf_error *err)
{
    rf_status st = RF_OK;
    for (size_t n; len > 0 && st == RF_OK; at += n, len -= n) {
        n = char_len(at, len);
        st = put_char(t, s, at, n, err);
    }
    return st;
}

/* Normalises what is pending until at most `keep` bytes are left. */
static rf_status normalise(rf_tokenizer *t, unigram *s, size_t keep, rf_error *err)
{
    size_t at = 0;
    rf_status st = RF_OK;
    while (s->n_pending - at > keep && st == RF_OK) {
        const char *from = s->pending + at, *to = from;
        size_t left = s->n_pending - at, to_len = 0;
        size_t n =
            rf_charmap_match(&s->vocab->unigram->charmap, from, left, &to, &to_len);
        if (n == 0) {
            n = char_len(from, left);
            to_len = n;
        }
        st = put(t, s, to, to_len, err);
        at += n;
    }
    s->n_pending -= at;
    memmove(s->pending, s->pending + at, s->n_pending);
    return st;
}

static rf_status take_char(rf_tokenizer *t, void *state, int32_t cp, rf_error *err)
{
    unigram *s = state;
    s->n_pending += rf_utf8_write(s->pending + s->n_pending, cp);
    return s->n_pending + 4 > PENDING ? normalise(t, s, RF_CHARMAP_KEY, err) : RF_OK;
}

static rf_status end_text(rf_tokenizer *t, void *state, rf_error *err)
{
    unigram *s = state;
    rf_status st;
    if ((st = normalise(t, s, 0, err)) != RF_OK ||
        (st = release_spaces(t, s, true, err)) != RF_OK)
        return st;
    return end_word(t, s, err);
}

const rf_token_kind rf_unigram_kind = {.make = make_state,
                                       .free = free_state,
                                       .reset = reset_state,
                                       .take_char = take_char,
                                       .end_text = end_text};
