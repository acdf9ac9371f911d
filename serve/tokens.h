/*
 * tokens.h - bearer tokens: who may use the service
 *
 * Only digests are kept. The token of a request is digested and compared with all of them
 * in constant time, which reveals neither length nor content.
 */
#ifndef RF_SERVE_TOKENS_H
#define RF_SERVE_TOKENS_H

#include "base/digest.h"

#define TOKENS_MAX 64

typedef struct tokens {
    size_t n; /* 0: no token is required */
    unsigned char digests[TOKENS_MAX][RF_SHA256_SIZE];
} tokens;

/* One token per line; empty lines and lines that start with # are skipped. */
rf_status tokens_read(tokens *t, const char *path, rf_error *err);

/* Which token it is, from 1; 0: none of them. authorization: the value of that header,
 * may be NULL. */
size_t tokens_find(const tokens *t, const char *authorization);

/* Always, if no token is required. */
bool tokens_allow(const tokens *t, const char *authorization);

#endif
