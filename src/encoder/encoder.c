/* encoder.c - loads the weights of a BERT encoder and packs them */
#include "encoder/encoder.h"

#include "base/memory.h"
#include "num/panels.h"
#include "text/vocab.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void rf_encoder_word(const rf_encoder *e, int32_t id, float *out)
{
    rf_weights_read(&e->weights, out, e->words, (size_t)id * e->config.width,
                    e->config.width);
}

rf_layer_group rf_encoder_layer_group(const rf_encoder *e, size_t layer, size_t group)
{
    const rf_layer *y = &e->layers[layer];
    size_t width = e->config.width, inner = e->config.inner;
    const rf_layer_group groups[RF_LAYER_GROUPS] = {
        {{"attention.self.query", "attention.self.key", "attention.self.value"},
         3,
         width,
         width,
         y->qkv_w,
         y->qkv_b},
        {{"attention.output.dense"}, 1, width, width, y->attn_w, y->attn_b},
        {{"attention.output.LayerNorm"}, 1, width, 0, y->attn_gain, y->attn_shift},
        {{"intermediate.dense"}, 1, inner, width, y->up_w, y->up_b},
        {{"output.dense"}, 1, width, inner, y->down_w, y->down_b},
        {{"output.LayerNorm"}, 1, width, 0, y->out_gain, y->out_shift},
    };
    return groups[group];
}

/* ---- Loading ----------------------------------------------------------------------- */

typedef struct loader {
    rf_encoder *e;
    const rf_weights *weights; /* of the part being loaded */
    float *rows;               /* [RF_PANEL, widest input], scratch */
    rf_error *err;
} loader;

static const rf_tensor *find(const loader *l, const char *name, const char *ending,
                             const char *old, size_t rank, size_t n0, size_t n1)
{
    const rf_tensor *t =
        rf_weights_find(l->weights, name, ending, old, rank, n0, n1, l->err);
    if (t)
        l->e->parameters += t->count;
    return t;
}

static rf_status load_vector(loader *l, float *out, const char *name, const char *ending,
                             const char *old, size_t n)
{
    const rf_tensor *t = find(l, name, ending, old, 1, n, 0);
    return t ? rf_weights_take(l->weights, out, t, 0, n, l->err) : RF_ERR_FORMAT;
}

static rf_status load_norm(loader *l, float *gain, float *shift, const char *name)
{
    size_t n = l->e->config.width;
    rf_status st = load_vector(l, gain, name, "weight", "gamma", n);
    return st == RF_OK ? load_vector(l, shift, name, "bias", "beta", n) : st;
}

/* Packs the matrices of a group, stacked, and their biases. */
static rf_status load_dense(loader *l, const rf_layer_group *g, char names[][128])
{
    const rf_tensor *w[3];
    size_t in = g->in, out = g->out, all = g->n_names * out;
    for (size_t i = 0; i < g->n_names; i++) {
        w[i] = find(l, names[i], "weight", NULL, 2, out, in);
        if (!w[i])
            return RF_ERR_FORMAT;
        rf_status st = load_vector(l, g->bias + i * out, names[i], "bias", NULL, out);
        if (st != RF_OK)
            return st;
    }
    for (size_t r0 = 0; r0 < all; r0 += RF_PANEL) {
        size_t rows = all - r0 < RF_PANEL ? all - r0 : RF_PANEL;
        for (size_t i = 0; i < rows;) { /* as many rows as the part still has */
            const rf_tensor *t = w[(r0 + i) / out];
            size_t row = (r0 + i) % out;
            size_t run = out - row < rows - i ? out - row : rows - i;
            rf_status st = rf_weights_take(l->weights, l->rows + i * in, t, row * in,
                                           run * in, l->err);
            if (st != RF_OK)
                return st;
            i += run;
        }
        rf_kernels()->pack_panel(g->weight + r0 * in, l->rows, in, rows, in);
    }
    return RF_OK;
}

/* The word table stays in the file: check it, a few rows at a time. */
static rf_status check_words(loader *l)
{
    const rf_config *c = &l->e->config;
    l->e->words =
        find(l, "embeddings.word_embeddings", "weight", NULL, 2, c->vocab_size, c->width);
    if (!l->e->words)
        return RF_ERR_FORMAT;
    rf_status st = RF_OK;
    for (size_t r = 0; r < c->vocab_size && st == RF_OK; r += RF_PANEL) {
        size_t n = c->vocab_size - r < RF_PANEL ? c->vocab_size - r : RF_PANEL;
        st = rf_weights_take(l->weights, l->rows, l->e->words, r * c->width, n * c->width,
                             l->err);
    }
    return st;
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
    /* every token is of type 0 */
    if ((st = rf_weights_take(l->weights, l->rows, type, 0, c->width, l->err)) != RF_OK ||
        (st = rf_weights_take(l->weights, e->positions, pos, 0, c->positions * c->width,
                              l->err)) != RF_OK)
        return st;
    for (size_t p = 0; p < c->positions; p++)
        for (size_t i = 0; i < c->width; i++)
            e->positions[p * c->width + i] += l->rows[i];
    if (!rf_kernels()->all_finite(e->positions, c->positions * c->width))
        return rf_weights_not_finite(l->weights, pos, 0, l->err);
    return load_norm(l, e->embed_gain, e->embed_shift, "embeddings.LayerNorm");
}

static rf_status load_layer(loader *l, size_t index)
{
    rf_status st = RF_OK;
    for (size_t i = 0; i < RF_LAYER_GROUPS && st == RF_OK; i++) {
        rf_layer_group g = rf_encoder_layer_group(l->e, index, i);
        char names[3][128];
        for (size_t j = 0; j < g.n_names; j++)
            snprintf(names[j], sizeof names[j], "encoder.layer.%zu.%s", index,
                     g.names[j]);
        st = g.in > 0 ? load_dense(l, &g, names)
                      : load_norm(l, g.weight, g.bias, names[0]);
    }
    return st;
}

/* ---- Laying out -------------------------------------------------------------------- */

/* Runs twice: with base NULL to learn the size, then to assign pieces of the block. */
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

static void lay_out(rf_encoder *e, layout *l)
{
    const rf_config *c = &e->config;
    e->positions = piece(l, c->positions, c->width);
    e->embed_gain = piece(l, c->width, 1);
    e->embed_shift = piece(l, c->width, 1);
    for (size_t i = 0; i < c->layers; i++) {
        rf_layer *y = &e->layers[i];
        y->qkv_w = piece(l, rf_panels_padded(3 * c->width), c->width);
        y->qkv_b = piece(l, 3 * c->width, 1);
        y->attn_w = piece(l, rf_panels_padded(c->width), c->width);
        y->attn_b = piece(l, c->width, 1);
        y->attn_gain = piece(l, c->width, 1);
        y->attn_shift = piece(l, c->width, 1);
        y->up_w = piece(l, rf_panels_padded(c->inner), c->width);
        y->up_b = piece(l, c->inner, 1);
        y->down_w = piece(l, rf_panels_padded(c->width), c->inner);
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

/* Before allocating what config.json claims, make sure that the weight file is large
 * enough for it. */
static rf_status check_plausible(const rf_encoder *e, rf_error *err)
{
    const rf_config *c = &e->config;
    size_t len = e->weights.file->len;
    double weights = (double)c->layers * (double)c->width *
                     (4.0 * (double)c->width + 2.0 * (double)c->inner);
    if (weights > (double)len) /* a byte each at least */
        return rf_fail(err, RF_ERR_FORMAT, 0,
                       "%s: config.json describes %.0f dense weights, %s has %zu bytes",
                       e->files.where, weights,
                       e->files.shared ? "the model" : "model.safetensors", len);
    return RF_OK;
}

static rf_status load_vocab(rf_encoder *e, rf_error *err)
{
    const rf_encoder_part *p = &e->files.parts[1], *flags = &e->files.parts[2];
    char path[RF_PATH_MAX], flags_path[RF_PATH_MAX] = "";
    rf_error local = {0};
    rf_status st;
    if (!err)
        err = &local;
    if ((st = rf_path_join(path, e->files.where, p->name, err)) != RF_OK ||
        (flags->name &&
         (st = rf_path_join(flags_path, e->files.where, flags->name, err)) != RF_OK))
        return st;
    e->vocab = strcmp(p->name, "tokenizer.json") == 0
                   ? rf_vocab_from_json(p->bytes, p->len, path, err)
                   : rf_vocab_from_text(p->bytes, p->len, path, flags->bytes, flags->len,
                                        flags_path, err);
    if (!e->vocab)
        return err->code;
    if (rf_vocab_size(e->vocab) > e->config.vocab_size)
        return rf_fail(
            err, RF_ERR_FORMAT, 0,
            "%s: the tokenizer has %zu pieces, config.json a vocab_size of %zu",
            e->files.where, rf_vocab_size(e->vocab), e->config.vocab_size);
    return RF_OK;
}

/* e has its files. `tuned` layers at the top come from the weights `upper`. */
static rf_status load(rf_encoder *e, const rf_weights *upper, size_t tuned, rf_error *err)
{
    const rf_config *c = &e->config;
    const rf_encoder_part *config = &e->files.parts[0];
    char path[RF_PATH_MAX];
    rf_status st;
    if ((st = rf_path_join(path, e->files.where, config->name, err)) != RF_OK ||
        (st = rf_config_parse(&e->config, config->bytes, config->len, path, err)) !=
            RF_OK ||
        (st = check_plausible(e, err)) != RF_OK || (st = load_vocab(e, err)) != RF_OK)
        return st;
    if (tuned > c->layers)
        return rf_fail(err, RF_ERR_FORMAT, 0, "%s: %zu tuned layers of %zu",
                       upper->file->name, tuned, c->layers);
    if ((st = make_room(e, err)) != RF_OK)
        return st;
    size_t widest = c->inner > c->width ? c->inner : c->width;
    loader l = {.e = e, .weights = &e->weights, .err = err};
    l.rows = rf_floats_new(RF_PANEL * widest);
    if (!l.rows)
        return rf_fail_nomem(err, RF_PANEL * widest * sizeof(float), "loading weights");
    st = load_embeddings(&l);
    for (size_t i = 0; i < c->layers && st == RF_OK; i++) {
        if (i == c->layers - tuned)
            l.weights = upper;
        st = load_layer(&l, i);
        /* Packed weights are not needed in the file; words are paged in again when used.
         */
        rf_mapping_forget(&l.weights->file->mapping, 0, l.weights->file->mapping.len);
    }
    free(l.rows);
    rf_mapping_forget(&e->weights.file->mapping, 0, e->weights.file->mapping.len);
    return st;
}

/* Takes ownership of the files. */
static rf_encoder *build(rf_encoder_files *files, bool half, const rf_safetensors *model,
                         size_t tuned, rf_error *err)
{
    rf_encoder *e = calloc(1, sizeof *e);
    if (!e) {
        rf_fail_nomem(err, sizeof *e, "encoder");
        rf_encoder_files_close(files);
        return NULL;
    }
    e->files = *files;
    *files = (rf_encoder_files){0};
    e->weights = rf_weights_in(rf_encoder_files_weights(&e->files), half);
    e->weights.only_half = e->files.shared;
    rf_weights upper = {.file = model, .prefix = "", .only_half = true};
    if (load(e, &upper, tuned, err) != RF_OK) {
        rf_encoder_free(e);
        return NULL;
    }
    return e;
}

static rf_encoder *load_dir(const char *dir, bool half, rf_error *err)
{
    rf_encoder_files files;
    if (rf_encoder_files_open(&files, dir, false, err) != RF_OK)
        return NULL;
    return build(&files, half, NULL, 0, err);
}

rf_encoder *rf_encoder_load(const char *dir, rf_error *err)
{
    return load_dir(dir, false, err);
}

rf_encoder *rf_encoder_load_half(const char *dir, rf_error *err)
{
    return load_dir(dir, true, err);
}

rf_encoder *rf_encoder_load_files(rf_encoder_files *files, const rf_safetensors *model,
                                  size_t tuned, rf_error *err)
{
    return build(files, true, model, tuned, err);
}

void rf_encoder_free(rf_encoder *e)
{
    if (!e)
        return;
    rf_integer_weights_free(atomic_load(&e->integers));
    rf_vocab_free(e->vocab);
    rf_encoder_files_close(&e->files);
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
