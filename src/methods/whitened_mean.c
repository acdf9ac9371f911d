/*
 * whitened_mean.c - cosine to class means in a whitened space
 *
 *   S = covariance of the unit-length rows about their class means, all classes together
 *   y = unit(w (unit(z) - centre)),  w (0.7 S + 0.3 tr(S)/d I) w^T = I
 *
 * with the mean of all rows as the centre; the mean of a class is that of its rows y,
 * scaled to length 1. The class with the largest cosine is the answer, unless that cosine
 * is below a threshold: a quantile of the dev rows' largest cosines, or without dev rows
 * of the training rows', each compared with the mean of its class without it (centre and
 * w stay). With a single training row and no dev rows every text is open.
 */
#include "base/memory.h"
#include "num/covariance.h"
#include "num/panels.h"
#include "num/vectors.h"
#include "open/method.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SHRINKAGE 0.3
#define NOTHING_INSIDE 0.999999f

enum { CENTRE, WHITEN, MEANS, THRESHOLD };

/* y [n, width] = unit(whiten (unit(x) - centre)), from panels of whiten; shifted is
 * scratch [n, width]. */
static void whiten(const rf_method_state *state, const float *panels, const float *x,
                   size_t n, float *y, float *shifted)
{
    size_t width = state->width;
    const float *centre = state->arrays[CENTRE].data;
    rf_rows_normalise(shifted, x, n, width);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < width; j++)
            shifted[i * width + j] -= centre[j];
    rf_panels_multiply(y, shifted, panels, NULL, n, width, width);
    rf_rows_normalise(y, y, n, width);
}

/* ---- Fitting ----------------------------------------------------------------------- */

/* Sums of the rows by class, in row order: sum [classes, width], count [classes]. */
static void sum_classes(const rf_fit *in, const float *x, double *sum, size_t *count)
{
    memset(sum, 0, in->classes * in->width * sizeof *sum);
    memset(count, 0, in->classes * sizeof *count);
    for (size_t i = 0; i < in->rows; i++) {
        double *to = sum + in->class_of[i] * in->width;
        count[in->class_of[i]]++;
        for (size_t j = 0; j < in->width; j++)
            to[j] += (double)x[i * in->width + j];
    }
}

/* Working memory of a fit. */
typedef struct fit_work {
    rf_method_state *state;
    const rf_fit *in;
    float *y;       /* [max(rows, dev_rows), width] */
    double *sum;    /* [classes, width] */
    size_t *count;  /* [classes] */
    float *panels;  /* of the whitening matrix */
    float *scratch; /* per thread [RF_JUDGE_ROWS, width] */
    double *largest;

    const float *x; /* rows to whiten, [n, width] */
    size_t n;
    bool own; /* they are the training rows */
} fit_work;

/* Fits the centre and the whitening matrix. */
static rf_status fit_space(const fit_work *w, rf_error *err)
{
    const rf_fit *in = w->in;
    size_t width = in->width;
    float *centre = w->state->arrays[CENTRE].data;
    double share = SHRINKAGE;
    rf_rows_normalise(w->y, in->z, in->rows, width);
    sum_classes(in, w->y, w->sum, w->count);
    for (size_t j = 0; j < width; j++) {
        double all = 0.0;
        for (size_t c = 0; c < in->classes; c++)
            all += w->sum[c * width + j];
        centre[j] = (float)(all / (double)in->rows);
    }
    for (size_t i = 0; i < in->rows; i++) {
        const double *sum = w->sum + in->class_of[i] * width;
        double n = (double)w->count[in->class_of[i]];
        for (size_t j = 0; j < width; j++)
            w->y[i * width + j] = (float)((double)w->y[i * width + j] - sum[j] / n);
    }
    return rf_whitening(w->state->arrays[WHITEN].data, w->y, in->rows, width, &share,
                        in->team, err);
}

static void whiten_blocks(void *arg, size_t member, size_t members)
{
    const fit_work *w = arg;
    size_t width = w->in->width;
    float *shifted = w->scratch + member * RF_JUDGE_ROWS * width;
    for (size_t i = member * RF_JUDGE_ROWS; i < w->n; i += members * RF_JUDGE_ROWS) {
        size_t n = w->n - i < RF_JUDGE_ROWS ? w->n - i : RF_JUDGE_ROWS;
        whiten(w->state, w->panels, w->x + i * width, n, w->y + i * width, shifted);
    }
}

/* The cosine of y with a sum of rows, less y itself if own. */
static double cosine_to_sum(const float *y, const double *sum, size_t width, bool own)
{
    double dot = 0.0, square = 0.0;
    for (size_t j = 0; j < width; j++) {
        double m = sum[j] - (own ? (double)y[j] : 0.0);
        dot += (double)y[j] * m;
        square += m * m;
    }
    return square > 0.0 ? dot / sqrt(square) : 0.0;
}

/* The largest cosine of each row of y; a training row of a class of one has no own class.
 */
static void largest_cosines(void *arg, size_t member, size_t members)
{
    const fit_work *w = arg;
    const rf_fit *in = w->in;
    for (size_t i = member; i < w->n; i += members) {
        w->largest[i] = -1.0;
        for (size_t c = 0; c < in->classes; c++) {
            bool own = w->own && in->class_of[i] == c;
            if (own && w->count[c] == 1)
                continue;
            double cosine = cosine_to_sum(w->y + i * in->width, w->sum + c * in->width,
                                          in->width, own);
            if (cosine > w->largest[i])
                w->largest[i] = cosine;
        }
    }
}

/* Fits the means and the threshold. */
static rf_status fit_means(fit_work *w, rf_error *err)
{
    const rf_fit *in = w->in;
    size_t width = in->width;
    float *means = w->state->arrays[MEANS].data;
    rf_panels_pack(w->panels, w->state->arrays[WHITEN].data, width, width);
    w->x = in->z;
    w->n = in->rows;
    w->own = true;
    rf_team_run(in->team, whiten_blocks, w);
    sum_classes(in, w->y, w->sum, w->count);
    for (size_t c = 0; c < in->classes; c++)
        for (size_t j = 0; j < width; j++)
            means[c * width + j] = (float)(w->sum[c * width + j] / (double)w->count[c]);
    rf_rows_normalise(means, means, in->classes, width);
    if (in->dev_rows > 0) {
        w->x = in->dev_z;
        w->n = in->dev_rows;
        w->own = false;
        rf_team_run(in->team, whiten_blocks, w);
    }
    if (!rf_kernels()->all_finite(w->y, w->n * width))
        return rf_fail(err, RF_ERR_NUMERIC, 0,
                       "whitened-mean: found a feature that is not finite");
    rf_team_run(in->team, largest_cosines, w);
    *w->state->arrays[THRESHOLD].data =
        w->own && w->n == 1
            ? NOTHING_INSIDE
            : (float)rf_quantile(w->largest, w->n, 1.0 - (double)in->o->quantile);
    return RF_OK;
}

static rf_status fit_rows(rf_method_state *state, const rf_fit *in, rf_error *err)
{
    size_t most = in->rows > in->dev_rows ? in->rows : in->dev_rows, width = in->width;
    fit_work w = {.state = state, .in = in};
    w.y = rf_floats_new(most * width);
    w.sum = malloc(in->classes * width * sizeof *w.sum);
    w.count = malloc(in->classes * sizeof *w.count);
    w.panels = rf_floats_new(rf_panels_floats(width, width));
    w.scratch = rf_floats_new(rf_team_size(in->team) * RF_JUDGE_ROWS * width);
    w.largest = malloc(most * sizeof *w.largest);
    rf_status status = RF_OK;
    if (!w.y || !w.sum || !w.count || !w.panels || !w.scratch || !w.largest)
        status = rf_fail_nomem(err, most * width * sizeof *w.y, "whitened rows");
    if (status == RF_OK)
        status = fit_space(&w, err);
    if (status == RF_OK)
        status = fit_means(&w, err);
    free(w.y);
    free(w.sum);
    free(w.count);
    free(w.panels);
    free(w.scratch);
    free(w.largest);
    return status;
}

static rf_status whitened_mean_fit(rf_method_state *state, const rf_fit *in,
                                   rf_error *err)
{
    rf_status status = rf_method_state_room(state, CENTRE, state->width, 1, err);
    if (status == RF_OK)
        status = rf_method_state_room(state, WHITEN, state->width, state->width, err);
    if (status == RF_OK)
        status = rf_method_state_room(state, MEANS, state->classes, state->width, err);
    if (status == RF_OK)
        status = rf_method_state_room(state, THRESHOLD, 1, 1, err);
    return status == RF_OK ? fit_rows(state, in, err) : status;
}

/* ---- Judging ----------------------------------------------------------------------- */

/* prepared: the panels of the whitening matrix, then those of the means */
static rf_status whitened_mean_prepare(rf_method_state *state, rf_error *err)
{
    float threshold = *state->arrays[THRESHOLD].data;
    if (!(threshold >= -1.01f && threshold <= 1.01f)) /* cosines are rounded */
        return rf_fail(err, RF_ERR_FORMAT, 0,
                       "whitened-mean: found threshold %g, wanted -1 to 1",
                       (double)threshold);
    size_t width = state->width, matrix = rf_panels_floats(width, width);
    size_t floats = matrix + rf_panels_floats(state->classes, width);
    float *panels = rf_floats_new(floats);
    if (!panels)
        return rf_fail_nomem(err, floats * sizeof *panels, "the whitening matrix");
    rf_panels_pack(panels, state->arrays[WHITEN].data, width, width);
    rf_panels_pack(panels + matrix, state->arrays[MEANS].data, state->classes, width);
    state->prepared = panels;
    return RF_OK;
}

static void whitened_mean_release(rf_method_state *state)
{
    free(state->prepared);
    state->prepared = NULL;
}

static size_t whitened_mean_scratch(const rf_method_state *state)
{
    return RF_JUDGE_ROWS * 2 * state->width;
}

static void whitened_mean_judge(const rf_method_state *state, const rf_signals *s,
                                rf_verdict *out, float *margins, float *scratch)
{
    size_t width = state->width, classes = state->classes;
    const float *panels = state->prepared;
    float *y = scratch;
    whiten(state, panels, s->z, s->n, y, scratch + RF_JUDGE_ROWS * width);
    rf_panels_multiply(margins, y, panels + rf_panels_floats(width, width), NULL, s->n,
                       classes, width);
    for (size_t i = 0; i < s->n; i++) {
        uint32_t best = (uint32_t)rf_largest(margins + i * classes, classes);
        out[i] = (rf_verdict){.nearest = best, .fence = best};
    }
    for (size_t i = 0; i < s->n * classes; i++)
        margins[i] -= *state->arrays[THRESHOLD].data;
}

static const rf_method_array arrays[] = {{"centre", 1, {RF_DIM_WIDTH}},
                                         {"whiten", 2, {RF_DIM_WIDTH, RF_DIM_WIDTH}},
                                         {"means", 2, {RF_DIM_CLASSES, RF_DIM_WIDTH}},
                                         {"threshold", 1, {RF_DIM(1)}}};

const rf_method rf_method_whitened_mean = {
    .name = "whitened-mean",
    .title = "Whitened mean",
    .summary = "cosine to class means in a whitened space",
    .arrays = arrays,
    .n_arrays = sizeof arrays / sizeof *arrays,
    .fit = whitened_mean_fit,
    .prepare = whitened_mean_prepare,
    .release = whitened_mean_release,
    .scratch = whitened_mean_scratch,
    .judge = whitened_mean_judge,
};
