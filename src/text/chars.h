/*
 * chars.h - what BERT's basic tokenizer does with a code point
 *
 * The rules of the original implementation, one code point at a time (docs/MODEL.md,
 * "Text"), on utf8proc's Unicode data.
 */
#ifndef RF_TEXT_CHARS_H
#define RF_TEXT_CHARS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum rf_char_kind {
    RF_CHAR_WORD,  /* part of a word */
    RF_CHAR_SPACE, /* ends a word */
    RF_CHAR_DROP,  /* control, format, private, unassigned: ignored */
    RF_CHAR_CJK,   /* an ideograph: a word of its own */
} rf_char_kind;

rf_char_kind rf_char_kind_of(int32_t cp);

/* Ends a word and is a word of its own. To be called after folding. */
bool rf_char_is_punctuation(int32_t cp);

typedef struct rf_fold_flags {
    bool lowercase;
    bool strip_accents;
} rf_fold_flags;

typedef struct rf_folded {
    int32_t cp;
    uint8_t ccc; /* canonical combining class, 0 for a starter */
    bool drop;   /* an accent that is stripped; its class still matters for order */
} rf_folded;

#define RF_FOLD_MAX 8 /* the longest decomposition in Unicode 15 has 4 */

/* Lower-case, decompose and mark accents, as the flags say; returns the number of code
 * points written. Without strip_accents nothing is decomposed, and order does not matter:
 * the text is taken as it is. */
size_t rf_char_fold(int32_t cp, rf_fold_flags flags, rf_folded out[RF_FOLD_MAX]);

#endif
