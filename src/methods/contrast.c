/* contrast.c - queue of keys, and the contrastive loss against it */
#include "methods/contrast.h"

#include "base/memory.h"
#include "num/kernels.h"
#include "num/panels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

rf_status rf_contrast_init(rf_contrast *c, size_t width, size_t room, size_t max_rows,
                           size_t top, float temperature, bool unmasked, rf_error *err)
{
    *c = (rf_contrast){.width = width,
                       .room = room,
                       .max_rows = max_rows,
                       .top = top < room ? top : room,
                       .temperature = temperature,
                       .unmasked = unmasked};
    size_t panels = rf_panels_floats(room, width), strips = rf_panels_floats(width, room);
    size_t near, n;
    if (!rf_size_mul(max_rows, room, &near) || !rf_size_add(near, panels + strips, &n))
        return rf_fail_nomem(err, SIZE_MAX, "a queue of keys");
    c->class_of = calloc(room, sizeof *c->class_of);
    c->best = calloc(c->top, sizeof *c->best);
    c->pull = calloc(c->top, sizeof *c->pull);
    c->block = rf_floats_new(n);
    if (!c->class_of || !c->best || !c->pull || !c->block) {
        rf_contrast_release(c);
        return rf_fail_nomem(err, n * sizeof(float), "a queue of keys");
    }
    /* The product reads whole panels and strips, even where there is no key. */
    memset(c->block, 0, (panels + strips) * sizeof(float));
    c->panels = c->block;
    c->strips = c->panels + panels;
    c->near = c->strips + strips;
    return RF_OK;
}

void rf_contrast_release(rf_contrast *c)
{
    free(c->class_of);
    free(c->best);
    free(c->pull);
    free(c->block);
    *c = (rf_contrast){0};
}

void rf_contrast_clear(rf_contrast *c)
{
    c->filled = c->next = 0;
}

void rf_contrast_add(rf_contrast *c, const float *keys, const uint32_t *class_of,
                     size_t n)
{
    for (size_t k = 0; k < n; k++) {
        const float *key = keys + k * c->width;
        size_t at = c->next;
        float *panel = c->panels + at / RF_PANEL * RF_PANEL * c->width + at % RF_PANEL;
        for (size_t i = 0; i < c->width; i++) {
            panel[i * RF_PANEL] = key[i];
            c->strips[(i / RF_PANEL * c->room + at) * RF_PANEL + i % RF_PANEL] = key[i];
        }
        c->class_of[at] = class_of[k];
        c->next = (at + 1) % c->room;
        if (c->filled < c->room)
            c->filled++;
    }
}

/* Writes the k nearest entries of class y (of any class if y is UINT32_MAX) to best,
 * nearest first, ties in queue order; returns their number. */
static size_t find_positives(const rf_contrast *c, const float *near, uint32_t y,
                             size_t k)
{
    size_t n = 0;
    for (size_t j = 0; j < c->filled; j++) {
        if (y != UINT32_MAX && c->class_of[j] != y)
            continue;
        if (n == k && !(near[j] > near[c->best[n - 1]]))
            continue;
        size_t at = n < k ? n++ : n - 1;
        for (; at > 0 && near[j] > near[c->best[at - 1]]; at--)
            c->best[at] = c->best[at - 1];
        c->best[at] = (uint32_t)j;
    }
    return n;
}

/* log of the sum of exp(s) over the entries of other classes; -inf without any. */
static double log_sum_negatives(const rf_contrast *c, const float *near, uint32_t y)
{
    double t = (double)c->temperature, most = -INFINITY, sum = 0.0;
    for (size_t j = 0; j < c->filled; j++)
        if (c->class_of[j] != y && (double)near[j] > most)
            most = (double)near[j];
    for (size_t j = 0; j < c->filled; j++)
        if (c->class_of[j] != y)
            sum += exp(((double)near[j] - most) / t);
    return sum > 0.0 ? most / t + log(sum) : -INFINITY;
}

/* One query: its loss; its similarities become dloss / dsimilarity times `share`.
 *
 * With L from log_sum_negatives(), a positive's loss is log(1 + exp(L - s_p)); g_p, the
 * share of the negatives in its denominator, is the logistic function of the same
 * difference. dloss / ds_p = -g_p, dloss / ds_n = exp(s_n - L) g_p. */
static double one_query(rf_contrast *c, float *near, uint32_t y, size_t k, double share)
{
    double t = (double)c->temperature, all = log_sum_negatives(c, near, y);
    size_t n = find_positives(c, near, c->unmasked ? UINT32_MAX : y, k);
    double loss = 0.0, pressure = 0.0;
    if (n == 0 || all == -INFINITY) {
        memset(near, 0, c->filled * sizeof *near);
        return 0.0;
    }
    double scale = share / ((double)n * t);
    for (size_t i = 0; i < n; i++) {
        double x = all - (double)near[c->best[i]] / t;
        loss += x > 0.0 ? x + log1p(exp(-x)) : log1p(exp(x));
        c->pull[i] = scale / (1.0 + exp(-x));
        pressure += c->pull[i];
    }
    for (size_t j = 0; j < c->filled; j++)
        near[j] = c->class_of[j] == y
                      ? 0.0f
                      : (float)(pressure * exp((double)near[j] / t - all));
    for (size_t i = 0; i < n; i++)
        near[c->best[i]] -= (float)c->pull[i];
    return loss / (double)n;
}

/* The maximum number of positives per query. */
static size_t max_positives(const rf_contrast *c, const uint32_t *class_of, size_t n)
{
    size_t k = c->top;
    for (size_t i = 0; c->unmasked && i < n; i++) {
        size_t own = 0;
        for (size_t j = 0; j < c->filled; j++)
            own += c->class_of[j] == class_of[i];
        k = own < k ? own : k;
    }
    return k;
}

double rf_contrast_loss(rf_contrast *c, const float *q, const uint32_t *class_of,
                        size_t n, float *dq)
{
    double sum = 0.0;
    size_t k = max_positives(c, class_of, n);
    rf_gemm_args g =
        rf_panels_product(c->near, q, c->panels, NULL, n, c->filled, c->width);
    g.ldc = c->room;
    if (c->filled == 0 || k == 0) {
        memset(dq, 0, n * c->width * sizeof *dq);
        return 0.0;
    }
    rf_kernels()->gemm(&g);
    for (size_t i = 0; i < n; i++)
        sum += one_query(c, c->near + i * c->room, class_of[i], k, 1.0 / (double)n);
    g = rf_panels_product(dq, c->near, c->strips, NULL, n, c->width, c->filled);
    g.lda = c->room;
    g.b_panel = c->room * RF_PANEL;
    rf_kernels()->gemm(&g);
    return sum / (double)n;
}
