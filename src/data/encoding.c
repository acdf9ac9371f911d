/* encoding.c - conversion by iconv, and what bytes look like that are not UTF-8 */
#include "data/encoding.h"

#include <errno.h>
#include <string.h>
#include <strings.h>
#include <utf8proc.h>

rf_status rf_encoding_open(rf_encoding *e, const char *name, rf_error *err)
{
    *e = (rf_encoding){.name = name};
    if (!name || strcasecmp(name, "utf-8") == 0 || strcasecmp(name, "utf8") == 0 ||
        strcmp(name, RF_ANY_BYTES) == 0)
        return RF_OK;
    e->from = iconv_open("UTF-8", name);
    e->on = e->from != (iconv_t)-1;
    if (!e->on && errno == ENOMEM)
        return rf_fail_nomem(err, sizeof *e, "an encoding");
    if (!e->on)
        return rf_fail(err, RF_ERR_ARG, 0,
                       "encoding \"%.40s\": no such encoding; wanted utf-8, latin1, "
                       "windows-1252, utf-16 or another that iconv --list shows",
                       name);
    return RF_OK;
}

void rf_encoding_close(rf_encoding *e)
{
    if (e->on)
        iconv_close(e->from);
    *e = (rf_encoding){0};
}

/* Converts as much as it can: *p and *n are what is left. */
static rf_status convert(rf_encoding *e, char **p, size_t *n, rf_buffer *out,
                         const char *file, rf_error *err)
{
    while (*n > 0) {
        rf_status st = rf_buffer_reserve(out, 3 * *n + 16, err);
        if (st != RF_OK)
            return st;
        size_t before = *n, room = 3 * *n + 16;
        char *to = out->data + out->len;
        size_t rc = iconv(e->from, p, n, &to, &room);
        int why = errno;
        out->len = (size_t)(to - out->data);
        e->done += before - *n;
        if (rc != (size_t)-1 || why == EINVAL) /* all, or a character is cut off */
            return RF_OK;
        if (why == EILSEQ)
            return rf_fail(err, RF_ERR_FORMAT, 0,
                           "%s: byte %zu (0x%02X) is not %.40s; is the file in another "
                           "encoding?",
                           file, e->done + 1, (unsigned)(unsigned char)**p, e->name);
    }
    return RF_OK;
}

/* The end of a character whose start came in the block before. */
static rf_status finish_cut(rf_encoding *e, const char **block, size_t *n, rf_buffer *out,
                            const char *file, rf_error *err)
{
    while (e->n_cut > 0 && *n > 0) {
        e->cut[e->n_cut++] = *(*block)++;
        --*n;
        char *p = e->cut;
        size_t left = e->n_cut;
        rf_status st = convert(e, &p, &left, out, file, err);
        if (st == RF_OK && left == sizeof e->cut)
            st = rf_fail(err, RF_ERR_FORMAT, 0, "%s: byte %zu is not %.40s", file,
                         e->done + 1, e->name);
        if (st != RF_OK)
            return st;
        memmove(e->cut, p, left);
        e->n_cut = left;
    }
    return RF_OK;
}

rf_status rf_encoding_add(rf_encoding *e, const char *block, size_t n, rf_buffer *out,
                          const char *file, rf_error *err)
{
    if (!e->on)
        return n ? rf_buffer_add(out, block, n, err) : RF_OK;
    rf_status st = finish_cut(e, &block, &n, out, file, err);
    char *p = (char *)(uintptr_t)block; /* iconv reads it only */
    if (st == RF_OK)
        st = convert(e, &p, &n, out, file, err);
    if (st == RF_OK && n > 0) {
        if (n > sizeof e->cut)
            return rf_fail(err, RF_ERR_FORMAT, 0, "%s: byte %zu is not %.40s", file,
                           e->done + 1, e->name);
        memcpy(e->cut, p, n);
        e->n_cut = n;
    }
    return st;
}

rf_status rf_encoding_end(rf_encoding *e, const char *file, rf_error *err)
{
    if (e->n_cut == 0)
        return RF_OK;
    return rf_fail(err, RF_ERR_FORMAT, 0,
                   "%s: ends in the middle of a character of %.40s; cut short, or in "
                   "another encoding?",
                   file, e->name);
}

/* ---- What it looks like ------------------------------------------------------------ */

size_t rf_utf8_length(const char *text, size_t len)
{
    size_t i = 0;
    while (i < len) {
        utf8proc_int32_t cp;
        if ((unsigned char)text[i] < 0x80) {
            i++;
            continue;
        }
        utf8proc_ssize_t n = utf8proc_iterate((const utf8proc_uint8_t *)text + i,
                                              (utf8proc_ssize_t)(len - i), &cp);
        if (n <= 0)
            return i;
        i += (size_t)n;
    }
    return len;
}

const char *rf_encoding_guess(const char *text, size_t len)
{
    bool high = false, windows = false;
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c < 0x80)
            continue;
        if (rf_utf8_length(text + i, 2 < len - i ? 2 : len - i) >= 2)
            return NULL; /* some of it is UTF-8 */
        high = true;
        windows = windows || c < 0xa0;
    }
    return !high ? NULL : windows ? "windows-1252" : "latin1";
}

const char *rf_encoding_wide(const char *bytes, size_t len)
{
    size_t zero[2] = {0}, n = len & ~(size_t)1;
    for (size_t i = 0; i < n; i++)
        zero[i % 2] += bytes[i] == '\0';
    if (n < 8)
        return NULL;
    if (zero[0] == 0 && zero[1] > n / 4)
        return "utf-16le";
    return zero[1] == 0 && zero[0] > n / 4 ? "utf-16be" : NULL;
}
