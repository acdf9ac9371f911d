/*
 * unigram.h - the unigram model of SentencePiece: pieces with scores
 *
 * A word becomes the sequence of pieces with the highest sum of scores (Viterbi). A
 * character that no piece of its own covers counts as unknown, 10 below the lowest
 * score; neighbouring unknown characters are one unknown token, or, where the file asks
 * for it, one token for each of their bytes. Of two equal sums the path found first
 * stays, as in SentencePiece: the one whose last piece is longer. For the same reason
 * sums are in single precision and go on from word to word: where two paths have the same
 * pieces in another order, rounding decides.
 *
 * Words are divided before: the normaliser replaces characters (charmap.h), a space
 * becomes the character U+2581, and each of these begins a word.
 */
#ifndef RF_TEXT_UNIGRAM_H
#define RF_TEXT_UNIGRAM_H

#include "text/charmap.h"
#include "text/vocab.h"

#define RF_METASPACE "\xE2\x96\x81" /* U+2581 */
#define RF_METASPACE_LEN 3

/* Bytes of a piece that can be typed; the longest of XLM-R has 48. */
#define RF_UNIGRAM_PIECE 512

/* Bytes of a word that are kept. A longer one, a text of many pages without a space, is
 * divided where its best path so far has a boundary. */
#define RF_UNIGRAM_WORD ((size_t)32768)

/* Below this the sum starts again with the next word: a text of a hundred pages would
 * leave no digits for the differences that count. */
#define RF_UNIGRAM_LOWEST -131072.0f

typedef struct rf_unigram {
    rf_charmap charmap;
    bool collapse;    /* several spaces count as one */
    bool strip_left;  /* spaces before the text do not count */
    bool strip_right; /* nor those after it */
    bool split;       /* white space only separates: it becomes no piece */
    bool byte_fallback;
    int32_t bytes[256]; /* ids of "<0x00>" to "<0xFF>"; with byte_fallback */
    float *scores;      /* [size of the vocabulary]; -INFINITY: cannot be typed */
    float unknown;      /* score of an unknown character */
} rf_unigram;

void rf_unigram_free(rf_unigram *u); /* accepts NULL */

/* A place between two characters of a word: the best path that ends there. */
typedef struct rf_unigram_node {
    float score;
    uint32_t start; /* of its last piece */
    int32_t id;     /* of that piece */
    uint32_t next;  /* the end of the piece that follows; set when a path is chosen */
} rf_unigram_node;

/* The best path over a word of `len` bytes: nodes is [len + 1], and `before` is the sum
 * of the text before it. Afterwards the pieces are: at = 0; while at < len: at =
 * nodes[at].next, with id nodes[at].id. */
void rf_unigram_path(const rf_vocab *v, const char *word, size_t len, float before,
                     rf_unigram_node *nodes);

/* From the parsed tokenizer.json; NULL on failure. */
rf_vocab *rf_unigram_read(void *root, const char *name, rf_error *err);

#endif
