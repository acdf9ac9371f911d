/* chars.c - classes, folding and decomposition of code points, by utf8proc */
#include "text/chars.h"

#include <utf8proc.h>

static bool is_cjk(int32_t cp)
{
    return (cp >= 0x4E00 && cp <= 0x9FFF) || (cp >= 0x3400 && cp <= 0x4DBF) ||
           (cp >= 0x20000 && cp <= 0x2A6DF) || (cp >= 0x2A700 && cp <= 0x2B73F) ||
           (cp >= 0x2B740 && cp <= 0x2B81F) || (cp >= 0x2B820 && cp <= 0x2CEAF) ||
           (cp >= 0xF900 && cp <= 0xFAFF) || (cp >= 0x2F800 && cp <= 0x2FA1F);
}

rf_char_kind rf_char_kind_of(int32_t cp)
{
    if (cp > ' ' && cp < 0x7F)
        return RF_CHAR_WORD;
    if (cp == ' ' || cp == '\t' || cp == '\n' || cp == '\r')
        return RF_CHAR_SPACE;
    if (cp == 0xFFFD)
        return RF_CHAR_DROP;
    switch (utf8proc_category(cp)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_CS:
        /* Unassigned code points inside the ideograph blocks are dropped too: cleaning
         * comes before spacing. */
        return RF_CHAR_DROP;
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL: /* the original splits at these two as well, through */
    case UTF8PROC_CATEGORY_ZP: /* Python's str.split() */ return RF_CHAR_SPACE;
    default: return is_cjk(cp) ? RF_CHAR_CJK : RF_CHAR_WORD;
    }
}

bool rf_char_is_punctuation(int32_t cp)
{
    if (cp < 0x80) /* symbols such as $ and ^ count as punctuation in ASCII only */
        return (cp >= 33 && cp <= 47) || (cp >= 58 && cp <= 64) ||
               (cp >= 91 && cp <= 96) || (cp >= 123 && cp <= 126);
    utf8proc_category_t c = utf8proc_category(cp);
    return c >= UTF8PROC_CATEGORY_PC && c <= UTF8PROC_CATEGORY_PO;
}

/* Canonical decomposition of one code point, with classes; accents marked. */
static size_t decompose(int32_t cp, rf_folded *out)
{
    utf8proc_int32_t parts[RF_FOLD_MAX];
    int boundary = 0;
    utf8proc_ssize_t n =
        utf8proc_decompose_char(cp, parts, RF_FOLD_MAX, UTF8PROC_DECOMPOSE, &boundary);
    if (n < 1 || n > RF_FOLD_MAX) { /* not a scalar value; the decoder yields none */
        parts[0] = cp;
        n = 1;
    }
    for (utf8proc_ssize_t i = 0; i < n; i++) {
        const utf8proc_property_t *p = utf8proc_get_property(parts[i]);
        out[i] = (rf_folded){.cp = parts[i],
                             .ccc = (uint8_t)p->combining_class,
                             .drop = p->category == UTF8PROC_CATEGORY_MN};
    }
    return (size_t)n;
}

size_t rf_char_fold(int32_t cp, rf_fold_flags flags, rf_folded out[RF_FOLD_MAX])
{
    size_t n = 0;
    int32_t lower = cp;
    bool dotted = flags.lowercase && cp == 0x130; /* the one letter that becomes two */
    if (dotted)
        lower = 'i';
    else if (flags.lowercase)
        lower = cp < 0x80 ? cp + (cp >= 'A' && cp <= 'Z' ? 32 : 0) : utf8proc_tolower(cp);
    if (flags.strip_accents && lower >= 0x80) {
        n = decompose(lower, out);
    } else {
        out[n++] = (rf_folded){.cp = lower};
    }
    if (dotted)
        out[n++] = (rf_folded){.cp = 0x307, .drop = flags.strip_accents};
    return n;
}
