/* source.c - file, standard input or memory; packed bytes are unpacked by libarchive */
#include "data/source.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHUNK ((size_t)64 << 10)
#define MAGIC 4   /* bytes that tell how a file is packed */
#define LOOK 1024 /* bytes that tell whether it is text */

/* ---- Bytes as they are in the file ------------------------------------------------- */

/* The next block; 0 at the end, -1 with errno in read_error. */
static ssize_t read_block(rf_source *s, const char **block)
{
    ssize_t n;
    if (!s->chunk) {
        size_t some = s->left < s->step ? s->left : s->step;
        *block = s->bytes;
        s->bytes += some;
        s->left -= some;
        s->packed += some;
        return (ssize_t)some;
    }
    *block = s->chunk;
    if (s->ahead > 0) {
        n = (ssize_t)s->ahead;
        s->ahead = 0;
        return n;
    }
    do
        n = read(s->fd, s->chunk, CHUNK);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        s->read_error = errno;
    else
        s->packed += (size_t)n;
    return n;
}

static la_ssize_t feed_archive(struct archive *a, void *user, const void **block)
{
    const char *bytes = NULL;
    rf_source *s = user;
    ssize_t n = read_block(s, &bytes);
    *block = bytes;
    if (n >= 0)
        return n;
    archive_set_error(a, s->read_error, "cannot read");
    return ARCHIVE_FATAL;
}

static rf_status fail_reading(const rf_source *s, rf_error *err)
{
    if (s->read_error) {
        errno = s->read_error;
        return rf_fail_errno(err, "%s: cannot read", s->name);
    }
    if (archive_errno(s->archive) == ENOMEM)
        return rf_fail_nomem(err, CHUNK, "unpacking");
    const char *words = archive_error_string(s->archive);
    return rf_fail(err, RF_ERR_FORMAT, 0, "%s: cannot unpack the %s data: %s", s->name,
                   s->packing, words ? words : "it is empty or truncated");
}

/* ---- Opening ----------------------------------------------------------------------- */

static rf_status open_archive(rf_source *s, rf_error *err)
{
    struct archive_entry *entry;
    s->archive = archive_read_new();
    if (!s->archive)
        return rf_fail_nomem(err, CHUNK, "reading");
    archive_read_support_filter_gzip(s->archive);
    archive_read_support_filter_zstd(s->archive);
    archive_read_support_format_raw(s->archive);
    archive_read_support_format_empty(s->archive);
    int rc = archive_read_open(s->archive, s, NULL, feed_archive, NULL);
    if (rc == ARCHIVE_OK && archive_filter_count(s->archive) > 2) /* with the file */
        return rf_fail(err, RF_ERR_FORMAT, 0,
                       "%s: packed data inside the %s data, wanted one layer", s->name,
                       s->packing);
    if (rc == ARCHIVE_OK)
        rc = archive_read_next_header(s->archive, &entry);
    return rc == ARCHIVE_OK ? RF_OK : fail_reading(s, err);
}

static rf_status open_packed(rf_source *s, const char *first, size_t n, rf_error *err)
{
    rf_buffer_init(&s->window, SIZE_MAX / 4, s->name);
    s->limit = RF_MAX_UNPACKED;
    s->packing = n >= 2 && memcmp(first, "\x1f\x8b", 2) == 0           ? "gzip"
                 : n >= 4 && memcmp(first, "\x28\xb5\x2f\xfd", 4) == 0 ? "zstd"
                                                                       : NULL;
    return s->packing ? open_archive(s, err) : RF_OK;
}

/* Reads ahead until the bytes tell how the file is packed. */
static rf_status look_ahead(rf_source *s, rf_error *err)
{
    while (s->ahead < MAGIC) {
        ssize_t n = read(s->fd, s->chunk + s->ahead, CHUNK - s->ahead);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return rf_fail_errno(err, "%s: cannot read", s->name);
        if (n == 0)
            break;
        s->ahead += (size_t)n;
        s->packed += (size_t)n;
    }
    return open_packed(s, s->chunk, s->ahead, err);
}

rf_status rf_source_open(rf_source *s, const char *path, rf_error *err)
{
    bool is_stdin = !path || strcmp(path, "-") == 0;
    *s = (rf_source){.name = is_stdin ? "standard input" : path};
    s->fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (s->fd < 0)
        return rf_fail_errno(err, "%s: cannot open", s->name);
    s->opened = !is_stdin;
    s->chunk = malloc(CHUNK);
    rf_status st = s->chunk ? look_ahead(s, err) : rf_fail_nomem(err, CHUNK, "reading");
    if (st != RF_OK)
        rf_source_close(s);
    return st;
}

rf_status rf_source_open_bytes(rf_source *s, const char *bytes, size_t len, size_t step,
                               const char *name, rf_error *err)
{
    *s = (rf_source){.name = name, .bytes = bytes, .left = len, .step = step};
    rf_status st = open_packed(s, bytes, len, err);
    if (st != RF_OK)
        rf_source_close(s);
    return st;
}

void rf_source_open_member(rf_source *s, struct archive *archive, const char *name)
{
    *s = (rf_source){.name = name,
                     .archive = archive,
                     .packing = "zip",
                     .borrowed = true,
                     .limit = RF_MAX_UNPACKED};
    rf_buffer_init(&s->window, SIZE_MAX / 4, name);
}

void rf_source_close(rf_source *s)
{
    if (!s->borrowed)
        archive_read_free(s->archive); /* accepts NULL */
    rf_buffer_release(&s->window);
    rf_encoding_close(&s->encoding);
    free(s->chunk);
    if (s->opened)
        close(s->fd);
    *s = (rf_source){0};
}

rf_status rf_source_set(rf_source *s, const char *encoding, size_t limit, rf_error *err)
{
    s->limit = limit ? limit : RF_MAX_UNPACKED;
    rf_encoding_close(&s->encoding);
    return rf_encoding_open(&s->encoding, encoding, err);
}

/* ---- The window -------------------------------------------------------------------- */

/* libarchive ignores what follows the last gzip member. */
static rf_status check_all_used(rf_source *s, rf_error *err)
{
    const char *block;
    ssize_t more = read_block(s, &block);
    if (more < 0)
        return fail_reading(s, err);
    size_t used = (size_t)archive_filter_bytes(s->archive, -1);
    if (used == s->packed)
        return RF_OK;
    return rf_fail(err, RF_ERR_FORMAT, used,
                   "%s: the %s data ends at byte %zu, but the file goes on; wanted "
                   "nothing after it",
                   s->name, s->packing, used);
}

/* The next block as text; *n is 0 at the end. */
static rf_status next_block(rf_source *s, const char **block, size_t *n, rf_error *err)
{
    const void *unpacked;
    la_int64_t offset;
    *n = 0;
    if (!s->archive) {
        ssize_t some = read_block(s, block);
        *n = some > 0 ? (size_t)some : 0;
        return some < 0 ? fail_reading(s, err) : RF_OK;
    }
    int rc;
    do
        rc = archive_read_data_block(s->archive, &unpacked, n, &offset);
    while (rc == ARCHIVE_OK && *n == 0);
    *block = unpacked;
    if (rc == ARCHIVE_EOF) {
        *n = 0;
        return s->borrowed ? RF_OK : check_all_used(s, err);
    }
    if (rc != ARCHIVE_OK)
        return fail_reading(s, err);
    s->unpacked += *n;
    if (s->unpacked > s->limit)
        return rf_fail(err, RF_ERR_LIMIT, 0,
                       "%s: the %s data unpacks to more than %zu bytes; --max-unpacked "
                       "sets another limit",
                       s->name, s->packing, s->limit);
    return RF_OK;
}

rf_status rf_source_more(rf_source *s, rf_error *err)
{
    const char *block = NULL;
    size_t n;
    if (s->at_end)
        return RF_OK;
    rf_status st = next_block(s, &block, &n, err);
    if (st != RF_OK)
        return st;
    if (n == 0) {
        s->at_end = true;
        return rf_encoding_end(&s->encoding, s->name, err);
    }
    if (s->start > 0) { /* the rest is the start of a line */
        memmove(s->window.data, s->window.data + s->start, s->window.len - s->start);
        s->window.len -= s->start;
        s->start = 0;
    }
    return rf_encoding_add(&s->encoding, block, n, &s->window, s->name, err);
}

rf_status rf_source_want(rf_source *s, size_t n, rf_error *err)
{
    rf_status st = RF_OK;
    while (st == RF_OK && !s->at_end && s->window.len - s->start < n)
        st = rf_source_more(s, err);
    return st;
}

rf_status rf_source_rest(rf_source *s, rf_error *err)
{
    rf_status st = RF_OK;
    while (st == RF_OK && !s->at_end) {
        st = rf_source_more(s, err);
        if (st == RF_OK && s->window.len - s->start > s->limit)
            st = rf_fail(err, RF_ERR_LIMIT, 0,
                         "%s: more than %zu bytes, too many for a format that is read as "
                         "a whole; --max-unpacked sets another limit",
                         s->name, s->limit);
    }
    return st;
}

/* ---- What is not text -------------------------------------------------------------- */

/* safetensors: the length of a header, eight bytes, and the header, an object */
static bool is_model(const char *p, size_t len)
{
    return len >= 10 && p[8] == '{' && p[9] == '"' && p[5] == 0 && p[6] == 0 && p[7] == 0;
}

/* What the bytes are, if they are not text; NULL if they may be. */
static const char *other_thing(const char *p, size_t len)
{
    static const struct {
        size_t at;
        const char *bytes;
        const char *what;
    } others[] = {
        {0, "PK\x03\x04", "a zip archive or a spreadsheet"},
        {0, "\xfd\x37zXZ", "xz data"},
        {4, "1AY&SY", "bzip2 data"},
        {0, "\x1f\x8b", "gzip data inside packed data"},
        {0, "\x28\xb5\x2f\xfd", "zstd data inside packed data"},
        {0, "SQLite format 3", "an SQLite database"},
        {0, "PAR1", "a Parquet file"},
        {0, "%PDF-", "a PDF document"},
    };
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        size_t at = others[i].at, n = strlen(others[i].bytes);
        if (len >= at + n && memcmp(p + at, others[i].bytes, n) == 0)
            return others[i].what;
    }
    return NULL;
}

static rf_status refuse_others(const rf_source *s, const char *p, size_t len,
                               rf_error *err)
{
    bool marked =
        len >= 2 && (memcmp(p, "\xff\xfe", 2) == 0 || memcmp(p, "\xfe\xff", 2) == 0);
    const char *wide = marked ? "utf-16" : rf_encoding_wide(p, len < LOOK ? len : LOOK);
    const char *what = other_thing(p, len);
    if (is_model(p, len))
        return rf_fail(err, RF_ERR_FORMAT, 0,
                       "%s: this is a model or another safetensors file, wanted texts",
                       s->name);
    if (wide && !s->encoding.on)
        return rf_fail(err, RF_ERR_FORMAT, 0,
                       "%s: this is UTF-16, wanted UTF-8 text; --encoding %s converts it",
                       s->name, wide);
    if (what)
        return rf_fail(err, RF_ERR_FORMAT, 0,
                       "%s: this is %s, wanted UTF-8 text, plain or in gzip or zstd",
                       s->name, what);
    return RF_OK;
}

rf_status rf_source_begin(rf_source *s, rf_error *err)
{
    size_t len;
    rf_status st = rf_source_want(s, LOOK, err);
    if (st != RF_OK)
        return st;
    const char *p = rf_source_data(s, &len);
    st = len ? refuse_others(s, p, len, err) : RF_OK;
    if (st == RF_OK && len >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0)
        rf_source_take(s, 3);
    return st;
}
