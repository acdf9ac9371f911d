/*
 * shingles.h - a text as the set of its pieces of four characters
 *
 * Case, spacing and punctuation do not count. The similarity of two texts is the share of
 * their pieces that both have (Jaccard). One wrong letter in a text of 40 characters
 * leaves 0.8.
 */
#ifndef RF_CHECK_SHINGLES_H
#define RF_CHECK_SHINGLES_H

#include <stddef.h>
#include <stdint.h>

#define RF_SHINGLE 4
#define RF_SHINGLES_MAX 4096 /* characters of a text that count */

typedef struct rf_shingles {
    size_t n;
    uint64_t hash[RF_SHINGLES_MAX]; /* of each piece, sorted, no two equal */
    int32_t folded[RF_SHINGLES_MAX];
} rf_shingles;

/* A text of one to three characters is one piece; one of none has none. */
void rf_shingles_of(rf_shingles *s, const char *text, size_t len);

/* The same, neither sorted nor unique. */
void rf_shingles_list(rf_shingles *s, const char *text, size_t len);

/* 0 to 1; 0 if both are empty. */
double rf_shingles_similarity(const rf_shingles *a, const rf_shingles *b);

#endif
