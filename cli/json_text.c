#include "json_text.h"

#include "numbers.h"

#include <math.h>
#include <string.h>

/* How many bytes from p on are one character, or are one ill-formed part (*good tells):
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
        low = 0xa0; /* shorter forms would do */
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

static void put_special(FILE *to, unsigned char c)
{
    static const char from[] = "\"\\\n\t\r\b\f", names[] = "\"\\ntrbf";
    const char *at = c ? strchr(from, c) : NULL;
    if (at)
        fprintf(to, "\\%c", names[at - from]);
    else
        fprintf(to, "\\u%04x", c);
}

void json_put_string(FILE *to, const char *bytes, size_t len)
{
    const unsigned char *p = (const unsigned char *)bytes, *end = p + len, *plain = p;
    putc('"', to);
    while (p < end) {
        int good;
        size_t n = next_part(p, (size_t)(end - p), &good);
        if (good && *p >= 0x20 && *p != '"' && *p != '\\' && *p != 0x7f) {
            p += n;
            continue;
        }
        fwrite(plain, 1, (size_t)(p - plain), to);
        if (good)
            put_special(to, *p);
        else
            fputs("\xef\xbf\xbd", to);
        plain = p += n;
    }
    fwrite(plain, 1, (size_t)(end - plain), to);
    putc('"', to);
}

void json_put_name(FILE *to, const char *name)
{
    json_put_string(to, name, strlen(name));
}

void json_put_float(FILE *to, float v)
{
    char text[NUMBER_MAX];
    if (isfinite(v))
        fwrite(text, 1, number_write(text, v), to);
    else
        fputs("null", to);
}

void json_put_double(FILE *to, double v)
{
    if (isfinite(v))
        fprintf(to, "%.17g", v);
    else
        fputs("null", to);
}
