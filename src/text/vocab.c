/* vocab.c - the table of pieces: building it and looking things up */
#include "text/vocab_build.h"

#include "base/memory.h"
#include "text/unigram.h"

#include <stdlib.h>
#include <string.h>

#define NO_PIECE UINT32_MAX

/* Limit of a vocabulary's text; real ones have a quarter of a megabyte. */
#define MAX_BYTES ((size_t)64 << 20)

static bool starts_inside(const rf_vocab *v, const char *text, size_t len)
{
    return len > v->prefix_len && v->prefix_len > 0 &&
           memcmp(text, v->prefix, v->prefix_len) == 0;
}

static uint32_t hash_of(const char *text, size_t len, bool inside)
{
    uint32_t h = inside ? RF_HASH_INSIDE : RF_HASH_WORD;
    for (size_t i = 0; i < len; i++)
        h = rf_hash_byte(h, text[i]);
    return h;
}

/* FNV's low bits are weak: fold in the high half. */
static size_t slot_of(const rf_vocab *v, uint32_t hash)
{
    return (hash ^ hash >> 15) & (v->table_size - 1);
}

static bool same(const rf_vocab *v, int32_t id, const char *text, size_t len, bool inside)
{
    const rf_piece *p = &v->pieces[id];
    const char *own = v->bytes + p->offset;
    size_t skip = inside ? v->prefix_len : 0;
    return p->len == len + skip && starts_inside(v, own, p->len) == inside &&
           memcmp(own + skip, text, len) == 0;
}

int32_t rf_vocab_lookup(const rf_vocab *v, const char *text, size_t len, uint32_t hash,
                        bool inside)
{
    for (size_t i = slot_of(v, hash);; i = (i + 1) & (v->table_size - 1)) {
        int32_t id = v->table[i];
        if (id < 0)
            return -1;
        if (v->pieces[id].hash == hash && same(v, id, text, len, inside))
            return id;
    }
}

int32_t rf_vocab_find(const rf_vocab *v, const char *piece, size_t len)
{
    bool inside = starts_inside(v, piece, len);
    size_t skip = inside ? v->prefix_len : 0;
    return rf_vocab_lookup(v, piece + skip, len - skip,
                           hash_of(piece + skip, len - skip, inside), inside);
}

const char *rf_vocab_piece(const rf_vocab *v, int32_t id, size_t *len)
{
    if (id < 0 || (size_t)id >= v->size || v->pieces[id].offset == NO_PIECE)
        return NULL;
    if (len)
        *len = v->pieces[id].len;
    return v->bytes + v->pieces[id].offset;
}

size_t rf_vocab_size(const rf_vocab *v)
{
    return v->size;
}

void rf_vocab_free(rf_vocab *v)
{
    if (!v)
        return;
    free(v->bytes);
    free(v->pieces);
    free(v->table);
    rf_unigram_free(v->unigram);
    free(v);
}

/* ---- Building ---------------------------------------------------------------------- */

rf_status rf_vocab_builder_init(rf_vocab_builder *b, const char *name, rf_error *err)
{
    *b = (rf_vocab_builder){.name = name};
    rf_buffer_init(&b->bytes, MAX_BYTES, name);
    rf_buffer_init(&b->pieces, (size_t)RF_MAX_VOCAB * sizeof(rf_piece), name);
    b->vocab = calloc(1, sizeof *b->vocab);
    if (!b->vocab)
        return rf_fail_nomem(err, sizeof *b->vocab, name);
    *b->vocab = (rf_vocab){
        .prefix = "##",
        .prefix_len = 2,
        .max_word_chars = 100,
        .clean_text = true,
        .space_cjk = true,
        .fold = {.lowercase = true, .strip_accents = true},
    };
    return RF_OK;
}

void rf_vocab_builder_release(rf_vocab_builder *b)
{
    rf_buffer_release(&b->bytes);
    rf_buffer_release(&b->pieces);
    rf_vocab_free(b->vocab);
    b->vocab = NULL;
}

rf_status rf_vocab_builder_add(rf_vocab_builder *b, int64_t id, const char *text,
                               size_t len, rf_error *err)
{
    if (id < 0 || id >= RF_MAX_VOCAB)
        return rf_fail(err, RF_ERR_LIMIT, 0,
                       "%s: piece \"%.40s\" has id %lld, wanted 0 to %d", b->name, text,
                       (long long)id, RF_MAX_VOCAB - 1);
    size_t n = b->pieces.len / sizeof(rf_piece);
    for (; n <= (size_t)id; n++) { /* ids may come in any order: mark the gaps */
        rf_piece none = {.offset = NO_PIECE};
        rf_status st = rf_buffer_add(&b->pieces, &none, sizeof none, err);
        if (st != RF_OK)
            return st;
    }
    rf_piece *p = (rf_piece *)(void *)b->pieces.data + id;
    if (p->offset != NO_PIECE) {
        if (p->len == len && memcmp(b->bytes.data + p->offset, text, len) == 0)
            return RF_OK; /* a special token that is also in the vocabulary */
        return rf_fail(err, RF_ERR_FORMAT, (size_t)id,
                       "%s: id %lld is both \"%.40s\" and \"%.40s\"", b->name,
                       (long long)id, b->bytes.data + p->offset, text);
    }
    p->offset = (uint32_t)b->bytes.len;
    p->len = (uint32_t)len;
    rf_status st = rf_buffer_add(&b->bytes, text, len, err);
    return st == RF_OK ? rf_buffer_add(&b->bytes, "", 1, err) : st;
}

static rf_status build_table(rf_vocab *v, rf_error *err)
{
    v->table_size = 16;
    while (v->table_size < 2 * v->size)
        v->table_size *= 2;
    v->table = malloc(v->table_size * sizeof *v->table);
    if (!v->table)
        return rf_fail_nomem(err, v->table_size * sizeof *v->table, "vocabulary");
    memset(v->table, 0xff, v->table_size * sizeof *v->table);
    for (size_t id = 0; id < v->size; id++) {
        rf_piece *p = &v->pieces[id];
        if (p->offset == NO_PIECE || p->len == 0)
            continue;
        const char *text = v->bytes + p->offset;
        bool inside = starts_inside(v, text, p->len);
        size_t skip = inside ? v->prefix_len : 0, len = p->len - skip;
        p->hash = hash_of(text + skip, len, inside);
        if (len > v->longest)
            v->longest = len;
        size_t i = slot_of(v, p->hash);
        while (v->table[i] >= 0 && !(v->pieces[v->table[i]].hash == p->hash &&
                                     same(v, v->table[i], text + skip, len, inside)))
            i = (i + 1) & (v->table_size - 1);
        v->table[i] = (int32_t)id; /* of two equal pieces the later wins, as in Python */
    }
    return RF_OK;
}

/* The id of a special token; there must be exactly one. */
static rf_status special(const rf_vocab *v, const char *name, const char *role,
                         const char *token, int32_t *id, rf_error *err)
{
    size_t len = strlen(token);
    *id = rf_vocab_find(v, token, len);
    if (*id < 0)
        return rf_fail(err, RF_ERR_FORMAT, 0, "%s: no %s token \"%s\" among %zu pieces",
                       name, role, token, v->size);
    for (int32_t i = 0; i < *id; i++) {
        const rf_piece *p = &v->pieces[i];
        if (p->offset != NO_PIECE && p->len == len &&
            memcmp(v->bytes + p->offset, token, len) == 0)
            return rf_fail(err, RF_ERR_FORMAT, (size_t)*id,
                           "%s: %s token \"%s\" is at id %d and again at id %d", name,
                           role, token, i, *id);
    }
    return RF_OK;
}

rf_vocab *rf_vocab_builder_finish(rf_vocab_builder *b, const rf_special_names *names,
                                  rf_error *err)
{
    rf_vocab *v = b->vocab;
    v->size = b->pieces.len / sizeof(rf_piece);
    if (v->size == 0) {
        rf_fail(err, RF_ERR_FORMAT, 0, "%s: no pieces", b->name);
        return NULL;
    }
    v->bytes = b->bytes.data; /* the vocabulary owns the two blocks from here on */
    v->pieces = (rf_piece *)(void *)b->pieces.data;
    b->bytes.data = b->pieces.data = NULL;
    if (build_table(v, err) != RF_OK ||
        special(v, b->name, "unknown", names->unk, &v->unk, err) != RF_OK ||
        special(v, b->name, "start", names->cls, &v->cls, err) != RF_OK ||
        special(v, b->name, "end", names->sep, &v->sep, err) != RF_OK)
        return NULL;
    if (v->unk == v->cls || v->unk == v->sep) {
        rf_fail(err, RF_ERR_FORMAT, 0,
                "%s: the unknown token is also the start or the end token", b->name);
        return NULL;
    }
    b->vocab = NULL;
    return v;
}
