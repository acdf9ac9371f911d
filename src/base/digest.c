#include "base/digest.h"

#include "base/file.h"

#include <nettle/sha2.h>
#include <stdio.h>

rf_status rf_sha256_file(const char *path, char hex[RF_SHA256_HEX], rf_error *err)
{
    rf_map map;
    rf_status st = rf_map_open(&map, path, err);
    if (st != RF_OK)
        return st;
    struct sha256_ctx ctx;
    uint8_t digest[SHA256_DIGEST_SIZE];
    sha256_init(&ctx);
    sha256_update(&ctx, map.len, map.data);
    sha256_digest(&ctx, sizeof digest, digest);
    for (size_t i = 0; i < sizeof digest; i++)
        snprintf(hex + 2 * i, 3, "%02x", digest[i]);
    rf_map_close(&map);
    return RF_OK;
}
