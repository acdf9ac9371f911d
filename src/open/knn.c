/*
 * knn.c - distance to the k-th nearest training text (Sun et al. 2022)
 *
 * Features are scaled to length 1. The threshold is a quantile of the dev rows'
 * distances; without dev rows, of each training row's distance to the others. A single
 * training row without dev rows has no others: the threshold is then 0, and whatever does
 * not lie on that row is open.
 */
#include "base/memory.h"
#include "open/method.h"
#include "open/neighbours.h"
#include "open/rows.h"

#include <math.h>
#include <stdlib.h>

#define DEFAULT_K 10

enum { POINTS, THRESHOLD, K };

typedef struct knn {
    rf_neighbours search;
    size_t k;
} knn;

/* The quantile of the distances of n rows (points of the search if own) to their k-th
 * neighbour. */
static rf_status kth_quantile(const rf_neighbours *s, const float *x, size_t n, size_t k,
                              bool own, const rf_fit *in, float *quantile, rf_error *err)
{
    size_t cells;
    if (!rf_size_mul(n, k, &cells) || cells > SIZE_MAX / sizeof(double))
        return rf_fail(err, RF_ERR_LIMIT, 0,
                       "knn: %zu rows with %zu neighbours each are too many", n, k);
    uint32_t *index = malloc(cells * sizeof *index);
    float *distance = malloc(cells * sizeof *distance);
    double *kth = malloc(n * sizeof *kth);
    rf_status status = RF_OK;
    if (!index || !distance || !kth)
        status = rf_fail_nomem(err, cells * (sizeof *index + sizeof *distance),
                               "the neighbours of the rows");
    if (status == RF_OK)
        status = rf_neighbours_find_all(s, x, n, k, own, index, distance, in->team, err);
    if (status == RF_OK) {
        for (size_t i = 0; i < n; i++)
            kth[i] = (double)distance[i * k + k - 1];
        *quantile = (float)rf_quantile(kth, n, (double)in->o->quantile);
        if (!isfinite(*quantile))
            status = rf_fail(err, RF_ERR_NUMERIC, 0,
                             "knn: found a distance that is not finite");
    }
    free(index);
    free(distance);
    free(kth);
    return status;
}

static rf_status fit_threshold(rf_fence *f, const rf_fit *in, size_t k, rf_error *err)
{
    float *threshold = f->arrays[THRESHOLD].data;
    *threshold = 0.0f;
    rf_neighbours search;
    rf_status status =
        rf_neighbours_init(&search, f->arrays[POINTS].data, in->rows, in->width, err);
    if (status != RF_OK)
        return status;
    if (in->dev_rows > 0) {
        float *dev = rf_floats_new(in->dev_rows * in->width);
        if (dev) {
            rf_rows_normalise(dev, in->dev_z, in->dev_rows, in->width);
            status =
                kth_quantile(&search, dev, in->dev_rows, k, false, in, threshold, err);
        } else {
            status = rf_fail_nomem(err, in->dev_rows * in->width * sizeof *dev,
                                   "the dev rows");
        }
        free(dev);
    } else if (in->rows > 1) {
        status =
            kth_quantile(&search, search.points, in->rows, k, true, in, threshold, err);
    }
    rf_neighbours_release(&search);
    return status;
}

static rf_status fit(rf_fence *f, const rf_fit *in, rf_error *err)
{
    if (!(in->o->quantile >= 0.0f && in->o->quantile <= 1.0f))
        return rf_fail(err, RF_ERR_ARG, 0, "quantile: found %g, wanted 0 to 1",
                       (double)in->o->quantile);
    size_t k = in->o->neighbours ? in->o->neighbours : DEFAULT_K;
    size_t most = in->dev_rows > 0 || in->rows == 1 ? in->rows : in->rows - 1;
    k = k < most ? k : most;
    rf_status status = rf_fence_room(f, POINTS, in->rows, in->width, err);
    if (status == RF_OK)
        status = rf_fence_room(f, THRESHOLD, 1, 1, err);
    if (status == RF_OK)
        status = rf_fence_room(f, K, 1, 1, err);
    if (status != RF_OK)
        return status;
    rf_rows_normalise(f->arrays[POINTS].data, in->z, in->rows, in->width);
    *f->arrays[K].data = (float)k;
    return fit_threshold(f, in, k, err);
}

static rf_status prepare(rf_fence *f, rf_error *err)
{
    size_t n = f->arrays[POINTS].shape[0];
    float k = *f->arrays[K].data, threshold = *f->arrays[THRESHOLD].data;
    if (!(k >= 1.0f && (double)k <= (double)n) || k != floorf(k))
        return rf_fail(err, RF_ERR_FORMAT, 0,
                       "knn: found %g neighbours, wanted a whole number from 1 to %zu",
                       (double)k, n);
    if (!(threshold >= 0.0f))
        return rf_fail(err, RF_ERR_FORMAT, 0,
                       "knn: found threshold %g, wanted at least 0", (double)threshold);
    knn *s = calloc(1, sizeof *s);
    if (!s)
        return rf_fail_nomem(err, sizeof *s, "the nearest neighbours");
    rf_status status =
        rf_neighbours_init(&s->search, f->arrays[POINTS].data, n, f->width, err);
    if (status == RF_ERR_NUMERIC)
        status = rf_fail(err, RF_ERR_FORMAT, 0,
                         "knn: found a point too far out to measure distances");
    if (status != RF_OK) {
        free(s);
        return status;
    }
    s->k = (size_t)k;
    f->prepared = s;
    return RF_OK;
}

static void release(rf_fence *f)
{
    knn *s = f->prepared;
    if (s)
        rf_neighbours_release(&s->search);
    free(s);
    f->prepared = NULL;
}

static size_t scratch_of(const rf_fence *f)
{
    const knn *s = f->prepared;
    return RF_JUDGE_ROWS * (f->width + 2 * s->k) +
           rf_neighbours_scratch(&s->search, s->k);
}

static void judge(const rf_fence *f, const rf_signals *s, rf_verdict *out, float *margins,
                  float *scratch)
{
    const knn *search = f->prepared;
    size_t k = search->k;
    float *x = scratch, *distance = x + RF_JUDGE_ROWS * f->width;
    uint32_t *index = (uint32_t *)(void *)(distance + RF_JUDGE_ROWS * k);
    rf_rows_normalise(x, s->z, s->n, f->width);
    rf_neighbours_find(&search->search, x, s->n, k, RF_NOT_AMONG, index, distance,
                       distance + 2 * RF_JUDGE_ROWS * k);
    for (size_t i = 0; i < s->n; i++) {
        uint32_t best = (uint32_t)rf_largest(s->logits + i * f->classes, f->classes);
        out[i] = (rf_verdict){.nearest = best, .fence = best};
        for (size_t c = 0; c < f->classes; c++)
            margins[i * f->classes + c] =
                *f->arrays[THRESHOLD].data - distance[i * k + k - 1];
    }
}

static const rf_fence_array arrays[] = {{"points", 2, {RF_DIM_ANY, RF_DIM_WIDTH}},
                                        {"threshold", 1, {1, 1}},
                                        {"k", 1, {1, 1}}};

const rf_method rf_method_knn = {
    .name = "knn",
    .title = "kNN distance",
    .summary = "distance to the k-th nearest training text",
    .arrays = arrays,
    .n_arrays = sizeof arrays / sizeof *arrays,
    .fit = fit,
    .prepare = prepare,
    .release = release,
    .scratch = scratch_of,
    .judge = judge,
};
