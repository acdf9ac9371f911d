/*
 * spelling.h - read a misspelt word as a word of the training texts
 *
 * "wher is my parcl" falls apart into pieces that mean nothing to an encoder. A model
 * knows the words of its training texts, and a word that neither they nor the vocabulary
 * have is read as the one of them that is a slip away: a missing, doubled, wrong or
 * swapped letter. "myparcel" is read as two words. Everything else stays as it is; in
 * particular the training texts themselves do.
 *
 * The rule is strict, because a word that is merely new must not be mistaken for a known
 * one (docs/MODEL.md, "Spelling", has what was measured):
 *   - letters only, 4 or more, the first one right;
 *   - a word of 4 letters may lack one or have two swapped: "todo" is not "too";
 *   - a plural is not a slip;
 *   - two words: of 2 letters or more, each in the training texts at least twice.
 * Of several candidates the most frequent one is taken, then the first in order.
 */
#ifndef RF_TEXT_SPELLING_H
#define RF_TEXT_SPELLING_H

#include "base/error.h"
#include "ringfence_encoder.h"

typedef struct rf_spelling rf_spelling;

/* The words of some texts, as the tokenizer separates and folds them, and those of
 * `before`, which may be NULL. At most RF_SPELLING_WORDS of them, the most frequent ones.
 */
#define RF_SPELLING_WORDS 50000
rf_spelling *rf_spelling_learn(const rf_vocab *vocab, const rf_spelling *before,
                               const char *const *texts, const size_t *lens, size_t n,
                               rf_error *err);

/* From n words as rf_spelling_words gives them: NUL-terminated, one after another, in
 * ascending order, with how often each occurred. RF_ERR_FORMAT if they are not. */
rf_spelling *rf_spelling_new(const char *words, size_t bytes, const int32_t *counts,
                             size_t n, rf_error *err);
void rf_spelling_free(rf_spelling *s); /* accepts NULL */

/* They live as long as s. */
const char *rf_spelling_words(const rf_spelling *s, size_t *bytes);
const int32_t *rf_spelling_counts(const rf_spelling *s, size_t *n);

/* How to read a word that the vocabulary lacks: as `n` words, 1 or 2; 0: as it is. */
typedef struct rf_reading {
    size_t n;
    const char *word[2]; /* NUL-terminated; live as long as s */
} rf_reading;
rf_reading rf_spelling_read(const rf_spelling *s, const int32_t *chars, size_t n);

#endif
