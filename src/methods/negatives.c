/*
 * negatives.c - MSP and ADB with an extra output that learns from synthetic negatives
 * (the paper's appendix, "Synthesized Negative Samples on other Structures")
 *
 * Stage 1 adds to each row z_i of a batch a point z_i + eps_i labelled open, made as ANS
 * makes its negatives: eps from N(0, 4 diag variance of the class), moved into the
 * shell r <= |eps| <= gamma r, r = rho D of the class. The variances are those at the
 * start of the epoch. The loss is the mean cross entropy over rows and points. The paper
 * omits the ascent; here it is optional and climbs the cross entropy of the open output.
 * Dev rows get no points.
 *
 * MSP: open if the extra output is the most likely, or the most likely one is below the
 * threshold.
 * ADB: its usual fences on these features; the extra output is not used ("the
 * inference step is kept the same as the original method").
 */
#include "base/memory.h"
#include "base/streams.h"
#include "methods/adb.h"
#include "open/class_stats.h"
#include "methods/dense.h"
#include "methods/msp.h"
#include "open/method.h"
#include "num/vectors.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SAME 1e-5f /* a class is a point if D is below this share of the largest */

typedef struct negatives {
    rf_objective o; /* first */
    rf_dense dense;
    size_t classes; /* known classes; also the index of the open class */
    size_t rows;    /* training set */
    const uint32_t *class_of;
    rf_class_stats stats; /* of this epoch */
    float rho, gamma, radius, ascent_rate;
    size_t ascent_steps;
    float *block;
    float *x, *dx;    /* [2 batch, width] a batch and its points */
    float *eps;       /* [batch, width] */
    float *variance;  /* [width] mean of the classes */
    uint32_t *labels; /* [2 batch] */
    uint32_t *centre; /* [batch] the row of the batch that point i surrounds */
} negatives;

/* ---- Where the classes lie --------------------------------------------------------- */

/* A class of one text, or of equal ones, has no spread: it gets the mean of the others.
 * If no class has spread, D stays 0 and there are no points. */
static void fill_missing_spread(rf_class_stats *s, float *variance)
{
    float least = 0.0f, total = 0.0f;
    size_t width = s->width, n = 0;
    for (size_t c = 0; c < s->classes; c++)
        least = fmaxf(least, SAME * s->distance[c]);
    memset(variance, 0, width * sizeof(float));
    for (size_t c = 0; c < s->classes; c++) {
        if (s->distance[c] <= least)
            continue;
        n++;
        for (size_t j = 0; j < width; j++)
            variance[j] += s->variance[c * width + j];
    }
    for (size_t j = 0; j < width && n > 0; j++) {
        variance[j] /= (float)n;
        total += variance[j];
    }
    for (size_t c = 0; c < s->classes; c++) {
        if (s->distance[c] > least)
            continue;
        memcpy(s->variance + c * width, variance, width * sizeof(float));
        s->distance[c] = sqrtf(2.0f * total);
    }
}

static rf_status negatives_before_epoch(rf_objective *o, const float *z, size_t epoch,
                                        rf_error *err)
{
    (void)epoch;
    negatives *t = (negatives *)o;
    rf_class_stats_release(&t->stats);
    rf_status st = rf_class_stats_init(&t->stats, z, t->class_of, t->rows,
                                       t->dense.known->width, t->classes, err);
    if (st == RF_OK)
        fill_missing_spread(&t->stats, t->variance);
    return st;
}

/* ---- Points ------------------------------------------------------------------------ */

static double length(const float *x, size_t n)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++)
        sum += (double)x[i] * (double)x[i];
    return sqrt(sum);
}

static float radius_of(const negatives *t, uint32_t c)
{
    return t->radius > 0.0f ? t->radius : t->rho * t->stats.distance[c];
}

/* Fills t->eps and t->centre; returns the number of points. */
static size_t draw_noise(negatives *t, const rf_objective_batch *b)
{
    size_t width = t->dense.known->width, points = 0;
    for (size_t i = 0; i < b->n; i++) {
        uint32_t c = b->class_of[i];
        if (c >= t->classes || !(t->stats.distance[c] > 0.0f))
            continue;
        float *eps = t->eps + points * width;
        const float *variance = t->stats.variance + c * width;
        rf_train_kernels()->normal(
            eps, width, rf_stream_key(b->seed, RF_STREAM_NEGATIVE_NOISE, b->step, i));
        for (size_t j = 0; j < width; j++)
            eps[j] *= 2.0f * sqrtf(variance[j]);
        t->centre[points++] = (uint32_t)i;
    }
    return points;
}

/* x [points, width] = z + eps */
static void place(const negatives *t, float *x, const float *z, size_t points)
{
    size_t width = t->dense.known->width;
    for (size_t i = 0; i < points; i++)
        for (size_t j = 0; j < width; j++)
            x[i * width + j] = z[t->centre[i] * width + j] + t->eps[i * width + j];
}

/* Replaces logits by a direction that raises the cross entropy of the open output. Its
 * gradient is p_k for known k and p_open - 1 = -(sum of these p_k); divided by that sum
 * it is q_k, the softmax over the known classes, and -1, which does not vanish where
 * p_open is 1. */
static void uphill(float *logits, size_t points, size_t classes)
{
    for (size_t i = 0; i < points; i++) {
        float *x = logits + i * (classes + 1);
        rf_kernels()->softmax(x, 1, classes, classes, 1.0f);
        x[classes] = -1.0f;
    }
}

/* eps += rate r gradient / |gradient|, without dropout. */
static void ascend(negatives *t, const rf_objective_batch *b, size_t points)
{
    rf_dense *d = &t->dense;
    size_t width = d->known->width;
    for (size_t k = 0; k < t->ascent_steps && points > 0; k++) {
        place(t, t->x, b->z, points);
        rf_dense_forward(d, t->x, points, 0.0f, 0);
        uphill(d->logits, points, t->classes);
        rf_linear_backward(&d->out, d->dhidden, d->logits, points, false);
        for (size_t i = 0; i < points * width; i++)
            d->dhidden[i] = d->pre[i] > 0.0f ? d->dhidden[i] : 0.0f;
        rf_linear_backward(&d->dense, t->dx, d->dhidden, points, false);
        for (size_t i = 0; i < points; i++) {
            const float *up = t->dx + i * width;
            double norm = length(up, width);
            float r = radius_of(t, b->class_of[t->centre[i]]);
            float scale =
                norm > 0.0 ? (float)((double)(t->ascent_rate * r) / norm) : 0.0f;
            for (size_t j = 0; j < width; j++)
                t->eps[i * width + j] += scale * up[j];
        }
    }
}

/* eps *= clip(|eps|, r, gamma r) / |eps| */
static void project(negatives *t, const rf_objective_batch *b, size_t points)
{
    size_t width = t->dense.known->width;
    for (size_t i = 0; i < points; i++) {
        float *eps = t->eps + i * width;
        double r = (double)radius_of(t, b->class_of[t->centre[i]]);
        double now = length(eps, width), most = (double)t->gamma * r;
        double want = now < r ? r : now > most ? most : now;
        float scale = now > 0.0 ? (float)(want / now) : 1.0f;
        for (size_t j = 0; j < width; j++)
            eps[j] *= scale;
    }
}

/* ---- What stage 1 learns ----------------------------------------------------------- */

static double negatives_step(rf_objective *o, const rf_objective_batch *b, float *dz)
{
    negatives *t = (negatives *)o;
    rf_dense *d = &t->dense;
    size_t width = d->known->width, n = b->n;
    assert(t->stats.variance); /* before_epoch was called */
    size_t points = draw_noise(t, b), rows = n + points;
    ascend(t, b, points);
    project(t, b, points);
    memcpy(t->x, b->z, n * width * sizeof(float));
    place(t, t->x + n * width, b->z, points);
    memcpy(t->labels, b->class_of, n * sizeof *t->labels);
    for (size_t i = n; i < rows; i++)
        t->labels[i] = (uint32_t)t->classes;
    rf_dense_forward(d, t->x, rows, b->dropout,
                     rf_stream_key(b->seed, RF_STREAM_DROP_HIDDEN, b->step, 0));
    double loss = rf_cross_entropy(d->logits, t->labels, rows, d->known->classes, 1.0f);
    rf_dense_back_out(d, d->logits, rows, b->adam);
    rf_dense_back_hidden(d, t->x, rows, t->dx, b->adam);
    memcpy(dz, t->dx, n * width * sizeof(float));
    for (size_t i = 0; i < points; i++)
        for (size_t j = 0; j < width; j++)
            dz[t->centre[i] * width + j] += t->dx[(n + i) * width + j];
    return loss;
}

/* A dev row classified as open counts as wrong. */
static void negatives_look_at_dev(rf_objective *o, const float *z,
                                  const uint32_t *class_of, size_t n, double *score,
                                  double *loss)
{
    rf_dense *d = &((negatives *)o)->dense;
    size_t width = d->known->width, classes = d->known->classes, right = 0;
    double sum = 0.0;
    for (size_t from = 0; from < n; from += d->max_rows) {
        size_t some = n - from < d->max_rows ? n - from : d->max_rows;
        rf_dense_forward(d, z + from * width, some, 0.0f, 0);
        right += rf_count_right(d->logits, class_of + from, some, classes);
        sum += (double)some *
               rf_cross_entropy(d->logits, class_of + from, some, classes, 1.0f);
    }
    *score = 100.0 * (double)right / (double)n;
    *loss = sum / (double)n;
}

static void negatives_refresh(rf_objective *o)
{
    rf_dense_refresh(&((negatives *)o)->dense);
}

static void negatives_release(rf_objective *o)
{
    negatives *t = (negatives *)o;
    rf_dense_release(&t->dense);
    rf_class_stats_release(&t->stats);
    free(t->block);
    free(t->labels);
    free(t->centre);
    free(t);
}

static rf_status negatives_make(rf_objective *o, const rf_objective_setting *s,
                                rf_error *err)
{
    negatives *t = (negatives *)o;
    size_t rows = 2 * s->batch, n = rows * s->width;
    size_t floats = 2 * n + s->batch * s->width + s->width;
    t->classes = s->classes;
    t->rows = s->texts->n_texts;
    t->class_of = s->class_of;
    t->rho = s->o->neg_rho;
    t->gamma = s->o->neg_gamma;
    t->radius = s->o->neg_radius;
    t->ascent_rate = s->o->neg_ascent_rate;
    t->ascent_steps = s->o->neg_ascent_steps;
    t->block = rf_floats_new(floats);
    t->labels = calloc(rows, sizeof *t->labels);
    t->centre = calloc(s->batch, sizeof *t->centre);
    if (!t->block || !t->labels || !t->centre)
        return rf_fail_nomem(err, floats * sizeof(float), "training with negatives");
    t->x = t->block;
    t->dx = t->x + n;
    t->eps = t->dx + n;
    t->variance = t->eps + s->batch * s->width;
    rf_status st = rf_dense_init(&t->dense, s->known, rows, err);
    if (st == RF_OK)
        rf_dense_list(&t->dense, o);
    return st;
}

static rf_objective *negatives_new(const rf_objective_setting *s, rf_error *err)
{
    const rf_objective first = {.step = negatives_step,
                                .before_epoch = negatives_before_epoch,
                                .look_at_dev = negatives_look_at_dev,
                                .refresh = negatives_refresh,
                                .release = negatives_release};
    return rf_objective_new(sizeof(negatives), first, negatives_make, s, err);
}

/* ---- The fences -------------------------------------------------------------------- */

static void msp_judge(const rf_method_state *state, const rf_signals *s, rf_verdict *out,
                      float *margins, float *scratch)
{
    (void)scratch;
    size_t classes = state->classes;
    for (size_t i = 0; i < s->n; i++) {
        const float *x = s->logits + i * (classes + 1);
        float *m = margins + i * classes, top = x[rf_largest(x, classes + 1)];
        float open = expf(x[classes] - top);
        double sum = (double)open;
        for (size_t c = 0; c < classes; c++) {
            m[c] = expf(x[c] - top);
            sum += (double)m[c];
        }
        float limit = fmaxf((float)((double)open / sum), state->arrays[0].data[0]);
        for (size_t c = 0; c < classes; c++)
            m[c] = (float)((double)m[c] / sum) - limit;
        out[i].nearest = out[i].fence = (uint32_t)rf_largest(x, classes);
    }
}

const rf_method rf_method_msp_neg = {
    .name = "msp-neg",
    .title = "MSP + negatives",
    .summary =
        "MSP with an extra class, learnt from synthetic negatives like those of ANS",
    .open_class = true,
    .objective = negatives_new,
    .objective_name = "negatives",
    .arrays = rf_msp_arrays,
    .n_arrays = 1,
    .fit = rf_msp_fit,
    .prepare = rf_msp_prepare,
    .judge = msp_judge,
};

const rf_method rf_method_adb_neg = {
    .name = "adb-neg",
    .title = "ADB + negatives",
    .summary = "ADB on features learnt with an extra class of synthetic negatives",
    .open_class = true,
    .objective = negatives_new,
    .objective_name = "negatives",
    .arrays = rf_adb_arrays,
    .n_arrays = RF_ADB_N_ARRAYS,
    .fit = rf_adb_fit_hidden,
    .prepare = rf_adb_prepare,
    .judge = rf_adb_judge,
};
