/*
 * encoding.h - text in another encoding, converted to UTF-8 block by block
 */
#ifndef RF_DATA_ENCODING_H
#define RF_DATA_ENCODING_H

#include "base/buffer.h"

#include <iconv.h>

/* The encoding of texts that are taken as they are, UTF-8 or not. */
#define RF_ANY_BYTES "bytes"

/* A zeroed struct copies bytes. */
typedef struct rf_encoding {
    bool on;
    const char *name; /* borrowed */
    iconv_t from;
    char cut[16]; /* the start of a character whose end has not come yet */
    size_t n_cut;
    size_t done; /* bytes converted so far, for messages */
} rf_encoding;

/* Any name that iconv knows: "latin1", "windows-1252", "utf-16". NULL, UTF-8 and
 * RF_ANY_BYTES need no conversion. */
rf_status rf_encoding_open(rf_encoding *e, const char *name, rf_error *err);
void rf_encoding_close(rf_encoding *e); /* accepts a zeroed struct, twice is harmless */

/* Adds a block to the buffer, as UTF-8; file names the source in messages. */
rf_status rf_encoding_add(rf_encoding *e, const char *block, size_t n, rf_buffer *out,
                          const char *file, rf_error *err);

/* After the last block: RF_ERR_FORMAT if a character was cut off. */
rf_status rf_encoding_end(rf_encoding *e, const char *file, rf_error *err);

/* The offset of the first byte that is not UTF-8; len if all are. */
size_t rf_utf8_length(const char *text, size_t len);

/* What text that is not UTF-8 looks like: "latin1" or "windows-1252", whose letters are
 * single bytes from 0x80 on, or NULL. */
const char *rf_encoding_guess(const char *text, size_t len);

/* "utf-16le" or "utf-16be" if every second byte of Western text is NUL; else NULL. */
const char *rf_encoding_wide(const char *bytes, size_t len);

#endif
