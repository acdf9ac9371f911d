/*
 * encoder.h - the weights of a BERT encoder, laid out for the forward pass
 *
 * Dense weights are widened to single precision and packed into panels once, at load
 * (kernels.h); the three projections of attention are one matrix. The word table is the
 * largest part and is used a row at a time, so it stays in the mapped file in its own
 * precision.
 */
#ifndef RF_ENCODER_ENCODER_H
#define RF_ENCODER_ENCODER_H

#include "encoder/config.h"
#include "encoder/safetensors.h"

/* One layer; W is packed [out, in] panels. */
typedef struct rf_layer {
    float *qkv_w, *qkv_b;          /* width -> 3 width: query, key, value */
    float *attn_w, *attn_b;        /* width -> width */
    float *attn_gain, *attn_shift; /* LayerNorm after attention */
    float *up_w, *up_b;            /* width -> inner */
    float *down_w, *down_b;        /* inner -> width */
    float *out_gain, *out_shift;   /* LayerNorm after the feed-forward part */
} rf_layer;

struct rf_encoder {
    rf_config config;
    rf_vocab *vocab;
    rf_safetensors file;
    const rf_tensor *words; /* [vocab_size, width] in the file */
    float *block;           /* all that follows lives in it */
    float *positions;       /* [positions, width], the vector of token type 0 added */
    float *embed_gain, *embed_shift;
    rf_layer *layers;
    size_t parameters;
};

/* The vector of a word, widened: out is [width]. id must be in 0..vocab_size-1. */
void rf_encoder_word(const rf_encoder *e, int32_t id, float *out);

#endif
