/* upper_layers.c - copy the upper layers of an encoder and blend two copies */
#include "stages/upper_layers.h"

#include "base/memory.h"
#include "num/kernels.h"
#include "num/panels.h"
#include "num/train.h"

#include <stdlib.h>
#include <string.h>

/* A contiguous array of weights or biases in the encoder. */
typedef struct weight_span {
    float *x;
    size_t n, layer;
} weight_span;

static size_t count_spans(size_t live)
{
    return live * RF_LAYER_GROUPS * 2;
}

static weight_span span_at(const rf_encoder *e, size_t live, size_t i)
{
    size_t layer = e->config.layers - live + i / (2 * RF_LAYER_GROUPS);
    rf_layer_group g = rf_encoder_layer_group(e, layer, i / 2 % RF_LAYER_GROUPS);
    size_t out = g.n_names * g.out;
    size_t weights = g.in ? rf_panels_floats(out, g.in) : out;
    return i % 2 == 0 ? (weight_span){g.weight, weights, layer}
                      : (weight_span){g.bias, out, layer};
}

rf_status rf_upper_layers_copy(rf_upper_layers *u, const rf_encoder *e, size_t live,
                               rf_error *err)
{
    size_t floats = 0, at = 0;
    rf_upper_layers_release(u);
    for (size_t i = 0; i < count_spans(live); i++)
        floats += span_at(e, live, i).n;
    u->block = rf_floats_new(floats + 1);
    if (!u->block)
        return rf_fail_nomem(err, floats * sizeof(float), "a copy of the tuned layers");
    u->live = live;
    for (size_t i = 0; i < count_spans(live); i++) {
        weight_span r = span_at(e, live, i);
        memcpy(u->block + at, r.x, r.n * sizeof(float));
        at += r.n;
    }
    return RF_OK;
}

void rf_upper_layers_release(rf_upper_layers *u)
{
    free(u->block);
    *u = (rf_upper_layers){0};
}

static void round_half(float *x, size_t n)
{
    uint16_t half[256];
    for (size_t i = 0; i < n; i += 256) {
        size_t some = n - i < 256 ? n - i : 256;
        rf_train_kernels()->narrow_f16(half, x + i, some);
        rf_kernels()->widen_f16(x + i, half, some);
    }
}

rf_status rf_upper_layers_blend(rf_encoder *e, const rf_upper_layers *first,
                                const rf_upper_layers *tuned, float share, rf_error *err)
{
    size_t at = 0;
    for (size_t i = 0; i < count_spans(tuned->live); i++) {
        weight_span r = span_at(e, tuned->live, i);
        const float *a = first->block + at, *b = tuned->block + at;
        for (size_t k = 0; k < r.n; k++)
            r.x[k] = share == 1.0f ? b[k] : a[k] + share * (b[k] - a[k]);
        round_half(r.x, r.n);
        if (!rf_kernels()->all_finite(r.x, r.n))
            return rf_fail(err, RF_ERR_NUMERIC, 0,
                           "layer %zu: tuning gave weights beyond half precision; a "
                           "smaller learning rate may help",
                           r.layer);
        at += r.n;
    }
    return RF_OK;
}
