/* digest.h - sha256 of a file */
#ifndef RF_BASE_DIGEST_H
#define RF_BASE_DIGEST_H

#include "base/error.h"

#define RF_SHA256_HEX 65 /* 64 digits and a NUL */

/* The sha256 of a file in lower-case hexadecimal. */
rf_status rf_sha256_file(const char *path, char hex[RF_SHA256_HEX], rf_error *err);

#endif
