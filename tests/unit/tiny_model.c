/* tiny_model.c - the golden tiny encoder with random weights, as a model */
#include "tiny_model.h"

#include "ans/heads.h"
#include "base/memory.h"
#include "base/rng.h"
#include "methods/methods.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

float *tiny_panel(float *panels, size_t in, size_t j, size_t i)
{
    return &panels[j / 16 * 16 * in + i * 16 + j % 16];
}

/* Evenly in (-spread, spread). */
static float draw(rf_rng *r, float spread)
{
    return spread * (2.0f * rf_rng_uniform(r) - 1.0f);
}

/* Weights that keep the size of what goes through a layer with ReLU. */
static void fill(rf_rng *r, float *panels, float *bias, size_t out, size_t in)
{
    for (size_t j = 0; j < out; j++) {
        for (size_t i = 0; i < in; i++)
            *tiny_panel(panels, in, j, i) = draw(r, sqrtf(6.0f / (float)in));
        bias[j] = draw(r, 0.3f);
    }
}

static void set_labels(rf_model *m, size_t classes)
{
    char *names = malloc(classes * 8);
    const char **labels = malloc(classes * sizeof *labels);
    assert_true(names && labels && classes <= 10000);
    for (size_t i = 0; i < classes; i++) {
        snprintf(names + i * 8, 8, "c%04u", (unsigned)(i % 10000));
        labels[i] = names + i * 8;
    }
    assert_int_equal(rf_model_set_labels(m, labels, classes, NULL), RF_OK);
    free(labels);
    free(names);
}

rf_model *tiny_model_new(size_t classes, float shift)
{
    rf_error err = {0};
    rf_model *m = rf_model_new(&err);
    assert_non_null(m);
    m->method = rf_method_find("heads");
    m->encoder = rf_encoder_load(GOLDEN_DIR "/tiny/encoder", &err);
    if (!m->encoder)
        fail_msg("%s", err.msg);
    size_t width = m->encoder->config.width;
    m->max_tokens = 24;
    set_labels(m, classes);
    assert_int_equal(rf_known_init(&m->known, width, classes, &err), RF_OK);
    assert_int_equal(rf_heads_init(&m->state, width, classes, &err), RF_OK);
    rf_rng r = rf_rng_open(rf_rng_key(7, classes, 0, 0));
    fill(&r, m->known.dense_w, m->known.dense_b, width, width);
    fill(&r, m->known.out_w, m->known.out_b, classes, width);
    for (size_t c = 0; c < classes; c++) {
        rf_head h = rf_head_at(&m->state, c);
        fill(&r, h.w1, h.b1, RF_HEAD_1, width);
        fill(&r, h.w2, h.b2, RF_HEAD_2, RF_HEAD_1);
        for (size_t j = 0; j < RF_HEAD_2; j++)
            h.w3[j] = draw(&r, 0.3f);
        *h.b3 = draw(&r, 0.3f) + shift;
    }
    return m;
}

void tiny_model_keep(rf_model *m, size_t rows, bool with_texts)
{
    size_t width = m->known.width, used = 0;
    m->n_rows = rows;
    m->features = malloc(rows * width * sizeof *m->features);
    m->row_class = malloc(rows * sizeof *m->row_class);
    assert_true(m->features && m->row_class);
    if (with_texts) {
        m->texts = malloc(rows * 12);
        m->text_ends = malloc(rows * sizeof *m->text_ends);
        assert_true(m->texts && m->text_ends);
    }
    rf_rng r = rf_rng_open(rf_rng_key(8, rows, 0, 0));
    for (size_t i = 0; i < rows; i++) {
        m->row_class[i] = (int32_t)(rf_rng_next(&r) % m->classes);
        uint16_t *z = m->features + i * width;
        for (size_t j = 0; j < width; j++) /* +-0.25 to 2 in half precision */
            z[j] =
                (uint16_t)((rf_rng_next(&r) & 0x83ff) | (13 + rf_rng_next(&r) % 3) << 10);
        if (i % 10 == 9)
            memcpy(z, z - width, width * sizeof *z);
        if (with_texts) {
            used += (size_t)snprintf(m->texts + used, 12, "row %u", (unsigned)i);
            m->text_ends[i] = used;
        }
    }
}

void tiny_model_map(rf_model *m, size_t step)
{
    m->map_n = (m->n_rows + step - 1) / step;
    m->map_rows = malloc(m->map_n * sizeof *m->map_rows);
    m->map_xy = malloc(2 * m->map_n * sizeof *m->map_xy);
    assert_true(m->map_rows && m->map_xy);
    rf_rng r = rf_rng_open(rf_rng_key(10, m->map_n, 0, 0));
    for (size_t i = 0; i < m->map_n; i++) {
        m->map_rows[i] = (int32_t)(i * step);
        m->map_xy[2 * i] = draw(&r, 1.0f);
        m->map_xy[2 * i + 1] = draw(&r, 1.0f);
    }
    m->stats.distance = m->stats.distance ? m->stats.distance
                                          : calloc(m->classes, sizeof *m->stats.distance);
    assert_non_null(m->stats.distance);
    for (size_t c = 0; c < m->classes; c++)
        m->stats.distance[c] = 2.0f + 0.5f * (float)c;
}

void tiny_text(char *text, size_t len, uint64_t number)
{
    rf_rng r = rf_rng_open(rf_rng_key(9, number, 0, 0));
    for (size_t i = 0; i < len; i++) {
        uint64_t x = rf_rng_next(&r);
        text[i] = x % 3 == 0 ? ' ' : (char)('a' + (x >> 32) % 26);
    }
}
