/*
 * knn.c - distance to the k-th nearest training text (Sun et al. 2022)
 *
 * Features are scaled to length 1. The threshold is a quantile of the dev rows'
 * distances; without dev rows, of each training row's distance to the others. With a
 * single training row and no dev rows the threshold is 0: every text with other features
 * is open.
 */
#include "base/memory.h"
#include "open/method.h"
#include "num/neighbours.h"
#include "num/vectors.h"

#include <math.h>
#include <stdlib.h>

#define DEFAULT_K 10

enum { POINTS, THRESHOLD, K };

typedef struct knn {
    rf_neighbours search;
    size_t k;
} knn;

/* The quantile of the distances of n rows to their k-th neighbour. own: the rows are the
 * points of the search. */
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

static rf_status fit_threshold(rf_method_state *state, const rf_fit *in, size_t k,
                               rf_error *err)
{
    float *threshold = state->arrays[THRESHOLD].data;
    *threshold = 0.0f;
    rf_neighbours search;
    rf_status status =
        rf_neighbours_init(&search, state->arrays[POINTS].data, in->rows, in->width, err);
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

static rf_status knn_fit(rf_method_state *state, const rf_fit *in, rf_error *err)
{
    size_t k = in->o->neighbours ? in->o->neighbours : DEFAULT_K;
    size_t most = in->dev_rows > 0 || in->rows == 1 ? in->rows : in->rows - 1;
    k = k < most ? k : most;
    rf_status status = rf_method_state_room(state, POINTS, in->rows, in->width, err);
    if (status == RF_OK)
        status = rf_method_state_room(state, THRESHOLD, 1, 1, err);
    if (status == RF_OK)
        status = rf_method_state_room(state, K, 1, 1, err);
    if (status != RF_OK)
        return status;
    rf_rows_normalise(state->arrays[POINTS].data, in->z, in->rows, in->width);
    *state->arrays[K].data = (float)k;
    return fit_threshold(state, in, k, err);
}

static rf_status knn_prepare(rf_method_state *state, rf_error *err)
{
    size_t n = state->arrays[POINTS].shape[0];
    float k = *state->arrays[K].data, threshold = *state->arrays[THRESHOLD].data;
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
        rf_neighbours_init(&s->search, state->arrays[POINTS].data, n, state->width, err);
    if (status == RF_ERR_NUMERIC)
        status = rf_fail(err, RF_ERR_FORMAT, 0,
                         "knn: found a point too far out to measure distances");
    if (status != RF_OK) {
        free(s);
        return status;
    }
    s->k = (size_t)k;
    state->prepared = s;
    return RF_OK;
}

static void knn_release(rf_method_state *state)
{
    knn *s = state->prepared;
    if (s)
        rf_neighbours_release(&s->search);
    free(s);
    state->prepared = NULL;
}

static size_t knn_scratch(const rf_method_state *state)
{
    const knn *s = state->prepared;
    return RF_JUDGE_ROWS * (state->width + 2 * s->k) +
           rf_neighbours_scratch(&s->search, s->k);
}

static void knn_judge(const rf_method_state *state, const rf_signals *s, rf_verdict *out,
                      float *margins, float *scratch)
{
    const knn *search = state->prepared;
    size_t k = search->k;
    float *x = scratch, *distance = x + RF_JUDGE_ROWS * state->width;
    uint32_t *index = (uint32_t *)(void *)(distance + RF_JUDGE_ROWS * k);
    rf_rows_normalise(x, s->z, s->n, state->width);
    rf_neighbours_find(&search->search, x, s->n, k, RF_NOT_AMONG, index, distance,
                       distance + 2 * RF_JUDGE_ROWS * k);
    for (size_t i = 0; i < s->n; i++) {
        uint32_t best =
            (uint32_t)rf_largest(s->logits + i * state->classes, state->classes);
        out[i] = (rf_verdict){.nearest = best, .fence = best};
        for (size_t c = 0; c < state->classes; c++)
            margins[i * state->classes + c] =
                *state->arrays[THRESHOLD].data - distance[i * k + k - 1];
    }
}

static const rf_method_array arrays[] = {{"points", 2, {RF_DIM_ANY, RF_DIM_WIDTH}},
                                         {"threshold", 1, {RF_DIM(1)}},
                                         {"k", 1, {RF_DIM(1)}}};

const rf_method rf_method_knn = {
    .name = "knn",
    .title = "kNN distance",
    .summary = "distance to the k-th nearest training text",
    .arrays = arrays,
    .n_arrays = sizeof arrays / sizeof *arrays,
    .fit = knn_fit,
    .prepare = knn_prepare,
    .release = knn_release,
    .scratch = knn_scratch,
    .judge = knn_judge,
};
