/* shingles.c - pieces of texts by their hashes */
#include "check/shingles.h"

#include "check/fold.h"
#include "data/hash.h"

#include <stdlib.h>

void rf_shingles_list(rf_shingles *s, const char *text, size_t len)
{
    size_t n = rf_fold_text(text, len, true, s->folded, RF_SHINGLES_MAX);
    size_t size = n < RF_SHINGLE ? n : RF_SHINGLE;
    s->n = n < RF_SHINGLE ? n > 0 : n - RF_SHINGLE + 1;
    for (size_t i = 0; i < s->n; i++)
        s->hash[i] = rf_hash_bytes((const char *)(s->folded + i), size * sizeof(int32_t));
}

static int by_hash(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

void rf_shingles_of(rf_shingles *s, const char *text, size_t len)
{
    rf_shingles_list(s, text, len);
    size_t all = s->n;
    qsort(s->hash, all, sizeof *s->hash, by_hash);
    s->n = 0;
    for (size_t i = 0; i < all; i++)
        if (i == 0 || s->hash[i] != s->hash[i - 1])
            s->hash[s->n++] = s->hash[i];
}

double rf_shingles_similarity(const rf_shingles *a, const rf_shingles *b)
{
    size_t i = 0, j = 0, both = 0;
    while (i < a->n && j < b->n) {
        uint64_t x = a->hash[i], y = b->hash[j];
        both += x == y;
        i += x <= y;
        j += y <= x;
    }
    size_t all = a->n + b->n - both;
    return all ? (double)both / (double)all : 0.0;
}
