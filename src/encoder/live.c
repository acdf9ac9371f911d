/* live.c - forward and backward pass of a BERT layer that learns */
#include "encoder/live.h"

#include "base/memory.h"
#include "base/rng.h"
#include "base/streams.h"
#include "num/panels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

rf_status rf_live_init(rf_live_layer *l, rf_encoder *e, size_t layer, size_t index,
                       size_t max_rows, size_t max_groups, rf_error *err)
{
    const rf_config *c = &e->config;
    rf_layer *y = &e->layers[layer];
    size_t width = c->width, inner = c->inner, n = (3 + max_groups) * 4 * width;
    *l = (rf_live_layer){.config = c, .y = y, .index = index};
    rf_status st =
        rf_linear_init(&l->qkv, y->qkv_w, y->qkv_b, 3 * width, width, max_rows, err);
    if (st == RF_OK)
        st = rf_linear_init(&l->attn, y->attn_w, y->attn_b, width, width, max_rows, err);
    if (st == RF_OK)
        st = rf_linear_init(&l->up, y->up_w, y->up_b, inner, width, max_rows, err);
    if (st == RF_OK)
        st = rf_linear_init(&l->down, y->down_w, y->down_b, width, inner, max_rows, err);
    if (st == RF_OK) {
        l->norms = rf_floats_new(n);
        st = l->norms ? RF_OK : rf_fail_nomem(err, n * sizeof(float), "training a layer");
    }
    if (st == RF_OK) {
        memset(l->norms, 0, n * sizeof(float));
        l->norm_sums = l->norms + 3 * 4 * width;
    }
    return st;
}

void rf_live_release(rf_live_layer *l)
{
    rf_linear_release(&l->qkv);
    rf_linear_release(&l->attn);
    rf_linear_release(&l->up);
    rf_linear_release(&l->down);
    free(l->norms);
    *l = (rf_live_layer){0};
}

rf_status rf_live_saved_init(rf_live_saved *k, const rf_config *c, size_t max_tokens,
                             rf_error *err)
{
    size_t t = max_tokens, tw = t * c->width, n = 8 * tw + 2 * t * c->inner + 2 * t;
    *k = (rf_live_saved){.block = rf_floats_new(n)};
    if (!k->block)
        return rf_fail_nomem(err, n * sizeof(float), "training a layer");
    k->qkv = k->block;
    k->mix = k->qkv + 3 * tw;
    k->hat1 = k->mix + tw;
    k->mid = k->hat1 + tw;
    k->hat2 = k->mid + tw;
    k->out = k->hat2 + tw;
    k->up = k->out + tw;
    k->act = k->up + t * c->inner;
    k->rstd1 = k->act + t * c->inner;
    k->rstd2 = k->rstd1 + t;
    return RF_OK;
}

void rf_live_saved_release(rf_live_saved *k)
{
    free(k->block);
    *k = (rf_live_saved){0};
}

rf_status rf_live_scratch_init(rf_live_scratch *s, const rf_config *c, size_t max_tokens,
                               size_t max_text, rf_error *err)
{
    size_t tw = max_tokens * c->width, padded = rf_panels_padded(max_text);
    size_t head = rf_panels_padded(c->width / c->heads), square = max_text * padded;
    size_t n = 5 * tw + max_tokens * c->inner + 4 * square + padded * head;
    *s = (rf_live_scratch){.block = rf_floats_new(n)};
    if (!s->block)
        return rf_fail_nomem(err, n * sizeof(float), "training a layer");
    s->wide = s->block;
    s->a = s->wide + max_tokens * c->inner;
    s->b = s->a + tw;
    s->d_qkv = s->b + tw;
    s->p = s->d_qkv + 3 * tw;
    s->dropped = s->p + square;
    s->dp = s->dropped + square;
    s->transposed = s->dp + square;
    s->panels = s->transposed + square;
    return RF_OK;
}

void rf_live_scratch_release(rf_live_scratch *s)
{
    free(s->block);
    *s = (rf_live_scratch){0};
}

/* ---- Dropout by token -------------------------------------------------------------- */

static uint64_t mask_key(const rf_group *g, rf_stream site, size_t layer, size_t head,
                         size_t text, size_t token)
{
    uint64_t word = rf_stream_table[site].word;
    return rf_rng_key(g->seed, g->step,
                      word | (uint64_t)layer << 8 | (uint64_t)head << 32,
                      (uint64_t)(g->first_text + text) << 32 | token);
}

/* y = dropout(x) for every token's row; y may be x. */
static void drop_rows(const rf_live_layer *l, float *y, const float *x, rf_stream site,
                      const rf_group *g)
{
    size_t width = l->config->width;
    for (size_t text = 0, row = 0; text < g->n_texts; text++) {
        size_t n = g->offsets[text + 1] - g->offsets[text];
        for (size_t t = 0; t < n; t++, row++)
            rf_train_kernels()->dropout(y + row * width, x + row * width, width,
                                        g->dropout,
                                        mask_key(g, site, l->index, 0, text, t));
    }
}

/* ---- Attention within one text and head -------------------------------------------- */

/* One head's view of a text. */
typedef struct head_view {
    const float *q, *k, *v; /* [n, dh], rows ld apart */
    size_t n, dh, ld;
    size_t padded; /* n in whole panels: row distance of the [n, n] matrices */
    rf_live_scratch *s;
} head_view;

/* c [m, n] = a [m, k] b^T, b [n, k]; n columns are written up to the padding. */
static void product_nt(float *c, size_t ldc, const float *a, size_t lda, const float *b,
                       size_t ldb, size_t m, size_t n, size_t k, float *panels)
{
    for (size_t j = 0; j < n; j += RF_PANEL)
        rf_kernels()->pack_panel(panels + j * k, b + j * ldb, ldb,
                                 n - j < RF_PANEL ? n - j : RF_PANEL, k);
    rf_gemm_args g = rf_panels_product(c, a, panels, NULL, m, rf_panels_padded(n), k);
    g.ldc = ldc;
    g.lda = lda;
    rf_kernels()->gemm(&g);
}

/* c [m, n] = a [m, k] b, b [k, n] */
static void product_nn(float *c, size_t ldc, const float *a, size_t lda, const float *b,
                       size_t ldb, size_t m, size_t n, size_t k, float *panels)
{
    rf_train_kernels()->strips(panels, b, ldb, k, n);
    rf_gemm_args g = rf_panels_product(c, a, panels, NULL, m, n, k);
    g.ldc = ldc;
    g.lda = lda;
    rf_kernels()->gemm(&g);
}

/* p = softmax(q k^T / sqrt dh), dropped = dropout(p) */
static void probabilities(const head_view *h, const rf_live_layer *l, const rf_group *g,
                          size_t text, size_t head)
{
    rf_live_scratch *s = h->s;
    product_nt(s->p, h->padded, h->q, h->ld, h->k, h->ld, h->n, h->n, h->dh, s->panels);
    rf_kernels()->softmax(s->p, h->n, h->n, h->padded, 1.0f / sqrtf((float)h->dh));
    for (size_t i = 0; i < h->n; i++)
        rf_train_kernels()->dropout(
            s->dropped + i * h->padded, s->p + i * h->padded, h->n, g->dropout,
            mask_key(g, RF_STREAM_DROP_ATTENTION, l->index, head, text, i));
}

static head_view view(const rf_live_layer *l, const float *qkv, size_t tokens,
                      size_t head, rf_live_scratch *s)
{
    size_t width = l->config->width, dh = width / l->config->heads;
    const float *q = qkv + head * dh;
    return (head_view){.q = q,
                       .k = q + width,
                       .v = q + 2 * width,
                       .n = tokens,
                       .dh = dh,
                       .ld = 3 * width,
                       .padded = rf_panels_padded(tokens),
                       .s = s};
}

static void attention(const rf_live_layer *l, rf_live_saved *k, const rf_group *g,
                      rf_live_scratch *s)
{
    size_t width = l->config->width;
    for (size_t text = 0; text < g->n_texts; text++) {
        size_t first = g->offsets[text] - g->offsets[0];
        size_t n = g->offsets[text + 1] - g->offsets[text];
        for (size_t i = 0; i < l->config->heads; i++) {
            head_view h = view(l, k->qkv + first * 3 * width, n, i, s);
            probabilities(&h, l, g, text, i);
            product_nn(k->mix + first * width + i * h.dh, width, s->dropped, h.padded,
                       h.v, h.ld, n, h.dh, n, s->panels);
        }
    }
}

/* d_mix [tokens, width] -> s->d_qkv. With P = softmax(S), D = dropout(P), O = D V:
 * dV = D^T dO; dD = dO V^T; dP = the same mask of dD; dS = P (dP - sum(P dP));
 * dQ = dS K / sqrt dh; dK = dS^T Q / sqrt dh. */
static void attention_back(const rf_live_layer *l, const rf_live_saved *k,
                           const float *d_mix, const rf_group *g, rf_live_scratch *s)
{
    const rf_train_table *t = rf_train_kernels();
    size_t width = l->config->width;
    for (size_t text = 0; text < g->n_texts; text++) {
        size_t first = g->offsets[text] - g->offsets[0];
        size_t n = g->offsets[text + 1] - g->offsets[text];
        for (size_t i = 0; i < l->config->heads; i++) {
            head_view h = view(l, k->qkv + first * 3 * width, n, i, s);
            const float *d_out = d_mix + first * width + i * h.dh;
            float *dq = s->d_qkv + first * 3 * width + i * h.dh;
            float *dk = dq + width, *dv = dq + 2 * width;
            size_t p = h.padded;
            probabilities(&h, l, g, text, i);
            t->transpose(s->transposed, p, s->dropped, p, n, n);
            product_nn(dv, h.ld, s->transposed, p, d_out, width, n, h.dh, n, s->panels);
            product_nt(s->dp, p, d_out, width, h.v, h.ld, n, n, h.dh, s->panels);
            for (size_t r = 0; r < n; r++)
                t->dropout(s->dp + r * p, s->dp + r * p, n, g->dropout,
                           mask_key(g, RF_STREAM_DROP_ATTENTION, l->index, i, text, r));
            t->softmax_back(s->dp, s->p, n, n, p, 1.0f / sqrtf((float)h.dh));
            product_nn(dq, h.ld, s->dp, p, h.k, h.ld, n, h.dh, n, s->panels);
            t->transpose(s->transposed, p, s->dp, p, n, n);
            product_nn(dk, h.ld, s->transposed, p, h.q, h.ld, n, h.dh, n, s->panels);
        }
    }
}

/* ---- The layer --------------------------------------------------------------------- */

/* y = LayerNorm(dropout(x) + residual); Overwrites x. */
static void join(const rf_live_layer *l, float *x, const float *residual, rf_stream site,
                 const float *gain, const float *shift, float *y, float *hat, float *rstd,
                 const rf_group *g)
{
    size_t tokens = rf_group_tokens(g), width = l->config->width;
    drop_rows(l, x, x, site, g);
    for (size_t i = 0; i < tokens * width; i++)
        x[i] += residual[i];
    rf_train_kernels()->layernorm_saving(y, hat, rstd, x, gain, shift, tokens, width,
                                         l->config->eps);
}

void rf_live_forward(const rf_live_layer *l, rf_live_saved *k, const float *x,
                     const rf_group *g, rf_live_scratch *s)
{
    size_t tokens = rf_group_tokens(g);
    const rf_layer *y = l->y;
    k->x = x;
    rf_linear_forward(&l->qkv, k->qkv, x, tokens);
    attention(l, k, g, s);
    rf_linear_forward(&l->attn, s->a, k->mix, tokens);
    join(l, s->a, x, RF_STREAM_DROP_MIXED, y->attn_gain, y->attn_shift, k->mid, k->hat1,
         k->rstd1, g);
    rf_linear_forward(&l->up, k->up, k->mid, tokens);
    memcpy(k->act, k->up, tokens * l->config->inner * sizeof(float));
    rf_kernels()->gelu(k->act, tokens * l->config->inner);
    rf_linear_forward(&l->down, s->a, k->act, tokens);
    join(l, s->a, k->mid, RF_STREAM_DROP_FED, y->out_gain, y->out_shift, k->out, k->hat2,
         k->rstd2, g);
}

/* Gradient of a LayerNorm's gain and shift over the group, into sums [2][width]. */
static void norm_gradient(float *sums, const float *dy, const float *hat, size_t tokens,
                          size_t width)
{
    memset(sums, 0, 2 * width * sizeof(float));
    rf_train_kernels()->column_dots(sums, dy, hat, width, tokens, width);
    rf_train_kernels()->column_sums(sums + width, dy, width, tokens, width);
}

void rf_live_backward(rf_live_layer *l, const rf_live_saved *k, float *dx, bool last,
                      const rf_group *g, rf_live_scratch *s)
{
    const rf_train_table *t = rf_train_kernels();
    size_t tokens = rf_group_tokens(g), width = l->config->width;
    size_t inner = l->config->inner, row = g->first_row;
    float *sums = l->norm_sums + g->index * 4 * width;

    norm_gradient(sums + 2 * width, dx, k->hat2, tokens, width);
    t->layernorm_back(dx, dx, k->hat2, k->rstd2, l->y->out_gain, tokens, width);
    drop_rows(l, s->a, dx, RF_STREAM_DROP_FED, g);
    rf_linear_store(&l->down, k->act, s->a, row, tokens);
    rf_linear_backward(&l->down, s->wide, s->a, tokens, false);
    t->gelu_back(s->wide, k->up, s->wide, tokens * inner);
    rf_linear_store(&l->up, k->mid, s->wide, row, tokens);
    rf_linear_backward(&l->up, dx, s->wide, tokens, true); /* on top of the residual */

    norm_gradient(sums, dx, k->hat1, tokens, width);
    t->layernorm_back(dx, dx, k->hat1, k->rstd1, l->y->attn_gain, tokens, width);
    drop_rows(l, s->a, dx, RF_STREAM_DROP_MIXED, g);
    rf_linear_store(&l->attn, k->mix, s->a, row, tokens);
    rf_linear_backward(&l->attn, s->b, s->a, tokens, false);
    attention_back(l, k, s->b, g, s);
    rf_linear_store(&l->qkv, k->x, s->d_qkv, row, tokens);
    if (!last)
        rf_linear_backward(&l->qkv, dx, s->d_qkv, tokens, true);
}

void rf_live_update_norms(rf_live_layer *l, size_t groups, bool add, const rf_adam *adam)
{
    size_t width = l->config->width, n = 4 * width;
    float *grad = l->norms, *m = grad + n, *v = m + n;
    float *values[4] = {l->y->attn_gain, l->y->attn_shift, l->y->out_gain,
                        l->y->out_shift};
    if (!add)
        memset(grad, 0, n * sizeof(float));
    rf_train_kernels()->column_sums(grad, l->norm_sums, n, groups, n);
    if (!adam)
        return;
    rf_adam plain = *adam;
    plain.decay = 0.0f;
    for (size_t i = 0; i < 4; i++)
        rf_train_kernels()->adam(values[i], grad + i * width, m + i * width,
                                 v + i * width, width, &plain);
}
