/* tokens.c - read the token file, and check the token of a request */
#include "tokens.h"

#include "base/file.h"
#include "log.h"

#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#define MIN_TOKEN 16 /* characters: shorter ones can be guessed */
#define MAX_FILE 65536

static void digest(const char *token, size_t len, unsigned char out[RF_SHA256_SIZE])
{
    rf_sha256 h;
    rf_sha256_init(&h);
    rf_sha256_add(&h, token, len);
    rf_sha256_end(&h, out);
}

static rf_status add_line(tokens *t, const char *line, size_t len, const char *path,
                          size_t number, rf_error *err)
{
    while (len > 0 && strchr(" \t\r", line[len - 1]))
        len--;
    if (len == 0 || *line == '#')
        return RF_OK;
    for (size_t i = 0; i < len; i++)
        if (line[i] <= ' ' || line[i] > '~')
            return rf_fail(err, RF_ERR_FORMAT, number,
                           "%s: line %zu: a token may hold only visible ASCII characters",
                           path, number);
    if (len < MIN_TOKEN)
        return rf_fail(
            err, RF_ERR_FORMAT, number,
            "%s: line %zu: found a token of %zu characters, wanted at least %d "
            "(openssl rand -hex 32 makes a good one)",
            path, number, len, MIN_TOKEN);
    if (t->n == TOKENS_MAX)
        return rf_fail(err, RF_ERR_LIMIT, number, "%s: more than %d tokens", path,
                       TOKENS_MAX);
    digest(line, len, t->digests[t->n++]);
    return RF_OK;
}

/* Who can write the file can let anybody in. */
static rf_status check_mode(const char *path, rf_error *err)
{
    struct stat s;
    if (stat(path, &s) != 0)
        return rf_fail_errno(err, "%s: cannot stat", path);
    if (s.st_mode & S_IWOTH)
        return rf_fail(
            err, RF_ERR_ARG, 0,
            "%s: everybody may write to it (mode %03o), wanted a file that only "
            "its owner can change (chmod 600)",
            path, (unsigned)s.st_mode & 0777u);
    if (s.st_mode & S_IROTH)
        log_line("%s: everybody on this machine can read the tokens (mode %03o)", path,
                 (unsigned)s.st_mode & 0777u);
    return RF_OK;
}

rf_status tokens_read(tokens *t, const char *path, rf_error *err)
{
    rf_buffer b;
    rf_buffer_init(&b, MAX_FILE, path);
    rf_status st = rf_file_read(path, &b, err);
    size_t number = 1;
    for (size_t at = 0, end; st == RF_OK && at < b.len; at = end + 1, number++) {
        const char *lf = memchr(b.data + at, '\n', b.len - at);
        end = lf ? (size_t)(lf - b.data) : b.len;
        st = add_line(t, b.data + at, end - at, path, number, err);
    }
    if (b.data)
        memset(b.data, 0, b.len);
    rf_buffer_release(&b);
    if (st == RF_OK && t->n == 0)
        st = rf_fail(err, RF_ERR_FORMAT, 0, "%s: found no token, wanted one per line",
                     path);
    return st == RF_OK ? check_mode(path, err) : st;
}

size_t tokens_find(const tokens *t, const char *authorization)
{
    unsigned char got[RF_SHA256_SIZE];
    size_t found = 0;
    if (!authorization || strncasecmp(authorization, "Bearer ", 7) != 0)
        return 0;
    const char *token = authorization + 7 + strspn(authorization + 7, " ");
    size_t len = strlen(token);
    while (len > 0 && token[len - 1] == ' ')
        len--;
    digest(token, len, got);
    for (size_t i = 0; i < t->n; i++) {
        unsigned differs = 0;
        for (size_t k = 0; k < RF_SHA256_SIZE; k++)
            differs |= (unsigned)(got[k] ^ t->digests[i][k]);
        found += (size_t)(differs == 0) * (size_t)(found == 0) * (i + 1);
    }
    return found;
}

bool tokens_allow(const tokens *t, const char *authorization)
{
    return t->n == 0 || tokens_find(t, authorization) != 0;
}
