/*
 * nearest_text.c - cosine to the nearest training text of each class
 *
 * The class of the nearest text is the answer, unless its cosine is below a threshold: a
 * quantile of the dev rows' largest cosines, or without dev rows of each training row's
 * cosine to its nearest other row. With a single training row and no dev rows only copies
 * of that row are inside.
 */
#include "base/memory.h"
#include "num/panels.h"
#include "num/vectors.h"
#include "open/method.h"

#include <math.h>
#include <stdlib.h>

#define STRIP 256 /* points per product: a multiple of RF_PANEL */
#define ONLY_COPIES 0.999999f
#define NOT_AMONG SIZE_MAX

enum { POINTS, CLASS, THRESHOLD };

/* Training rows ready for products. */
typedef struct points {
    const float *panels;   /* of unit rows [n, width] */
    const float *class_of; /* [n] */
    size_t n, width, classes;
} points;

/* cosines [n, classes] of at most RF_JUDGE_ROWS unit rows x with their nearest points; -1
 * for a class without a point. If row i is point self + i, that one is left out. */
static void nearest_cosines(const points *p, const float *x, size_t n, size_t self,
                            float *cosines, float *strip)
{
    for (size_t i = 0; i < n * p->classes; i++)
        cosines[i] = -1.0f;
    for (size_t at = 0; at < p->n; at += STRIP) {
        size_t some = p->n - at < STRIP ? p->n - at : STRIP;
        rf_panels_multiply(strip, x, p->panels + at * p->width, NULL, n, some, p->width);
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < some; j++) {
                float *best = &cosines[i * p->classes + (size_t)p->class_of[at + j]];
                if (strip[i * some + j] > *best &&
                    (self == NOT_AMONG || at + j != self + i))
                    *best = strip[i * some + j];
            }
    }
}

/* ---- Fitting ----------------------------------------------------------------------- */

typedef struct largest_job {
    points p;
    const float *x; /* [n, width] unit rows */
    size_t n;
    bool own;        /* x are the points */
    double *largest; /* [n] */
    float *scratch;  /* per thread */
} largest_job;

static size_t job_floats(size_t classes)
{
    return RF_JUDGE_ROWS * (classes + STRIP);
}

static void largest_blocks(void *arg, size_t member, size_t members)
{
    const largest_job *w = arg;
    size_t classes = w->p.classes;
    float *cosines = w->scratch + member * job_floats(classes);
    for (size_t i = member * RF_JUDGE_ROWS; i < w->n; i += members * RF_JUDGE_ROWS) {
        size_t n = w->n - i < RF_JUDGE_ROWS ? w->n - i : RF_JUDGE_ROWS;
        nearest_cosines(&w->p, w->x + i * w->p.width, n, w->own ? i : NOT_AMONG, cosines,
                        cosines + RF_JUDGE_ROWS * classes);
        for (size_t j = 0; j < n; j++) {
            const float *row = cosines + j * classes;
            w->largest[i + j] = (double)row[rf_largest(row, classes)];
        }
    }
}

static rf_status fit_threshold(rf_method_state *state, const rf_fit *in, rf_error *err)
{
    size_t width = in->width, floats = rf_panels_floats(in->rows, width);
    size_t scratch = job_floats(in->classes) * rf_team_size(in->team);
    float *threshold = state->arrays[THRESHOLD].data;
    const float *unit = state->arrays[POINTS].data;
    largest_job w = {.n = in->dev_rows > 0 ? in->dev_rows : in->rows,
                     .own = in->dev_rows == 0};
    float *panels = rf_floats_new(floats), *dev = rf_floats_new(in->dev_rows * width + 1);
    w.scratch = rf_floats_new(scratch);
    w.largest = malloc(w.n * sizeof *w.largest);
    rf_status status = RF_OK;
    if (panels && dev && w.scratch && w.largest) {
        rf_panels_pack(panels, unit, in->rows, width);
        rf_rows_normalise(dev, in->dev_z, in->dev_rows, width);
        w.p = (points){panels, state->arrays[CLASS].data, in->rows, width, in->classes};
        w.x = in->dev_rows > 0 ? dev : unit;
        if (!rf_kernels()->all_finite(unit, in->rows * width) ||
            !rf_kernels()->all_finite(dev, in->dev_rows * width))
            status = rf_fail(err, RF_ERR_NUMERIC, 0,
                             "nearest-text: found a feature that is not finite");
    } else {
        status = rf_fail_nomem(err, (floats + scratch) * sizeof(float), "cosines");
    }
    if (status == RF_OK) {
        rf_team_run(in->team, largest_blocks, &w);
        *threshold =
            w.own && w.n == 1
                ? ONLY_COPIES
                : (float)rf_quantile(w.largest, w.n, 1.0 - (double)in->o->quantile);
    }
    free(panels);
    free(dev);
    free(w.scratch);
    free(w.largest);
    return status;
}

static rf_status nearest_text_fit(rf_method_state *state, const rf_fit *in, rf_error *err)
{
    rf_status status = rf_method_state_room(state, POINTS, in->rows, in->width, err);
    if (status == RF_OK)
        status = rf_method_state_room(state, CLASS, in->rows, 1, err);
    if (status == RF_OK)
        status = rf_method_state_room(state, THRESHOLD, 1, 1, err);
    if (status != RF_OK)
        return status;
    rf_rows_normalise(state->arrays[POINTS].data, in->z, in->rows, in->width);
    for (size_t i = 0; i < in->rows; i++)
        state->arrays[CLASS].data[i] = (float)in->class_of[i];
    return fit_threshold(state, in, err);
}

/* ---- Judging ----------------------------------------------------------------------- */

static rf_status check_arrays(const rf_method_state *state, rf_error *err)
{
    size_t n = state->arrays[POINTS].shape[0];
    float threshold = *state->arrays[THRESHOLD].data;
    if (state->arrays[CLASS].shape[0] != n)
        return rf_fail(err, RF_ERR_FORMAT, 0,
                       "nearest-text: found %zu classes for %zu points",
                       state->arrays[CLASS].shape[0], n);
    for (size_t i = 0; i < n; i++) {
        float c = state->arrays[CLASS].data[i];
        if (!(c >= 0.0f && (double)c < (double)state->classes) || c != floorf(c))
            return rf_fail(err, RF_ERR_FORMAT, i,
                           "nearest-text: point %zu: found class %g, wanted a whole "
                           "number below %zu",
                           i, (double)c, state->classes);
    }
    /* cosines of unit rows may round to a little above 1 */
    if (!(threshold >= -1.01f && threshold <= 1.01f))
        return rf_fail(err, RF_ERR_FORMAT, 0,
                       "nearest-text: found threshold %g, wanted -1 to 1",
                       (double)threshold);
    return RF_OK;
}

/* prepared: the panels of the points */
static rf_status nearest_text_prepare(rf_method_state *state, rf_error *err)
{
    rf_status status = check_arrays(state, err);
    if (status != RF_OK)
        return status;
    size_t n = state->arrays[POINTS].shape[0], floats = rf_panels_floats(n, state->width);
    float *panels = rf_floats_new(floats);
    if (!panels)
        return rf_fail_nomem(err, floats * sizeof *panels, "the training texts");
    rf_panels_pack(panels, state->arrays[POINTS].data, n, state->width);
    state->prepared = panels;
    return RF_OK;
}

static void nearest_text_release(rf_method_state *state)
{
    free(state->prepared);
    state->prepared = NULL;
}

static size_t nearest_text_scratch(const rf_method_state *state)
{
    return RF_JUDGE_ROWS * (state->width + STRIP);
}

static void nearest_text_judge(const rf_method_state *state, const rf_signals *s,
                               rf_verdict *out, float *margins, float *scratch)
{
    const points p = {state->prepared, state->arrays[CLASS].data,
                      state->arrays[POINTS].shape[0], state->width, state->classes};
    float *x = scratch, *strip = x + RF_JUDGE_ROWS * state->width;
    rf_rows_normalise(x, s->z, s->n, state->width);
    nearest_cosines(&p, x, s->n, NOT_AMONG, margins, strip);
    for (size_t i = 0; i < s->n; i++) {
        uint32_t best =
            (uint32_t)rf_largest(margins + i * state->classes, state->classes);
        out[i] = (rf_verdict){.nearest = best, .fence = best};
    }
    for (size_t i = 0; i < s->n * state->classes; i++)
        margins[i] -= *state->arrays[THRESHOLD].data;
}

static const rf_method_array arrays[] = {{"points", 2, {RF_DIM_ANY, RF_DIM_WIDTH}},
                                         {"class", 1, {RF_DIM_ANY}},
                                         {"threshold", 1, {RF_DIM(1)}}};

const rf_method rf_method_nearest_text = {
    .name = "nearest-text",
    .title = "Nearest text",
    .summary = "cosine to the nearest training text",
    .arrays = arrays,
    .n_arrays = sizeof arrays / sizeof *arrays,
    .fit = nearest_text_fit,
    .prepare = nearest_text_prepare,
    .release = nearest_text_release,
    .scratch = nearest_text_scratch,
    .judge = nearest_text_judge,
};
