/*
 * forward.h - the forward pass of BERT: tokens to vectors
 *
 * A batch is packed: the tokens of all texts one after another, no padding. Every step
 * but attention treats tokens alike; attention stays within a text. The pass can be run
 * by one thread or by a team together; each output is computed by one thread in an order
 * that depends on neither, so the bits are the same.
 */
#ifndef RF_ENCODER_FORWARD_H
#define RF_ENCODER_FORWARD_H

#include "base/team.h"
#include "encoder/encoder.h"

typedef struct rf_batch {
    const int32_t *ids;    /* [offsets[n_texts] - offsets[0]] */
    const size_t *offsets; /* [n_texts + 1]; text i has tokens offsets[i]..offsets[i+1],
                            * counted from offsets[0] */
    size_t n_texts;
} rf_batch;

/* Room for a batch of up to max_tokens tokens, and for `members` threads in attention. */
typedef struct rf_workspace {
    size_t max_tokens;
    float *block;
    float *x;         /* [max_tokens, width] in and out */
    float *qkv;       /* [max_tokens, 3 width] */
    float *mix;       /* [max_tokens, width] output of attention */
    float *inner;     /* [max_tokens, inner] */
    float *attention; /* [members][attention_size] */
    size_t attention_size;
    const rf_integer_weights *integers; /* dense layers use these; NULL: floats */
    void *quantised;                    /* [max_tokens] rows of width or inner */
} rf_workspace;

rf_status rf_workspace_init(rf_workspace *w, const rf_encoder *e, size_t max_tokens,
                            size_t members, rf_precision precision, rf_error *err);
void rf_workspace_release(rf_workspace *w); /* accepts a zeroed struct */

/* Runs the embeddings and the first `layers` layers; the result is in w->x.
 * team NULL: by the calling thread alone (member 0 of 1). Else every member of the team
 * calls it with the same arguments and its own number; all are done when any returns. */
void rf_forward(const rf_encoder *e, rf_workspace *w, const rf_batch *batch,
                size_t layers, rf_team *team, size_t member, size_t members);

/* The same from the output of layer `from` on, which is in w->x; batch->ids is not used.
 */
void rf_forward_layers(const rf_encoder *e, rf_workspace *w, const rf_batch *batch,
                       size_t from, size_t to, rf_team *team, size_t member,
                       size_t members);

/* The feature of a text: the mean of its tokens' vectors, out [width], x [tokens, width].
 * One function, so that training and answering get the same bits. */
void rf_pool_mean(float *out, const float *x, size_t tokens, size_t width);

#endif
