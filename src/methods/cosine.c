/* cosine.c - forward and backward pass of a cosine layer */
#include "methods/cosine.h"

#include "base/memory.h"
#include "num/panels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

rf_status rf_cosine_init(rf_cosine *c, rf_dense *d, rf_error *err)
{
    size_t width = d->known->width, classes = d->known->classes, rows = d->max_rows;
    size_t panels = rf_panels_floats(classes, width);
    size_t transposed = rf_panels_floats(width, classes),
           padded = rf_panels_padded(classes);
    size_t n = panels + transposed + padded + RF_PANEL + rows * (width + 1 + classes);
    *c = (rf_cosine){.d = d, .block = rf_floats_new(n)};
    if (!c->block)
        return rf_fail_nomem(err, n * sizeof(float), "training a classifier by cosines");
    memset(c->block, 0, n * sizeof(float));
    c->unit_w = c->block;
    c->transposed = c->unit_w + panels;
    c->w_norm = c->transposed + transposed;
    c->dots = c->w_norm + padded;
    c->unit_h = c->dots + RF_PANEL;
    c->h_norm = c->unit_h + rows * width;
    c->cosines = c->h_norm + rows;
    return RF_OK;
}

void rf_cosine_release(rf_cosine *c)
{
    free(c->block);
    *c = (rf_cosine){0};
}

static double dot(const float *a, const float *b, size_t n)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++)
        sum += (double)a[i] * (double)b[i];
    return sum;
}

void rf_unit_rows(float *y, const float *x, size_t n, size_t width, float *norms)
{
    for (size_t i = 0; i < n; i++) {
        const float *from = x + i * width;
        double norm = sqrt(dot(from, from, width));
        for (size_t j = 0; j < width; j++)
            y[i * width + j] = norm > 0.0 ? (float)((double)from[j] / norm) : 0.0f;
        norms[i] = (float)norm;
    }
}

void rf_unit_rows_back(float *d, const float *unit, const float *norms, size_t n,
                       size_t width)
{
    for (size_t i = 0; i < n; i++) {
        float *to = d + i * width;
        const float *u = unit + i * width;
        double along = dot(to, u, width), norm = (double)norms[i];
        for (size_t j = 0; j < width; j++)
            to[j] = norm > 0.0 ? (float)(((double)to[j] - along * (double)u[j]) / norm)
                               : 0.0f;
    }
}

/* dots[j] = dot product of row j of panel a and row j of panel b, in column order. */
static void panel_dots(float *dots, const float *a, const float *b, size_t width)
{
    memset(dots, 0, RF_PANEL * sizeof *dots);
    for (size_t i = 0; i < width; i++)
        for (size_t j = 0; j < RF_PANEL; j++)
            dots[j] += a[i * RF_PANEL + j] * b[i * RF_PANEL + j];
}

/* Rows of Wo divided by their lengths; padding rows stay 0. */
static void unit_weights(rf_cosine *c)
{
    const rf_known *k = c->d->known;
    for (size_t p = 0; p < rf_panels_padded(k->classes); p += RF_PANEL) {
        const float *w = k->out_w + p * k->width;
        float *unit = c->unit_w + p * k->width, *norm = c->w_norm + p;
        panel_dots(norm, w, w, k->width);
        for (size_t j = 0; j < RF_PANEL; j++)
            norm[j] = sqrtf(norm[j]);
        for (size_t i = 0; i < k->width * RF_PANEL; i++)
            unit[i] = norm[i % RF_PANEL] > 0.0f ? w[i] / norm[i % RF_PANEL] : 0.0f;
    }
    rf_train_kernels()->transpose_panels(c->transposed, c->unit_w, k->classes, k->width);
}

void rf_cosine_forward(rf_cosine *c, size_t n)
{
    const rf_known *k = c->d->known;
    unit_weights(c);
    rf_unit_rows(c->unit_h, c->d->hidden, n, k->width, c->h_norm);
    rf_panels_multiply(c->cosines, c->unit_h, c->unit_w, NULL, n, k->classes, k->width);
}

/* The gradient of Wo from that of its unit rows, in place in d->out. */
static void weight_gradient(rf_cosine *c)
{
    const rf_known *k = c->d->known;
    for (size_t p = 0; p < rf_panels_padded(k->classes); p += RF_PANEL) {
        const float *unit = c->unit_w + p * k->width, *norm = c->w_norm + p;
        float *grad = c->d->out.w_grad + p * k->width;
        panel_dots(c->dots, grad, unit, k->width);
        for (size_t i = 0; i < k->width * RF_PANEL; i++) {
            size_t j = i % RF_PANEL;
            grad[i] = norm[j] > 0.0f ? (grad[i] - c->dots[j] * unit[i]) / norm[j] : 0.0f;
        }
    }
}

void rf_cosine_back(rf_cosine *c, const float *dcos, size_t n, const rf_adam *adam)
{
    const rf_known *k = c->d->known;
    rf_linear *out = &c->d->out;
    rf_panels_multiply(c->d->dhidden, dcos, c->transposed, NULL, n, k->width, k->classes);
    rf_unit_rows_back(c->d->dhidden, c->unit_h, c->h_norm, n, k->width);

    rf_linear_store(out, c->unit_h, dcos, 0, n);
    for (size_t i = 0; i < rf_linear_blocks(out); i++)
        rf_linear_update(out, i, n, false, NULL);
    weight_gradient(c);
    rf_train_kernels()->adam(out->w, out->w_grad, out->w_m, out->w_v,
                             rf_panels_floats(k->classes, k->width), adam);
}
