/* spelling.c - learn the words of texts, and find the one that a slip leads away from */
#include "text/spelling.h"

#include "data/labels.h"
#include "text/tokenizer.h"
#include "text/vocab.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#define SHORTEST 4 /* letters of a word that may be misspelt */
#define LONGEST 40
#define ALL_SLIPS 5     /* from so many letters on, all kinds of slips count */
#define PART_SHORTEST 2 /* letters of one of two words run together */
#define PART_LEAST 2    /* times that it must have occurred */

struct rf_spelling {
    size_t n, bytes;
    char *words;     /* NUL-terminated, ascending */
    int32_t *counts; /* [n] */
    uint32_t *at;    /* [n] offsets into words */
    int32_t *chars;  /* their code points, one word after another */
    uint32_t *start; /* [n + 1] offsets into chars */
};

void rf_spelling_free(rf_spelling *s)
{
    if (!s)
        return;
    free(s->words);
    free(s->counts);
    free(s->at);
    free(s->chars);
    free(s->start);
    free(s);
}

const char *rf_spelling_words(const rf_spelling *s, size_t *bytes)
{
    *bytes = s->bytes;
    return s->words;
}

const int32_t *rf_spelling_counts(const rf_spelling *s, size_t *n)
{
    *n = s->n;
    return s->counts;
}

/* ---- Making ------------------------------------------------------------------------ */

static rf_status fail_words(size_t i, const char *what, rf_error *err)
{
    return rf_fail(err, RF_ERR_FORMAT, i, "the words of the spelling: %s (word %zu)",
                   what, i + 1);
}

/* Finds and checks the words, and decodes them. */
static rf_status index_words(rf_spelling *s, rf_error *err)
{
    size_t at = 0, chars = 0;
    for (size_t i = 0; i < s->n; i++) {
        const char *end = at < s->bytes ? memchr(s->words + at, 0, s->bytes - at) : NULL;
        if (!end)
            return fail_words(i, "fewer than there are counts", err);
        if (i > 0 && strcmp(s->words + s->at[i - 1], s->words + at) >= 0)
            return fail_words(i, "not in ascending order", err);
        if (s->counts[i] < 1)
            return fail_words(i, "a count below 1", err);
        s->at[i] = (uint32_t)at;
        s->start[i] = (uint32_t)chars;
        for (const char *p = s->words + at; p < end;) {
            utf8proc_ssize_t len = utf8proc_iterate((const utf8proc_uint8_t *)p, end - p,
                                                    &s->chars[chars++]);
            if (len <= 0)
                return fail_words(i, "not UTF-8", err);
            p += len;
        }
        at = (size_t)(end - s->words) + 1;
    }
    s->start[s->n] = (uint32_t)chars;
    return at == s->bytes ? RF_OK : fail_words(s->n, "more than there are counts", err);
}

rf_spelling *rf_spelling_new(const char *words, size_t bytes, const int32_t *counts,
                             size_t n, rf_error *err)
{
    if (n > RF_SPELLING_WORDS || bytes > UINT32_MAX) {
        rf_fail(err, RF_ERR_LIMIT, 0, "%zu words of the spelling, wanted at most %d", n,
                RF_SPELLING_WORDS);
        return NULL;
    }
    rf_spelling *s = calloc(1, sizeof *s);
    if (s)
        *s = (rf_spelling){.n = n,
                           .bytes = bytes,
                           .words = malloc(bytes + 1),
                           .counts = calloc(n + 1, sizeof *s->counts),
                           .at = calloc(n + 1, sizeof *s->at),
                           .chars = calloc(bytes + 1, sizeof *s->chars),
                           .start = calloc(n + 1, sizeof *s->start)};
    if (!s || !s->words || !s->counts || !s->at || !s->chars || !s->start) {
        rf_fail_nomem(err, bytes, "the spelling");
        rf_spelling_free(s);
        return NULL;
    }
    if (bytes > 0)
        memcpy(s->words, words, bytes);
    if (n > 0)
        memcpy(s->counts, counts, n * sizeof *counts);
    if (index_words(s, err) != RF_OK) {
        rf_spelling_free(s);
        return NULL;
    }
    return s;
}

/* ---- Learning ---------------------------------------------------------------------- */

typedef struct counting {
    rf_labels *words;
    rf_status st;
    rf_error *err;
} counting;

static bool all_letters(const int32_t *chars, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        utf8proc_category_t c = utf8proc_category(chars[i]);
        if (c < UTF8PROC_CATEGORY_LU || c > UTF8PROC_CATEGORY_LO)
            return false;
    }
    return true;
}

static void count_word(void *user, const int32_t *chars, size_t n, const char *bytes,
                       size_t len)
{
    counting *c = user;
    uint32_t id;
    if (c->st != RF_OK || n < PART_SHORTEST || n > LONGEST || !all_letters(chars, n))
        return;
    c->st = rf_labels_add(c->words, bytes, len, &id, c->err);
    if (c->st == RF_OK)
        rf_labels_count(c->words, id);
}

static rf_status ignore_id(void *user, int32_t id, rf_error *err)
{
    (void)user;
    (void)id;
    (void)err;
    return RF_OK;
}

static int falling(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x < y) - (x > y);
}

/* The smallest count with which at most RF_SPELLING_WORDS words are kept. */
static rf_status least_count(rf_labels *words, size_t *least, rf_error *err)
{
    size_t n = rf_labels_size(words), *rows = calloc(n + 1, sizeof *rows);
    *least = 1;
    if (!rows)
        return rf_fail_nomem(err, n * sizeof *rows, "the spelling");
    for (size_t i = 0; i < n; i++)
        (void)rf_labels_at(words, i, &rows[i]);
    qsort(rows, n, sizeof *rows, falling);
    if (n > RF_SPELLING_WORDS)
        *least = rows[RF_SPELLING_WORDS] + 1;
    free(rows);
    return RF_OK;
}

static rf_spelling *take_words(rf_labels *words, rf_error *err)
{
    size_t all = rf_labels_size(words), bytes = 0, n = 0, least, rows;
    if (least_count(words, &least, err) != RF_OK)
        return NULL;
    for (size_t i = 0; i < all; i++) {
        const char *word = rf_labels_at(words, i, &rows);
        bytes += rows >= least ? strlen(word) + 1 : 0;
    }
    char *text = malloc(bytes + 1);
    int32_t *counts = calloc(all + 1, sizeof *counts);
    rf_spelling *s = NULL;
    if (!text || !counts)
        rf_fail_nomem(err, bytes, "the spelling");
    for (size_t i = 0, at = 0; i < all && text && counts; i++) {
        const char *word = rf_labels_at(words, i, &rows);
        if (rows < least)
            continue;
        memcpy(text + at, word, strlen(word) + 1);
        at += strlen(word) + 1;
        counts[n++] = rows < INT32_MAX ? (int32_t)rows : INT32_MAX;
    }
    if (text && counts)
        s = rf_spelling_new(text, bytes, counts, n, err);
    free(text);
    free(counts);
    return s;
}

static rf_status count_before(const rf_spelling *s, rf_labels *words, rf_error *err)
{
    rf_status st = RF_OK;
    uint32_t id;
    for (size_t i = 0; i < s->n && st == RF_OK; i++) {
        const char *word = s->words + s->at[i];
        st = rf_labels_add(words, word, strlen(word), &id, err);
        for (int32_t k = 0; k < s->counts[i] && st == RF_OK; k++)
            rf_labels_count(words, id);
    }
    return st;
}

rf_spelling *rf_spelling_learn(const rf_vocab *vocab, const rf_spelling *before,
                               const char *const *texts, const size_t *lens, size_t n,
                               rf_error *err)
{
    if (vocab->unigram) /* many languages: a word of another one is no slip */
        n = 0;
    counting c = {.words = rf_labels_new(err), .err = err};
    rf_tokenizer *t = c.words ? rf_tokenizer_new(vocab, 0, ignore_id, NULL, err) : NULL;
    rf_spelling *s = NULL;
    c.st = !t ? RF_ERR_NOMEM : before ? count_before(before, c.words, err) : RF_OK;
    if (t)
        rf_tokenizer_watch_words(t, count_word, &c);
    for (size_t i = 0; i < n && c.st == RF_OK; i++) {
        rf_status st = rf_tokenizer_feed(t, texts[i], lens[i], err);
        if (st == RF_OK)
            st = rf_tokenizer_end(t, NULL, err);
        c.st = c.st == RF_OK ? st : c.st;
    }
    if (c.st == RF_OK)
        s = take_words(c.words, err);
    rf_tokenizer_free(t);
    rf_labels_free(c.words);
    return s;
}

/* ---- Reading ----------------------------------------------------------------------- */

static const int32_t *word_chars(const rf_spelling *s, size_t i, size_t *n)
{
    *n = s->start[i + 1] - s->start[i];
    return s->chars + s->start[i];
}

/* Less, equal or greater than 0, as words are sorted. */
static int compare(const int32_t *a, size_t n, const int32_t *b, size_t m)
{
    for (size_t i = 0; i < n && i < m; i++)
        if (a[i] != b[i])
            return a[i] < b[i] ? -1 : 1;
    return (n > m) - (n < m);
}

/* The first word that is not before these characters. */
static size_t first_from(const rf_spelling *s, const int32_t *chars, size_t n)
{
    size_t low = 0, high = s->n;
    while (low < high) {
        size_t mid = low + (high - low) / 2, m;
        const int32_t *word = word_chars(s, mid, &m);
        if (compare(word, m, chars, n) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* The word with these characters, s->n if there is none. */
static size_t find(const rf_spelling *s, const int32_t *chars, size_t n)
{
    size_t i = first_from(s, chars, n), m = 0;
    const int32_t *word = i < s->n ? word_chars(s, i, &m) : NULL;
    return word && compare(word, m, chars, n) == 0 ? i : s->n;
}

static bool same(const int32_t *a, const int32_t *b, size_t n)
{
    return memcmp(a, b, n * sizeof *a) == 0;
}

/* Whether `typed` may be a slip of `word`; both begin with the same letter. */
static bool is_slip(const int32_t *typed, size_t n, const int32_t *word, size_t m)
{
    size_t p = 0;
    while (p < n && p < m && typed[p] == word[p])
        p++;
    if (m == n + 1) /* a letter is missing */
        return same(typed + p, word + p + 1, n - p) && !(p == n && word[p] == 's');
    if (n == m && p + 1 < n && typed[p] == word[p + 1] && typed[p + 1] == word[p])
        return same(typed + p + 2, word + p + 2, n - p - 2); /* two are swapped */
    if (n < ALL_SLIPS)
        return false;
    if (n == m) /* one is wrong */
        return p < n && same(typed + p + 1, word + p + 1, n - p - 1);
    /* one too many */
    return n == m + 1 && same(typed + p + 1, word + p, m - p) &&
           !(p == m && typed[p] == 's');
}

/* The most frequent word of which this is a slip, s->n if there is none. */
static size_t nearest_word(const rf_spelling *s, const int32_t *chars, size_t n)
{
    size_t best = s->n, m;
    for (size_t i = first_from(s, chars, 1); i < s->n; i++) {
        const int32_t *word = word_chars(s, i, &m);
        if (word[0] != chars[0])
            break;
        if (m + 1 >= n && m <= n + 1 && is_slip(chars, n, word, m) &&
            (best == s->n || s->counts[i] > s->counts[best]))
            best = i;
    }
    return best;
}

/* Two words run together: where the rarer one is most frequent. */
static bool split_word(const rf_spelling *s, const int32_t *chars, size_t n,
                       size_t parts[2])
{
    int32_t best = PART_LEAST - 1;
    for (size_t cut = PART_SHORTEST; cut + PART_SHORTEST <= n; cut++) {
        size_t a = find(s, chars, cut);
        size_t b = a < s->n ? find(s, chars + cut, n - cut) : s->n;
        if (b == s->n)
            continue;
        int32_t rarer = s->counts[a] < s->counts[b] ? s->counts[a] : s->counts[b];
        if (rarer > best) {
            best = rarer;
            parts[0] = a;
            parts[1] = b;
        }
    }
    return best >= PART_LEAST;
}

rf_reading rf_spelling_read(const rf_spelling *s, const int32_t *chars, size_t n)
{
    size_t parts[2];
    if (n < SHORTEST || n > LONGEST || !all_letters(chars, n) || find(s, chars, n) < s->n)
        return (rf_reading){0};
    size_t word = nearest_word(s, chars, n);
    if (word < s->n)
        return (rf_reading){1, {s->words + s->at[word]}};
    if (split_word(s, chars, n, parts))
        return (rf_reading){2, {s->words + s->at[parts[0]], s->words + s->at[parts[1]]}};
    return (rf_reading){0};
}
