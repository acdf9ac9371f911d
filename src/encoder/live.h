/*
 * live.h - a BERT layer that learns: forward pass, saving what backward needs, and
 * backward
 *
 * A batch is cut into groups of whole texts. One thread takes a group through all live
 * layers forward and back, in its own scratch, and stores in the layers what the weight
 * gradients need (num/linear.h); when all groups are done, the weights are updated block
 * by block. The cut into groups depends on the batch alone, so the bits do
 * not depend on the number of threads.
 *
 * Dropout masks are not stored: they are drawn again by name. A mask is the stream
 *   rf_rng_key(seed, step, word | layer << 8 | head << 32, text << 32 | token)
 * with the word of an RF_STREAM_DROP_..., layers counted from the first live one, and
 * texts within the batch.
 */
#ifndef RF_ENCODER_LIVE_H
#define RF_ENCODER_LIVE_H

#include "encoder/encoder.h"
#include "num/linear.h"

/* Some texts of a batch, packed. */
typedef struct rf_group {
    const size_t *offsets; /* [n_texts + 1], tokens of the batch */
    size_t n_texts;
    size_t first_text; /* its number in the whole batch, for the names of masks */
    size_t index;      /* of the group in its (part of a) batch */
    size_t first_row;  /* of its first token there */
    uint64_t seed, step;
    float dropout;
} rf_group;

static inline size_t rf_group_tokens(const rf_group *g)
{
    return g->offsets[g->n_texts] - g->offsets[0];
}

typedef struct rf_live_layer {
    const rf_config *config;
    rf_layer *y; /* the weights, in the encoder */
    size_t index;
    rf_linear qkv, attn, up, down;
    float *norms;     /* [3][4][width]: gradient and moments of attn_gain, attn_shift,
                       * out_gain, out_shift */
    float *norm_sums; /* [max_groups][4][width] */
} rf_live_layer;

/* max_rows tokens and max_groups groups in a batch. */
rf_status rf_live_init(rf_live_layer *l, rf_encoder *e, size_t layer, size_t index,
                       size_t max_rows, size_t max_groups, rf_error *err);
void rf_live_release(rf_live_layer *l); /* accepts a zeroed struct */

/* What one thread saves of one layer for one group of up to max_tokens tokens. */
typedef struct rf_live_saved {
    float *block;
    const float *x;      /* [tokens, width] the layer's input: the caller's */
    float *qkv;          /* [tokens, 3 width] */
    float *mix;          /* [tokens, width] */
    float *hat1, *rstd1; /* LayerNorm after attention */
    float *mid;          /* [tokens, width] its output */
    float *up, *act;     /* [tokens, inner] before and after GELU */
    float *hat2, *rstd2; /* the last LayerNorm */
    float *out;          /* [tokens, width] the layer's output */
} rf_live_saved;

rf_status rf_live_saved_init(rf_live_saved *k, const rf_config *c, size_t max_tokens,
                             rf_error *err);
void rf_live_saved_release(rf_live_saved *k);

/* Working memory of one thread, for groups of up to max_tokens tokens and texts of up to
 * max_text tokens. */
typedef struct rf_live_scratch {
    float *block;
    float *wide;                          /* [tokens, inner] */
    float *a, *b;                         /* [tokens, width] */
    float *d_qkv;                         /* [tokens, 3 width] */
    float *p, *dropped, *dp, *transposed; /* [text, padded text] */
    float *panels;                        /* the packed side of a product within a head */
} rf_live_scratch;

rf_status rf_live_scratch_init(rf_live_scratch *s, const rf_config *c, size_t max_tokens,
                               size_t max_text, rf_error *err);
void rf_live_scratch_release(rf_live_scratch *s);

/* x is [tokens, width] and must stay until the backward pass; the result is k->out. */
void rf_live_forward(const rf_live_layer *l, rf_live_saved *k, const float *x,
                     const rf_group *g, rf_live_scratch *s);

/* dx holds the gradient of the output on entry, that of the input on return,
 * unless last (no layer below learns). */
void rf_live_backward(rf_live_layer *l, const rf_live_saved *k, float *dx, bool last,
                      const rf_group *g, rf_live_scratch *s);

/* After all groups: one optimiser step on the LayerNorms' parameters (no decay). */
void rf_live_update_norms(rf_live_layer *l, size_t groups, bool add, const rf_adam *adam);

#endif
