/* json_text.c - escaping and appending JSON */
#include "base/json_text.h"

#include "base/numbers.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- Strings ----------------------------------------------------------------------- */

/* Length of the character at p, or of the ill-formed part there (*good says which):
 * the longest start of a well-formed sequence, or a byte that starts none (Unicode,
 * table 3-7). n > 0. */
static size_t next_part(const unsigned char *p, size_t n, int *good)
{
    unsigned char lead = p[0], low = 0x80, high = 0xbf;
    size_t need = lead < 0x80 ? 0 : lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : 1;
    *good = lead < 0x80 || (lead >= 0xc2 && lead <= 0xf4);
    if (!*good)
        return 1;
    if (lead == 0xe0)
        low = 0xa0; /* overlong */
    else if (lead == 0xed)
        high = 0x9f; /* surrogates */
    else if (lead == 0xf0)
        low = 0x90;
    else if (lead == 0xf4)
        high = 0x8f; /* past U+10FFFF */
    for (size_t i = 1; i <= need; i++) {
        if (i >= n || p[i] < low || p[i] > high) {
            *good = 0;
            return i;
        }
        low = 0x80;
        high = 0xbf;
    }
    return need + 1;
}

/* U+007F to U+009F need no escape in JSON, but terminals obey them. */
static bool is_plain(const unsigned char *p, size_t n)
{
    return *p >= 0x20 && *p != '"' && *p != '\\' && *p != 0x7f &&
           !(n == 2 && p[0] == 0xc2 && p[1] < 0xa0);
}

static void put_special(unsigned char c, rf_json_sink put, void *user)
{
    static const char from[] = "\"\\\n\t\r\b\f", names[] = "\"\\ntrbf";
    const char *at = c ? strchr(from, c) : NULL;
    char out[8];
    int n = at ? snprintf(out, sizeof out, "\\%c", names[at - from])
               : snprintf(out, sizeof out, "\\u%04x", c);
    put(user, out, (size_t)n);
}

void rf_json_escape(const char *bytes, size_t len, rf_json_sink put, void *user)
{
    const unsigned char *p = (const unsigned char *)bytes, *end = p + len, *plain = p;
    put(user, "\"", 1);
    while (p < end) {
        int good;
        size_t n = next_part(p, (size_t)(end - p), &good);
        if (good && is_plain(p, n)) {
            p += n;
            continue;
        }
        put(user, (const char *)plain, (size_t)(p - plain));
        if (good)
            put_special(p[n - 1], put, user); /* the second byte of U+0080 to U+009F */
        else
            put(user, "\xef\xbf\xbd", 3);
        plain = p += n;
    }
    put(user, (const char *)plain, (size_t)(end - plain));
    put(user, "\"", 1);
}

/* ---- A growing text ---------------------------------------------------------------- */

void rf_text_init(rf_text *t, size_t ceiling, const char *what)
{
    t->status = RF_OK;
    rf_buffer_init(&t->buffer, ceiling, what);
}

void rf_text_release(rf_text *t)
{
    rf_buffer_release(&t->buffer);
}

void rf_text_add(rf_text *t, const char *bytes, size_t len)
{
    if (t->status == RF_OK)
        t->status = rf_buffer_add(&t->buffer, bytes, len, NULL);
}

void rf_text_put(rf_text *t, const char *words)
{
    rf_text_add(t, words, strlen(words));
}

void rf_text_format(rf_text *t, const char *format, ...)
{
    char line[501];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (n >= 0)
        rf_text_add(t, line, (size_t)n < sizeof line ? (size_t)n : sizeof line - 1);
}

static void add(void *user, const char *bytes, size_t len)
{
    rf_text_add(user, bytes, len);
}

void rf_text_string(rf_text *t, const char *bytes, size_t len)
{
    rf_json_escape(bytes, len, add, t);
}

void rf_text_name(rf_text *t, const char *name)
{
    rf_text_string(t, name, strlen(name));
}

void rf_text_float(rf_text *t, float v)
{
    char text[RF_NUMBER_MAX];
    if (isfinite(v))
        rf_text_add(t, text, rf_number_write(text, v));
    else
        rf_text_put(t, "null");
}
