/*
 * summary.c - what a person should know before training
 *
 * Two hash tables make it linear in the number of rows: one finds the first row with the
 * same text, the other, by that row and the class, the first row with the same text and
 * label.
 */
#include "data/dataset.h"

#include "base/memory.h"
#include "data/hash.h"

#include <stdlib.h>
#include <utf8proc.h>

#define FEW 5 /* classes with fewer rows are counted */
#define NONE UINT32_MAX

typedef struct table {
    uint32_t *slot; /* row or NONE, open addressing */
    size_t mask;
} table;

typedef struct seen {
    table by_text;
    table by_both;
    uint32_t *first; /* [rows] the first row with this text */
    uint32_t *other; /* [rows] of such a first row: the first one with another label */
} seen;

static rf_status numbers_new(uint32_t **out, size_t n, rf_error *err)
{
    size_t bytes;
    if (!rf_size_mul(n, sizeof **out, &bytes))
        bytes = SIZE_MAX;
    *out = bytes == SIZE_MAX ? NULL : malloc(bytes ? bytes : 1);
    if (!*out)
        return rf_fail_nomem(err, bytes, "comparing rows");
    memset(*out, 0xff, bytes);
    return RF_OK;
}

static rf_status table_init(table *t, size_t rows, rf_error *err)
{
    size_t size = 16;
    while (size < 2 * rows)
        size *= 2;
    t->mask = size - 1;
    return numbers_new(&t->slot, size, err);
}

static rf_status seen_init(seen *s, size_t rows, rf_error *err)
{
    rf_status st = table_init(&s->by_text, rows, err);
    if (st == RF_OK)
        st = table_init(&s->by_both, rows, err);
    if (st == RF_OK)
        st = numbers_new(&s->first, rows, err);
    if (st == RF_OK)
        st = numbers_new(&s->other, rows, err);
    return st;
}

static void seen_release(seen *s)
{
    free(s->by_text.slot);
    free(s->by_both.slot);
    free(s->first);
    free(s->other);
}

/* The first row with the text of this one, which may be itself. */
static uint32_t first_with_text(seen *s, const rf_dataset *data, uint32_t row)
{
    const rf_row *r = rf_dataset_row(data, row);
    size_t i = (size_t)rf_hash_bytes(r->text, r->len) & s->by_text.mask;
    for (;; i = (i + 1) & s->by_text.mask) {
        uint32_t have = s->by_text.slot[i];
        if (have == NONE)
            return s->by_text.slot[i] = row;
        const rf_row *h = rf_dataset_row(data, have);
        if (h->len == r->len && memcmp(h->text, r->text, r->len) == 0)
            return have;
    }
}

/* The first row with text and label of this one, which may be itself. */
static uint32_t first_with_both(seen *s, const rf_dataset *data, uint32_t row)
{
    uint32_t first = s->first[row], label = rf_dataset_row(data, row)->label;
    uint64_t key = (uint64_t)first << 32 | label;
    size_t i = (size_t)rf_rng_mix(key + RF_RNG_STEP) & s->by_both.mask;
    for (;; i = (i + 1) & s->by_both.mask) {
        uint32_t have = s->by_both.slot[i];
        if (have == NONE)
            return s->by_both.slot[i] = row;
        if (s->first[have] == first && rf_dataset_row(data, have)->label == label)
            return have;
    }
}

static void compare_rows(seen *s, const rf_dataset *data, rf_data_summary *out)
{
    for (uint32_t row = 0; row < out->rows; row++) {
        uint32_t first = first_with_text(s, data, row), with = NONE;
        s->first[row] = first;
        if (rf_dataset_row(data, row)->label != rf_dataset_row(data, first)->label) {
            with = first;
            if (s->other[first] == NONE)
                s->other[first] = row;
        } else {
            with = s->other[first];
        }
        if (with != NONE && out->conflicts++ == 0) {
            out->conflict_row = row;
            out->conflict_with = with;
        }
        out->duplicates += first_with_both(s, data, row) != row;
    }
}

static size_t count_texts(const seen *s, size_t rows)
{
    size_t n = 0;
    for (uint32_t row = 0; row < rows; row++)
        n += s->first[row] == row;
    return n;
}

/* Only white space, by Unicode. */
static bool is_blank(const char *text, size_t len)
{
    for (size_t i = 0; i < len;) {
        utf8proc_int32_t cp;
        utf8proc_ssize_t n = utf8proc_iterate((const utf8proc_uint8_t *)text + i,
                                              (utf8proc_ssize_t)(len - i), &cp);
        if (n <= 0)
            return false;
        utf8proc_category_t kind = utf8proc_category(cp);
        if (!(cp >= 0x09 && cp <= 0x0d) && cp != 0x85 && kind != UTF8PROC_CATEGORY_ZS &&
            kind != UTF8PROC_CATEGORY_ZL && kind != UTF8PROC_CATEGORY_ZP)
            return false;
        i += (size_t)n;
    }
    return true;
}

rf_status rf_dataset_summarize(const rf_dataset *data, rf_data_summary *out,
                               rf_error *err)
{
    rf_data_summary sum = {.rows = rf_dataset_rows(data),
                           .classes = rf_dataset_classes(data),
                           .dropped = data->end.dropped,
                           .skipped = data->end.skipped,
                           .skipped_why = data->end.skipped_why};
    size_t label_bytes = 0, text_bytes = 0;
    for (size_t c = 0; c < sum.classes; c++) {
        size_t rows;
        label_bytes += strlen(rf_dataset_label(data, c, &rows)) * rows;
        sum.smallest = c == 0 || rows < sum.smallest ? rows : sum.smallest;
        sum.largest = rows > sum.largest ? rows : sum.largest;
        sum.few += rows < FEW;
    }
    for (size_t row = 0; row < sum.rows; row++) {
        const rf_row *r = rf_dataset_row(data, row);
        sum.empty += is_blank(r->text, r->len);
        text_bytes += r->len;
    }
    seen s = {0};
    rf_status st = seen_init(&s, sum.rows, err);
    if (st == RF_OK) {
        compare_rows(&s, data, &sum);
        sum.swapped = sum.rows > 1 && label_bytes > text_bytes &&
                      sum.classes > count_texts(&s, sum.rows);
        *out = sum;
    }
    seen_release(&s);
    return st;
}
