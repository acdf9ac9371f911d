/* source.c - file, standard input or memory, unpacked by libarchive */
#include "data/source.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHUNK ((size_t)64 << 10)

/* ---- Bytes for libarchive ---------------------------------------------------------- */

static la_ssize_t read_file(struct archive *a, void *user, const void **block)
{
    rf_source *s = user;
    ssize_t n;
    do
        n = read(s->fd, s->chunk, CHUNK);
    while (n < 0 && errno == EINTR);
    if (n < 0) {
        s->read_error = errno;
        archive_set_error(a, errno, "cannot read");
        return ARCHIVE_FATAL;
    }
    *block = s->chunk;
    return n;
}

static la_ssize_t read_memory(struct archive *a, void *user, const void **block)
{
    rf_source *s = user;
    size_t n = s->left < s->step ? s->left : s->step;
    (void)a;
    *block = s->bytes;
    s->bytes += n;
    s->left -= n;
    return (la_ssize_t)n;
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
    return rf_fail(err, RF_ERR_FORMAT, 0, "%s: cannot unpack: %s", s->name,
                   words ? words : "damaged or cut short");
}

/* ---- Opening ----------------------------------------------------------------------- */

static rf_status open_archive(rf_source *s, archive_read_callback *read_block,
                              rf_error *err)
{
    struct archive_entry *entry;
    rf_buffer_init(&s->window, SIZE_MAX / 4, s->name);
    s->archive = archive_read_new();
    if (!s->archive)
        return rf_fail_nomem(err, CHUNK, "reading");
    archive_read_support_filter_gzip(s->archive);
    archive_read_support_filter_zstd(s->archive);
    archive_read_support_format_raw(s->archive);
    archive_read_support_format_empty(s->archive);
    int rc = archive_read_open(s->archive, s, NULL, read_block, NULL);
    if (rc == ARCHIVE_OK)
        rc = archive_read_next_header(s->archive, &entry);
    s->at_end = rc == ARCHIVE_EOF;
    return rc == ARCHIVE_OK || rc == ARCHIVE_EOF ? RF_OK : fail_reading(s, err);
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
    rf_status st =
        s->chunk ? open_archive(s, read_file, err) : rf_fail_nomem(err, CHUNK, "reading");
    if (st != RF_OK)
        rf_source_close(s);
    return st;
}

rf_status rf_source_open_bytes(rf_source *s, const char *bytes, size_t len, size_t step,
                               const char *name, rf_error *err)
{
    *s = (rf_source){.name = name, .bytes = bytes, .left = len, .step = step};
    rf_status st = open_archive(s, read_memory, err);
    if (st != RF_OK)
        rf_source_close(s);
    return st;
}

void rf_source_close(rf_source *s)
{
    archive_read_free(s->archive); /* accepts NULL */
    rf_buffer_release(&s->window);
    free(s->chunk);
    if (s->opened)
        close(s->fd);
    *s = (rf_source){0};
}

/* ---- The window -------------------------------------------------------------------- */

rf_status rf_source_more(rf_source *s, rf_error *err)
{
    const void *block;
    size_t n;
    la_int64_t offset;
    if (s->at_end)
        return RF_OK;
    int rc = archive_read_data_block(s->archive, &block, &n, &offset);
    if (rc == ARCHIVE_EOF) {
        s->at_end = true;
        return RF_OK;
    }
    if (rc != ARCHIVE_OK)
        return fail_reading(s, err);
    if (s->start > 0) { /* the rest is the start of a line */
        memmove(s->window.data, s->window.data + s->start, s->window.len - s->start);
        s->window.len -= s->start;
        s->start = 0;
    }
    return rf_buffer_add(&s->window, block, n, err);
}

rf_status rf_source_want(rf_source *s, size_t n, rf_error *err)
{
    rf_status st = RF_OK;
    while (st == RF_OK && !s->at_end && s->window.len - s->start < n)
        st = rf_source_more(s, err);
    return st;
}

rf_status rf_source_begin(rf_source *s, rf_error *err)
{
    static const struct {
        size_t at;
        const char *bytes;
        const char *what;
    } others[] = {
        {0, "\xff\xfe", "UTF-16"},
        {0, "\xfe\xff", "UTF-16"},
        {0, "PK\x03\x04", "a zip archive or a spreadsheet"},
        {0, "\xfd\x37zXZ", "xz data"},
        {4, "1AY&SY", "bzip2 data"},
        {0, "\x1f\x8b", "broken gzip data"},
        {0, "\x28\xb5\x2f\xfd", "broken zstd data"},
    };
    size_t len;
    rf_status st = rf_source_want(s, 10, err);
    if (st != RF_OK)
        return st;
    const char *p = rf_source_data(s, &len);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        size_t at = others[i].at, n = strlen(others[i].bytes);
        if (len >= at + n && memcmp(p + at, others[i].bytes, n) == 0)
            return rf_fail(err, RF_ERR_FORMAT, 0,
                           "%s: this is %s, wanted UTF-8 text, plain or in gzip or zstd",
                           s->name, others[i].what);
    }
    if (len >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0)
        rf_source_take(s, 3);
    return RF_OK;
}
