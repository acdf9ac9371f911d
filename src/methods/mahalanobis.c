/*
 * mahalanobis.c - distance to the nearest class mean under the classes' common covariance
 * (Lee et al. 2018)
 *
 * The covariance is that of the rows about their class means, mixed with the unit matrix
 * after Ledoit and Wolf (num/covariance.h). Features minus a centre are whitened by
 * one product; distances are then Euclidean. The centre cancels out of the distances, but
 * keeps the numbers small. The threshold is a quantile of the distances of the dev rows,
 * or without dev rows of the training rows, to their nearest class.
 */
#include "base/memory.h"
#include "num/panels.h"
#include "open/class_stats.h"
#include "num/covariance.h"
#include "open/method.h"
#include "num/vectors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CENTRE, WHITEN, MEANS, THRESHOLD };

/* y [n, width] = whiten (x - centre), from panels of whiten; shifted is scratch [n,
 * width]. */
static void whiten(const rf_method_state *state, const float *panels, const float *x,
                   size_t n, float *y, float *shifted)
{
    size_t width = state->width;
    const float *centre = state->arrays[CENTRE].data;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < width; j++)
            shifted[i * width + j] = x[i * width + j] - centre[j];
    rf_panels_multiply(y, shifted, panels, NULL, n, width, width);
}

/* Fills distances [classes] of a whitened row; returns the nearest class. */
static size_t distances_of(const rf_method_state *state, const float *y, float *distances)
{
    size_t best = 0;
    for (size_t c = 0; c < state->classes; c++) {
        distances[c] = (float)rf_distance(y, state->arrays[MEANS].data + c * state->width,
                                          state->width);
        if (distances[c] < distances[best])
            best = c;
    }
    return best;
}

/* ---- Fitting ----------------------------------------------------------------------- */

/* Fits centre and whiten, and the class means before whitening. */
static rf_status fit_space(rf_method_state *state, const rf_fit *in, rf_error *err)
{
    rf_class_stats stats;
    rf_status status = rf_class_stats_init(&stats, in->z, in->class_of, in->rows,
                                           in->width, in->classes, err);
    if (status != RF_OK)
        return status;
    double shrinkage = RF_SHRINK_AS_EXPECTED;
    float *x = rf_floats_new(in->rows * in->width);
    if (!x)
        status = rf_fail_nomem(err, in->rows * in->width * sizeof *x, "centred rows");
    float *centre = state->arrays[CENTRE].data;
    for (size_t j = 0; j < in->width; j++) {
        double sum = 0.0;
        for (size_t c = 0; c < in->classes; c++)
            sum += (double)stats.mean[c * in->width + j];
        centre[j] = (float)(sum / (double)in->classes);
    }
    if (status == RF_OK) {
        for (size_t i = 0; i < in->rows; i++)
            for (size_t j = 0; j < in->width; j++)
                x[i * in->width + j] = in->z[i * in->width + j] -
                                       stats.mean[in->class_of[i] * in->width + j];
        status = rf_whitening(state->arrays[WHITEN].data, x, in->rows, in->width,
                              &shrinkage, in->team, err);
    }
    memcpy(state->arrays[MEANS].data, stats.mean,
           in->classes * in->width * sizeof(float));
    free(x);
    rf_class_stats_release(&stats);
    return status;
}

typedef struct nearest_work {
    const rf_method_state *state;
    const float *panels, *x;
    size_t n;
    double *nearest;
    float *scratch; /* per thread */
} nearest_work;

static size_t scratch_floats(const rf_method_state *state)
{
    return RF_JUDGE_ROWS * 2 * state->width + state->classes;
}

static void nearest_blocks(void *arg, size_t member, size_t members)
{
    const nearest_work *w = arg;
    size_t width = w->state->width;
    float *y = w->scratch + member * scratch_floats(w->state);
    float *shifted = y + RF_JUDGE_ROWS * width;
    float *distances = shifted + RF_JUDGE_ROWS * width;
    for (size_t i = member * RF_JUDGE_ROWS; i < w->n; i += members * RF_JUDGE_ROWS) {
        size_t n = w->n - i < RF_JUDGE_ROWS ? w->n - i : RF_JUDGE_ROWS;
        whiten(w->state, w->panels, w->x + i * width, n, y, shifted);
        for (size_t j = 0; j < n; j++) {
            size_t best = distances_of(w->state, y + j * width, distances);
            w->nearest[i + j] = (double)distances[best];
        }
    }
}

/* Whitens the means, then takes the quantile of the rows' distances. */
static rf_status fit_threshold(rf_method_state *state, const rf_fit *in, rf_error *err)
{
    size_t width = state->width, floats = rf_panels_floats(width, width);
    size_t each = scratch_floats(state), scratch = each * rf_team_size(in->team);
    size_t n = in->dev_rows > 0 ? in->dev_rows : in->rows;
    nearest_work w = {.state = state, .x = in->dev_rows > 0 ? in->dev_z : in->z, .n = n};
    float *panels = rf_floats_new(floats),
          *means = rf_floats_new(state->classes * width * 2);
    w.scratch = rf_floats_new(scratch);
    w.nearest = malloc(n * sizeof *w.nearest);
    w.panels = panels;
    rf_status status = RF_OK;
    if (panels && means && w.scratch && w.nearest) {
        rf_panels_pack(panels, state->arrays[WHITEN].data, width, width);
        whiten(state, panels, state->arrays[MEANS].data, state->classes, means,
               means + state->classes * width);
        memcpy(state->arrays[MEANS].data, means, state->classes * width * sizeof *means);
        rf_team_run(in->team, nearest_blocks, &w);
        *state->arrays[THRESHOLD].data =
            (float)rf_quantile(w.nearest, n, (double)in->o->quantile);
        if (!isfinite(*state->arrays[THRESHOLD].data))
            status = rf_fail(err, RF_ERR_NUMERIC, 0,
                             "mahalanobis: found a distance that is not finite");
    } else {
        status = rf_fail_nomem(err, (floats + scratch) * sizeof(float), "distances");
    }
    free(panels);
    free(means);
    free(w.scratch);
    free(w.nearest);
    return status;
}

static rf_status mahalanobis_fit(rf_method_state *state, const rf_fit *in, rf_error *err)
{
    rf_status status = rf_method_state_room(state, CENTRE, state->width, 1, err);
    if (status == RF_OK)
        status = rf_method_state_room(state, WHITEN, state->width, state->width, err);
    if (status == RF_OK)
        status = rf_method_state_room(state, MEANS, state->classes, state->width, err);
    if (status == RF_OK)
        status = rf_method_state_room(state, THRESHOLD, 1, 1, err);
    if (status == RF_OK)
        status = fit_space(state, in, err);
    if (status == RF_OK)
        status = fit_threshold(state, in, err);
    return status;
}

/* ---- Judging ----------------------------------------------------------------------- */

/* prepared: the panels of the whitening matrix */
static rf_status mahalanobis_prepare(rf_method_state *state, rf_error *err)
{
    if (!(*state->arrays[THRESHOLD].data >= 0.0f))
        return rf_fail(err, RF_ERR_FORMAT, 0,
                       "mahalanobis: found threshold %g, wanted at least 0",
                       (double)*state->arrays[THRESHOLD].data);
    size_t floats = rf_panels_floats(state->width, state->width);
    float *panels = rf_floats_new(floats);
    if (!panels)
        return rf_fail_nomem(err, floats * sizeof *panels, "the whitening matrix");
    rf_panels_pack(panels, state->arrays[WHITEN].data, state->width, state->width);
    state->prepared = panels;
    return RF_OK;
}

static void mahalanobis_release(rf_method_state *state)
{
    free(state->prepared);
    state->prepared = NULL;
}

static void mahalanobis_judge(const rf_method_state *state, const rf_signals *s,
                              rf_verdict *out, float *margins, float *scratch)
{
    whiten(state, state->prepared, s->z, s->n, scratch,
           scratch + RF_JUDGE_ROWS * state->width);
    for (size_t i = 0; i < s->n; i++, margins += state->classes) {
        size_t fence = distances_of(state, scratch + i * state->width, margins);
        size_t best = rf_largest(s->logits + i * state->classes, state->classes);
        out[i] = (rf_verdict){.nearest = (uint32_t)best, .fence = (uint32_t)fence};
        for (size_t c = 0; c < state->classes; c++)
            margins[c] = *state->arrays[THRESHOLD].data - margins[c];
    }
}

static const rf_method_array arrays[] = {{"centre", 1, {RF_DIM_WIDTH}},
                                         {"whiten", 2, {RF_DIM_WIDTH, RF_DIM_WIDTH}},
                                         {"means", 2, {RF_DIM_CLASSES, RF_DIM_WIDTH}},
                                         {"threshold", 1, {RF_DIM(1)}}};

const rf_method rf_method_mahalanobis = {
    .name = "mahalanobis",
    .title = "Mahalanobis",
    .summary = "distance to the nearest class mean under a common covariance",
    .arrays = arrays,
    .n_arrays = sizeof arrays / sizeof *arrays,
    .fit = mahalanobis_fit,
    .prepare = mahalanobis_prepare,
    .release = mahalanobis_release,
    .scratch = scratch_floats,
    .judge = mahalanobis_judge,
};
