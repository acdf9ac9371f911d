/*
 * row_plan.c - the rows of the updated model: kept ones, relabelled ones, new ones
 *
 * A new row with the text of a row that is there already is that row: it says which label
 * is right, and is not counted twice. That takes the texts; without them every new row
 * is added.
 */
#include "update/updating.h"

#include "answer/judge.h"
#include "base/memory.h"
#include "data/hash.h"
#include "num/kernels.h"
#include "num/train.h"

#include <stdlib.h>
#include <string.h>

/* ---- Which rows -------------------------------------------------------------------- */

/* Finds rows by their text: chains of rows, of which `first` has the last one added. */
typedef struct text_table {
    uint32_t *first; /* [mask + 1] row + 1, 0: none */
    uint32_t *next;  /* [rows] row + 1 */
    uint64_t mask;
} text_table;

static const char *text_of(const rf_updating *u, const rf_update_row *row, size_t *len)
{
    return row->old != UINT32_MAX ? rf_model_text(u->old, row->old, len)
                                  : rf_dataset_text(u->data, row->data, len);
}

static void table_add(text_table *t, const rf_updating *u, size_t row)
{
    size_t len;
    const char *text = text_of(u, &u->rows[row], &len);
    uint32_t *first = &t->first[rf_hash_bytes(text, len) & t->mask];
    t->next[row] = *first;
    *first = (uint32_t)row + 1;
}

static bool same_text(const rf_updating *u, size_t row, const char *text, size_t len)
{
    size_t n;
    const char *own = text_of(u, &u->rows[row], &n);
    return n == len && (n == 0 || memcmp(own, text, n) == 0);
}

/* Gives all rows of this text the name; false if there are none. */
static bool relabel(rf_updating *u, const text_table *t, const char *text, size_t len,
                    uint32_t name)
{
    bool found = false, changed = false;
    uint32_t at = t->first[rf_hash_bytes(text, len) & t->mask];
    for (; at > 0; at = t->next[at - 1]) {
        rf_update_row *row = &u->rows[at - 1];
        if (!same_text(u, at - 1, text, len))
            continue;
        found = true;
        if (row->name == name)
            continue;
        changed = true;
        u->touched[row->name] = u->touched[name] = true;
        row->name = name;
        u->n_relabelled += row->old != UINT32_MAX && !row->relabelled;
        row->relabelled = row->old != UINT32_MAX;
    }
    u->n_same += found && !changed;
    return found;
}

static void keep_old_rows(rf_updating *u)
{
    size_t seen = 0;
    for (size_t i = 0; i < u->old->n_rows; i++) {
        uint32_t name = u->old_name[u->old->row_class[i]];
        if (name == RF_NO_CLASS) {
            u->n_removed++;
            continue;
        }
        seen += i < u->n_seen;
        u->rows[u->n_rows++] =
            (rf_update_row){.name = name, .old = (uint32_t)i, .data = UINT32_MAX};
    }
    u->n_old = u->n_rows;
    u->n_seen = seen;
}

static void add_new_rows(rf_updating *u, text_table *t, size_t n)
{
    for (size_t i = 0; i < u->n_rows && t->first; i++)
        table_add(t, u, i);
    for (size_t i = 0; i < n; i++) {
        size_t len;
        const char *text = rf_dataset_text(u->data, i, &len);
        uint32_t name = u->data_name[rf_dataset_class(u->data, i)];
        if (t->first && relabel(u, t, text, len, name))
            continue;
        u->rows[u->n_rows++] =
            (rf_update_row){.name = name, .old = UINT32_MAX, .data = (uint32_t)i};
        u->touched[name] = true;
        u->n_added++;
        if (t->first)
            table_add(t, u, u->n_rows - 1);
    }
}

rf_status rf_update_plan_rows(rf_updating *u)
{
    size_t n = u->data ? rf_dataset_rows(u->data) : 0, all = u->old->n_rows + n;
    text_table t = {.mask = 15};
    while (t.mask < all)
        t.mask = 2 * t.mask + 1;
    if (all >= UINT32_MAX)
        return rf_fail(u->err, RF_ERR_LIMIT, 0, "%zu rows, wanted fewer than %zu", all,
                       (size_t)UINT32_MAX);
    bool texts = u->old->texts && n > 0;
    u->rows = calloc(all + 1, sizeof *u->rows);
    t.first = texts ? calloc((size_t)t.mask + 1, sizeof *t.first) : NULL;
    t.next = texts ? calloc(all + 1, sizeof *t.next) : NULL;
    rf_status st = u->rows && (!texts || (t.first && t.next))
                       ? RF_OK
                       : rf_fail_nomem(u->err, all * sizeof *u->rows, "the rows");
    if (st == RF_OK) {
        keep_old_rows(u);
        add_new_rows(u, &t, n);
    }
    free(t.first);
    free(t.next);
    return st;
}

/* ---- Their features ---------------------------------------------------------------- */

/* The texts to encode: new rows as the training part, all of o.dev. */
static rf_status list_texts(const rf_updating *u, rf_part *new, rf_part *dev)
{
    size_t n_dev = u->o.dev ? rf_dataset_rows(u->o.dev) : 0;
    rf_status st = rf_part_room(new, u->n_rows - u->n_old, u->err);
    if (st == RF_OK)
        st = rf_part_room(dev, n_dev, u->err);
    for (size_t i = u->n_old; i < u->n_rows && st == RF_OK; i++, new->n++)
        new->texts[new->n] =
            rf_dataset_text(u->data, u->rows[i].data, &new->lens[new->n]);
    for (size_t i = 0; i < n_dev && st == RF_OK; i++, dev->n++)
        dev->texts[i] = rf_dataset_text(u->o.dev, i, &dev->lens[i]);
    return st;
}

/* Rounds to half precision and back: what will be stored, so that the next update starts
 * from the same numbers. */
static void round_rows(float *to, const float *from, size_t n)
{
    uint16_t half[256];
    for (size_t i = 0; i < n; i += 256) {
        size_t some = n - i < 256 ? n - i : 256;
        rf_train_kernels()->narrow_f16(half, from + i, some);
        rf_kernels()->widen_f16(to + i, half, some);
    }
}

/* All rows as texts of one token, which is how the stages see features that nothing below
 * them changes. */
static rf_status gather_rows(rf_updating *u, const rf_activations *new)
{
    rf_part *p = &u->t.train;
    size_t d = u->old->known.width, n = u->n_rows, cells;
    if (!rf_size_mul(n, d, &cells) || cells > SIZE_MAX / 8)
        return rf_fail_nomem(u->err, SIZE_MAX, "the features");
    p->a = (rf_activations){.n_texts = n,
                            .width = d,
                            .layer = u->old->encoder->config.layers,
                            .bytes = cells * sizeof(float),
                            .n_tokens = n,
                            .longest = 1};
    p->class_of = calloc(n, sizeof *p->class_of);
    p->a.offsets = calloc(n + 1, sizeof *p->a.offsets);
    p->a.states = rf_floats_new(cells);
    p->z = rf_floats_new(cells);
    if (!p->class_of || !p->a.offsets || !p->a.states || !p->z)
        return rf_fail_nomem(u->err, 2 * p->a.bytes, "the features");
    for (size_t i = 0; i < n; i++) {
        p->class_of[i] = u->number[u->rows[i].name];
        p->a.offsets[i + 1] = i + 1;
        if (i < u->n_old)
            rf_kernels()->widen_f16(p->z + i * d, u->old->features + u->rows[i].old * d,
                                    d);
    }
    if (n > u->n_old)
        round_rows(p->z + u->n_old * d, new->states, (n - u->n_old) * d);
    if (!rf_kernels()->all_finite(p->z, cells))
        return rf_fail(u->err, RF_ERR_NUMERIC, 0,
                       "a feature of a new row that half precision cannot hold");
    memcpy(p->a.states, p->z, p->a.bytes);
    p->n = n;
    return RF_OK;
}

rf_status rf_update_encode(rf_updating *u)
{
    rf_training *t = &u->t, texts = *t;
    rf_status st = list_texts(u, &texts.train, &texts.dev);
    if (st == RF_OK)
        st = rf_training_encode(&texts);
    if (st == RF_OK)
        st = gather_rows(u, &texts.train.a);
    if (st == RF_OK) { /* t->dev stays empty: it is for measuring, not for training */
        t->n_cut = texts.n_cut;
        u->dev_n = texts.dev.n;
        u->dev_z = texts.dev.a.states;
        texts.dev.a.states = NULL;
    }
    rf_part_release(&texts.train);
    rf_part_release(&texts.dev);
    return st;
}

/* ---- Who accepts them -------------------------------------------------------------- */

typedef struct accepting {
    rf_updating *u;
    const uint32_t *rows; /* of the updated model */
} accepting;

static void mark_accepting(void *user, const rf_judge *j, size_t from, size_t n)
{
    const accepting *a = user;
    rf_updating *u = a->u;
    for (size_t i = 0; i < n; i++)
        for (size_t c = 0; c < j->classes; c++) {
            uint32_t now = rf_update_became(u, c);
            if (now != RF_NO_CLASS && now != u->t.train.class_of[a->rows[from + i]] &&
                j->margins[i * j->classes + c] >= 0.0f)
                u->from[now] = RF_FIT_ANEW;
        }
}

rf_status rf_update_find_accepting(rf_updating *u)
{
    size_t d = u->old->known.width, n = 0;
    uint32_t *rows = calloc(u->n_rows, sizeof *rows);
    if (!rows)
        return rf_fail_nomem(u->err, u->n_rows * sizeof *rows, "the new rows");
    for (size_t i = 0; i < u->n_rows; i++)
        if (i >= u->n_old || u->rows[i].relabelled)
            rows[n++] = (uint32_t)i;
    float *z = rf_floats_new(n * d + 1);
    rf_status st = z ? RF_OK : rf_fail_nomem(u->err, n * d * sizeof *z, "the new rows");
    for (size_t i = 0; i < n && st == RF_OK; i++)
        memcpy(z + i * d, u->t.train.z + rows[i] * d, d * sizeof *z);
    accepting a = {u, rows};
    if (st == RF_OK && n > 0)
        st = rf_judge_all(u->old, z, n, true, u->t.team, mark_accepting, &a, u->err);
    free(z);
    free(rows);
    return st;
}

/* ---- What the model stores --------------------------------------------------------- */

/* The points of kept rows stay; new rows go among the nearest of them. */
static rf_status store_map(rf_updating *u)
{
    const rf_model *old = u->old;
    rf_model *m = u->t.model;
    size_t d = m->known.width, at = 0, most = old->map_n + u->n_rows - u->n_old;
    if (old->map_n == 0)
        return RF_OK;
    m->map_rows = calloc(most, sizeof *m->map_rows);
    m->map_xy = calloc(most, 2 * sizeof *m->map_xy);
    if (!m->map_rows || !m->map_xy)
        return rf_fail_nomem(u->err, most * sizeof *m->map_rows, "the map");
    rf_status st = RF_OK;
    for (size_t i = 0; i < u->n_rows && st == RF_OK; i++) {
        bool kept = i < u->n_old;
        while (kept && at < old->map_n && (uint32_t)old->map_rows[at] < u->rows[i].old)
            at++;
        if (kept && (at == old->map_n || (uint32_t)old->map_rows[at] != u->rows[i].old))
            continue;
        float *xy = m->map_xy + 2 * m->map_n;
        m->map_rows[m->map_n++] = (int32_t)i;
        if (kept)
            memcpy(xy, old->map_xy + 2 * at, 2 * sizeof *xy);
        else
            st = rf_model_place(old, u->t.train.z + i * d, xy, xy + 1, u->err);
    }
    return st;
}

rf_status rf_update_store_rows(rf_updating *u)
{
    rf_model *m = u->t.model;
    size_t d = m->known.width, n = u->n_rows, bytes = 0, len;
    bool texts = u->old->texts;
    for (size_t i = 0; i < n && texts; i++) {
        text_of(u, &u->rows[i], &len);
        bytes += len;
    }
    m->features = calloc(n * d, sizeof *m->features);
    m->row_class = calloc(n, sizeof *m->row_class);
    m->texts = texts ? malloc(bytes + 1) : NULL;
    m->text_ends = texts ? calloc(n, sizeof *m->text_ends) : NULL;
    if (!m->features || !m->row_class || (texts && (!m->texts || !m->text_ends)))
        return rf_fail_nomem(u->err, n * d * sizeof *m->features, "the rows to keep");
    rf_train_kernels()->narrow_f16(m->features, u->t.train.z, n * d);
    for (size_t i = 0, at = 0; i < n; i++) {
        m->row_class[i] = (int32_t)u->t.train.class_of[i];
        if (!texts)
            continue;
        const char *text = text_of(u, &u->rows[i], &len);
        if (len > 0)
            memcpy(m->texts + at, text, len);
        m->text_ends[i] = at += len;
    }
    m->n_rows = n;
    return store_map(u);
}
