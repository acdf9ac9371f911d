/*
 * mahalanobis.c - distance to the nearest class mean under the classes' common covariance
 * (Lee et al. 2018)
 *
 * The covariance is that of the rows about their class's mean, mixed with the unit matrix
 * after Ledoit and Wolf (open/covariance.h). Features less a centre are whitened by one
 * product; distances are then plain ones. The centre drops out of the distances, but
 * keeps the product's numbers small. The threshold is a quantile of the dev rows'
 * distances to their nearest class, without dev rows of the training rows'.
 */
#include "base/memory.h"
#include "num/panels.h"
#include "open/class_stats.h"
#include "open/covariance.h"
#include "open/method.h"
#include "open/rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CENTRE, WHITEN, MEANS, THRESHOLD };

/* y [n, width] = whiten (x - centre) from its panels; shifted is scratch like y. */
static void whiten(const rf_fence *f, const float *panels, const float *x, size_t n,
                   float *y, float *shifted)
{
    size_t width = f->width;
    const float *centre = f->arrays[CENTRE].data;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < width; j++)
            shifted[i * width + j] = x[i * width + j] - centre[j];
    rf_gemm_args g = {.c = y,
                      .ldc = width,
                      .a = shifted,
                      .lda = width,
                      .b = panels,
                      .b_row = RF_PANEL,
                      .b_panel = width * RF_PANEL,
                      .m = n,
                      .n = width,
                      .k = width};
    rf_kernels()->gemm(&g);
}

/* Distances [classes] of a whitened row; returns the nearest class. */
static size_t distances_of(const rf_fence *f, const float *y, float *distances)
{
    size_t best = 0;
    for (size_t c = 0; c < f->classes; c++) {
        distances[c] =
            (float)rf_distance(y, f->arrays[MEANS].data + c * f->width, f->width);
        if (distances[c] < distances[best])
            best = c;
    }
    return best;
}

/* ---- Fitting ----------------------------------------------------------------------- */

/* centre and whiten; the classes' means, not whitened yet. */
static rf_status fit_space(rf_fence *f, const rf_fit *in, rf_error *err)
{
    rf_class_stats stats;
    rf_status status = rf_class_stats_init(&stats, in->z, in->class_of, in->rows,
                                           in->width, in->classes, err);
    if (status != RF_OK)
        return status;
    float *x = rf_floats_new(in->rows * in->width);
    if (!x)
        status = rf_fail_nomem(err, in->rows * in->width * sizeof *x, "centred rows");
    float *centre = f->arrays[CENTRE].data;
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
        status = rf_whitening(f->arrays[WHITEN].data, x, in->rows, in->width, NULL,
                              in->team, err);
    }
    memcpy(f->arrays[MEANS].data, stats.mean, in->classes * in->width * sizeof(float));
    free(x);
    rf_class_stats_release(&stats);
    return status;
}

typedef struct nearest_work {
    const rf_fence *f;
    const float *panels, *x;
    size_t n;
    double *nearest;
    float *scratch; /* per member */
} nearest_work;

static size_t scratch_floats(const rf_fence *f)
{
    return RF_JUDGE_ROWS * 2 * f->width + f->classes;
}

static void nearest_blocks(void *arg, size_t member, size_t members)
{
    const nearest_work *w = arg;
    size_t width = w->f->width;
    float *y = w->scratch + member * scratch_floats(w->f);
    float *shifted = y + RF_JUDGE_ROWS * width;
    float *distances = shifted + RF_JUDGE_ROWS * width;
    for (size_t i = member * RF_JUDGE_ROWS; i < w->n; i += members * RF_JUDGE_ROWS) {
        size_t n = w->n - i < RF_JUDGE_ROWS ? w->n - i : RF_JUDGE_ROWS;
        whiten(w->f, w->panels, w->x + i * width, n, y, shifted);
        for (size_t j = 0; j < n; j++) {
            size_t best = distances_of(w->f, y + j * width, distances);
            w->nearest[i + j] = (double)distances[best];
        }
    }
}

/* Whitens the means, then takes the quantile of the rows' distances. */
static rf_status fit_threshold(rf_fence *f, const rf_fit *in, rf_error *err)
{
    size_t width = f->width, floats = rf_panels_floats(width, width);
    size_t each = scratch_floats(f), scratch = each * rf_team_size(in->team);
    size_t n = in->dev_rows > 0 ? in->dev_rows : in->rows;
    nearest_work w = {.f = f, .x = in->dev_rows > 0 ? in->dev_z : in->z, .n = n};
    float *panels = rf_floats_new(floats), *means = rf_floats_new(f->classes * width * 2);
    w.scratch = rf_floats_new(scratch);
    w.nearest = malloc(n * sizeof *w.nearest);
    w.panels = panels;
    rf_status status = RF_OK;
    if (panels && means && w.scratch && w.nearest) {
        rf_panels_pack(panels, f->arrays[WHITEN].data, width, width);
        whiten(f, panels, f->arrays[MEANS].data, f->classes, means,
               means + f->classes * width);
        memcpy(f->arrays[MEANS].data, means, f->classes * width * sizeof *means);
        rf_team_run(in->team, nearest_blocks, &w);
        *f->arrays[THRESHOLD].data =
            (float)rf_quantile(w.nearest, n, (double)in->o->quantile);
        if (!isfinite(*f->arrays[THRESHOLD].data))
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

static rf_status fit(rf_fence *f, const rf_fit *in, rf_error *err)
{
    if (!(in->o->quantile >= 0.0f && in->o->quantile <= 1.0f))
        return rf_fail(err, RF_ERR_ARG, 0, "quantile: found %g, wanted 0 to 1",
                       (double)in->o->quantile);
    rf_status status = rf_fence_room(f, CENTRE, f->width, 1, err);
    if (status == RF_OK)
        status = rf_fence_room(f, WHITEN, f->width, f->width, err);
    if (status == RF_OK)
        status = rf_fence_room(f, MEANS, f->classes, f->width, err);
    if (status == RF_OK)
        status = rf_fence_room(f, THRESHOLD, 1, 1, err);
    if (status == RF_OK)
        status = fit_space(f, in, err);
    if (status == RF_OK)
        status = fit_threshold(f, in, err);
    return status;
}

/* ---- Judging ----------------------------------------------------------------------- */

/* prepared: the panels of the whitening matrix */
static rf_status prepare(rf_fence *f, rf_error *err)
{
    if (!(*f->arrays[THRESHOLD].data >= 0.0f))
        return rf_fail(err, RF_ERR_FORMAT, 0,
                       "mahalanobis: found threshold %g, wanted at least 0",
                       (double)*f->arrays[THRESHOLD].data);
    size_t floats = rf_panels_floats(f->width, f->width);
    float *panels = rf_floats_new(floats);
    if (!panels)
        return rf_fail_nomem(err, floats * sizeof *panels, "the whitening matrix");
    rf_panels_pack(panels, f->arrays[WHITEN].data, f->width, f->width);
    f->prepared = panels;
    return RF_OK;
}

static void release(rf_fence *f)
{
    free(f->prepared);
    f->prepared = NULL;
}

static void judge(const rf_fence *f, const rf_signals *s, rf_verdict *out, float *margins,
                  float *scratch)
{
    whiten(f, f->prepared, s->z, s->n, scratch, scratch + RF_JUDGE_ROWS * f->width);
    for (size_t i = 0; i < s->n; i++, margins += f->classes) {
        size_t fence = distances_of(f, scratch + i * f->width, margins);
        size_t best = rf_largest(s->logits + i * f->classes, f->classes);
        out[i] = (rf_verdict){.nearest = (uint32_t)best, .fence = (uint32_t)fence};
        for (size_t c = 0; c < f->classes; c++)
            margins[c] = *f->arrays[THRESHOLD].data - margins[c];
    }
}

static const rf_fence_array arrays[] = {{"centre", 1, {RF_DIM_WIDTH, 1}},
                                        {"whiten", 2, {RF_DIM_WIDTH, RF_DIM_WIDTH}},
                                        {"means", 2, {RF_DIM_CLASSES, RF_DIM_WIDTH}},
                                        {"threshold", 1, {1, 1}}};

const rf_method rf_method_mahalanobis = {
    .name = "mahalanobis",
    .title = "Mahalanobis",
    .summary = "distance to the nearest class mean under a common covariance",
    .arrays = arrays,
    .n_arrays = sizeof arrays / sizeof *arrays,
    .fit = fit,
    .prepare = prepare,
    .release = release,
    .scratch = scratch_floats,
    .judge = judge,
};
