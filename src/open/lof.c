/*
 * lof.c - the local outlier factor, and the method that applies it to the known
 * classifier's hidden layer
 */
#include "open/lof.h"

#include "base/memory.h"
#include "open/neighbours.h"
#include "open/rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TINY 1e-10 /* keeps the density of copies finite */

enum { POINTS, KDIST, LRD, OFFSET, K }; /* from `first` on */

typedef struct lof {
    rf_neighbours search;
    const float *kdist, *lrd;
    double offset;
    size_t k;
} lof;

/* lrd of one point from its neighbours. */
static double density(const uint32_t *index, const float *distance, size_t k,
                      const float *kdist)
{
    double sum = 0.0;
    for (size_t i = 0; i < k; i++) {
        float at_least = kdist[index[i]];
        sum += (double)(distance[i] > at_least ? distance[i] : at_least);
    }
    return 1.0 / (sum / (double)k + TINY);
}

static double score(const uint32_t *index, size_t k, const float *lrd, double own)
{
    double sum = 0.0;
    for (size_t i = 0; i < k; i++)
        sum += (double)lrd[index[i]] / own;
    return -sum / (double)k;
}

/* ---- Fitting ----------------------------------------------------------------------- */

/* kdist, lrd and offset from every point's neighbours; scores is scratch [n]. */
static void from_neighbours(rf_fence *f, size_t first, size_t n, size_t k,
                            const uint32_t *index, const float *distance,
                            float contamination, double *scores)
{
    float *kdist = f->arrays[first + KDIST].data, *lrd = f->arrays[first + LRD].data;
    for (size_t i = 0; i < n; i++)
        kdist[i] = distance[i * k + k - 1];
    for (size_t i = 0; i < n; i++)
        lrd[i] = (float)density(index + i * k, distance + i * k, k, kdist);
    for (size_t i = 0; i < n; i++)
        scores[i] = score(index + i * k, k, lrd, (double)lrd[i]);
    *f->arrays[first + OFFSET].data =
        (float)rf_quantile(scores, n, (double)contamination);
}

static void one_point(rf_fence *f, size_t first)
{
    *f->arrays[first + KDIST].data = 0.0f;
    *f->arrays[first + LRD].data = (float)(1.0 / TINY);
    *f->arrays[first + OFFSET].data = -1.0f;
}

static rf_status fit_points(rf_fence *f, size_t first, size_t k, float contamination,
                            rf_team *team, rf_error *err)
{
    size_t n = f->arrays[first + POINTS].shape[0];
    rf_neighbours search;
    rf_status status = rf_neighbours_init(&search, f->arrays[first + POINTS].data, n,
                                          f->arrays[first + POINTS].shape[1], err);
    if (status != RF_OK)
        return status;
    if (n == 1) {
        one_point(f, first);
        rf_neighbours_release(&search);
        return RF_OK;
    }
    size_t cells;
    if (!rf_size_mul(n, k, &cells) || cells > SIZE_MAX / sizeof(double))
        cells = 0;
    uint32_t *index = cells ? malloc(cells * sizeof *index) : NULL;
    float *distance = cells ? malloc(cells * sizeof *distance) : NULL;
    double *scores = malloc(n * sizeof *scores);
    if (!index || !distance || !scores)
        status = rf_fail_nomem(err, cells * (sizeof *index + sizeof *distance),
                               "the neighbours of the training texts");
    if (status == RF_OK)
        status = rf_neighbours_find_all(&search, search.points, n, k, true, index,
                                        distance, team, err);
    if (status == RF_OK)
        from_neighbours(f, first, n, k, index, distance, contamination, scores);
    free(index);
    free(distance);
    free(scores);
    rf_neighbours_release(&search);
    return status;
}

rf_status rf_lof_fit(rf_fence *f, size_t first, const float *points, size_t n,
                     size_t width, size_t k, float contamination, rf_team *team,
                     rf_error *err)
{
    if (!(contamination >= 0.0f && contamination <= 1.0f))
        return rf_fail(err, RF_ERR_ARG, 0, "contamination: found %g, wanted 0 to 1",
                       (double)contamination);
    if (n == 0)
        return rf_fail(err, RF_ERR_ARG, 0, "lof: found no row to fit to");
    k = k == 0 ? RF_LOF_K : k;
    k = k < n ? k : n - 1;
    k = k > 0 ? k : 1;
    const size_t shapes[RF_LOF_N_ARRAYS][2] = {
        {n, width}, {n, 1}, {n, 1}, {1, 1}, {1, 1}};
    for (size_t i = 0; i < RF_LOF_N_ARRAYS; i++) {
        rf_status status = rf_fence_room(f, first + i, shapes[i][0], shapes[i][1], err);
        if (status != RF_OK)
            return status;
    }
    memcpy(f->arrays[first + POINTS].data, points, n * width * sizeof *points);
    *f->arrays[first + K].data = (float)k;
    return fit_points(f, first, k, contamination, team, err);
}

/* ---- Judging ----------------------------------------------------------------------- */

static rf_status check(const rf_fence *f, size_t first, rf_error *err)
{
    size_t n = f->arrays[first + POINTS].shape[0];
    for (size_t i = KDIST; i <= LRD; i++)
        if (f->arrays[first + i].shape[0] != n)
            return rf_fail(err, RF_ERR_FORMAT, 0, "lof: found %zu %s for %zu points",
                           f->arrays[first + i].shape[0],
                           i == KDIST ? "distances" : "densities", n);
    float k = *f->arrays[first + K].data;
    if (!(k >= 1.0f && (double)k <= (double)n) || k != floorf(k))
        return rf_fail(err, RF_ERR_FORMAT, 0,
                       "lof: found %g neighbours, wanted a whole number from 1 to %zu",
                       (double)k, n);
    for (size_t i = 0; i < n; i++)
        if (!(f->arrays[first + KDIST].data[i] >= 0.0f) ||
            !(f->arrays[first + LRD].data[i] > 0.0f))
            return rf_fail(err, RF_ERR_FORMAT, i,
                           "lof: point %zu: found distance %g and density %g, wanted "
                           "them at least 0 and above 0",
                           i, (double)f->arrays[first + KDIST].data[i],
                           (double)f->arrays[first + LRD].data[i]);
    if (!(*f->arrays[first + OFFSET].data <= 0.0f))
        return rf_fail(err, RF_ERR_FORMAT, 0, "lof: found offset %g, wanted one below 0",
                       (double)*f->arrays[first + OFFSET].data);
    return RF_OK;
}

rf_status rf_lof_prepare(rf_fence *f, size_t first, rf_error *err)
{
    rf_status status = check(f, first, err);
    if (status != RF_OK)
        return status;
    lof *l = calloc(1, sizeof *l);
    if (!l)
        return rf_fail_nomem(err, sizeof *l, "the local outlier factor");
    status = rf_neighbours_init(&l->search, f->arrays[first + POINTS].data,
                                f->arrays[first + POINTS].shape[0],
                                f->arrays[first + POINTS].shape[1], err);
    if (status != RF_OK) {
        free(l);
        return status == RF_ERR_NUMERIC
                   ? rf_fail(err, RF_ERR_FORMAT, 0,
                             "lof: found a point too far out to measure distances")
                   : status;
    }
    l->kdist = f->arrays[first + KDIST].data;
    l->lrd = f->arrays[first + LRD].data;
    l->offset = (double)*f->arrays[first + OFFSET].data;
    l->k = (size_t)*f->arrays[first + K].data;
    f->prepared = l;
    return RF_OK;
}

void rf_lof_release(rf_fence *f)
{
    lof *l = f->prepared;
    if (l)
        rf_neighbours_release(&l->search);
    free(l);
    f->prepared = NULL;
}

size_t rf_lof_scratch(const rf_fence *f)
{
    const lof *l = f->prepared;
    return RF_JUDGE_ROWS * (1 + 2 * l->k) + rf_neighbours_scratch(&l->search, l->k);
}

void rf_lof_score(const rf_fence *f, const float *x, size_t n, float *scores,
                  float *scratch)
{
    const lof *l = f->prepared;
    size_t k = l->k;
    float *distance = scratch;
    uint32_t *index = (uint32_t *)(void *)(distance + RF_JUDGE_ROWS * k);
    float *rest = distance + 2 * RF_JUDGE_ROWS * k;
    rf_neighbours_find(&l->search, x, n, k, RF_NOT_AMONG, index, distance, rest);
    for (size_t i = 0; i < n; i++) {
        double own = density(index + i * k, distance + i * k, k, l->kdist);
        scores[i] = (float)(score(index + i * k, k, l->lrd, own) - l->offset);
    }
}

void rf_lof_judge(const rf_fence *f, const float *x, const float *logits, size_t ld,
                  size_t n, rf_verdict *out, float *margins, float *scratch)
{
    rf_lof_score(f, x, n, scratch, scratch + RF_JUDGE_ROWS);
    for (size_t i = 0; i < n; i++) {
        uint32_t best = (uint32_t)rf_largest(logits + i * ld, f->classes);
        out[i] = (rf_verdict){.nearest = best, .fence = best};
        for (size_t c = 0; c < f->classes; c++)
            margins[i * f->classes + c] = scratch[i];
    }
}

/* ---- The method -------------------------------------------------------------------- */

static rf_status fit(rf_fence *f, const rf_fit *in, rf_error *err)
{
    size_t floats;
    float *hidden = NULL;
    if (rf_size_mul(in->rows, in->width, &floats) && floats <= SIZE_MAX / sizeof(float))
        hidden = rf_floats_new(floats);
    if (!hidden)
        return rf_fail_nomem(err, floats * sizeof(float), "the hidden layer of all rows");
    rf_status status =
        rf_rows_signals(in->known, in->z, in->rows, hidden, NULL, in->team, err);
    if (status == RF_OK)
        status = rf_lof_fit(f, 0, hidden, in->rows, in->width, in->o->neighbours,
                            in->o->contamination, in->team, err);
    free(hidden);
    return status;
}

static rf_status prepare(rf_fence *f, rf_error *err)
{
    return rf_lof_prepare(f, 0, err);
}

static void judge(const rf_fence *f, const rf_signals *s, rf_verdict *out, float *margins,
                  float *scratch)
{
    rf_lof_judge(f, s->hidden, s->logits, f->classes, s->n, out, margins, scratch);
}

static const rf_fence_array arrays[] = {RF_LOF_ARRAYS};

const rf_method rf_method_lof = {
    .name = "lof",
    .title = "LOF",
    .summary = "local outlier factor on the classifier's hidden layer",
    .arrays = arrays,
    .n_arrays = RF_LOF_N_ARRAYS,
    .fit = fit,
    .prepare = prepare,
    .release = rf_lof_release,
    .scratch = rf_lof_scratch,
    .judge = judge,
};
