/* forward.c - the forward pass of BERT over a packed batch */
#include "encoder/forward.h"

#include "base/memory.h"
#include "num/integer.h"
#include "num/panels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Queries of one head scored at a time; bounds the score matrix. */
#define QUERY_ROWS 48

/* Per thread: keys of a head as panels [ceil(T/16)][dh][16], its values as panels
 * [ceil(dh/16)][T][16], scores [QUERY_ROWS][T]. */
static size_t attention_floats(const rf_encoder *e)
{
    size_t tokens = rf_panels_padded(e->config.positions);
    size_t head = rf_panels_padded(e->config.width / e->config.heads);
    return 2 * tokens * head + QUERY_ROWS * tokens;
}

/* Floats that hold a row in 8 bits, of width or of inner numbers. */
static size_t quantised_floats(const rf_config *c)
{
    return rf_quantised_bytes(c->inner > c->width ? c->inner : c->width) / sizeof(float);
}

rf_status rf_workspace_init(rf_workspace *w, const rf_encoder *e, size_t max_tokens,
                            size_t members, rf_precision precision, rf_error *err)
{
    const rf_config *c = &e->config;
    *w = (rf_workspace){.max_tokens = max_tokens, .attention_size = attention_floats(e)};
    size_t n = max_tokens * (5 * c->width + c->inner) + members * w->attention_size;
    if (precision == RF_PRECISION_INT8) {
        w->integers = rf_encoder_integers(e, err);
        if (!w->integers)
            return RF_ERR_NOMEM;
        n += max_tokens * quantised_floats(c);
    }
    w->block = rf_floats_new(n);
    if (!w->block)
        return rf_fail_nomem(err, n * sizeof(float), "the encoder's working memory");
    w->quantised = w->block; /* first, at the start of a cache line */
    w->x = w->block + (w->integers ? max_tokens * quantised_floats(c) : 0);
    w->qkv = w->x + max_tokens * c->width;
    w->mix = w->qkv + max_tokens * 3 * c->width;
    w->inner = w->mix + max_tokens * c->width;
    w->attention = w->inner + max_tokens * c->inner;
    return RF_OK;
}

void rf_workspace_release(rf_workspace *w)
{
    free(w->block);
    *w = (rf_workspace){0};
}

/* One thread's view of a pass. */
typedef struct pass {
    const rf_encoder *e;
    const rf_kernel_table *k;
    rf_workspace *w;
    const rf_batch *batch;
    size_t tokens;
    rf_team *team;
    size_t member, members;
} pass;

static void barrier(const pass *p)
{
    if (p->team)
        rf_team_barrier(p->team);
}

/* This member's share of n items: [*from, *to). */
static void share(const pass *p, size_t n, size_t *from, size_t *to)
{
    *from = n * p->member / p->members;
    *to = n * (p->member + 1) / p->members;
}

/* The same with W in 8 bits: rows are quantised, then columns are shared. */
static void integer_dense(const pass *p, float *out, const float *in,
                          const rf_integer_matrix *w, const float *bias, size_t n,
                          size_t k, rf_gemm_after after)
{
    size_t from, to;
    share(p, p->tokens, &from, &to);
    p->k->quantise((char *)p->w->quantised + from * rf_quantised_bytes(k), in + from * k,
                   to - from, k);
    barrier(p);
    share(p, rf_integer_padded(n) / RF_WIDE, &from, &to);
    if (from < to) {
        size_t j = from * RF_WIDE, end = to * RF_WIDE < n ? to * RF_WIDE : n;
        p->k->integer_gemm(&(rf_integer_args){.c = out + j,
                                              .ldc = n,
                                              .a = p->w->quantised,
                                              .b = w->w + rf_integer_bytes(j, k),
                                              .b_scale = w->scale + j,
                                              .bias = bias + j,
                                              .m = p->tokens,
                                              .n = end - j,
                                              .k = k,
                                              .after = after});
    }
    barrier(p);
}

/* out[tokens, n] = after(in[tokens, k] W + bias), columns shared among the members. */
static void dense(const pass *p, float *out, const float *in, const float *w,
                  const float *bias, const rf_integer_matrix *integers, size_t n,
                  size_t k, rf_gemm_after after)
{
    if (p->w->integers) {
        integer_dense(p, out, in, integers, bias, n, k, after);
        return;
    }
    size_t from, to;
    share(p, (n + RF_PANEL - 1) / RF_PANEL, &from, &to);
    if (from < to) {
        size_t j = from * RF_PANEL, end = to * RF_PANEL < n ? to * RF_PANEL : n;
        rf_gemm_args g =
            rf_panels_product(out + j, in, w + j * k, bias + j, p->tokens, end - j, k);
        g.ldc = n;
        g.after = after;
        p->k->gemm(&g);
    }
    barrier(p);
}

static void norm(const pass *p, const float *gain, const float *shift)
{
    size_t from, to, n = p->e->config.width;
    share(p, p->tokens, &from, &to);
    float *x = p->w->x + from * n;
    p->k->layernorm(x, x, gain, shift, to - from, n, p->e->config.eps);
    barrier(p);
}

/* x = LayerNorm(word + position + type) */
static void embed(const pass *p)
{
    const rf_encoder *e = p->e;
    size_t width = e->config.width, from, to, text = 0;
    const size_t *offsets = p->batch->offsets;
    share(p, p->tokens, &from, &to);
    for (size_t i = from; i < to; i++) {
        while (offsets[text + 1] - offsets[0] <= i)
            text++;
        const float *pos = e->positions + (i - (offsets[text] - offsets[0])) * width;
        float *x = p->w->x + i * width;
        rf_encoder_word(e, p->batch->ids[i], x);
        for (size_t j = 0; j < width; j++)
            x[j] += pos[j];
    }
    norm(p, e->embed_gain, e->embed_shift);
}

/* softmax(Q K^T / sqrt(dh)) V for one head of the n tokens that begin at `first`. */
static void attend(const pass *p, size_t first, size_t n, size_t head)
{
    const rf_config *c = &p->e->config;
    size_t width = c->width, dh = width / c->heads, ld = 3 * width;
    const float *q = p->w->qkv + first * ld + head * dh;
    const float *keys = q + width, *values = q + 2 * width;
    float *out = p->w->mix + first * width + head * dh;

    size_t padded = rf_panels_padded(n);
    float *k_panels = p->w->attention + p->member * p->w->attention_size;
    float *v_panels = k_panels + padded * rf_panels_padded(dh);
    float *scores = v_panels + padded * rf_panels_padded(dh);
    for (size_t i = 0; i < n; i += RF_PANEL)
        p->k->pack_panel(k_panels + i * dh, keys + i * ld, ld,
                         n - i < RF_PANEL ? n - i : RF_PANEL, dh);

    rf_gemm_args mix = rf_panels_product(NULL, scores, v_panels, NULL, 0, dh, n);
    mix.ldc = width;
    mix.lda = padded;
    if (dh % RF_PANEL == 0) { /* the values are used in place */
        mix.b = values;
        mix.b_row = ld;
        mix.b_panel = RF_PANEL;
    } else {
        for (size_t j = 0; j < dh; j++)
            for (size_t t = 0; t < n; t++)
                v_panels[(j / RF_PANEL * n + t) * RF_PANEL + j % RF_PANEL] =
                    values[t * ld + j];
        for (size_t j = dh; j % RF_PANEL; j++)
            for (size_t t = 0; t < n; t++)
                v_panels[(j / RF_PANEL * n + t) * RF_PANEL + j % RF_PANEL] = 0.0f;
    }
    for (size_t r = 0; r < n; r += QUERY_ROWS) {
        size_t rows = n - r < QUERY_ROWS ? n - r : QUERY_ROWS;
        rf_gemm_args dots =
            rf_panels_product(scores, q + r * ld, k_panels, NULL, rows, padded, dh);
        dots.lda = ld;
        p->k->gemm(&dots);
        p->k->softmax(scores, rows, n, padded, 1.0f / sqrtf((float)dh));
        mix.c = out + r * width;
        mix.m = rows;
        p->k->gemm(&mix);
    }
}

static void attention(const pass *p)
{
    size_t heads = p->e->config.heads, from, to;
    const size_t *offsets = p->batch->offsets;
    share(p, p->batch->n_texts * heads, &from, &to);
    for (size_t i = from; i < to; i++) {
        size_t text = i / heads;
        attend(p, offsets[text] - offsets[0], offsets[text + 1] - offsets[text],
               i % heads);
    }
    barrier(p);
}

static pass start_pass(const rf_encoder *e, rf_workspace *w, const rf_batch *batch,
                       rf_team *team, size_t member, size_t members)
{
    return (pass){.e = e,
                  .k = rf_kernels(),
                  .w = w,
                  .batch = batch,
                  .tokens = batch->offsets[batch->n_texts] - batch->offsets[0],
                  .team = team,
                  .member = member,
                  .members = members};
}

void rf_forward_layers(const rf_encoder *e, rf_workspace *w, const rf_batch *batch,
                       size_t from, size_t to, rf_team *team, size_t member,
                       size_t members)
{
    const size_t width = e->config.width, inner = e->config.inner;
    const pass p = start_pass(e, w, batch, team, member, members);
    for (size_t i = from; i < to; i++) {
        const rf_layer *y = &e->layers[i];
        const rf_integer_layer none = {0},
                               *q = w->integers ? &w->integers->layers[i] : &none;
        dense(&p, w->qkv, w->x, y->qkv_w, y->qkv_b, &q->qkv, 3 * width, width,
              RF_GEMM_SET);
        attention(&p);
        dense(&p, w->x, w->mix, y->attn_w, y->attn_b, &q->attn, width, width,
              RF_GEMM_ADD);
        norm(&p, y->attn_gain, y->attn_shift);
        dense(&p, w->inner, w->x, y->up_w, y->up_b, &q->up, inner, width, RF_GEMM_GELU);
        dense(&p, w->x, w->inner, y->down_w, y->down_b, &q->down, width, inner,
              RF_GEMM_ADD);
        norm(&p, y->out_gain, y->out_shift);
    }
}

void rf_forward(const rf_encoder *e, rf_workspace *w, const rf_batch *batch,
                size_t layers, rf_team *team, size_t member, size_t members)
{
    const pass p = start_pass(e, w, batch, team, member, members);
    embed(&p);
    rf_forward_layers(e, w, batch, 0, layers, team, member, members);
}

void rf_pool_mean(float *out, const float *x, size_t tokens, size_t width)
{
    memcpy(out, x, width * sizeof(float));
    for (size_t t = 1; t < tokens; t++)
        for (size_t i = 0; i < width; i++)
            out[i] += x[t * width + i];
    for (size_t i = 0; i < width; i++)
        out[i] /= (float)tokens;
}
