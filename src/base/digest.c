/* digest.c - sha256, by nettle */
#include "base/digest.h"

#include "base/file.h"

void rf_sha256_init(rf_sha256 *h)
{
    sha256_init(&h->state);
}

void rf_sha256_add(rf_sha256 *h, const void *bytes, size_t len)
{
    if (len > 0)
        sha256_update(&h->state, len, bytes);
}

void rf_sha256_end(rf_sha256 *h, unsigned char digest[RF_SHA256_SIZE])
{
    sha256_digest(&h->state, RF_SHA256_SIZE, digest);
}

void rf_sha256_text(char hex[RF_SHA256_HEX], const unsigned char digest[RF_SHA256_SIZE])
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < RF_SHA256_SIZE; i++) {
        hex[2 * i] = digits[digest[i] >> 4];
        hex[2 * i + 1] = digits[digest[i] & 15];
    }
    hex[2 * RF_SHA256_SIZE] = '\0';
}

void rf_sha256_bytes(const void *bytes, size_t len, char hex[RF_SHA256_HEX])
{
    rf_sha256 h;
    unsigned char digest[RF_SHA256_SIZE];
    rf_sha256_init(&h);
    rf_sha256_add(&h, bytes, len);
    rf_sha256_end(&h, digest);
    rf_sha256_text(hex, digest);
}

rf_status rf_sha256_file(const char *path, char hex[RF_SHA256_HEX], rf_error *err)
{
    rf_mapping mapping;
    rf_status st = rf_mapping_open(&mapping, path, err);
    if (st != RF_OK)
        return st;
    rf_sha256_bytes(mapping.data, mapping.len, hex);
    rf_mapping_close(&mapping);
    return RF_OK;
}
