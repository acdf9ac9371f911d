/* assets.c - the Content-Security-Policy of the built-in page */
#include "assets.h"

#include "base/digest.h"

#include <assert.h>
#include <nettle/base64.h>
#include <stdio.h>
#include <string.h>

/* The offset of a word in the page; the size of the page if there is none. */
static size_t find_in_page(const char *word, size_t from)
{
    size_t len = strlen(word);
    for (size_t i = from; i + len <= asset_page_size; i++)
        if (memcmp(asset_page + i, word, len) == 0)
            return i;
    return asset_page_size;
}

/* The sha256 of the bytes between two tags, in base 64. */
static void hash_between(const char *open, const char *close,
                         char out[BASE64_ENCODE_RAW_LENGTH(RF_SHA256_SIZE) + 1])
{
    unsigned char digest[RF_SHA256_SIZE];
    rf_sha256 h;
    size_t from = find_in_page(open, 0);
    from = from < asset_page_size ? from + strlen(open) : from;
    rf_sha256_init(&h);
    rf_sha256_add(&h, asset_page + from, find_in_page(close, from) - from);
    rf_sha256_end(&h, digest);
    base64_encode_raw(out, sizeof digest, digest);
    out[BASE64_ENCODE_RAW_LENGTH(RF_SHA256_SIZE)] = '\0';
}

void assets_policy(char *out, size_t cap)
{
    char script[BASE64_ENCODE_RAW_LENGTH(RF_SHA256_SIZE) + 1], style[sizeof script];
    hash_between("<script>", "</script>", script);
    hash_between("<style>", "</style>", style);
    int n = snprintf(
        out, cap,
        "default-src 'none'; script-src 'sha256-%s'; style-src 'sha256-%s'; "
        "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'",
        script, style);
    assert(n > 0 && (size_t)n < cap); /* a cut policy would allow more */
    (void)n;
}
