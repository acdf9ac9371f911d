/*
 * names.c - a name for each group, of the words that set it apart
 *
 * Of the texts of a group, the share p has a word, and of all others - the training texts
 * that the model keeps, and the other texts of the review - the share q. A word is worth
 * p ln(p / q), what it adds to the divergence of the two: words of every text are worth
 * nothing, and so is a rare word of one text. The best word and up to two more make the
 * name, in the order in which the texts use them: "gift_card_balance". English words that
 * say nothing by themselves are used only if there is no other.
 */
#include "data/labels.h"
#include "data/dataset.h"
#include "review/reviewing.h"
#include "text/chars.h"
#include "text/tokenizer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_WORDS 3
#define WORD_BYTES 24   /* longer words are not used */
#define NEXT_WORD 0.4   /* of the best word's worth, for one more */
#define TEXT_BYTES 2000 /* of a text that count */

/* In byte order. */
static const char *const empty_words[] = {
    "about", "am",      "an",    "and",    "any",  "are",   "as",     "at",    "be",
    "been",  "both",    "but",   "by",     "can",  "could", "did",    "do",    "does",
    "don",   "for",     "from",  "get",    "got",  "had",   "has",    "have",  "he",
    "her",   "here",    "his",   "how",    "if",   "in",    "into",   "is",    "it",
    "its",   "just",    "let",   "ll",     "me",   "my",    "no",     "not",   "of",
    "on",    "or",      "our",   "please", "re",   "she",   "should", "so",    "some",
    "than",  "that",    "the",   "their",  "them", "then",  "there",  "these", "they",
    "this",  "through", "to",    "too",    "us",   "ve",    "was",    "we",    "were",
    "what",  "when",    "where", "which",  "who",  "why",   "will",   "with",  "would",
    "you",   "your"};
#define EMPTY_WORDS (sizeof empty_words / sizeof *empty_words)

/* A word of a text, and its place among the words of the text. */
typedef struct spot {
    uint32_t word, place;
} spot;

typedef struct counted_word {
    uint32_t word;
    uint32_t texts;  /* of the group that have it */
    uint64_t places; /* sum of where */
    double worth;
} counted_word;

typedef struct naming {
    const rf_model *model;
    rf_labels *words;
    rf_tokenizer *tokenizer;
    rf_buffer spots;      /* of all texts of the review, one after another */
    rf_buffer everywhere; /* [words] of uint32_t: texts that have it, training included */
    rf_buffer seen;       /* [words] of uint32_t: the last text that had it, from 1 */
    uint32_t text, place;
    bool keep;
    size_t *ends;   /* [texts of the review] of their spots */
    size_t n_texts; /* all that were read */
    rf_status st;
    rf_error *err;
} naming;

static uint32_t *count_of(rf_buffer *b, uint32_t word)
{
    return (uint32_t *)(void *)b->data + word;
}

/* ---- Words ------------------------------------------------------------------------- */

static rf_status ignore_id(void *user, int32_t id, rf_error *err)
{
    (void)user;
    (void)id;
    (void)err;
    return RF_OK;
}

/* Words that can stand in a name: some letters, no punctuation. */
static bool can_name(const int32_t *chars, size_t n, size_t len)
{
    bool letter = false;
    for (size_t i = 0; i < n; i++) {
        if (rf_char_is_punctuation(chars[i]) || chars[i] == 0xFFFD)
            return false;
        letter = letter || chars[i] > '9';
    }
    return letter && len <= WORD_BYTES && (n > 1 || chars[0] > 0x7f);
}

static void note_word(void *user, const int32_t *chars, size_t n, const char *bytes,
                      size_t len)
{
    naming *w = user;
    const uint32_t zero = 0;
    uint32_t id, place = w->place++;
    if (w->st != RF_OK || !can_name(chars, n, len))
        return;
    w->st = rf_labels_add(w->words, bytes, len, &id, w->err);
    while (w->st == RF_OK && w->everywhere.len / sizeof id <= id) {
        w->st = rf_buffer_add(&w->everywhere, &zero, sizeof zero, w->err);
        if (w->st == RF_OK)
            w->st = rf_buffer_add(&w->seen, &zero, sizeof zero, w->err);
    }
    if (w->st != RF_OK || *count_of(&w->seen, id) == w->text)
        return;
    const spot s = {id, place};
    *count_of(&w->seen, id) = w->text;
    ++*count_of(&w->everywhere, id);
    if (w->keep)
        w->st = rf_buffer_add(&w->spots, &s, sizeof s, w->err);
}

static rf_status read_text(naming *w, const char *text, size_t len)
{
    w->text++;
    w->place = 0;
    w->n_texts++;
    rf_status st = rf_tokenizer_feed(w->tokenizer, text,
                                     len < TEXT_BYTES ? len : TEXT_BYTES, w->err);
    if (st == RF_OK)
        st = rf_tokenizer_end(w->tokenizer, NULL, w->err);
    w->st = w->st == RF_OK ? st : w->st;
    return w->st;
}

static rf_status read_texts(naming *w, const rf_dataset *data)
{
    size_t n = rf_dataset_rows(data), len;
    w->keep = true;
    for (size_t i = 0; i < n && w->st == RF_OK; i++) {
        const rf_row *row = rf_dataset_row(data, i);
        read_text(w, row->text, row->len);
        w->ends[i] = w->spots.len / sizeof(spot);
    }
    w->keep = false;
    for (size_t i = 0; i < w->model->n_rows && w->model->texts && w->st == RF_OK; i++) {
        const char *text = rf_model_text(w->model, i, &len);
        read_text(w, text, len);
    }
    return w->st;
}

/* ---- The words of a group ---------------------------------------------------------- */

static const char *word_at(naming *w, uint32_t id)
{
    size_t rows;
    return rf_labels_at(w->words, rf_labels_rank(w->words, id), &rows);
}

static int by_spelling(const void *a, const void *b)
{
    return strcmp(a, *(const char *const *)b);
}

static bool is_empty_word(const char *word)
{
    return bsearch(word, empty_words, EMPTY_WORDS, sizeof *empty_words, by_spelling) !=
           NULL;
}

/* Two forms of one word: "card" and "cards", "charge" and "charged". */
static bool same_stem(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b), least = n < m ? n : m, equal = 0;
    while (equal < least && a[equal] == b[equal])
        equal++;
    return equal >= 3 && equal + 2 >= least;
}

static double worth_of(const naming *w, const counted_word *c, size_t n)
{
    uint32_t all = *count_of((rf_buffer *)&w->everywhere, c->word);
    double p = (double)c->texts / (double)n;
    double q = ((double)(all - c->texts) + 0.5) / ((double)(w->n_texts - n) + 1.0);
    return p * log(p / q);
}

static bool better(naming *w, const counted_word *a, const counted_word *b)
{
    if (a->worth != b->worth)
        return a->worth > b->worth;
    return rf_labels_rank(w->words, a->word) < rf_labels_rank(w->words, b->word);
}

/* The next best word that is no form of a chosen one; NULL if none is good enough. */
static const counted_word *next_word(naming *w, const counted_word *words, size_t n,
                                     const counted_word *const *chosen, size_t have,
                                     bool any)
{
    const counted_word *best = NULL;
    for (size_t i = 0; i < n; i++) {
        bool used = !any && is_empty_word(word_at(w, words[i].word));
        for (size_t k = 0; k < have && !used; k++)
            used = words[i].word == chosen[k]->word ||
                   same_stem(word_at(w, words[i].word), word_at(w, chosen[k]->word));
        if (!used && words[i].worth > 0.0 && (!best || better(w, &words[i], best)))
            best = &words[i];
    }
    return best && (have == 0 || best->worth >= NEXT_WORD * chosen[0]->worth) ? best
                                                                              : NULL;
}

static double place_of(const counted_word *c)
{
    return (double)c->places / (double)c->texts;
}

static void write_name(naming *w, const counted_word *words, size_t n, char *name)
{
    const counted_word *chosen[NAME_WORDS];
    size_t have = 0;
    while (have < NAME_WORDS) {
        const counted_word *next = next_word(w, words, n, chosen, have, false);
        if (!next && have == 0)
            next = next_word(w, words, n, chosen, have, true);
        if (!next)
            break;
        chosen[have++] = next;
    }
    for (size_t i = 1; i < have; i++)
        for (size_t k = i; k > 0 && place_of(chosen[k]) < place_of(chosen[k - 1]); k--) {
            const counted_word *swap = chosen[k];
            chosen[k] = chosen[k - 1];
            chosen[k - 1] = swap;
        }
    size_t at = 0;
    name[0] = '\0';
    for (size_t i = 0; i < have; i++)
        at += (size_t)snprintf(name + at, RF_REVIEW_NAME - at, "%s%s", i ? "_" : "",
                               word_at(w, chosen[i]->word));
    if (have == 0)
        snprintf(name, RF_REVIEW_NAME, "group");
}

/* ---- All groups -------------------------------------------------------------------- */

static int by_word(const void *a, const void *b)
{
    const spot *x = a, *y = b;
    return x->word < y->word ? -1 : x->word > y->word;
}

/* Counts the words of a group from its spots, which are sorted. */
static size_t count_words(const naming *w, spot *spots, size_t n_spots, size_t n_texts,
                          counted_word *words)
{
    size_t n = 0, least = n_texts < 4 ? 1 : 2;
    qsort(spots, n_spots, sizeof *spots, by_word);
    for (size_t i = 0; i < n_spots;) {
        counted_word c = {.word = spots[i].word};
        for (; i < n_spots && spots[i].word == c.word; i++) {
            c.texts++;
            c.places += spots[i].place;
        }
        if (c.texts < least)
            continue;
        c.worth = worth_of(w, &c, n_texts);
        words[n++] = c;
    }
    return n;
}

static rf_status name_group(naming *w, const uint32_t *texts, size_t n, rf_buffer *mine,
                            char *name)
{
    const spot *spots = (const spot *)(const void *)w->spots.data;
    rf_buffer_clear(mine);
    for (size_t i = 0; i < n; i++) {
        size_t from = texts[i] ? w->ends[texts[i] - 1] : 0, to = w->ends[texts[i]];
        rf_status st = to > from ? rf_buffer_add(mine, spots + from,
                                                 (to - from) * sizeof *spots, w->err)
                                 : RF_OK;
        if (st != RF_OK)
            return st;
    }
    size_t n_spots = mine->len / sizeof(spot);
    counted_word *words = calloc(n_spots + 1, sizeof *words);
    if (!words)
        return rf_fail_nomem(w->err, n_spots * sizeof *words, "words");
    size_t found =
        n_spots ? count_words(w, (spot *)(void *)mine->data, n_spots, n, words) : 0;
    write_name(w, words, found, name);
    free(words);
    return RF_OK;
}

static bool is_taken(const naming *w, char (*names)[RF_REVIEW_NAME], size_t n)
{
    const char *name = names[n];
    bool taken = rf_model_find(w->model, name, strlen(name)) != RF_OPEN;
    for (size_t i = 0; i < n && !taken; i++)
        taken = strcmp(names[i], name) == 0;
    return taken;
}

/* Adds a number to a name that another group or a class has. */
static void make_unique(const naming *w, char (*names)[RF_REVIEW_NAME], size_t n)
{
    size_t len = strlen(names[n]);
    for (size_t k = 2; is_taken(w, names, n); k++)
        snprintf(names[n] + len, RF_REVIEW_NAME - len, "_%zu", k);
}

rf_status rf_review_names(const rf_model *m, const rf_dataset *data,
                          const uint32_t *group, size_t groups,
                          char (*names)[RF_REVIEW_NAME], rf_error *err)
{
    size_t n = rf_dataset_rows(data);
    rf_buffer mine;
    rf_groups lists = {0};
    naming w = {.model = m, .words = rf_labels_new(err), .err = err};
    rf_buffer_init(&w.spots, SIZE_MAX / 4, "words of texts");
    rf_buffer_init(&w.everywhere, SIZE_MAX / 4, "words");
    rf_buffer_init(&w.seen, SIZE_MAX / 4, "words");
    rf_buffer_init(&mine, SIZE_MAX / 4, "words of a group");
    w.ends = calloc(n + 1, sizeof *w.ends);
    w.tokenizer =
        w.words ? rf_tokenizer_new(rf_encoder_vocab(m->encoder), 0, ignore_id, NULL, err)
                : NULL;
    w.st = !w.ends        ? rf_fail_nomem(err, n * sizeof *w.ends, "words")
           : !w.tokenizer ? RF_ERR_NOMEM
                          : RF_OK;
    if (w.st == RF_OK) {
        rf_tokenizer_watch_words(w.tokenizer, note_word, &w);
        read_texts(&w, data);
    }
    if (w.st == RF_OK)
        w.st = rf_review_list_groups(&lists, group, n, groups, err);
    for (size_t k = 0; k < groups && w.st == RF_OK; k++) {
        w.st = name_group(&w, rf_groups_at(&lists, k), rf_groups_size(&lists, k), &mine,
                          names[k]);
        if (w.st == RF_OK)
            make_unique(&w, names, k);
    }
    rf_groups_release(&lists);
    rf_tokenizer_free(w.tokenizer);
    rf_labels_free(w.words);
    rf_buffer_release(&w.spots);
    rf_buffer_release(&w.everywhere);
    rf_buffer_release(&w.seen);
    rf_buffer_release(&mine);
    free(w.ends);
    return w.st;
}
