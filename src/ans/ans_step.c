/* ans_step.c - one training step of a head: gather rows, move the synthetic negatives,
 * compute loss and gradient, update the weights */
#include "ans/ans_step.h"

#include "base/memory.h"
#include "num/panels.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TINY 1e-12 /* keeps the division by a zero gradient finite */

/* ---- Memory ------------------------------------------------------------------------ */

/* One array in the block: init walks the list twice, for the total size and then for the
 * pointers. */
typedef struct part {
    float **to;
    size_t floats;
} part;

/* Floats between rows of a transposed matrix: whole vectors, but never a multiple of 512
 * bytes, which would map all rows to a few cache sets. */
static size_t column_length(size_t rows)
{
    size_t ld = rf_panels_padded(rows);
    return ld % 128 == 0 ? ld + RF_PANEL : ld;
}

static void set_rows(rf_ans_work *w, size_t negatives)
{
    w->negatives = negatives;
    w->rows = w->positives + negatives + w->synthetic;
    w->ld = column_length(w->rows);
}

rf_status rf_ans_work_init(rf_ans_work *w, size_t width, size_t positives,
                           size_t negatives, size_t synthetic, bool ascent, rf_error *err)
{
    assert(synthetic == 0 || synthetic == positives);
    *w = (rf_ans_work){.width = width,
                       .positives = positives,
                       .most_negatives = negatives,
                       .synthetic = synthetic};
    const size_t most = (size_t)1 << 24;
    if (width > most || positives > most || negatives > most)
        return rf_fail(err, RF_ERR_LIMIT, 0,
                       "%zu features, %zu positives, %zu negatives: wanted at most %zu",
                       width, positives, negatives, most);
    set_rows(w, negatives);
    size_t head = rf_head_floats(width), wide = rf_panels_padded(width);
    part parts[] = {
        {&w->x, w->rows * width},
        {&w->xt, width * w->ld},
        {&w->h1, w->rows * RF_HEAD_1},
        {&w->h1t, RF_HEAD_1 * w->ld},
        {&w->h2, w->rows * RF_HEAD_2},
        {&w->g, w->rows},
        {&w->dg, w->rows},
        {&w->d1, w->rows * RF_HEAD_1},
        {&w->d2, w->rows * RF_HEAD_2},
        {&w->d2s, w->rows * RF_HEAD_2},
        {&w->eps, synthetic * width},
        {&w->uphill, synthetic * width},
        {&w->w1t, synthetic && ascent ? wide * RF_HEAD_1 : 0},
        {&w->w2t, RF_HEAD_1 * RF_HEAD_2},
        {&w->gradient, head},
        {&w->moment1, head},
        {&w->moment2, head},
    };
    size_t n_parts = sizeof parts / sizeof *parts, floats = 0;
    for (size_t i = 0; i < n_parts; i++)
        floats += rf_panels_padded(parts[i].floats);
    w->block = rf_floats_new(floats);
    if (!w->block)
        return rf_fail_nomem(err, floats * sizeof(float), "training a head");
    floats = 0;
    for (size_t i = 0; i < n_parts; i++) {
        *parts[i].to = parts[i].floats ? w->block + floats : NULL;
        floats += rf_panels_padded(parts[i].floats);
    }
    return RF_OK;
}

void rf_ans_work_release(rf_ans_work *w)
{
    free(w->block);
    *w = (rf_ans_work){0};
}

void rf_ans_work_start(rf_ans_work *w, size_t negatives)
{
    assert(negatives <= w->most_negatives);
    set_rows(w, negatives);
    size_t bytes = rf_head_floats(w->width) * sizeof(float);
    memset(w->gradient, 0, bytes); /* the padding stays 0 */
    memset(w->moment1, 0, bytes);
    memset(w->moment2, 0, bytes);
}

/* ---- The rows ---------------------------------------------------------------------- */

/* Eight rows at a time, so that they are transposed while in the L1 cache. */
static void transpose_rows(rf_ans_work *w, size_t from, size_t to)
{
    for (size_t i = from; i < to; i += 8) {
        size_t some = to - i < 8 ? to - i : 8;
        rf_train_kernels()->transpose(w->xt + i, w->ld, w->x + i * w->width, w->width,
                                      some, w->width);
    }
}

static void gather(rf_ans_work *w, size_t first, const float *z, const uint32_t *rows,
                   size_t n)
{
    for (size_t i = 0; i < n; i++) {
        /* Rows are scattered: prefetch to hide the memory latency. */
        for (size_t j = 0; i + 2 < n && j < w->width; j += 16)
            __builtin_prefetch(z + rows[i + 2] * w->width + j);
        memcpy(w->x + (first + i) * w->width, z + rows[i] * w->width,
               w->width * sizeof(float));
    }
}

void rf_ans_gather(rf_ans_work *w, const float *z, const uint32_t *positives,
                   const uint32_t *negatives)
{
    gather(w, 0, z, positives, w->positives);
    gather(w, w->positives, z, negatives, w->negatives);
    transpose_rows(w, 0, w->positives + w->negatives);
}

void rf_ans_move_positives(rf_ans_work *w, const float *by)
{
    for (size_t i = 0; i < w->positives * w->width; i++)
        w->x[i] += by[i];
    transpose_rows(w, 0, w->positives);
}

static float *synthetic_rows(rf_ans_work *w)
{
    return w->x + (w->positives + w->negatives) * w->width;
}

static void place_synthetic(rf_ans_work *w)
{
    float *restrict to = synthetic_rows(w);
    for (size_t i = 0; i < w->synthetic * w->width; i++)
        to[i] = w->x[i] + w->eps[i];
}

/* ---- Ascent and projection --------------------------------------------------------- */

static double length(const float *x, size_t n)
{
    double s[4] = {0};
    size_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (size_t j = 0; j < 4; j++)
            s[j] += (double)x[i + j] * (double)x[i + j];
    for (; i < n; i++)
        s[0] += (double)x[i] * (double)x[i];
    return sqrt((s[0] + s[1]) + (s[2] + s[3]));
}

/* d = h > 0 ? d : 0 */
static void relu_back(float *restrict d, const float *restrict h, size_t n)
{
    for (size_t i = 0; i < n; i++)
        d[i] = h[i] > 0.0f ? d[i] : 0.0f;
}

/* dx [n, in] = dy [n, out] W, from panels of W transposed */
static void back(float *dx, size_t ldc, size_t c_panel, const float *dy, const float *wt,
                 size_t n, size_t out, size_t in)
{
    rf_gemm_args g = rf_panels_product(dx, dy, wt, NULL, n, in, out);
    g.ldc = ldc;
    g.c_panel = c_panel;
    rf_kernels()->gemm(&g);
}

/* uphill = dg/dz at z + eps */
static void slope(rf_ans_work *w, const rf_head *head)
{
    size_t n = w->synthetic;
    place_synthetic(w);
    rf_head_forward(head, w->width, synthetic_rows(w), n, NULL, w->h1, w->h2, w->g, 1);
    for (size_t i = 0; i < n; i++)
        memcpy(w->d2 + i * RF_HEAD_2, head->w3, RF_HEAD_2 * sizeof(float));
    relu_back(w->d2, w->h2, n * RF_HEAD_2);
    back(w->d1, RF_HEAD_1, 0, w->d2, w->w2t, n, RF_HEAD_2, RF_HEAD_1);
    relu_back(w->d1, w->h1, n * RF_HEAD_1);
    back(w->uphill, w->width, 0, w->d1, w->w1t, n, RF_HEAD_1, w->width);
}

void rf_ans_ascend(rf_ans_work *w, const rf_head *head, size_t steps, float rate)
{
    if (steps == 0 || w->synthetic == 0)
        return;
    assert(w->w1t);
    rf_train_kernels()->transpose_panels(w->w1t, head->w1, RF_HEAD_1, w->width);
    rf_train_kernels()->transpose_panels(w->w2t, head->w2, RF_HEAD_2, RF_HEAD_1);
    for (size_t k = 0; k < steps; k++) {
        slope(w, head);
        for (size_t i = 0; i < w->synthetic; i++) {
            const float *up = w->uphill + i * w->width;
            float *eps = w->eps + i * w->width;
            float scale = (float)((double)rate / (length(up, w->width) + TINY));
            for (size_t j = 0; j < w->width; j++)
                eps[j] += scale * up[j];
        }
    }
}

void rf_ans_project(rf_ans_work *w, float radius, float gamma)
{
    double inner = (double)radius, outer = (double)gamma * inner;
    for (size_t i = 0; i < w->synthetic; i++) {
        float *eps = w->eps + i * w->width;
        double now = length(eps, w->width);
        double want = now < inner ? inner : now > outer ? outer : now;
        if (want == now || now == 0.0)
            continue;
        float scale = (float)(want / now);
        for (size_t j = 0; j < w->width; j++)
            eps[j] *= scale;
    }
}

/* ---- Loss and gradient ------------------------------------------------------------- */

/* For rows [from, to): dg = weight d softplus(sign g) / dg; returns the sum of
 * weight softplus(sign g). softplus(x) = max(x, 0) + ln(1 + e^-|x|). */
static double softplus_rows(rf_ans_work *w, size_t from, size_t to, float sign,
                            float weight, float divisor)
{
    double sum = 0.0;
    for (size_t i = from; i < to; i++) {
        float x = sign * w->g[i], e = expf(-fabsf(x));
        float sigmoid = (x > 0.0f ? 1.0f : e) / (1.0f + e);
        sum += (double)((x > 0.0f ? x : 0.0f) + log1pf(e));
        w->dg[i] = sign * weight * sigmoid / divisor;
    }
    return (double)weight * sum;
}

static float loss_rows(rf_ans_work *w, const rf_ans_settings *s)
{
    size_t n = w->positives, known = n + w->negatives;
    float divisor = (float)known;
    double sum = softplus_rows(w, 0, n, -1.0f, 1.0f, divisor);
    sum += softplus_rows(w, n, known, 1.0f, s->negative_weight, divisor);
    sum += softplus_rows(w, known, w->rows, 1.0f, s->lambda, divisor);
    return (float)(sum / (double)known);
}

/* dW [out, in] in panels: [in][16] of panel p = X^T times strip p of dY. xt is X
 * transposed, dys dY in strips. */
static void weight_gradient(const rf_ans_work *w, float *dw, const float *xt,
                            const float *dys, size_t out, size_t in)
{
    rf_gemm_args g = rf_panels_product(dw, xt, dys, NULL, in, out, w->rows);
    g.ldc = RF_PANEL; /* the gradient is in panels too */
    g.c_panel = in * RF_PANEL;
    g.lda = w->ld;
    rf_kernels()->gemm(&g);
}

/* Backward through g = h2 w3 + b3: gradients of w3 and b3, and d2 = dloss /
 * d(pre-activation of h2). scale is dropout's factor for surviving units; h is positive
 * exactly where both ReLU and dropout let a unit pass. */
static void back_output(rf_ans_work *w, const rf_head *head, const rf_head *gradient,
                        float scale)
{
    /* dg^T h2, h2 row-major */
    rf_gemm_args g =
        rf_panels_product(gradient->w3, w->dg, w->h2, NULL, 1, RF_HEAD_2, w->rows);
    g.b_row = RF_HEAD_2;
    g.b_panel = RF_PANEL;
    rf_kernels()->gemm(&g);
    double sum = 0.0;
    for (size_t i = 0; i < w->rows; i++) {
        float slope = scale * w->dg[i], *d = w->d2 + i * RF_HEAD_2;
        sum += (double)w->dg[i];
        for (size_t j = 0; j < RF_HEAD_2; j++)
            d[j] = slope * head->w3[j];
    }
    *gradient->b3 = (float)sum;
    relu_back(w->d2, w->h2, w->rows * RF_HEAD_2);
}

/* Backward through ReLU and dropout of h1 (in rows): d1 (in strips) in place, and its
 * column sums db. */
static void back_hidden(rf_ans_work *w, float *restrict db, float scale)
{
    memset(db, 0, RF_HEAD_1 * sizeof(float));
    for (size_t i = 0; i < w->rows; i++) {
        const float *restrict h = w->h1 + i * RF_HEAD_1;
        for (size_t p = 0; p < RF_HEAD_1; p += RF_PANEL) {
            float *restrict d = w->d1 + p * w->rows + i * RF_PANEL;
            for (size_t j = 0; j < RF_PANEL; j++) {
                float factor = h[p + j] > 0.0f ? scale : 0.0f;
                d[j] *= factor;
                db[p + j] += d[j];
            }
        }
    }
}

/* Rounded as in the dropout kernel. */
static float dropout_scale(const rf_head_dropout *drop)
{
    return drop ? 65536.0f / (65536.0f - floorf(drop->p * 65536.0f + 0.5f)) : 1.0f;
}

float rf_ans_gradient(rf_ans_work *w, const rf_head *head, const rf_ans_settings *s,
                      const rf_head_dropout *drop)
{
    const rf_train_table *t = rf_train_kernels();
    size_t known = w->positives + w->negatives;
    float scale = dropout_scale(drop);
    rf_head gradient = rf_head_in(w->gradient, w->width);

    place_synthetic(w);
    transpose_rows(w, known, w->rows);
    rf_head_forward(head, w->width, w->x, w->rows, drop, w->h1, w->h2, w->g, 1);
    float loss = loss_rows(w, s);

    back_output(w, head, &gradient, scale);
    t->strips(w->d2s, w->d2, RF_HEAD_2, w->rows, RF_HEAD_2);
    t->transpose(w->h1t, w->ld, w->h1, RF_HEAD_1, w->rows, RF_HEAD_1);
    memset(gradient.b2, 0, RF_HEAD_2 * sizeof(float));
    t->column_sums(gradient.b2, w->d2, RF_HEAD_2, w->rows, RF_HEAD_2);
    weight_gradient(w, gradient.w2, w->h1t, w->d2s, RF_HEAD_2, RF_HEAD_1);

    t->transpose_panels(w->w2t, head->w2, RF_HEAD_2, RF_HEAD_1);
    back(w->d1, RF_PANEL, w->rows * RF_PANEL, w->d2, w->w2t, w->rows, RF_HEAD_2,
         RF_HEAD_1);
    back_hidden(w, gradient.b1, scale);
    weight_gradient(w, gradient.w1, w->xt, w->d1, RF_HEAD_1, w->width);
    return loss;
}

void rf_ans_update(rf_ans_work *w, const rf_head *head, const rf_adam *adam)
{
    rf_train_kernels()->adam(head->w1, w->gradient, w->moment1, w->moment2,
                             rf_head_floats(w->width), adam);
}

float rf_ans_step(rf_ans_work *w, const rf_head *head, const rf_ans_settings *s,
                  const rf_head_dropout *drop, const rf_adam *adam)
{
    rf_ans_ascend(w, head, s->ascent_steps, s->ascent_rate);
    if (s->project)
        rf_ans_project(w, s->radius, s->gamma);
    float loss = rf_ans_gradient(w, head, s, drop);
    rf_ans_update(w, head, adam);
    return loss;
}
