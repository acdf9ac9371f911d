/* small_model.c - a model with random numbers, as training would leave it */
#include "small_model.h"

#include "ans/heads.h"
#include "base/memory.h"
#include "base/rng.h"
#include "methods/methods.h"
#include "num/kernels.h"
#include "num/panels.h"
#include "num/train.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fill(float *x, size_t n, uint64_t what)
{
    rf_train_kernels()->normal(x, n, rf_rng_key(7, what, 0, 0));
}

/* Rows of random numbers as panels: what lies between them stays zero. */
static bool fill_panels(float *panels, size_t out, size_t in, uint64_t what)
{
    float *rows = malloc(out * in * sizeof *rows);
    if (!rows)
        return false;
    fill(rows, out * in, what);
    rf_panels_pack(panels, rows, out, in);
    free(rows);
    return true;
}

static void change(float *x, size_t n)
{
    const rf_train_table *k = rf_train_kernels();
    for (size_t i = 0; i < n; i++) {
        float y = x[i] * 1.1f;
        uint16_t half;
        k->narrow_f16(&half, &y, 1);
        rf_kernels()->widen_f16(x + i, &half, 1);
    }
}

static void tune(rf_encoder *e, size_t tuned)
{
    for (size_t l = e->config.layers - tuned; l < e->config.layers; l++)
        for (size_t i = 0; i < RF_LAYER_GROUPS; i++) {
            rf_layer_group g = rf_encoder_layer_group(e, l, i);
            size_t rows = g.n_names * g.out;
            change(g.weight, g.in ? rf_panels_floats(rows, g.in) : rows);
            change(g.bias, rows);
        }
}

static bool make_heads(rf_model *m, rf_error *err)
{
    size_t d = m->encoder->config.width;
    if (rf_known_init(&m->known, d, m->classes, err) != RF_OK ||
        rf_heads_init(&m->state, d, m->classes, err) != RF_OK ||
        !fill_panels(m->known.dense_w, d, d, 1) ||
        !fill_panels(m->known.out_w, m->classes, d, 2))
        return false;
    fill(m->known.dense_b, d, 3);
    fill(m->known.out_b, m->classes, 4);
    for (size_t i = 0; i < m->classes; i++) {
        rf_head h = rf_head_at(&m->state, i);
        if (!fill_panels(h.w1, RF_HEAD_1, d, 10 + i) ||
            !fill_panels(h.w2, RF_HEAD_2, RF_HEAD_1, 20 + i))
            return false;
        fill(h.b1, RF_HEAD_1, 30 + i);
        fill(h.b2, RF_HEAD_2, 40 + i);
        fill(h.w3, RF_HEAD_2, 50 + i);
        fill(h.b3, 1, 60 + i);
    }
    return true;
}

static bool make_stats(rf_model *m)
{
    size_t d = m->encoder->config.width, c = m->classes;
    rf_class_stats *s = &m->stats;
    *s = (rf_class_stats){.width = d,
                          .classes = c,
                          .mean = malloc(c * d * sizeof(float)),
                          .variance = malloc(c * d * sizeof(float)),
                          .distance = malloc(c * sizeof(float)),
                          .rows = malloc(c * sizeof(size_t))};
    m->radius = malloc(c * sizeof(float));
    if (!s->mean || !s->variance || !s->distance || !s->rows || !m->radius)
        return false;
    fill(s->mean, c * d, 70);
    fill(s->variance, c * d, 71);
    for (size_t i = 0; i < c * d; i++)
        s->variance[i] *= s->variance[i];
    for (size_t i = 0; i < c; i++) {
        s->distance[i] = 0.1f + (float)i;
        s->rows[i] = TINY_ROWS;
        m->radius[i] = 1.3f * s->distance[i];
    }
    return true;
}

/* Texts of 0, 1, 2, ... letters. */
static bool make_rows(rf_model *m)
{
    size_t d = m->encoder->config.width, n = m->classes * TINY_ROWS, bytes = 0;
    float *x = malloc(n * d * sizeof *x);
    m->n_rows = n;
    m->features = malloc(n * d * sizeof *m->features);
    m->row_class = malloc(n * sizeof *m->row_class);
    m->texts = malloc(n * n);
    m->text_ends = malloc(n * sizeof *m->text_ends);
    bool good = x && m->features && m->row_class && m->texts && m->text_ends;
    if (good) {
        fill(x, n * d, 80);
        rf_train_kernels()->narrow_f16(m->features, x, n * d);
        for (size_t i = 0; i < n; i++) {
            m->row_class[i] = (int32_t)(i % m->classes);
            memset(m->texts + bytes, (int)('a' + i % 26), i);
            m->text_ends[i] = bytes += i;
        }
    }
    free(x);
    return good;
}

static bool make_map(rf_model *m)
{
    size_t n = m->n_rows - 1;
    m->map_rows = malloc(n * sizeof *m->map_rows);
    m->map_xy = malloc(2 * n * sizeof *m->map_xy);
    if (!m->map_rows || !m->map_xy)
        return false;
    m->map_n = n;
    for (size_t i = 0; i < n; i++) {
        m->map_rows[i] = (int32_t)(i + (i > 0));
        m->map_xy[2 * i] = 1.0f - 2.0f * (float)i / (float)n;
        m->map_xy[2 * i + 1] = i % 2 ? 0.5f : -0.5f;
    }
    return true;
}

static bool make_labels(rf_model *m, size_t classes, rf_error *err)
{
    char names[16][16];
    const char *labels[16];
    for (size_t i = 0; i < classes && i < 16; i++) {
        snprintf(names[i], sizeof names[i], "caf\xc3\xa9 %02u", (unsigned)i);
        labels[i] = names[i];
    }
    return classes <= 16 && rf_model_set_labels(m, labels, classes, err) == RF_OK;
}

rf_model *small_model(const char *dir, size_t classes, size_t tuned, rf_error *err)
{
    rf_model *m = rf_model_new(err);
    if (m)
        m->method = rf_method_find("heads");
    if (m && rf_model_use_encoder(m, dir, err) == RF_OK && make_labels(m, classes, err) &&
        make_heads(m, err) && make_stats(m) && make_rows(m) && make_map(m)) {
        m->tuned = tuned;
        tune(m->encoder, tuned);
        m->max_tokens = m->encoder->config.positions;
        m->calibration =
            (rf_calibration){0.7f, -1.0f / 3.0f, 1.9f, RF_CALIBRATION_FROM_PSEUDO_OPEN};
        m->settings = json_pack("{s:i, s:f}", "epochs", 3, "rho", 0.1);
        m->summary = json_pack("{s:[f, i, n]}", "losses", 1.0 / 3.0, 2);
        if (m->settings && m->summary && rf_model_describe(m, err) == RF_OK)
            return m;
    }
    rf_model_free(m);
    return NULL;
}
