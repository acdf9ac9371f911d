/*
 * tokens.h - who may ask: bearer tokens
 *
 * Only digests are kept. The token of a request is digested and compared with every one
 * of them, byte by byte to the end: the time tells neither length nor content.
 */
#ifndef RF_SERVE_TOKENS_H
#define RF_SERVE_TOKENS_H

#include "base/digest.h"

#define TOKENS_MAX 64

typedef struct tokens {
    size_t n; /* 0: everybody may ask */
    unsigned char digests[TOKENS_MAX][RF_SHA256_SIZE];
} tokens;

/* One token per line; empty lines and lines that begin with # do not count. */
rf_status tokens_read(tokens *t, const char *path, rf_error *err);

/* The value of a header "Authorization"; may be NULL. */
bool tokens_allow(const tokens *t, const char *authorization);

#endif
