/*
 * charmap.h - the normaliser of SentencePiece: a compiled table of replacements
 *
 *   [4 bytes: n, little-endian] [n bytes: trie] [replacements, each ended by a NUL]
 *
 * The trie is a double array of 32-bit units (darts-clone). From the root, byte c leads
 * from the node whose children begin at b to unit b ^ c, if that has label c:
 *
 *   bits 0-7 and 31: label    bit 8: a key ends here; its value is in the unit at the
 *   bit 9: offset counts in   start of the children    bits 10-30: offset, to be
 *   units of 256              exclusive-ored with the place of this unit
 *
 * The value is where the replacement begins. At each place of a text the longest key
 * counts; a character without a key stays. Tables are made by sentencepiece's trainer,
 * but they come in files: every step is checked.
 */
#ifndef RF_TEXT_CHARMAP_H
#define RF_TEXT_CHARMAP_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes that a key may have; the longest of the published tables has 18. */
#define RF_CHARMAP_KEY 64
/* Bytes of a replacement; the longest known one has 36. */
#define RF_CHARMAP_REPLACEMENT 1024

typedef struct rf_charmap {
    uint32_t *units; /* NULL: nothing is replaced */
    size_t n_units;
    char *text; /* replacements; the last byte is a NUL */
    size_t text_len;
} rf_charmap;

/* From its base64 text, as tokenizer.json has it. Empty text gives an empty map. */
rf_status rf_charmap_init(rf_charmap *map, const char *base64, size_t len,
                          const char *name, rf_error *err);
void rf_charmap_release(rf_charmap *map); /* accepts a zeroed struct */

/* The longest key that `text` begins with: its length, 0 if there is none, and its
 * replacement, which lives as long as the map. */
size_t rf_charmap_match(const rf_charmap *map, const char *text, size_t len,
                        const char **replacement, size_t *replacement_len);

#endif
