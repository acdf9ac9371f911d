/*
 * same_texts.c - finds equal texts by a hash table
 *
 * Folded texts are not kept: the table has the first row of each, with 64 bits of hash,
 * and a row that matches those is folded again with the first one and compared.
 */
#include "check/same_texts.h"

#include "check/fold.h"
#include "data/dataset.h"
#include "data/hash.h"

#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

typedef struct table {
    size_t mask;
    uint32_t *slot;  /* row or NONE, open addressing */
    uint64_t *hash;  /* [rows] of the folded text */
    int32_t *folded; /* [2][longest] */
    size_t longest;
} table;

static void table_release(table *t)
{
    free(t->slot);
    free(t->hash);
    free(t->folded);
}

static rf_status table_init(table *t, const rf_checked *c, rf_error *err)
{
    size_t size = 16;
    while (size < 2 * c->rows)
        size *= 2;
    for (size_t i = 0; i < c->rows; i++)
        if (rf_dataset_row(c->data, i)->len > t->longest)
            t->longest = rf_dataset_row(c->data, i)->len;
    t->mask = size - 1;
    t->slot = malloc(size * sizeof *t->slot);
    t->hash = calloc(c->rows + 1, sizeof *t->hash);
    t->folded = calloc(2 * (t->longest + 1), sizeof *t->folded);
    if (!t->slot || !t->hash || !t->folded)
        return rf_fail_nomem(err, size * sizeof *t->slot, "comparing texts");
    memset(t->slot, 0xff, size * sizeof *t->slot);
    return RF_OK;
}

static size_t fold_row(const rf_checked *c, const table *t, size_t row, int32_t *out)
{
    const rf_row *r = rf_dataset_row(c->data, row);
    return rf_fold_text(r->text, r->len, false, out, t->longest);
}

/* The first row with the folded text of this one, which is in t->folded. */
static uint32_t find_first(const rf_checked *c, table *t, uint32_t row, size_t n)
{
    int32_t *other = t->folded + t->longest + 1;
    for (size_t i = (size_t)t->hash[row] & t->mask;; i = (i + 1) & t->mask) {
        uint32_t have = t->slot[i];
        if (have == NONE)
            return t->slot[i] = row;
        if (t->hash[have] == t->hash[row] && fold_row(c, t, have, other) == n &&
            memcmp(other, t->folded, n * sizeof *other) == 0)
            return have;
    }
}

rf_status rf_same_texts(rf_checked *c, rf_error *err)
{
    table t = {0};
    rf_status st = table_init(&t, c, err);
    for (uint32_t row = 0; row < c->rows && st == RF_OK; row++) {
        size_t n = fold_row(c, &t, row, t.folded);
        t.hash[row] = rf_hash_bytes((const char *)t.folded, n * sizeof *t.folded);
        c->empty[row] = n == 0;
        c->same_text[row] = n == 0 ? row : find_first(c, &t, row, n);
    }
    table_release(&t);
    return st;
}

/* ---- What was found ---------------------------------------------------------------- */

static const char *how_alike(const rf_checked *c, const uint32_t *rows, size_t n)
{
    const rf_row *first = rf_dataset_row(c->data, rows[0]);
    for (size_t i = 1; i < n; i++) {
        const rf_row *r = rf_dataset_row(c->data, rows[i]);
        if (r->len != first->len || memcmp(r->text, first->text, r->len) != 0)
            return "the same text, but for case or spacing,";
    }
    return "the same text";
}

rf_status rf_same_texts_report(const rf_checked *c, rf_error *err)
{
    rf_groups g = {0};
    uint32_t *counts = calloc(c->classes + 1, sizeof *counts);
    rf_status st = counts ? rf_groups_init(&g, c->same_text, c->rows, c->rows, err)
                          : rf_fail_nomem(err, c->classes * sizeof *counts, "classes");
    for (size_t i = 0; i < c->rows && st == RF_OK; i++) {
        size_t n = rf_groups_size(&g, i);
        uint32_t *rows = rf_groups_at(&g, i);
        if (n > 1)
            st = rf_findings_add_texts(c, RF_FINDING_DUPLICATE, RF_FINDING_CONFLICT, rows,
                                       n, 0.0, how_alike(c, rows, n), counts, err);
    }
    rf_groups_release(&g);
    free(counts);
    return st;
}
