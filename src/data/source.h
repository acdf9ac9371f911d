/*
 * source.h - the bytes of a file or of standard input, unpacked, through a window
 *
 *   while (no complete record in the window and !s->at_end)
 *       rf_source_more(&s, err);
 *   rf_source_take(&s, length of the record);
 *
 * gzip and zstd are recognised by their first bytes and unpacked: one layer, up to a
 * stated size, and every byte of the file must belong to it. The window holds what was
 * not taken yet; memory does not depend on the length of the file, unless all of it is
 * asked for (rf_source_rest).
 */
#ifndef RF_DATA_SOURCE_H
#define RF_DATA_SOURCE_H

#include "base/buffer.h"
#include "data/encoding.h"

#define RF_MAX_UNPACKED ((size_t)1 << 30) /* bytes, unless the options say more */

struct archive;

typedef struct rf_source {
    const char *name; /* for messages; borrowed */
    rf_buffer window; /* bytes from start to len are available */
    size_t start;
    bool at_end; /* nothing follows the window */

    struct archive *archive; /* NULL: the bytes are taken as they are */
    const char *packing;     /* "gzip", "zstd", "zip", or NULL */
    bool borrowed;           /* the archive is somebody else's */
    int fd;
    bool opened;       /* fd is ours to close */
    char *chunk;       /* one read from fd */
    size_t ahead;      /* bytes of the first chunk, read to see how it is packed */
    int read_error;    /* errno of a failed read */
    const char *bytes; /* memory: what is left of it */
    size_t left, step;
    size_t packed, unpacked; /* bytes so far */
    size_t limit;            /* of unpacked */
    rf_encoding encoding;
} rf_source;

/* path NULL or "-" is standard input. */
rf_status rf_source_open(rf_source *s, const char *path, rf_error *err);

/* From memory, `step` bytes at a time, like a slow pipe. Borrows bytes. */
rf_status rf_source_open_bytes(rf_source *s, const char *bytes, size_t len, size_t step,
                               const char *name, rf_error *err);

/* The member of an archive at which it stands; borrows both. */
void rf_source_open_member(rf_source *s, struct archive *archive, const char *name);

void rf_source_close(rf_source *s); /* accepts a zeroed struct, twice is harmless */

/* To be called before anything is read: the bytes are in this encoding (NULL: UTF-8), and
 * may be that many after unpacking (0: RF_MAX_UNPACKED). */
rf_status rf_source_set(rf_source *s, const char *encoding, size_t limit, rf_error *err);

/* To be called first: skips a byte order mark and refuses what is clearly not text
 * (UTF-16, archives, models). */
rf_status rf_source_begin(rf_source *s, rf_error *err);

/* Adds to the window, or sets at_end. The bytes in the window may move. */
rf_status rf_source_more(rf_source *s, rf_error *err);

/* Reads until the window has n bytes; fewer only at the end. */
rf_status rf_source_want(rf_source *s, size_t n, rf_error *err);

/* Reads all that is left into the window, RF_ERR_LIMIT if that is too much. */
rf_status rf_source_rest(rf_source *s, rf_error *err);

/* The bytes in the window; NULL if nothing was read yet. */
static inline char *rf_source_data(const rf_source *s, size_t *len)
{
    *len = s->window.len - s->start;
    return s->window.data ? s->window.data + s->start : NULL;
}

/* Consumes the first n bytes of the window. */
static inline void rf_source_take(rf_source *s, size_t n)
{
    s->start += n;
}

#endif
