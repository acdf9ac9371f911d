/* adb.c - learns balls around the classes; the method ADB, which places them in the known
 * classifier's hidden layer */
#include "methods/adb.h"

#include "base/memory.h"
#include "base/rng.h"
#include "base/streams.h"
#include "num/train.h"
#include "open/class_stats.h"
#include "methods/dev_score.h"
#include "known/signals.h"
#include "num/vectors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BATCH 128
#define PATIENCE 10

enum { CENTROIDS, RADIUS };

/* ---- One step ---------------------------------------------------------------------- */

rf_status rf_adb_boundary_init(rf_adb_boundary *b, size_t classes, rf_error *err)
{
    *b = (rf_adb_boundary){.classes = classes, .block = rf_floats_new(5 * classes)};
    if (!b->block)
        return rf_fail_nomem(err, 5 * classes * sizeof(float), "the boundaries");
    memset(b->block, 0, 5 * classes * sizeof(float));
    b->raw = b->block;
    b->gradient = b->raw + classes;
    b->m = b->gradient + classes;
    b->v = b->m + classes;
    b->radius = b->v + classes;
    return RF_OK;
}

void rf_adb_boundary_release(rf_adb_boundary *b)
{
    free(b->block);
    *b = (rf_adb_boundary){0};
}

static double softplus(double x)
{
    return log1p(exp(-fabs(x))) + (x > 0.0 ? x : 0.0);
}

double rf_adb_step(rf_adb_boundary *b, const float *distance, const uint32_t *class_of,
                   const uint32_t *rows, size_t n, float rate)
{
    double loss = 0.0;
    for (size_t c = 0; c < b->classes; c++) {
        b->radius[c] = (float)softplus((double)b->raw[c]);
        b->gradient[c] = 0.0f;
    }
    for (size_t i = 0; i < n; i++) { /* rows inside minus rows outside: integers */
        uint32_t c = class_of[rows[i]];
        float d = distance[rows[i]], radius = b->radius[c];
        loss += fabs((double)d - (double)radius);
        b->gradient[c] += d < radius ? 1.0f : d > radius ? -1.0f : 0.0f;
    }
    for (size_t c = 0; c < b->classes; c++)
        b->gradient[c] =
            (float)((double)b->gradient[c] / (double)n / (1.0 + exp(-(double)b->raw[c])));
    double t = (double)++b->steps;
    rf_adam adam = {.rate = rate,
                    .beta1 = 0.9f,
                    .beta2 = 0.999f,
                    .eps = 1e-8f,
                    .fix1 = (float)(1.0 / (1.0 - pow(0.9, t))),
                    .fix2 = (float)(1.0 / (1.0 - pow(0.999, t)))};
    rf_train_kernels()->adam(b->raw, b->gradient, b->m, b->v, b->classes, &adam);
    return loss / (double)n;
}

/* ---- Score on dev rows ------------------------------------------------------------- */

typedef struct dev_distances {
    size_t n, classes;
    const uint32_t *truth;
    uint32_t *nearest;  /* [n] */
    float *distance;    /* [n] to the nearest centroid */
    rf_dev_score score; /* of the classes and open */
} dev_distances;

/* The class with the nearest centroid; fills distances [classes] unless NULL. */
static size_t nearest_of(const float *centroids, size_t classes, size_t width,
                         const float *x, float *distances)
{
    size_t best = 0;
    double least = INFINITY;
    for (size_t c = 0; c < classes; c++) {
        double d = rf_distance(x, centroids + c * width, width);
        if (d < least) {
            least = d;
            best = c;
        }
        if (distances)
            distances[c] = (float)d;
    }
    return best;
}

static void dev_distances_release(dev_distances *d)
{
    free(d->nearest);
    free(d->distance);
    rf_dev_score_release(&d->score);
}

static rf_status dev_distances_init(dev_distances *d, const rf_method_state *state,
                                    const float *centroids, const rf_fit *in,
                                    rf_error *err)
{
    size_t n = in->dev_rows;
    *d = (dev_distances){.n = n, .classes = state->classes, .truth = in->dev_class};
    d->nearest = calloc(n + 1, sizeof *d->nearest);
    d->distance = calloc(n + 1, sizeof *d->distance);
    rf_status status = rf_dev_score_init(&d->score, state->classes + 1, err);
    if (status == RF_OK && (!d->nearest || !d->distance))
        status = rf_fail_nomem(err, n * 8, "the dev rows' distances");
    if (status != RF_OK) {
        dev_distances_release(d);
        return status;
    }
    for (size_t i = 0; i < n; i++) {
        const float *x = in->dev_z + i * state->width;
        size_t c = nearest_of(centroids, state->classes, state->width, x, NULL);
        d->nearest[i] = (uint32_t)c;
        d->distance[i] =
            (float)rf_distance(x, centroids + c * state->width, state->width);
    }
    return RF_OK;
}

/* Rounded to two decimals, so that smaller differences do not count as better. */
static double dev_score(dev_distances *d, const float *radius)
{
    rf_dev_score_clear(&d->score);
    for (size_t i = 0; i < d->n; i++)
        rf_dev_score_count(&d->score, d->truth[i],
                           d->distance[i] <= radius[d->nearest[i]] ? d->nearest[i]
                                                                   : d->classes);
    double f1 = rf_dev_score_f1(&d->score);
    return round(f1 * 100.0) / 100.0;
}

/* ---- Learning ---------------------------------------------------------------------- */

/* Distances of the rows, with dropout as in training, to their centroids. Without
 * dropout the radius would be the median distance of the texts that are judged, and half
 * of a class would be open. */
static void measure_distances(const rf_fit *in, const float *centroids, size_t width,
                              size_t epoch, float *row, float *distance)
{
    for (size_t i = 0; i < in->rows; i++) {
        rf_train_kernels()->dropout(
            row, in->z + i * width, width, in->dropout,
            rf_stream_key(in->seed, RF_STREAM_ADB_DROPOUT, epoch, i));
        distance[i] = (float)rf_distance(row, centroids + in->class_of[i] * width, width);
    }
}

static void run_epoch(rf_adb_boundary *b, const float *distance, const rf_fit *in,
                      uint32_t *order, size_t epoch)
{
    for (size_t i = 0; i < in->rows; i++)
        order[i] = (uint32_t)i;
    rf_rng r = rf_rng_open(rf_stream_key(in->seed, RF_STREAM_ADB_ORDER, epoch, 0));
    rf_rng_shuffle(&r, order, in->rows);
    for (size_t i = 0; i < in->rows; i += BATCH)
        rf_adb_step(b, distance, in->class_of, order + i,
                    in->rows - i < BATCH ? in->rows - i : BATCH, in->o->boundary_rate);
}

/* As in the authors' code, an epoch's radii are those before its last step. */
static void run_epochs(rf_adb_boundary *b, const rf_method_state *state,
                       const float *centroids, const rf_fit *in, float *distance,
                       uint32_t *order, dev_distances *dev, float *radius)
{
    double best = 0.0;
    size_t no_better = 0, epochs = in->o->boundary_epochs ? in->o->boundary_epochs : 1;
    rf_train_kernels()->normal(b->raw, b->classes,
                               rf_stream_key(in->seed, RF_STREAM_ADB_RADII, 0, 0));
    for (size_t epoch = 0; epoch < epochs && no_better < PATIENCE; epoch++) {
        measure_distances(in, centroids, state->width, epoch, distance + in->rows,
                          distance);
        run_epoch(b, distance, in, order, epoch);
        double score = dev->n ? dev_score(dev, b->radius) : 0.0;
        if (score > best || best <= 0.0) {
            memcpy(radius, b->radius, b->classes * sizeof *radius);
            best = score;
        } else {
            no_better++;
        }
    }
}

static rf_status learn_radii(rf_method_state *state, const rf_fit *in, rf_error *err)
{
    const float *centroids = state->arrays[CENTROIDS].data;
    float *distance = rf_floats_new(in->rows + state->width); /* and a row */
    uint32_t *order = malloc((in->rows + 1) * sizeof *order);
    rf_adb_boundary b = {0};
    dev_distances dev = {0};
    rf_status status = RF_OK;
    if (!distance || !order)
        status = rf_fail_nomem(err, in->rows * 8, "the rows' distances");
    if (status == RF_OK)
        status = rf_adb_boundary_init(&b, state->classes, err);
    if (status == RF_OK)
        status = dev_distances_init(&dev, state, centroids, in, err);
    if (status == RF_OK) {
        run_epochs(&b, state, centroids, in, distance, order, &dev,
                   state->arrays[RADIUS].data);
        dev_distances_release(&dev);
    }
    rf_adb_boundary_release(&b);
    free(distance);
    free(order);
    return status;
}

rf_status rf_adb_fit(rf_method_state *state, const rf_fit *in, const float *centroids,
                     rf_error *err)
{
    rf_class_stats stats;
    /* also checks class numbers and that the features are finite */
    rf_status status = rf_class_stats_init(&stats, in->z, in->class_of, in->rows,
                                           state->width, state->classes, err);
    if (status != RF_OK)
        return status;
    status = rf_method_state_room(state, CENTROIDS, state->classes, state->width, err);
    if (status == RF_OK)
        status = rf_method_state_room(state, RADIUS, state->classes, 1, err);
    if (status == RF_OK) {
        memcpy(state->arrays[CENTROIDS].data, centroids ? centroids : stats.mean,
               state->classes * state->width * sizeof(float));
        status = learn_radii(state, in, err);
    }
    rf_class_stats_release(&stats);
    return status;
}

/* ---- Judging ----------------------------------------------------------------------- */

rf_status rf_adb_prepare(rf_method_state *state, rf_error *err)
{
    for (size_t c = 0; c < state->classes; c++)
        if (!(state->arrays[RADIUS].data[c] >= 0.0f))
            return rf_fail(err, RF_ERR_FORMAT, c,
                           "adb: class %zu: found radius %g, wanted at least 0", c,
                           (double)state->arrays[RADIUS].data[c]);
    return RF_OK;
}

void rf_adb_judge(const rf_method_state *state, const rf_signals *s, rf_verdict *out,
                  float *margins, float *scratch)
{
    (void)scratch;
    const float *centroids = state->arrays[CENTROIDS].data;
    const float *radius = state->arrays[RADIUS].data;
    for (size_t i = 0; i < s->n; i++, margins += state->classes) {
        uint32_t best = (uint32_t)nearest_of(centroids, state->classes, state->width,
                                             s->hidden + i * state->width, margins);
        out[i] = (rf_verdict){.nearest = best, .fence = best};
        for (size_t c = 0; c < state->classes; c++)
            margins[c] = radius[c] - margins[c];
    }
}

/* ---- The method -------------------------------------------------------------------- */

rf_status rf_adb_fit_hidden(rf_method_state *state, const rf_fit *in, rf_error *err)
{
    size_t rows = in->rows + in->dev_rows, floats;
    float *hidden = NULL;
    if (rf_size_mul(rows, in->width, &floats))
        hidden = rf_floats_new(floats);
    if (!hidden)
        return rf_fail_nomem(err, floats * sizeof(float), "the hidden layer of all rows");
    float *dev = hidden + in->rows * in->width;
    rf_status status =
        rf_known_signals(in->known, in->z, in->rows, hidden, NULL, in->team, err);
    if (status == RF_OK)
        status = rf_known_signals(in->known, in->dev_z, in->dev_rows, dev, NULL, in->team,
                                  err);
    if (status == RF_OK) {
        rf_fit inner = *in;
        inner.z = hidden;
        inner.dev_z = dev;
        status = rf_adb_fit(state, &inner, NULL, err);
    }
    free(hidden);
    return status;
}

const rf_method_array rf_adb_arrays[] = {{"centroids", 2, {RF_DIM_CLASSES, RF_DIM_WIDTH}},
                                         {"radius", 1, {RF_DIM_CLASSES}}};

const rf_method rf_method_adb = {
    .name = "adb",
    .title = "ADB",
    .summary = "a learnt ball around each class in the classifier's hidden layer",
    .arrays = rf_adb_arrays,
    .n_arrays = RF_ADB_N_ARRAYS,
    .fit = rf_adb_fit_hidden,
    .prepare = rf_adb_prepare,
    .judge = rf_adb_judge,
};
