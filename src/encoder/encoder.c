#include "encoder/encoder.h"

#include "base/memory.h"
#include "num/kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Reading tensors --------------------------------------------------------------- */

/* n elements from element `first` of a tensor, as floats. F32 data need not be aligned.
 */
static void read_floats(float *out, const rf_tensor *t, size_t first, size_t n)
{
    const rf_kernel_table *k = rf_kernels();
    const unsigned char *from = t->data + first * rf_dtype_size(t->dtype);
    if (t->dtype == RF_F32) {
        memcpy(out, from, n * sizeof(float));
        return;
    }
    void (*widen)(float *, const uint16_t *, size_t) =
        t->dtype == RF_F16 ? k->widen_f16 : k->widen_bf16;
    uint16_t halves[512]; /* through a copy: data in a file need not be aligned */
    for (size_t i = 0; i < n; i += 512) {
        size_t some = n - i < 512 ? n - i : 512;
        memcpy(halves, from + 2 * i, 2 * some);
        widen(out + i, halves, some);
    }
}

void rf_encoder_word(const rf_encoder *e, int32_t id, float *out)
{
    read_floats(out, e->words, (size_t)id * e->config.width, e->config.width);
}

typedef struct loader {
    rf_encoder *e;
    const char *prefix; /* "bert." or "" */
    float *rows;        /* [RF_PANEL, widest input], scratch */
    rf_error *err;
} loader;

static rf_status not_finite(const loader *l, const rf_tensor *t, size_t at)
{
    return rf_fail(l->err, RF_ERR_NUMERIC, t->offset + at * rf_dtype_size(t->dtype),
                   "%s: tensor \"%.100s\": a NaN or an infinity near element %zu, wanted "
                   "finite weights",
                   l->e->file.name, t->name, at);
}

/* The tensor of a name below the prefix, with its shape and type checked. `old` is the
 * name's ending in older checkpoints (gamma, beta), or NULL. */
static const rf_tensor *find(const loader *l, const char *name, const char *ending,
                             const char *old, size_t rank, size_t n0, size_t n1)
{
    char full[256], found_shape[160], want_shape[160];
    const rf_safetensors *s = &l->e->file;
    const size_t shape[2] = {n0, n1};
    snprintf(full, sizeof full, "%s%s.%s", l->prefix, name, ending);
    const rf_tensor *t = rf_safetensors_find(s, full);
    if (!t && old) {
        char alt[256];
        snprintf(alt, sizeof alt, "%s%s.%s", l->prefix, name, old);
        t = rf_safetensors_find(s, alt);
    }
    if (!t) {
        rf_fail(l->err, RF_ERR_FORMAT, 0, "%s: tensor \"%s\" is missing, wanted %s",
                s->name, full, rf_shape_text(want_shape, shape, rank));
        return NULL;
    }
    if (t->rank != rank || t->shape[0] != n0 || (rank == 2 && t->shape[1] != n1)) {
        rf_fail(l->err, RF_ERR_FORMAT, t->offset,
                "%s: tensor \"%.100s\" is %s, wanted %s by config.json", s->name, t->name,
                rf_shape_text(found_shape, t->shape, t->rank),
                rf_shape_text(want_shape, shape, rank));
        return NULL;
    }
    if (t->dtype != RF_F32 && t->dtype != RF_F16 && t->dtype != RF_BF16) {
        rf_fail(l->err, RF_ERR_VERSION, t->offset,
                "%s: tensor \"%.100s\" is %s, wanted F32, F16 or BF16", s->name, t->name,
                rf_dtype_name(t->dtype));
        return NULL;
    }
    l->e->parameters += t->count;
    return t;
}

static rf_status load_vector(loader *l, float *out, const char *name, const char *ending,
                             const char *old, size_t n)
{
    const rf_tensor *t = find(l, name, ending, old, 1, n, 0);
    if (!t)
        return RF_ERR_FORMAT;
    read_floats(out, t, 0, n);
    return rf_kernels()->all_finite(out, n) ? RF_OK : not_finite(l, t, 0);
}

static rf_status load_norm(loader *l, float *gain, float *shift, const char *name)
{
    size_t n = l->e->config.width;
    rf_status st = load_vector(l, gain, name, "weight", "gamma", n);
    return st == RF_OK ? load_vector(l, shift, name, "bias", "beta", n) : st;
}

/* n_parts matrices of [out, in] one under the other, packed. */
static rf_status load_dense(loader *l, float *packed, float *bias, char names[][128],
                            size_t n_parts, size_t in, size_t out)
{
    const rf_tensor *w[3];
    for (size_t i = 0; i < n_parts; i++) {
        w[i] = find(l, names[i], "weight", NULL, 2, out, in);
        if (!w[i])
            return RF_ERR_FORMAT;
        rf_status st = load_vector(l, bias + i * out, names[i], "bias", NULL, out);
        if (st != RF_OK)
            return st;
    }
    for (size_t r0 = 0; r0 < n_parts * out; r0 += RF_PANEL) {
        size_t rows = n_parts * out - r0 < RF_PANEL ? n_parts * out - r0 : RF_PANEL;
        for (size_t i = 0; i < rows;) { /* as many rows at once as one part still has */
            const rf_tensor *t = w[(r0 + i) / out];
            size_t row = (r0 + i) % out;
            size_t run = out - row < rows - i ? out - row : rows - i;
            read_floats(l->rows + i * in, t, row * in, run * in);
            if (!rf_kernels()->all_finite(l->rows + i * in, run * in))
                return not_finite(l, t, row * in);
            i += run;
        }
        rf_kernels()->pack_panel(packed + r0 * in, l->rows, in, rows, in);
    }
    return RF_OK;
}

/* The word table stays where it is: check it, a few rows at a time. */
static rf_status check_words(loader *l)
{
    const rf_config *c = &l->e->config;
    l->e->words =
        find(l, "embeddings.word_embeddings", "weight", NULL, 2, c->vocab_size, c->width);
    if (!l->e->words)
        return RF_ERR_FORMAT;
    for (size_t r = 0; r < c->vocab_size; r += RF_PANEL) {
        size_t n =
            (c->vocab_size - r < RF_PANEL ? c->vocab_size - r : RF_PANEL) * c->width;
        read_floats(l->rows, l->e->words, r * c->width, n);
        if (!rf_kernels()->all_finite(l->rows, n))
            return not_finite(l, l->e->words, r * c->width);
    }
    return RF_OK;
}

static rf_status load_embeddings(loader *l)
{
    rf_encoder *e = l->e;
    const rf_config *c = &e->config;
    rf_status st = check_words(l);
    if (st != RF_OK)
        return st;
    const rf_tensor *pos = find(l, "embeddings.position_embeddings", "weight", NULL, 2,
                                c->positions, c->width);
    const rf_tensor *type = pos ? find(l, "embeddings.token_type_embeddings", "weight",
                                       NULL, 2, c->types, c->width)
                                : NULL;
    if (!type)
        return RF_ERR_FORMAT;
    read_floats(e->positions, pos, 0, c->positions * c->width);
    read_floats(l->rows, type, 0, c->width); /* every token is of type 0 */
    for (size_t p = 0; p < c->positions; p++)
        for (size_t i = 0; i < c->width; i++)
            e->positions[p * c->width + i] += l->rows[i];
    if (!rf_kernels()->all_finite(l->rows, c->width))
        return not_finite(l, type, 0);
    if (!rf_kernels()->all_finite(e->positions, c->positions * c->width))
        return not_finite(l, pos, 0);
    return load_norm(l, e->embed_gain, e->embed_shift, "embeddings.LayerNorm");
}

static rf_status load_layer(loader *l, size_t index)
{
    const rf_config *c = &l->e->config;
    rf_layer *y = &l->e->layers[index];
    char at[64], n[3][128];
    rf_status st;
    snprintf(at, sizeof at, "encoder.layer.%zu", index);
    snprintf(n[0], sizeof n[0], "%s.attention.self.query", at);
    snprintf(n[1], sizeof n[1], "%s.attention.self.key", at);
    snprintf(n[2], sizeof n[2], "%s.attention.self.value", at);
    if ((st = load_dense(l, y->qkv_w, y->qkv_b, n, 3, c->width, c->width)) != RF_OK)
        return st;
    snprintf(n[0], sizeof n[0], "%s.attention.output.dense", at);
    snprintf(n[1], sizeof n[1], "%s.attention.output.LayerNorm", at);
    if ((st = load_dense(l, y->attn_w, y->attn_b, n, 1, c->width, c->width)) != RF_OK ||
        (st = load_norm(l, y->attn_gain, y->attn_shift, n[1])) != RF_OK)
        return st;
    snprintf(n[0], sizeof n[0], "%s.intermediate.dense", at);
    if ((st = load_dense(l, y->up_w, y->up_b, n, 1, c->width, c->inner)) != RF_OK)
        return st;
    snprintf(n[0], sizeof n[0], "%s.output.dense", at);
    snprintf(n[1], sizeof n[1], "%s.output.LayerNorm", at);
    if ((st = load_dense(l, y->down_w, y->down_b, n, 1, c->inner, c->width)) != RF_OK)
        return st;
    return load_norm(l, y->out_gain, y->out_shift, n[1]);
}

/* ---- Laying out -------------------------------------------------------------------- */

/* Walks the block twice: with base NULL to learn its size, then to hand out pieces. */
typedef struct layout {
    float *base;
    size_t used; /* floats, kept at multiples of a cache line */
    bool overflow;
} layout;

static float *piece(layout *l, size_t a, size_t b)
{
    size_t n, end;
    if (!rf_size_mul(a, b, &n) || !rf_size_add(l->used, n, &end) ||
        end > SIZE_MAX / 2 / sizeof(float)) {
        l->overflow = true;
        return NULL;
    }
    float *p = l->base ? l->base + l->used : NULL;
    l->used = (end + 15) / 16 * 16;
    return p;
}

static size_t padded(size_t columns)
{
    return (columns + RF_PANEL - 1) / RF_PANEL * RF_PANEL;
}

static void lay_out(rf_encoder *e, layout *l)
{
    const rf_config *c = &e->config;
    e->positions = piece(l, c->positions, c->width);
    e->embed_gain = piece(l, c->width, 1);
    e->embed_shift = piece(l, c->width, 1);
    for (size_t i = 0; i < c->layers; i++) {
        rf_layer *y = &e->layers[i];
        y->qkv_w = piece(l, padded(3 * c->width), c->width);
        y->qkv_b = piece(l, 3 * c->width, 1);
        y->attn_w = piece(l, padded(c->width), c->width);
        y->attn_b = piece(l, c->width, 1);
        y->attn_gain = piece(l, c->width, 1);
        y->attn_shift = piece(l, c->width, 1);
        y->up_w = piece(l, padded(c->inner), c->width);
        y->up_b = piece(l, c->inner, 1);
        y->down_w = piece(l, padded(c->width), c->inner);
        y->down_b = piece(l, c->width, 1);
        y->out_gain = piece(l, c->width, 1);
        y->out_shift = piece(l, c->width, 1);
    }
}

static rf_status make_room(rf_encoder *e, rf_error *err)
{
    e->layers = calloc(e->config.layers, sizeof *e->layers);
    if (!e->layers)
        return rf_fail_nomem(err, e->config.layers * sizeof *e->layers, "layers");
    layout l = {0};
    lay_out(e, &l);
    if (!l.overflow)
        e->block = rf_floats_new(l.used);
    if (!e->block)
        return rf_fail_nomem(err, l.used * sizeof(float), "weights");
    l = (layout){.base = e->block};
    lay_out(e, &l);
    return RF_OK;
}

/* ---- The public side --------------------------------------------------------------- */

/* Before memory is taken for what config.json claims, make sure that the file can hold
 * it: a hundred layers need a hundred layers' bytes. */
static rf_status check_plausible(const rf_encoder *e, const char *dir, rf_error *err)
{
    const rf_config *c = &e->config;
    double weights = (double)c->layers * (double)c->width *
                     (4.0 * (double)c->width + 2.0 * (double)c->inner);
    if (2.0 * weights > (double)e->file.map.len)
        return rf_fail(err, RF_ERR_FORMAT, 0,
                       "%s: config.json describes %.0f dense weights, model.safetensors "
                       "has %zu bytes",
                       dir, weights, e->file.map.len);
    return RF_OK;
}

static rf_status load(rf_encoder *e, const char *dir, rf_error *err)
{
    char path[RF_PATH_MAX];
    rf_status st;
    if ((st = rf_config_load(&e->config, dir, err)) != RF_OK ||
        (st = rf_path_join(path, dir, "model.safetensors", err)) != RF_OK ||
        (st = rf_safetensors_open(&e->file, path, err)) != RF_OK ||
        (st = check_plausible(e, dir, err)) != RF_OK)
        return st;
    e->vocab = rf_vocab_load(dir, err);
    if (!e->vocab)
        return RF_ERR_FORMAT;
    if (rf_vocab_size(e->vocab) > e->config.vocab_size)
        return rf_fail(
            err, RF_ERR_FORMAT, 0,
            "%s: the tokenizer has %zu pieces, config.json a vocab_size of %zu", dir,
            rf_vocab_size(e->vocab), e->config.vocab_size);
    if ((st = make_room(e, err)) != RF_OK)
        return st;

    size_t widest = e->config.inner > e->config.width ? e->config.inner : e->config.width;
    bool prefixed =
        rf_safetensors_find(&e->file, "bert.embeddings.word_embeddings.weight");
    loader l = {.e = e, .prefix = prefixed ? "bert." : "", .err = err};
    l.rows = rf_floats_new(RF_PANEL * widest);
    if (!l.rows)
        return rf_fail_nomem(err, RF_PANEL * widest * sizeof(float), "loading weights");
    st = load_embeddings(&l);
    for (size_t i = 0; i < e->config.layers && st == RF_OK; i++)
        st = load_layer(&l, i);
    free(l.rows);
    /* What was packed is not needed in its old form; the words come back as used. */
    rf_map_forget(&e->file.map, 0, e->file.map.len);
    return st;
}

rf_encoder *rf_encoder_load(const char *dir, rf_error *err)
{
    rf_encoder *e = calloc(1, sizeof *e);
    if (!e) {
        rf_fail_nomem(err, sizeof *e, "encoder");
        return NULL;
    }
    if (load(e, dir, err) != RF_OK) {
        rf_encoder_free(e);
        return NULL;
    }
    return e;
}

void rf_encoder_free(rf_encoder *e)
{
    if (!e)
        return;
    rf_vocab_free(e->vocab);
    rf_safetensors_close(&e->file);
    free(e->layers);
    free(e->block);
    free(e);
}

rf_encoder_info rf_encoder_describe(const rf_encoder *e)
{
    const rf_config *c = &e->config;
    return (rf_encoder_info){.layers = c->layers,
                             .width = c->width,
                             .heads = c->heads,
                             .inner = c->inner,
                             .vocab_size = c->vocab_size,
                             .max_tokens = c->positions,
                             .parameters = e->parameters};
}

const rf_vocab *rf_encoder_vocab(const rf_encoder *e)
{
    return e->vocab;
}
