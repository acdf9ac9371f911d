/* lof.c - the local outlier factor; the method LOF, which applies it to the known
 * classifier's hidden layer */
#include "methods/lof.h"

#include "base/memory.h"
#include "num/neighbours.h"
#include "known/signals.h"
#include "num/vectors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TINY 1e-10 /* keeps the density of duplicates finite */

enum { POINTS, KDIST, LRD, OFFSET, K };

typedef struct lof {
    rf_neighbours search;
    const float *kdist, *lrd;
    double offset;
    size_t k;
} lof;

/* lrd of one point, from its neighbours */
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
static void fit_densities(rf_method_state *state, size_t n, size_t k,
                          const uint32_t *index, const float *distance,
                          float contamination, double *scores)
{
    float *kdist = state->arrays[KDIST].data, *lrd = state->arrays[LRD].data;
    for (size_t i = 0; i < n; i++)
        kdist[i] = distance[i * k + k - 1];
    for (size_t i = 0; i < n; i++)
        lrd[i] = (float)density(index + i * k, distance + i * k, k, kdist);
    for (size_t i = 0; i < n; i++)
        scores[i] = score(index + i * k, k, lrd, (double)lrd[i]);
    *state->arrays[OFFSET].data = (float)rf_quantile(scores, n, (double)contamination);
}

static void fit_one_point(rf_method_state *state)
{
    *state->arrays[KDIST].data = 0.0f;
    *state->arrays[LRD].data = (float)(1.0 / TINY);
    *state->arrays[OFFSET].data = -1.0f;
}

static rf_status fit_points(rf_method_state *state, size_t k, float contamination,
                            rf_team *team, rf_error *err)
{
    size_t n = state->arrays[POINTS].shape[0];
    rf_neighbours search;
    rf_status status = rf_neighbours_init(&search, state->arrays[POINTS].data, n,
                                          state->arrays[POINTS].shape[1], err);
    if (status != RF_OK)
        return status;
    if (n == 1) {
        fit_one_point(state);
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
        fit_densities(state, n, k, index, distance, contamination, scores);
    free(index);
    free(distance);
    free(scores);
    rf_neighbours_release(&search);
    return status;
}

rf_status rf_lof_fit(rf_method_state *state, const rf_fit *in, const float *points,
                     rf_error *err)
{
    size_t n = in->rows, k = in->o->neighbours ? in->o->neighbours : RF_LOF_K;
    if (n == 0)
        return rf_fail(err, RF_ERR_ARG, 0, "lof: found no row to fit to");
    k = k < n ? k : n - 1;
    k = k > 0 ? k : 1;
    const size_t shapes[RF_LOF_N_ARRAYS][2] = {
        {n, in->width}, {n, 1}, {n, 1}, {1, 1}, {1, 1}};
    for (size_t i = 0; i < RF_LOF_N_ARRAYS; i++) {
        rf_status status =
            rf_method_state_room(state, i, shapes[i][0], shapes[i][1], err);
        if (status != RF_OK)
            return status;
    }
    memcpy(state->arrays[POINTS].data, points, n * in->width * sizeof *points);
    *state->arrays[K].data = (float)k;
    return fit_points(state, k, in->o->contamination, in->team, err);
}

rf_status rf_lof_fit_hidden(rf_method_state *state, const rf_fit *in, bool normalise,
                            rf_error *err)
{
    size_t floats;
    float *hidden = NULL;
    if (rf_size_mul(in->rows, in->width, &floats) && floats <= SIZE_MAX / sizeof(float))
        hidden = rf_floats_new(floats);
    if (!hidden)
        return rf_fail_nomem(err, floats * sizeof(float), "the hidden layer of all rows");
    rf_status status =
        rf_known_signals(in->known, in->z, in->rows, hidden, NULL, in->team, err);
    if (status == RF_OK && normalise)
        rf_rows_normalise(hidden, hidden, in->rows, in->width);
    if (status == RF_OK)
        status = rf_lof_fit(state, in, hidden, err);
    free(hidden);
    return status;
}

/* ---- Judging ----------------------------------------------------------------------- */

static rf_status check_arrays(const rf_method_state *state, rf_error *err)
{
    size_t n = state->arrays[POINTS].shape[0];
    for (size_t i = KDIST; i <= LRD; i++)
        if (state->arrays[i].shape[0] != n)
            return rf_fail(err, RF_ERR_FORMAT, 0, "lof: found %zu %s for %zu points",
                           state->arrays[i].shape[0],
                           i == KDIST ? "distances" : "densities", n);
    float k = *state->arrays[K].data;
    if (!(k >= 1.0f && (double)k <= (double)n) || k != floorf(k))
        return rf_fail(err, RF_ERR_FORMAT, 0,
                       "lof: found %g neighbours, wanted a whole number from 1 to %zu",
                       (double)k, n);
    for (size_t i = 0; i < n; i++)
        if (!(state->arrays[KDIST].data[i] >= 0.0f) ||
            !(state->arrays[LRD].data[i] > 0.0f))
            return rf_fail(err, RF_ERR_FORMAT, i,
                           "lof: point %zu: found distance %g and density %g, wanted "
                           "a distance of at least 0 and a density above 0",
                           i, (double)state->arrays[KDIST].data[i],
                           (double)state->arrays[LRD].data[i]);
    if (!(*state->arrays[OFFSET].data <= 0.0f))
        return rf_fail(err, RF_ERR_FORMAT, 0, "lof: found offset %g, wanted at most 0",
                       (double)*state->arrays[OFFSET].data);
    return RF_OK;
}

rf_status rf_lof_prepare(rf_method_state *state, rf_error *err)
{
    rf_status status = check_arrays(state, err);
    if (status != RF_OK)
        return status;
    lof *l = calloc(1, sizeof *l);
    if (!l)
        return rf_fail_nomem(err, sizeof *l, "the local outlier factor");
    status = rf_neighbours_init(&l->search, state->arrays[POINTS].data,
                                state->arrays[POINTS].shape[0],
                                state->arrays[POINTS].shape[1], err);
    if (status != RF_OK) {
        free(l);
        return status == RF_ERR_NUMERIC
                   ? rf_fail(err, RF_ERR_FORMAT, 0,
                             "lof: found a point too far out to measure distances")
                   : status;
    }
    l->kdist = state->arrays[KDIST].data;
    l->lrd = state->arrays[LRD].data;
    l->offset = (double)*state->arrays[OFFSET].data;
    l->k = (size_t)*state->arrays[K].data;
    state->prepared = l;
    return RF_OK;
}

void rf_lof_release(rf_method_state *state)
{
    lof *l = state->prepared;
    if (l)
        rf_neighbours_release(&l->search);
    free(l);
    state->prepared = NULL;
}

size_t rf_lof_scratch(const rf_method_state *state)
{
    const lof *l = state->prepared;
    return RF_JUDGE_ROWS * (1 + 2 * l->k) + rf_neighbours_scratch(&l->search, l->k);
}

void rf_lof_score(const rf_method_state *state, const float *x, size_t n, float *scores,
                  float *scratch)
{
    const lof *l = state->prepared;
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

void rf_lof_judge(const rf_method_state *state, const rf_signals *s, const float *x,
                  rf_verdict *out, float *margins, float *scratch)
{
    size_t classes = state->classes;
    rf_lof_score(state, x, s->n, scratch, scratch + RF_JUDGE_ROWS);
    for (size_t i = 0; i < s->n; i++) {
        uint32_t best = (uint32_t)rf_largest(s->logits + i * classes, classes);
        out[i] = (rf_verdict){.nearest = best, .fence = best};
        for (size_t c = 0; c < classes; c++)
            margins[i * classes + c] = scratch[i];
    }
}

/* ---- The method -------------------------------------------------------------------- */

static rf_status lof_fit(rf_method_state *state, const rf_fit *in, rf_error *err)
{
    return rf_lof_fit_hidden(state, in, false, err);
}

static void lof_judge(const rf_method_state *state, const rf_signals *s, rf_verdict *out,
                      float *margins, float *scratch)
{
    rf_lof_judge(state, s, s->hidden, out, margins, scratch);
}

const rf_method_array rf_lof_arrays[] = {{"points", 2, {RF_DIM_ANY, RF_DIM_WIDTH}},
                                         {"kdist", 1, {RF_DIM_ANY}},
                                         {"lrd", 1, {RF_DIM_ANY}},
                                         {"offset", 1, {RF_DIM(1)}},
                                         {"k", 1, {RF_DIM(1)}}};

const rf_method rf_method_lof = {
    .name = "lof",
    .title = "LOF",
    .summary = "local outlier factor on the classifier's hidden layer",
    .arrays = rf_lof_arrays,
    .n_arrays = RF_LOF_N_ARRAYS,
    .fit = lof_fit,
    .prepare = rf_lof_prepare,
    .release = rf_lof_release,
    .scratch = rf_lof_scratch,
    .judge = lof_judge,
};
