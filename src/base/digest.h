/* digest.h - sha256 of memory, of a stream, of a file */
#ifndef RF_BASE_DIGEST_H
#define RF_BASE_DIGEST_H

#include "base/error.h"

#include <nettle/sha2.h>

#define RF_SHA256_SIZE 32
#define RF_SHA256_HEX 65 /* 64 digits and a NUL */

/* Incremental: init, add any number of times, end. */
typedef struct rf_sha256 {
    struct sha256_ctx state;
} rf_sha256;

void rf_sha256_init(rf_sha256 *h);
void rf_sha256_add(rf_sha256 *h, const void *bytes, size_t len);
void rf_sha256_end(rf_sha256 *h, unsigned char digest[RF_SHA256_SIZE]);

/* A digest in lower-case hexadecimal. */
void rf_sha256_text(char hex[RF_SHA256_HEX], const unsigned char digest[RF_SHA256_SIZE]);

/* All at once, in lower-case hexadecimal. */
void rf_sha256_bytes(const void *bytes, size_t len, char hex[RF_SHA256_HEX]);
rf_status rf_sha256_file(const char *path, char hex[RF_SHA256_HEX], rf_error *err);

#endif
