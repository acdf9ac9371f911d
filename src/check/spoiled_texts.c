/*
 * spoiled_texts.c - empty texts, and characters that a wrong encoding has spoiled
 *
 * Mojibake: UTF-8 of a character past U+007F is a lead byte and one to three more in
 * 0x80..0xBF. Read as Windows-1252, these are an accented capital or so and then symbols,
 * a combination that no language writes. Only the leads of common text are looked for:
 * C2 and C3 (Western letters and signs), E2 80 (quotes and dashes), and D0 and D1
 * (Cyrillic) if there are two of them.
 */
#include "check/simple_checks.h"

#include "base/plural.h"
#include "data/dataset.h"
#include "text/utf8.h"

#include <stdlib.h>
#include <string.h>

/* The byte that Windows-1252 or Latin-1 shows as this character, if it is one that
 * continues a character of UTF-8; else 0. */
static unsigned char continuation(int32_t cp)
{
    static const int32_t windows[32] = {
        0x20ac, 0,      0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021,
        0x02c6, 0x2030, 0x0160, 0x2039, 0x0152, 0,      0x017d, 0,
        0,      0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014,
        0x02dc, 0x2122, 0x0161, 0x203a, 0x0153, 0,      0x017e, 0x0178};
    if (cp >= 0x80 && cp <= 0xbf)
        return (unsigned char)cp;
    for (size_t i = 0; cp >= 0x0152 && i < 32; i++)
        if (windows[i] == cp)
            return (unsigned char)(0x80 + i);
    return 0;
}

typedef struct looking {
    int32_t before[2]; /* the last two characters */
    size_t cyrillic;
    bool lost, mojibake;
} looking;

static void look_at(looking *l, int32_t cp)
{
    unsigned char byte = continuation(cp);
    int32_t lead = l->before[1];
    if (byte && lead == 0xc3)
        l->mojibake = true;
    if (byte && lead == 0xc2 && byte >= 0xa0 && cp != 0xbb) /* a closing guillemet */
        l->mojibake = true;
    if (byte && l->before[0] == 0xe2 && continuation(lead) == 0x80)
        l->mojibake = true;
    if (byte && (lead == 0xd0 || lead == 0xd1) && ++l->cyrillic == 2)
        l->mojibake = true;
    l->lost = l->lost || cp == RF_REPLACEMENT;
    l->before[0] = lead;
    l->before[1] = cp;
}

rf_spoiled rf_text_spoiled(const char *text, size_t len)
{
    looking l = {0};
    rf_utf8 u = {0};
    int32_t cp[2];
    bool bad = false;
    for (size_t i = 0; i < len; i++) {
        if (u.need == 0 && (unsigned char)text[i] < 0x80) {
            l.before[0] = l.before[1] = 0;
            continue;
        }
        size_t n = rf_utf8_push(&u, (unsigned char)text[i], cp);
        for (size_t k = 0; k < n; k++) {
            /* A true U+FFFD ends in the bytes BF BD. */
            bool written = i >= 2 && (unsigned char)text[i] == 0xbd &&
                           (unsigned char)text[i - 1] == 0xbf &&
                           (unsigned char)text[i - 2] == 0xef;
            bad = bad || (cp[k] == RF_REPLACEMENT && !written);
            look_at(&l, cp[k]);
        }
    }
    return bad || rf_utf8_end(&u) ? RF_SPOILED_BYTES
           : l.mojibake           ? RF_SPOILED_MOJIBAKE
           : l.lost               ? RF_SPOILED_LOST
                                  : RF_SPOILED_NOT;
}

/* ---- What was found ---------------------------------------------------------------- */

static const struct {
    const char *what, *fix;
} spoiled[RF_SPOILED_KINDS] = {
    [RF_SPOILED_BYTES] = {"with bytes that are not UTF-8",
                          "convert the file, which is probably Latin-1 or Windows-1252: "
                          "iconv -f WINDOWS-1252 -t UTF-8"},
    [RF_SPOILED_LOST] =
        {"with the sign U+FFFD, which stands for a character that was lost",
         "export the data again as UTF-8, or correct these texts"},
    [RF_SPOILED_MOJIBAKE] = {"with UTF-8 that was read as Latin-1: an e with an acute "
                             "accent, for one, has become two letters",
                             "export the data again as UTF-8, or replace these letters"},
};

static rf_status add_rows(const rf_checked *c, rf_finding finding, const uint32_t *rows,
                          size_t n, const char *what, rf_error *err)
{
    finding.n_rows = n;
    return n == 0 ? RF_OK
                  : rf_findings_add(c, finding, rows, err, "%zu %s %s", n,
                                    rf_plural(n, "text", "texts"), what);
}

/* A label is valid UTF-8, but may be spoiled all the same. */
static rf_spoiled row_spoiled(const rf_checked *c, size_t row)
{
    const rf_row *r = rf_dataset_row(c->data, row);
    const char *label = rf_dataset_label(c->data, c->class_of[row], NULL);
    rf_spoiled how = rf_text_spoiled(r->text, r->len);
    return how == RF_SPOILED_NOT ? rf_text_spoiled(label, strlen(label)) : how;
}

rf_status rf_check_texts(const rf_checked *c, rf_error *err)
{
    uint32_t *rows = calloc(c->rows + 1, sizeof *rows);
    unsigned char *how = calloc(c->rows + 1, 1);
    rf_status st =
        rows && how ? RF_OK : rf_fail_nomem(err, c->rows * sizeof *rows, "texts");
    size_t n = 0;
    for (uint32_t i = 0; i < c->rows && st == RF_OK; i++) {
        how[i] = (unsigned char)row_spoiled(c, i);
        if (c->empty[i])
            rows[n++] = i;
    }
    rf_finding finding = rf_finding_of(RF_FINDING_EMPTY);
    if (st == RF_OK)
        st = add_rows(c, finding, rows, n, "of nothing but white space", err);
    finding = rf_finding_of(RF_FINDING_ENCODING);
    for (int kind = RF_SPOILED_BYTES; kind < RF_SPOILED_KINDS && st == RF_OK; kind++) {
        n = 0;
        for (uint32_t i = 0; i < c->rows; i++)
            if (how[i] == kind)
                rows[n++] = i;
        finding.fix = spoiled[kind].fix;
        st = add_rows(c, finding, rows, n, spoiled[kind].what, err);
    }
    free(rows);
    free(how);
    return st;
}
