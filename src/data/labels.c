/* labels.c - a hash table of labels, ranked in byte order on demand */
#include "data/labels.h"

#include "base/buffer.h"
#include "data/blocks.h"
#include "data/hash.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <utf8proc.h>

#define NONE UINT32_MAX

typedef struct label {
    const char *name; /* NUL-terminated */
    uint32_t len, rank;
    uint64_t hash;
    size_t rows;
} label;

typedef struct ranked {
    const char *name;
    uint32_t id;
} ranked;

struct rf_labels {
    rf_blocks names;
    rf_buffer labels; /* [size] of label, by id */
    rf_buffer order;  /* [size] of ranked, by rank; its memory is reserved in advance */
    uint32_t *table;  /* [table_size] of id or NONE, open addressing */
    size_t table_size;
    pthread_mutex_t sorting;
    atomic_bool sorted;
};

/* ---- What a label may be ----------------------------------------------------------- */

rf_status rf_label_check(const char **text, size_t *text_len, rf_error *err)
{
    const char *p = *text;
    size_t len = *text_len;
    for (; len > 0 && p[0] == ' '; len--)
        p++;
    while (len > 0 && p[len - 1] == ' ')
        len--;
    int shown = len < 40 ? (int)len : 40;
    if (len == 0)
        return rf_fail(err, RF_ERR_FORMAT, 0, "the label is empty, wanted 1 to %d bytes",
                       RF_MAX_LABEL_BYTES);
    if (len > RF_MAX_LABEL_BYTES)
        return rf_fail(err, RF_ERR_LIMIT, 0,
                       "the label \"%.*s...\" has %zu bytes, wanted at most %d", shown, p,
                       len, RF_MAX_LABEL_BYTES);
    for (size_t i = 0; i < len;) {
        utf8proc_int32_t cp;
        utf8proc_ssize_t n = utf8proc_iterate((const utf8proc_uint8_t *)p + i,
                                              (utf8proc_ssize_t)(len - i), &cp);
        if (n <= 0)
            return rf_fail(err, RF_ERR_FORMAT, 0,
                           "the label \"%.*s\" is not UTF-8 at its byte %zu (0x%02X)",
                           shown, p, i + 1, (unsigned)(unsigned char)p[i]);
        if (cp < 0x20 || (cp >= 0x7f && cp < 0xa0))
            return rf_fail(err, RF_ERR_FORMAT, 0,
                           "the label \"%.*s\" holds a control character (U+%04X) at its "
                           "byte %zu, wanted none",
                           shown, p, (unsigned)cp, i + 1);
        i += (size_t)n;
    }
    *text = p;
    *text_len = len;
    return RF_OK;
}

/* ---- The set ----------------------------------------------------------------------- */

rf_labels *rf_labels_new(rf_error *err)
{
    rf_labels *l = calloc(1, sizeof *l);
    if (!l) {
        rf_fail_nomem(err, sizeof *l, "labels");
        return NULL;
    }
    rf_buffer_init(&l->labels, SIZE_MAX / 4, "labels");
    rf_buffer_init(&l->order, SIZE_MAX / 4, "labels");
    pthread_mutex_init(&l->sorting, NULL);
    atomic_init(&l->sorted, true);
    return l;
}

void rf_labels_free(rf_labels *l)
{
    if (!l)
        return;
    rf_blocks_release(&l->names);
    rf_buffer_release(&l->labels);
    rf_buffer_release(&l->order);
    free(l->table);
    pthread_mutex_destroy(&l->sorting);
    free(l);
}

static label *label_of(const rf_labels *l, size_t id)
{
    return (label *)(void *)l->labels.data + id;
}

size_t rf_labels_size(const rf_labels *l)
{
    return l->labels.len / sizeof(label);
}

/* The slot of a label, or the free slot where it would go. */
static size_t slot_of(const rf_labels *l, uint64_t hash, const char *name, size_t len)
{
    size_t i = (size_t)hash & (l->table_size - 1);
    for (;; i = (i + 1) & (l->table_size - 1)) {
        if (l->table[i] == NONE)
            return i;
        const label *have = label_of(l, l->table[i]);
        if (have->hash == hash && have->len == len && memcmp(have->name, name, len) == 0)
            return i;
    }
}

/* Keeps the table at most half full with one more label. */
static rf_status grow_table(rf_labels *l, rf_error *err)
{
    size_t n = rf_labels_size(l);
    if (n + 1 <= l->table_size / 2)
        return RF_OK;
    size_t size = l->table_size ? 2 * l->table_size : 64;
    uint32_t *table = malloc(size * sizeof *table);
    if (!table)
        return rf_fail_nomem(err, size * sizeof *table, "labels");
    memset(table, 0xff, size * sizeof *table);
    free(l->table);
    l->table = table;
    l->table_size = size;
    for (size_t id = 0; id < n; id++) {
        const label *have = label_of(l, id);
        table[slot_of(l, have->hash, have->name, have->len)] = (uint32_t)id;
    }
    return RF_OK;
}

rf_status rf_labels_add(rf_labels *l, const char *name, size_t len, uint32_t *id,
                        rf_error *err)
{
    rf_status st = grow_table(l, err);
    if (st != RF_OK)
        return st;
    uint64_t hash = rf_hash_bytes(name, len);
    size_t slot = slot_of(l, hash, name, len);
    if (l->table[slot] != NONE) {
        *id = l->table[slot];
        return RF_OK;
    }
    st = rf_buffer_reserve(&l->labels, sizeof(label), err);
    if (st == RF_OK)
        st = rf_buffer_reserve(&l->order, sizeof(ranked), err);
    if (st != RF_OK)
        return st;
    char *copy = rf_blocks_reserve(&l->names, len + 1);
    if (!copy)
        return rf_fail_nomem(err, len + 1, "a label");
    memcpy(copy, name, len);
    copy[len] = '\0';
    rf_blocks_keep(&l->names, len + 1);
    *id = l->table[slot] = (uint32_t)rf_labels_size(l);
    *label_of(l, *id) = (label){.name = copy, .len = (uint32_t)len, .hash = hash};
    l->labels.len += sizeof(label);
    l->order.len += sizeof(ranked);
    atomic_store_explicit(&l->sorted, false, memory_order_relaxed);
    return RF_OK;
}

void rf_labels_count(rf_labels *l, uint32_t id)
{
    label_of(l, id)->rows++;
}

/* ---- Ranks ------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    return strcmp(((const ranked *)a)->name, ((const ranked *)b)->name);
}

static const ranked *order_of(rf_labels *l)
{
    ranked *order = (ranked *)(void *)l->order.data;
    if (atomic_load_explicit(&l->sorted, memory_order_acquire))
        return order;
    pthread_mutex_lock(&l->sorting);
    if (!atomic_load_explicit(&l->sorted, memory_order_relaxed)) {
        size_t n = rf_labels_size(l);
        for (size_t id = 0; id < n; id++)
            order[id] = (ranked){label_of(l, id)->name, (uint32_t)id};
        qsort(order, n, sizeof *order, by_name);
        for (size_t rank = 0; rank < n; rank++)
            label_of(l, order[rank].id)->rank = (uint32_t)rank;
        atomic_store_explicit(&l->sorted, true, memory_order_release);
    }
    pthread_mutex_unlock(&l->sorting);
    return order;
}

size_t rf_labels_rank(rf_labels *l, uint32_t id)
{
    (void)order_of(l);
    return label_of(l, id)->rank;
}

const char *rf_labels_at(rf_labels *l, size_t rank, size_t *rows)
{
    const label *found = label_of(l, order_of(l)[rank].id);
    *rows = found->rows;
    return found->name;
}
