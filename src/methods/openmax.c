/*
 * openmax.c - OpenMax (Bendale and Boult 2016): logits of the likeliest classes are
 * reduced by how unusual the text's distance from the class is; the sum of the reductions
 * is the logit of "open"
 *
 * A class is represented by the mean logit vector of its training rows; distances are
 * cosine distances. A Gumbel distribution is fitted to the `tail` largest distances of
 * its own rows; the usual Weibull fit, of numbers shifted far from zero, amounts to the
 * same. For a text, class k at rank i (from 0) of `ranks` retains the share 1 -
 * P_k(distance) (ranks - i) / ranks of its logit.
 *
 * A class whose tail has no spread (one row, or copies of one) cannot be fitted: it
 * takes the mean location and scale of the others. Without any, no logit is reduced
 * and only the threshold on the softmax probability remains.
 *
 * The option textoir measures texts by (Euclidean + cosine distance) / 200, although the
 * fit uses cosine distances, as that framework does.
 */
#include "base/memory.h"
#include "num/kernels.h"
#include "methods/gumbel.h"
#include "open/method.h"
#include "known/signals.h"
#include "num/vectors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define OUT_OF_REACH 1e6f /* location of a class whose logit is never reduced */

enum { MEANS, LOCATION, SCALE, SETTINGS };
enum { RANKS, MIN_PROBABILITY, TEXTOIR, N_SETTINGS };

/* 1 - cos; a zero vector counts as orthogonal to everything. */
static double cosine_distance(const float *a, const float *b, size_t n)
{
    double ab = 0.0, aa = 0.0, bb = 0.0;
    for (size_t i = 0; i < n; i++) {
        ab += (double)a[i] * (double)b[i];
        aa += (double)a[i] * (double)a[i];
        bb += (double)b[i] * (double)b[i];
    }
    return aa > 0.0 && bb > 0.0 ? 1.0 - ab / (sqrt(aa) * sqrt(bb)) : 1.0;
}

/* ---- Fitting ----------------------------------------------------------------------- */

static void fit_means(rf_method_state *state, const rf_fit *in, const float *logits,
                      double *sums)
{
    size_t classes = state->classes;
    for (size_t c = 0; c < classes; c++) {
        size_t rows = 0;
        for (size_t j = 0; j < classes; j++)
            sums[j] = 0.0;
        for (size_t i = 0; i < in->rows; i++) {
            if (in->class_of[i] != c)
                continue;
            rows++;
            for (size_t j = 0; j < classes; j++)
                sums[j] += (double)logits[i * classes + j];
        }
        for (size_t j = 0; j < classes; j++)
            state->arrays[MEANS].data[c * classes + j] =
                (float)(sums[j] / (double)(rows ? rows : 1));
    }
}

static int farthest_first(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* Classes that cannot be fitted get scale 0; returns the number of fitted classes. */
static size_t fit_tails(rf_method_state *state, const rf_fit *in, const float *logits,
                        double *distances)
{
    size_t classes = state->classes, fitted = 0;
    for (size_t c = 0; c < classes; c++) {
        size_t n = 0;
        double location = 0.0, scale = 0.0;
        for (size_t i = 0; i < in->rows; i++)
            if (in->class_of[i] == c)
                distances[n++] =
                    cosine_distance(logits + i * classes,
                                    state->arrays[MEANS].data + c * classes, classes);
        qsort(distances, n, sizeof *distances, farthest_first);
        n = n < in->o->tail ? n : in->o->tail;
        fitted += rf_gumbel_fit(distances, n, &location, &scale);
        state->arrays[LOCATION].data[c] = (float)location;
        state->arrays[SCALE].data[c] = (float)scale;
    }
    return fitted;
}

static void fill_missing(rf_method_state *state, size_t fitted)
{
    float *location = state->arrays[LOCATION].data, *scale = state->arrays[SCALE].data;
    double locations = 0.0, scales = 0.0;
    for (size_t c = 0; c < state->classes; c++)
        if (scale[c] > 0.0f) {
            locations += (double)location[c];
            scales += (double)scale[c];
        }
    for (size_t c = 0; c < state->classes; c++)
        if (!(scale[c] > 0.0f)) {
            location[c] = fitted ? (float)(locations / (double)fitted) : OUT_OF_REACH;
            scale[c] = fitted ? (float)(scales / (double)fitted) : 1.0f;
        }
}

static rf_status make_room(rf_method_state *state, const rf_settings *o, rf_error *err)
{
    rf_status status =
        rf_method_state_room(state, MEANS, state->classes, state->classes, err);
    if (status == RF_OK)
        status = rf_method_state_room(state, LOCATION, state->classes, 1, err);
    if (status == RF_OK)
        status = rf_method_state_room(state, SCALE, state->classes, 1, err);
    if (status == RF_OK)
        status = rf_method_state_room(state, SETTINGS, N_SETTINGS, 1, err);
    if (status != RF_OK)
        return status;
    state->arrays[SETTINGS].data[RANKS] =
        (float)(o->ranks < state->classes ? o->ranks : state->classes);
    state->arrays[SETTINGS].data[MIN_PROBABILITY] = o->threshold;
    state->arrays[SETTINGS].data[TEXTOIR] = o->textoir ? 1.0f : 0.0f;
    return RF_OK;
}

static rf_status openmax_fit(rf_method_state *state, const rf_fit *in, rf_error *err)
{
    rf_status status = make_room(state, in->o, err);
    if (status != RF_OK)
        return status;
    size_t max_n = in->rows > state->classes ? in->rows : state->classes;
    float *logits = rf_floats_new(in->rows * state->classes);
    double *scratch = malloc(max_n * sizeof *scratch);
    if (!logits || !scratch)
        status = rf_fail_nomem(err, in->rows * state->classes * sizeof *logits,
                               "the logits of all rows");
    if (status == RF_OK)
        status =
            rf_known_signals(in->known, in->z, in->rows, NULL, logits, in->team, err);
    if (status == RF_OK && !rf_kernels()->all_finite(logits, in->rows * state->classes))
        status =
            rf_fail(err, RF_ERR_NUMERIC, 0,
                    "openmax: found logits of the training rows that are not finite");
    if (status == RF_OK) {
        fit_means(state, in, logits, scratch);
        fill_missing(state, fit_tails(state, in, logits, scratch));
    }
    free(logits);
    free(scratch);
    return status;
}

/* ---- Judging ----------------------------------------------------------------------- */

static rf_status openmax_prepare(rf_method_state *state, rf_error *err)
{
    const float *s = state->arrays[SETTINGS].data;
    if (!(s[RANKS] >= 1.0f && s[RANKS] <= (float)state->classes) ||
        s[RANKS] != floorf(s[RANKS]))
        return rf_fail(err, RF_ERR_FORMAT, RANKS,
                       "openmax: found %g ranks, wanted a whole number from 1 to %zu",
                       (double)s[RANKS], state->classes);
    if (!(s[MIN_PROBABILITY] >= 0.0f && s[MIN_PROBABILITY] <= 1.0f))
        return rf_fail(err, RF_ERR_FORMAT, MIN_PROBABILITY,
                       "openmax: found threshold %g, wanted 0 to 1",
                       (double)s[MIN_PROBABILITY]);
    if (s[TEXTOIR] != 0.0f && s[TEXTOIR] != 1.0f)
        return rf_fail(err, RF_ERR_FORMAT, TEXTOIR,
                       "openmax: found distance type %g, wanted 0 or 1",
                       (double)s[TEXTOIR]);
    for (size_t c = 0; c < state->classes; c++)
        if (!(state->arrays[SCALE].data[c] > 0.0f))
            return rf_fail(err, RF_ERR_FORMAT, c,
                           "openmax: class %zu: found scale %g, wanted it above 0", c,
                           (double)state->arrays[SCALE].data[c]);
    return RF_OK;
}

/* How unusual logits v are for class c, 0 to 1. */
static double unusualness(const rf_method_state *state, const float *v, size_t c)
{
    const float *mean = state->arrays[MEANS].data + c * state->classes;
    double d = cosine_distance(v, mean, state->classes);
    if (state->arrays[SETTINGS].data[TEXTOIR] != 0.0f)
        d = (d + rf_distance(v, mean, state->classes)) / 200.0;
    return rf_gumbel_cdf(d, (double)state->arrays[LOCATION].data[c],
                         (double)state->arrays[SCALE].data[c]);
}

/* Softmax over the revised logits v and "open": fills p [classes] and returns the
 * probability of open. order is scratch [classes]. */
static double revise(const rf_method_state *state, const float *v, float *p, float *order)
{
    size_t classes = state->classes, ranks = (size_t)state->arrays[SETTINGS].data[RANKS];
    double open = 0.0, top, sum = 0.0;
    memcpy(p, v, classes * sizeof *p);
    memcpy(order, v, classes * sizeof *order);
    for (size_t i = 0; i < ranks; i++) {
        size_t c = rf_largest(order, classes);
        double cut = unusualness(state, v, c) * (double)(ranks - i) / (double)ranks;
        order[c] = -INFINITY;
        p[c] = (float)((double)v[c] * (1.0 - cut));
        open += (double)v[c] * cut;
    }
    top = fmax(open, (double)p[rf_largest(p, classes)]);
    for (size_t c = 0; c < classes; c++)
        sum += exp((double)p[c] - top);
    sum += exp(open - top);
    for (size_t c = 0; c < classes; c++)
        p[c] = (float)(exp((double)p[c] - top) / sum);
    return exp(open - top) / sum;
}

static size_t openmax_scratch(const rf_method_state *state)
{
    return state->classes;
}

static void openmax_judge(const rf_method_state *state, const rf_signals *s,
                          rf_verdict *out, float *margins, float *scratch)
{
    for (size_t i = 0; i < s->n; i++, margins += state->classes) {
        float open =
            (float)revise(state, s->logits + i * state->classes, margins, scratch);
        uint32_t best = (uint32_t)rf_largest(margins, state->classes);
        float least = fmaxf(open, state->arrays[SETTINGS].data[MIN_PROBABILITY]);
        out[i] = (rf_verdict){.nearest = best, .fence = best};
        for (size_t c = 0; c < state->classes; c++)
            margins[c] -= least;
    }
}

static const rf_method_array arrays[] = {{"means", 2, {RF_DIM_CLASSES, RF_DIM_CLASSES}},
                                         {"location", 1, {RF_DIM_CLASSES}},
                                         {"scale", 1, {RF_DIM_CLASSES}},
                                         {"settings", 1, {RF_DIM(N_SETTINGS)}}};

const rf_method rf_method_openmax = {
    .name = "openmax",
    .title = "OpenMax",
    .summary = "softmax with an extra class that gains what unusual logits lose",
    .arrays = arrays,
    .n_arrays = sizeof arrays / sizeof *arrays,
    .fit = openmax_fit,
    .prepare = openmax_prepare,
    .scratch = openmax_scratch,
    .judge = openmax_judge,
};
