/*
 * utf8.h - UTF-8 a byte at a time, so that a text can come in pieces of any size
 *
 * Ill-formed input: each maximal ill-formed part (Unicode 15, section 3.9, table 3-8)
 * counts as one U+FFFD, as in Python and in browsers. That covers overlong forms,
 * surrogates, values past U+10FFFF, lone continuation bytes and cut-off sequences.
 */
#ifndef RF_TEXT_UTF8_H
#define RF_TEXT_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RF_REPLACEMENT 0xFFFD

/* A zeroed struct is at the start of a character. */
typedef struct rf_utf8 {
    int32_t cp;   /* bits so far */
    uint8_t need; /* continuation bytes still missing */
    uint8_t lo;   /* the next one must be in lo..hi */
    uint8_t hi;
} rf_utf8;

/* Pushes one byte; writes the 0, 1 or 2 code points that it completes and returns their
 * number. (Two: a byte that breaks a sequence ends it, and may be a character itself.) */
size_t rf_utf8_push(rf_utf8 *u, unsigned char byte, int32_t out[2]);

/* End of text: true if a sequence was cut off, which counts as one U+FFFD. Resets u. */
bool rf_utf8_end(rf_utf8 *u);

/* Writes cp (a scalar value) as UTF-8; returns 1 to 4. */
size_t rf_utf8_write(char out[4], int32_t cp);

#endif
