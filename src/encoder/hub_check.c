/* hub_check.c - size, sha256 and git id of what was fetched */
#include "encoder/hub_check.h"

#include "base/file.h"

#include <nettle/sha1.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

rf_status rf_hub_git_id(const char *path, char hex[RF_HUB_COMMIT], rf_error *err)
{
    rf_mapping file;
    struct sha1_ctx sha1;
    char head[40];
    uint8_t digest[SHA1_DIGEST_SIZE];
    rf_status st = rf_mapping_open(&file, path, err);
    if (st != RF_OK)
        return st;
    int n = snprintf(head, sizeof head, "blob %zu", file.len);
    sha1_init(&sha1);
    sha1_update(&sha1, (size_t)n + 1, (const uint8_t *)head);
    sha1_update(&sha1, file.len, file.data);
    sha1_digest(&sha1, sizeof digest, digest);
    for (size_t i = 0; i < sizeof digest; i++)
        snprintf(hex + 2 * i, 3, "%02x", digest[i]);
    rf_mapping_close(&file);
    return RF_OK;
}

rf_status rf_hub_check_file(const char *path, const rf_hub_entry *want, const char *name,
                            rf_error *err)
{
    char hex[RF_SHA256_HEX] = "";
    const char *what = want->sha256[0] ? "sha256" : "git id";
    const char *promised = want->sha256[0] ? want->sha256 : want->git;
    struct stat s;
    rf_status st = RF_OK;
    if (stat(path, &s) != 0)
        return rf_fail_errno(err, "%s: cannot stat", path);
    if (want->size >= 0 && s.st_size != want->size)
        return rf_fail(err, RF_ERR_FORMAT, 0, "%s: got %lld bytes, the hub promised %lld",
                       name, (long long)s.st_size, (long long)want->size);
    if (want->sha256[0])
        st = rf_sha256_file(path, hex, err);
    else if (want->git[0])
        st = rf_hub_git_id(path, hex, err);
    if (st == RF_OK && strcmp(hex, promised) != 0)
        st = rf_fail(err, RF_ERR_FORMAT, 0,
                     "%s: %s is %s, the hub promised %s; get it again", name, what, hex,
                     promised);
    return st;
}
