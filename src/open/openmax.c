/*
 * openmax.c - OpenMax (Bendale and Boult 2016): logits of the likeliest classes are cut
 * by how unusual the text's distance from the class is; what is cut becomes the logit of
 * "open"
 *
 * A class is the mean logit vector of its training rows; distances are cosine distances.
 * Its `tail` largest own distances are fitted with a Gumbel distribution, which is what
 * the usual Weibull fit of numbers shifted far from zero comes to. For a text, class k
 * at rank i (from 0) of `ranks` keeps the share 1 - P_k(distance) (ranks - i) / ranks of
 * its logit.
 *
 * A class whose tail has no spread (one row, or copies of one) cannot be fitted: it
 * takes the average location and scale of the others; if there are none, nothing is cut
 * and what remains is the threshold on the softmax probability.
 *
 * The option textoir measures texts by (Euclidean + cosine distance) / 200 though the fit
 * was made with cosine distances, as that framework does.
 */
#include "base/memory.h"
#include "num/kernels.h"
#include "open/gumbel.h"
#include "open/method.h"
#include "open/rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define OUT_OF_REACH 1e6f /* location of a class that is never cut */

enum { MEANS, LOCATION, SCALE, SETTINGS };
enum { RANKS, LEAST, TEXTOIR, N_SETTINGS };

/* 1 - cos; a vector of zeroes is at right angles to everything. */
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

static void fit_means(rf_fence *f, const rf_fit *in, const float *logits, double *sums)
{
    size_t classes = f->classes;
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
            f->arrays[MEANS].data[c * classes + j] =
                (float)(sums[j] / (double)(rows ? rows : 1));
    }
}

static int from_far(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* Classes without a fit get scale 0; returns how many have one. */
static size_t fit_tails(rf_fence *f, const rf_fit *in, const float *logits,
                        double *distances)
{
    size_t classes = f->classes, fitted = 0;
    for (size_t c = 0; c < classes; c++) {
        size_t n = 0;
        double location = 0.0, scale = 0.0;
        for (size_t i = 0; i < in->rows; i++)
            if (in->class_of[i] == c)
                distances[n++] = cosine_distance(
                    logits + i * classes, f->arrays[MEANS].data + c * classes, classes);
        qsort(distances, n, sizeof *distances, from_far);
        n = n < in->o->tail ? n : in->o->tail;
        fitted += rf_gumbel_fit(distances, n, &location, &scale);
        f->arrays[LOCATION].data[c] = (float)location;
        f->arrays[SCALE].data[c] = (float)scale;
    }
    return fitted;
}

static void fill_in(rf_fence *f, size_t fitted)
{
    float *location = f->arrays[LOCATION].data, *scale = f->arrays[SCALE].data;
    double locations = 0.0, scales = 0.0;
    for (size_t c = 0; c < f->classes; c++)
        if (scale[c] > 0.0f) {
            locations += (double)location[c];
            scales += (double)scale[c];
        }
    for (size_t c = 0; c < f->classes; c++)
        if (!(scale[c] > 0.0f)) {
            location[c] = fitted ? (float)(locations / (double)fitted) : OUT_OF_REACH;
            scale[c] = fitted ? (float)(scales / (double)fitted) : 1.0f;
        }
}

static rf_status make_room(rf_fence *f, const rf_method_options *o, rf_error *err)
{
    if (!(o->threshold >= 0.0f && o->threshold <= 1.0f))
        return rf_fail(err, RF_ERR_ARG, 0, "threshold: found %g, wanted 0 to 1",
                       (double)o->threshold);
    if (o->tail < 1 || o->ranks < 1)
        return rf_fail(err, RF_ERR_ARG, 0,
                       "openmax: found tail %zu and ranks %zu, wanted at least 1 each",
                       o->tail, o->ranks);
    rf_status status = rf_fence_room(f, MEANS, f->classes, f->classes, err);
    if (status == RF_OK)
        status = rf_fence_room(f, LOCATION, f->classes, 1, err);
    if (status == RF_OK)
        status = rf_fence_room(f, SCALE, f->classes, 1, err);
    if (status == RF_OK)
        status = rf_fence_room(f, SETTINGS, N_SETTINGS, 1, err);
    if (status != RF_OK)
        return status;
    f->arrays[SETTINGS].data[RANKS] =
        (float)(o->ranks < f->classes ? o->ranks : f->classes);
    f->arrays[SETTINGS].data[LEAST] = o->threshold;
    f->arrays[SETTINGS].data[TEXTOIR] = o->textoir ? 1.0f : 0.0f;
    return RF_OK;
}

static rf_status fit(rf_fence *f, const rf_fit *in, rf_error *err)
{
    rf_status status = make_room(f, in->o, err);
    if (status != RF_OK)
        return status;
    size_t most = in->rows > f->classes ? in->rows : f->classes;
    float *logits = rf_floats_new(in->rows * f->classes);
    double *work = malloc(most * sizeof *work);
    if (!logits || !work)
        status = rf_fail_nomem(err, in->rows * f->classes * sizeof *logits,
                               "the logits of all rows");
    if (status == RF_OK)
        status = rf_rows_signals(in->known, in->z, in->rows, NULL, logits, in->team, err);
    if (status == RF_OK && !rf_kernels()->all_finite(logits, in->rows * f->classes))
        status =
            rf_fail(err, RF_ERR_NUMERIC, 0,
                    "openmax: found logits of the training rows that are not finite");
    if (status == RF_OK) {
        fit_means(f, in, logits, work);
        fill_in(f, fit_tails(f, in, logits, work));
    }
    free(logits);
    free(work);
    return status;
}

/* ---- Judging ----------------------------------------------------------------------- */

static rf_status prepare(rf_fence *f, rf_error *err)
{
    const float *s = f->arrays[SETTINGS].data;
    if (!(s[RANKS] >= 1.0f && s[RANKS] <= (float)f->classes) ||
        s[RANKS] != floorf(s[RANKS]))
        return rf_fail(err, RF_ERR_FORMAT, RANKS,
                       "openmax: found %g ranks, wanted a whole number from 1 to %zu",
                       (double)s[RANKS], f->classes);
    if (!(s[LEAST] >= 0.0f && s[LEAST] <= 1.0f))
        return rf_fail(err, RF_ERR_FORMAT, LEAST,
                       "openmax: found threshold %g, wanted 0 to 1", (double)s[LEAST]);
    if (s[TEXTOIR] != 0.0f && s[TEXTOIR] != 1.0f)
        return rf_fail(err, RF_ERR_FORMAT, TEXTOIR,
                       "openmax: found kind of distance %g, wanted 0 or 1",
                       (double)s[TEXTOIR]);
    for (size_t c = 0; c < f->classes; c++)
        if (!(f->arrays[SCALE].data[c] > 0.0f))
            return rf_fail(err, RF_ERR_FORMAT, c,
                           "openmax: class %zu: found scale %g, wanted it above 0", c,
                           (double)f->arrays[SCALE].data[c]);
    return RF_OK;
}

/* How unusual logits v are for class c, 0 to 1. */
static double strangeness(const rf_fence *f, const float *v, size_t c)
{
    const float *mean = f->arrays[MEANS].data + c * f->classes;
    double d = cosine_distance(v, mean, f->classes);
    if (f->arrays[SETTINGS].data[TEXTOIR] != 0.0f)
        d = (d + rf_distance(v, mean, f->classes)) / 200.0;
    return rf_gumbel_cdf(d, (double)f->arrays[LOCATION].data[c],
                         (double)f->arrays[SCALE].data[c]);
}

/* Softmax over the revised logits and "open": p [classes] in place of v, the rest is
 * returned. order is scratch [classes]. */
static double revise(const rf_fence *f, const float *v, float *p, float *order)
{
    size_t classes = f->classes, ranks = (size_t)f->arrays[SETTINGS].data[RANKS];
    double open = 0.0, top, sum = 0.0;
    memcpy(p, v, classes * sizeof *p);
    memcpy(order, v, classes * sizeof *order);
    for (size_t i = 0; i < ranks; i++) {
        size_t c = rf_largest(order, classes);
        double cut = strangeness(f, v, c) * (double)(ranks - i) / (double)ranks;
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

static size_t scratch_of(const rf_fence *f)
{
    return f->classes;
}

static void judge(const rf_fence *f, const rf_signals *s, rf_verdict *out, float *margins,
                  float *scratch)
{
    for (size_t i = 0; i < s->n; i++, margins += f->classes) {
        float open = (float)revise(f, s->logits + i * f->classes, margins, scratch);
        uint32_t best = (uint32_t)rf_largest(margins, f->classes);
        float least = fmaxf(open, f->arrays[SETTINGS].data[LEAST]);
        out[i] = (rf_verdict){.nearest = best, .fence = best};
        for (size_t c = 0; c < f->classes; c++)
            margins[c] -= least;
    }
}

static const rf_fence_array arrays[] = {{"means", 2, {RF_DIM_CLASSES, RF_DIM_CLASSES}},
                                        {"location", 1, {RF_DIM_CLASSES, 1}},
                                        {"scale", 1, {RF_DIM_CLASSES, 1}},
                                        {"settings", 1, {N_SETTINGS, 1}}};

const rf_method rf_method_openmax = {
    .name = "openmax",
    .title = "OpenMax",
    .summary = "softmax with an extra class made of what unusual logits lose",
    .arrays = arrays,
    .n_arrays = sizeof arrays / sizeof *arrays,
    .fit = fit,
    .prepare = prepare,
    .scratch = scratch_of,
    .judge = judge,
};
