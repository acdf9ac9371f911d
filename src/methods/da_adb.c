/*
 * da_adb.c - DA-ADB (Zhang et al., 2023): distance-aware features, then the boundaries
 * of ADB
 *
 * Stage 1 scales the hidden vector h = drop(relu(Wd z + bd)) by how clearly it belongs to
 * one class: x = h exp(d2 - d1), where d1 and d2 are its distances to the nearest and the
 * second nearest centroid, and classifies it by
 *   logit_k = s |x| / (1 + |x|) cos(x, w_k),  s = 4
 * The centroids are means of h without dropout, updated before each epoch. As in the
 * authors' code, the gradient flows through the factor too. d2 - d1 is capped at
 * MAX_APART, where |x| / (1 + |x|) is practically 1. The fence is ADB's on h itself. Its
 * centroids are those of the best weights; the authors use the centroids from the start
 * of that epoch.
 */
#include "base/memory.h"
#include "base/streams.h"
#include "methods/adb.h"
#include "methods/cosine.h"
#include "methods/dev_score.h"
#include "open/method.h"
#include "num/vectors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SCALE 4.0
#define MAX_APART 20.0

/* ---- Stage 1 ------------------------------------------------------------------------
 */

/* A row's position relative to the centroids. */
typedef struct place {
    const float *c1, *c2; /* nearest and second nearest centroid */
    double d1, d2;
    double factor; /* exp(d2 - d1) */
    double norm;   /* |x| */
    double slope;  /* dloss / d|x| */
    bool fixed;    /* the factor does not depend on the row */
} place;

typedef struct da_adb {
    rf_objective base;
    rf_dense d;
    rf_cosine c;
    rf_dev_score score;
    size_t rows;              /* of the training set */
    const uint32_t *class_of; /* [rows] */
    float *centroids;         /* [classes, width] */
    double *sums;             /* [classes, width] scratch for the means */
    size_t *count;            /* [classes] rows of each centroid; 0: no centroid yet */
    place *places;            /* [batch] */
} da_adb;

/* A single class has no second centroid: the factor is 1. */
static place find_place(const da_adb *a, const float *h, double h_norm)
{
    size_t width = a->d.known->width;
    place p = {.d1 = INFINITY, .d2 = INFINITY};
    for (size_t c = 0; c < a->d.known->classes; c++) {
        const float *centre = a->centroids + c * width;
        double d = a->count[c] ? rf_distance(h, centre, width) : INFINITY;
        if (d < p.d1) {
            p.d2 = p.d1;
            p.c2 = p.c1;
            p.d1 = d;
            p.c1 = centre;
        } else if (d < p.d2) {
            p.d2 = d;
            p.c2 = centre;
        }
    }
    double apart = p.c2 ? p.d2 - p.d1 : 0.0;
    p.fixed = !p.c2 || apart > MAX_APART;
    p.factor = exp(apart > MAX_APART ? MAX_APART : apart);
    p.norm = p.factor * h_norm;
    return p;
}

/* The logits of the n rows whose cosines are in c. */
static void scale_logits(da_adb *a, size_t n)
{
    size_t width = a->d.known->width, classes = a->d.known->classes;
    for (size_t i = 0; i < n; i++) {
        place p = find_place(a, a->d.hidden + i * width, (double)a->c.h_norm[i]);
        float scale = (float)(SCALE * p.norm / (1.0 + p.norm));
        for (size_t k = i * classes; k < (i + 1) * classes; k++)
            a->d.logits[k] = scale * a->c.cosines[k];
        a->places[i] = p;
    }
}

/* Adds the gradient that reaches h through |x|: with g = dloss / d|x|,
 * g factor h / |h| + g |x| ((h - c2) / d2 - (h - c1) / d1). */
static void add_norm_gradient(da_adb *a, size_t i)
{
    size_t width = a->d.known->width;
    const place *p = &a->places[i];
    const float *h = a->d.hidden + i * width, *unit = a->c.unit_h + i * width;
    float *to = a->d.dhidden + i * width;
    double g = p->slope;
    double near = !p->fixed && p->d1 > 0.0 ? g * p->norm / p->d1 : 0.0;
    double far = !p->fixed && p->d2 > 0.0 ? g * p->norm / p->d2 : 0.0;
    for (size_t j = 0; j < width; j++) {
        double d = g * p->factor * (double)unit[j];
        if (!p->fixed)
            d += far * ((double)h[j] - (double)p->c2[j]) -
                 near * ((double)h[j] - (double)p->c1[j]);
        to[j] += (float)d;
    }
}

/* From the gradient in d.logits: the gradient of hidden, and an optimiser step on Wo. */
static void da_adb_back(da_adb *a, size_t n, const rf_adam *adam)
{
    size_t classes = a->d.known->classes;
    for (size_t i = 0; i < n; i++) {
        double norm = a->places[i].norm, sum = 0.0;
        float scale = (float)(SCALE * norm / (1.0 + norm));
        for (size_t k = i * classes; k < (i + 1) * classes; k++) {
            sum += (double)a->d.logits[k] * (double)a->c.cosines[k];
            a->d.logits[k] *= scale;
        }
        a->places[i].slope = SCALE * sum / ((1.0 + norm) * (1.0 + norm));
    }
    rf_cosine_back(&a->c, a->d.logits, n, adam);
    for (size_t i = 0; i < n; i++)
        add_norm_gradient(a, i);
}

static double da_adb_step(rf_objective *o, const rf_objective_batch *b, float *dz)
{
    da_adb *a = (da_adb *)o;
    rf_dense_forward(&a->d, b->z, b->n, b->dropout,
                     rf_stream_key(b->seed, RF_STREAM_DROP_HIDDEN, b->step, 0));
    rf_cosine_forward(&a->c, b->n);
    scale_logits(a, b->n);
    double loss =
        rf_cross_entropy(a->d.logits, b->class_of, b->n, a->d.known->classes, 1.0f);
    da_adb_back(a, b->n, b->adam);
    rf_dense_back_hidden(&a->d, b->z, b->n, dz, b->adam);
    return loss;
}

static rf_status da_adb_before_epoch(rf_objective *o, const float *z, size_t epoch,
                                     rf_error *err)
{
    da_adb *a = (da_adb *)o;
    size_t width = a->d.known->width, classes = a->d.known->classes;
    memset(a->sums, 0, classes * width * sizeof *a->sums);
    memset(a->count, 0, classes * sizeof *a->count);
    for (size_t from = 0; from < a->rows; from += a->d.max_rows) {
        size_t n = a->rows - from < a->d.max_rows ? a->rows - from : a->d.max_rows;
        rf_dense_forward(&a->d, z + from * width, n, 0.0f, 0);
        for (size_t i = 0; i < n; i++) {
            size_t c = a->class_of[from + i];
            if (c >= classes)
                continue;
            a->count[c]++;
            for (size_t j = 0; j < width; j++)
                a->sums[c * width + j] += (double)a->d.hidden[i * width + j];
        }
    }
    for (size_t i = 0; i < classes * width; i++)
        a->centroids[i] = a->count[i / width]
                              ? (float)(a->sums[i] / (double)a->count[i / width])
                              : 0.0f;
    if (!rf_kernels()->all_finite(a->centroids, classes * width))
        return rf_fail(err, RF_ERR_NUMERIC, 0,
                       "training diverged before epoch %zu (a class's centre is not "
                       "finite); a smaller learning rate may help",
                       epoch + 1);
    return RF_OK;
}

static void da_adb_look_at_dev(rf_objective *o, const float *z, const uint32_t *class_of,
                               size_t n, double *score, double *loss)
{
    da_adb *a = (da_adb *)o;
    double sum = 0.0;
    rf_dev_score_clear(&a->score);
    for (size_t from = 0; from < n; from += a->d.max_rows) {
        size_t some = n - from < a->d.max_rows ? n - from : a->d.max_rows;
        rf_dense_forward(&a->d, z + from * a->d.known->width, some, 0.0f, 0);
        rf_cosine_forward(&a->c, some);
        rf_dev_score_add(&a->score, a->c.cosines, class_of + from, some);
        scale_logits(a, some);
        sum += (double)some * rf_cross_entropy(a->d.logits, class_of + from, some,
                                               a->d.known->classes, 1.0f);
    }
    *score = rf_dev_score_f1(&a->score);
    *loss = n ? sum / (double)n : 0.0;
}

static void da_adb_refresh(rf_objective *o)
{
    rf_dense_refresh(&((da_adb *)o)->d);
}

static void da_adb_release(rf_objective *o)
{
    da_adb *a = (da_adb *)o;
    rf_cosine_release(&a->c);
    rf_dense_release(&a->d);
    rf_dev_score_release(&a->score);
    free(a->centroids);
    free(a->sums);
    free(a->count);
    free(a->places);
    free(a);
}

static rf_status da_adb_make(rf_objective *o, const rf_objective_setting *s,
                             rf_error *err)
{
    da_adb *a = (da_adb *)o;
    size_t classes = s->known->classes, cells = classes * s->width;
    rf_status st = rf_dense_init(&a->d, s->known, s->batch, err);
    if (st == RF_OK)
        st = rf_cosine_init(&a->c, &a->d, err);
    if (st == RF_OK)
        st = rf_dev_score_init(&a->score, classes, err);
    if (st != RF_OK)
        return st;
    a->rows = s->texts->n_texts;
    a->class_of = s->class_of;
    a->centroids = rf_floats_new(cells);
    a->sums = calloc(cells, sizeof *a->sums);
    a->count = calloc(classes, sizeof *a->count);
    a->places = calloc(s->batch, sizeof *a->places);
    if (!a->centroids || !a->sums || !a->count || !a->places)
        return rf_fail_nomem(err, cells * (sizeof(float) + sizeof(double)),
                             "the classes' centres");
    rf_dense_list(&a->d, o);
    return RF_OK;
}

static rf_objective *da_adb_new(const rf_objective_setting *s, rf_error *err)
{
    const rf_objective first = {.step = da_adb_step,
                                .before_epoch = da_adb_before_epoch,
                                .look_at_dev = da_adb_look_at_dev,
                                .refresh = da_adb_refresh,
                                .release = da_adb_release};
    return rf_objective_new(sizeof(da_adb), first, da_adb_make, s, err);
}

/* The fence is ADB's, on the hidden layer. */
const rf_method rf_method_da_adb = {
    .name = "da-adb",
    .title = "DA-ADB",
    .summary = "ADB on features trained to be aware of their distances to the classes",
    .form = RF_KNOWN_COSINE,
    .objective = da_adb_new,
    .arrays = rf_adb_arrays,
    .n_arrays = RF_ADB_N_ARRAYS,
    .fit = rf_adb_fit_hidden,
    .prepare = rf_adb_prepare,
    .judge = rf_adb_judge,
};
