/* integer_weights.c - quantises the dense layers of an encoder */
#include "encoder/integer_weights.h"

#include "base/memory.h"
#include "encoder/encoder.h"
#include "num/integer.h"

#include <stdlib.h>

void rf_integer_weights_free(rf_integer_weights *q)
{
    if (!q)
        return;
    free(q->block);
    free(q->layers);
    free(q);
}

/* Bytes of a matrix with its scales. */
static size_t matrix_bytes(size_t out, size_t in)
{
    return rf_integer_bytes(out, in) + rf_integer_padded(out) * sizeof(float);
}

/* Quantises one matrix into the block at *at, which moves on. */
static rf_integer_matrix quantise(uint8_t **at, const float *panels, size_t out,
                                  size_t in)
{
    rf_integer_matrix m = {.w = *at,
                           .scale = (float *)(void *)(*at + rf_integer_bytes(out, in))};
    rf_integer_pack(m.w, m.scale, panels, out, in);
    *at += matrix_bytes(out, in);
    return m;
}

static rf_integer_weights *make(const rf_encoder *e, rf_error *err)
{
    size_t width = e->config.width, inner = e->config.inner, layers = e->config.layers;
    if (width > RF_INTEGER_MAX_IN || inner > RF_INTEGER_MAX_IN) {
        rf_fail(err, RF_ERR_LIMIT, 0,
                "layers of %zu and %zu inputs are too wide for int8, wanted up to %d",
                width, inner, RF_INTEGER_MAX_IN);
        return NULL;
    }
    size_t layer = matrix_bytes(3 * width, width) + matrix_bytes(width, width) +
                   matrix_bytes(inner, width) + matrix_bytes(width, inner);
    rf_integer_weights *q = calloc(1, sizeof *q);
    if (q) {
        q->block = (uint8_t *)rf_floats_new(layers * layer / sizeof(float));
        q->layers = calloc(layers, sizeof *q->layers);
    }
    if (!q || !q->block || !q->layers) {
        rf_integer_weights_free(q);
        rf_fail_nomem(err, layers * layer, "weights in 8 bits");
        return NULL;
    }
    uint8_t *at = q->block;
    for (size_t i = 0; i < layers; i++) {
        const rf_layer *y = &e->layers[i];
        q->layers[i] =
            (rf_integer_layer){.qkv = quantise(&at, y->qkv_w, 3 * width, width),
                               .attn = quantise(&at, y->attn_w, width, width),
                               .up = quantise(&at, y->up_w, inner, width),
                               .down = quantise(&at, y->down_w, width, inner)};
    }
    return q;
}

const rf_integer_weights *rf_encoder_integers(const rf_encoder *e, rf_error *err)
{
    /* A cache: the encoder looks the same before and after. */
    _Atomic(rf_integer_weights *) *cell = (_Atomic(rf_integer_weights *) *)&e->integers;
    rf_integer_weights *have = atomic_load(cell);
    if (have)
        return have;
    rf_integer_weights *made = make(e, err);
    if (made && !atomic_compare_exchange_strong(cell, &have, made)) {
        rf_integer_weights_free(made); /* another thread was faster */
        return have;
    }
    return made;
}
