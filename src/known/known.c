/* known.c - weights and logits of the classifier of known classes */
#include "known/known.h"

#include "base/memory.h"
#include "base/streams.h"
#include "num/panels.h"
#include "num/train.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define INIT_SPREAD 0.02f

rf_status rf_known_init(rf_known *k, size_t width, size_t classes, rf_error *err)
{
    *k = (rf_known){.width = width, .classes = classes};
    size_t dense = rf_panels_floats(width, width), out = rf_panels_floats(classes, width);
    size_t wide = rf_panels_padded(width);
    k->floats = dense + wide + out + rf_panels_padded(classes);
    k->block = rf_floats_new(k->floats);
    if (!k->block)
        return rf_fail_nomem(err, k->floats * sizeof(float), "the known classes");
    memset(k->block, 0, k->floats * sizeof(float));
    k->dense_w = k->block;
    k->dense_b = k->dense_w + dense;
    k->out_w = k->dense_b + wide;
    k->out_b = k->out_w + out;
    return RF_OK;
}

void rf_known_release(rf_known *k)
{
    free(k->block);
    *k = (rf_known){0};
}

/* Row by row, so that a class's first weights do not depend on how many there are. */
static void draw_weights(float *panels, size_t out, size_t in, uint64_t seed,
                         rf_stream stream)
{
    for (size_t j = 0; j < out; j++) {
        float *to = panels + j / RF_PANEL * RF_PANEL * in + j % RF_PANEL;
        for (size_t i = 0; i < in; i++) {
            float x;
            rf_train_kernels()->normal(&x, 1, rf_stream_key(seed, stream, j, i));
            to[i * RF_PANEL] = INIT_SPREAD * x;
        }
    }
}

void rf_known_reset(rf_known *k, uint64_t seed)
{
    memset(k->block, 0, k->floats * sizeof(float));
    draw_weights(k->dense_w, k->width, k->width, seed, RF_STREAM_CLASSIFIER_DENSE);
    draw_weights(k->out_w, k->classes, k->width, seed, RF_STREAM_CLASSIFIER_OUT);
}

/* Products with w_k become cosines; a zero vector is orthogonal to everything. */
static void to_cosines(const rf_known *k, const float *hidden, size_t n, float *logits)
{
    for (size_t c = 0; c < k->classes; c++) {
        const float *w = k->out_w + c / RF_PANEL * RF_PANEL * k->width + c % RF_PANEL;
        float square = 0.0f;
        for (size_t i = 0; i < k->width; i++)
            square += w[i * RF_PANEL] * w[i * RF_PANEL];
        for (size_t i = 0; i < n; i++)
            logits[i * k->classes + c] *= square > 0.0f ? 1.0f / sqrtf(square) : 0.0f;
    }
    for (size_t i = 0; i < n; i++) {
        const float *h = hidden + i * k->width;
        float square = 0.0f;
        for (size_t j = 0; j < k->width; j++)
            square += h[j] * h[j];
        for (size_t c = 0; c < k->classes; c++)
            logits[i * k->classes + c] *= square > 0.0f ? 1.0f / sqrtf(square) : 0.0f;
    }
}

void rf_known_logits(const rf_known *k, const float *z, size_t n, float *logits,
                     float *hidden)
{
    rf_panels_multiply(hidden, z, k->dense_w, k->dense_b, n, k->width, k->width);
    for (size_t i = 0; k->form != RF_KNOWN_COSINE_FLAT && i < n * k->width; i++)
        hidden[i] = hidden[i] > 0.0f ? hidden[i] : 0.0f;
    rf_panels_multiply(logits, hidden, k->out_w,
                       k->form == RF_KNOWN_PLAIN ? k->out_b : NULL, n, k->classes,
                       k->width);
    if (k->form != RF_KNOWN_PLAIN)
        to_cosines(k, hidden, n, logits);
}
