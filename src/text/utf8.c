/* utf8.c - an incremental UTF-8 decoder */
#include "text/utf8.h"

/* Takes a lead byte; true if it is a complete character, or ill-formed. */
static bool lead(rf_utf8 *u, unsigned char b, int32_t *out)
{
    u->lo = 0x80;
    u->hi = 0xBF;
    if (b < 0x80) {
        *out = b;
        return true;
    }
    if (b >= 0xC2 && b <= 0xDF) {
        u->cp = b & 0x1F;
        u->need = 1;
        return false;
    }
    if (b >= 0xE0 && b <= 0xEF) {
        u->cp = b & 0x0F;
        u->need = 2;
        if (b == 0xE0)
            u->lo = 0xA0; /* overlong */
        else if (b == 0xED)
            u->hi = 0x9F; /* surrogates */
        return false;
    }
    if (b >= 0xF0 && b <= 0xF4) {
        u->cp = b & 0x07;
        u->need = 3;
        if (b == 0xF0)
            u->lo = 0x90;
        else if (b == 0xF4)
            u->hi = 0x8F; /* past U+10FFFF */
        return false;
    }
    *out = RF_REPLACEMENT;
    return true;
}

size_t rf_utf8_push(rf_utf8 *u, unsigned char byte, int32_t out[2])
{
    if (u->need == 0)
        return lead(u, byte, out);
    if (byte < u->lo || byte > u->hi) {
        u->need = 0;
        out[0] = RF_REPLACEMENT;
        return 1 + (size_t)lead(u, byte, out + 1);
    }
    u->cp = u->cp << 6 | (byte & 0x3F);
    u->lo = 0x80;
    u->hi = 0xBF;
    if (--u->need > 0)
        return 0;
    out[0] = u->cp;
    return 1;
}

bool rf_utf8_end(rf_utf8 *u)
{
    bool cut = u->need > 0;
    *u = (rf_utf8){0};
    return cut;
}

size_t rf_utf8_write(char out[4], int32_t cp)
{
    if (cp < 0x80) {
        out[0] = (char)cp;
        return 1;
    }
    if (cp < 0x800) {
        out[0] = (char)(0xC0 | cp >> 6);
        out[1] = (char)(0x80 | (cp & 0x3F));
        return 2;
    }
    if (cp < 0x10000) {
        out[0] = (char)(0xE0 | cp >> 12);
        out[1] = (char)(0x80 | (cp >> 6 & 0x3F));
        out[2] = (char)(0x80 | (cp & 0x3F));
        return 3;
    }
    out[0] = (char)(0xF0 | cp >> 18);
    out[1] = (char)(0x80 | (cp >> 12 & 0x3F));
    out[2] = (char)(0x80 | (cp >> 6 & 0x3F));
    out[3] = (char)(0x80 | (cp & 0x3F));
    return 4;
}
