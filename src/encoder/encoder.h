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
#include "encoder/encoder_files.h"
#include "encoder/integer_weights.h"
#include "encoder/weights.h"

#include <stdatomic.h>

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
    rf_encoder_files files;
    rf_weights weights;     /* in those files */
    const rf_tensor *words; /* [vocab_size, width] in the file */
    float *block;           /* holds the arrays below */
    float *positions;       /* [positions, width], the vector of token type 0 added */
    float *embed_gain, *embed_shift;
    rf_layer *layers;
    _Atomic(rf_integer_weights *) integers; /* NULL until somebody asks for them */
    size_t parameters;
};

/* As rf_encoder_load, every weight rounded to half precision and widened again; a weight
 * that half precision cannot hold is RF_ERR_NUMERIC. Training uses it. */
rf_encoder *rf_encoder_load_half(const char *dir, rf_error *err);

/* The same from files that are open already; they become the encoder's, or are closed on
 * failure. The upper `tuned` layers are taken from `model` instead, where they are F16;
 * it is not needed after the call. tuned 0: model may be NULL. */
rf_encoder *rf_encoder_load_files(rf_encoder_files *files, const rf_safetensors *model,
                                  size_t tuned, rf_error *err);

/* The vector of a word, widened: out is [width]. id must be in 0..vocab_size-1. */
void rf_encoder_word(const rf_encoder *e, int32_t id, float *out);

/* A layer is six groups: dense matrices of [out, in], stacked in one set of panels, with
 * their biases; or, if in is 0, gain [out] and shift [out] of a LayerNorm.
 */
#define RF_LAYER_GROUPS 6
typedef struct rf_layer_group {
    const char *names[3]; /* below "encoder.layer.N." */
    size_t n_names;
    size_t out, in;
    float *weight, *bias;
} rf_layer_group;
rf_layer_group rf_encoder_layer_group(const rf_encoder *e, size_t layer, size_t group);

/* ---- The encoder as Hugging Face tensors (encoder_tensors.c) ---- */

#define RF_EMBEDDING_TENSORS 5 /* the first ones */
#define RF_LAYER_TENSORS 16    /* of each layer, in order of layers */

typedef struct rf_encoder_tensor {
    char name[96]; /* without prefix */
    size_t rank, shape[2];
    size_t rows, columns;    /* a vector is one row */
    const rf_tensor *stored; /* read from the file if not NULL, else: */
    const float *values;
    bool panels;      /* values are panels, */
    size_t first_row; /* in which this one begins here */
} rf_encoder_tensor;

/* Tensor i of RF_EMBEDDING_TENSORS + layers * RF_LAYER_TENSORS. */
rf_encoder_tensor rf_encoder_tensor_at(const rf_encoder *e, size_t i);

/* n rows of it from row `first` on: out is [n, columns]. */
void rf_encoder_tensor_rows(const rf_encoder *e, const rf_encoder_tensor *t, size_t first,
                            size_t n, float *out);

#endif
