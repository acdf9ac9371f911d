/* fold.c - folding of texts and labels, a character at a time */
#include "check/fold.h"

#include "text/chars.h"
#include "text/utf8.h"

#include <string.h>
#include <utf8proc.h>

typedef struct folding {
    bool words_only, gap;
    int32_t *out;
    size_t n, cap;
} folding;

static bool is_letter_or_digit(int32_t cp)
{
    return (cp >= 'a' && cp <= 'z') || (cp >= '0' && cp <= '9');
}

static int32_t lower(int32_t cp)
{
    return cp >= 'A' && cp <= 'Z' ? cp + ('a' - 'A')
           : cp < 0x80            ? cp
                                  : utf8proc_tolower(cp);
}

static void put(folding *f, int32_t cp)
{
    cp = lower(cp);
    if (!is_letter_or_digit(cp)) {
        rf_char_kind kind = rf_char_kind_of(cp);
        if (kind == RF_CHAR_DROP && cp != RF_REPLACEMENT)
            return;
        if (kind == RF_CHAR_SPACE || (f->words_only && rf_char_is_punctuation(cp))) {
            f->gap = f->n > 0;
            return;
        }
    }
    if (f->gap && f->n < f->cap)
        f->out[f->n++] = ' ';
    f->gap = false;
    if (f->n < f->cap)
        f->out[f->n++] = cp;
}

size_t rf_fold_text(const char *text, size_t len, bool words_only, int32_t *out,
                    size_t cap)
{
    folding f = {.words_only = words_only, .out = out, .cap = cap};
    rf_utf8 u = {0};
    int32_t cp[2];
    for (size_t i = 0; i < len && f.n < cap; i++) {
        size_t n = rf_utf8_push(&u, (unsigned char)text[i], cp);
        for (size_t k = 0; k < n; k++)
            put(&f, cp[k]);
    }
    if (rf_utf8_end(&u))
        put(&f, RF_REPLACEMENT);
    return f.n;
}

static bool is_separator(int32_t cp)
{
    if (cp < 0x80 && strchr("#%&*@", (char)cp))
        return false;
    utf8proc_category_t kind = utf8proc_category(cp);
    return rf_char_kind_of(cp) == RF_CHAR_SPACE ||
           (kind >= UTF8PROC_CATEGORY_PC && kind <= UTF8PROC_CATEGORY_PO);
}

static bool is_digit(int32_t cp)
{
    return utf8proc_category(cp) == UTF8PROC_CATEGORY_ND;
}

size_t rf_fold_label(const char *label, size_t len, int32_t *out)
{
    rf_utf8 u = {0};
    int32_t cp[2], before = 0; /* the separator just seen */
    size_t n = 0;
    for (size_t i = 0; i < len; i++) { /* a label is valid UTF-8: at most one each */
        if (rf_utf8_push(&u, (unsigned char)label[i], cp) == 0)
            continue;
        if (is_separator(cp[0])) {
            before = cp[0];
            continue;
        }
        if (before && is_digit(cp[0]) && n == 0 && before == '-')
            out[n++] = '-';
        else if (before && is_digit(cp[0]) && n > 0 && is_digit(out[n - 1]))
            out[n++] = '.';
        before = 0;
        out[n++] = lower(cp[0]);
    }
    return n;
}
