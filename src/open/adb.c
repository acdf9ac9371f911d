/* adb.c - balls around the classes, and the method that puts them into the known
 * classifier's hidden layer */
#include "open/adb.h"

#include "base/memory.h"
#include "base/rng.h"
#include "num/train.h"
#include "open/class_stats.h"
#include "open/dev_score.h"
#include "open/rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BATCH 128
#define PATIENCE 10
#define RAW_STREAM 0xadb1 /* names of the random streams */
#define ORDER_STREAM 0xadb2
#define DROP_STREAM 0xadb3

enum { CENTROIDS, RADIUS }; /* from `first` on */

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
    for (size_t i = 0; i < n; i++) { /* rows inside less rows outside: whole numbers */
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

/* ---- How good the decisions are on dev rows ---------------------------------------- */

typedef struct dev_look {
    size_t n, classes;
    const uint32_t *truth;
    uint32_t *nearest;  /* [n] */
    float *distance;    /* [n] to the nearest centroid */
    rf_dev_score score; /* of the classes and open */
} dev_look;

/* The class whose centroid is nearest; distances [classes] if wanted. */
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

static void dev_look_release(dev_look *d)
{
    free(d->nearest);
    free(d->distance);
    rf_dev_score_release(&d->score);
}

static rf_status dev_look_init(dev_look *d, const rf_fence *f, const float *centroids,
                               const rf_adb_data *in, rf_error *err)
{
    size_t n = in->dev_rows;
    *d = (dev_look){.n = n, .classes = f->classes, .truth = in->dev_class};
    d->nearest = calloc(n + 1, sizeof *d->nearest);
    d->distance = calloc(n + 1, sizeof *d->distance);
    rf_status status = rf_dev_score_init(&d->score, f->classes + 1, err);
    if (status == RF_OK && (!d->nearest || !d->distance))
        status = rf_fail_nomem(err, n * 8, "the dev rows' distances");
    if (status != RF_OK) {
        dev_look_release(d);
        return status;
    }
    for (size_t i = 0; i < n; i++) {
        const float *x = in->dev_x + i * f->width;
        size_t c = nearest_of(centroids, f->classes, f->width, x, NULL);
        d->nearest[i] = (uint32_t)c;
        d->distance[i] = (float)rf_distance(x, centroids + c * f->width, f->width);
    }
    return RF_OK;
}

/* Rounded to two decimals, so that nothing smaller is called better. */
static double dev_score(dev_look *d, const float *radius)
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

/* Distances of the rows to their centroids, their features dropped out as in training.
 * Without that the radius would be the median distance of what is judged, and half of a
 * class would be open. */
static void measure(const rf_adb_data *in, const float *centroids, size_t width,
                    size_t epoch, float *row, float *distance)
{
    for (size_t i = 0; i < in->rows; i++) {
        rf_train_kernels()->dropout(row, in->x + i * width, width, in->dropout,
                                    rf_rng_key(in->seed, DROP_STREAM, epoch, i));
        distance[i] = (float)rf_distance(row, centroids + in->class_of[i] * width, width);
    }
}

static void one_epoch(rf_adb_boundary *b, const float *distance, const rf_adb_data *in,
                      uint32_t *order, size_t epoch)
{
    for (size_t i = 0; i < in->rows; i++)
        order[i] = (uint32_t)i;
    rf_rng r = rf_rng_open(rf_rng_key(in->seed, ORDER_STREAM, epoch, 0));
    rf_rng_shuffle(&r, order, in->rows);
    for (size_t i = 0; i < in->rows; i += BATCH)
        rf_adb_step(b, distance, in->class_of, order + i,
                    in->rows - i < BATCH ? in->rows - i : BATCH, in->rate);
}

/* As the authors do it: an epoch's radii are those that its last step started from. */
static void learn(rf_adb_boundary *b, const rf_fence *f, const float *centroids,
                  const rf_adb_data *in, float *distance, uint32_t *order, dev_look *dev,
                  float *radius)
{
    double best = 0.0;
    size_t waited = 0, epochs = in->epochs ? in->epochs : 1;
    rf_train_kernels()->normal(b->raw, b->classes,
                               rf_rng_key(in->seed, RAW_STREAM, 0, 0));
    for (size_t epoch = 0; epoch < epochs && waited < PATIENCE; epoch++) {
        measure(in, centroids, f->width, epoch, distance + in->rows, distance);
        one_epoch(b, distance, in, order, epoch);
        double score = dev->n ? dev_score(dev, b->radius) : 0.0;
        if (score > best || best <= 0.0) {
            memcpy(radius, b->radius, b->classes * sizeof *radius);
            best = score;
        } else {
            waited++;
        }
    }
}

static rf_status learn_radii(rf_fence *f, size_t first, const rf_adb_data *in,
                             rf_error *err)
{
    const float *centroids = f->arrays[first + CENTROIDS].data;
    float *distance = rf_floats_new(in->rows + f->width); /* and a row */
    uint32_t *order = malloc((in->rows + 1) * sizeof *order);
    rf_adb_boundary b = {0};
    dev_look dev = {0};
    rf_status status = RF_OK;
    if (!distance || !order)
        status = rf_fail_nomem(err, in->rows * 8, "the rows' distances");
    if (status == RF_OK)
        status = rf_adb_boundary_init(&b, f->classes, err);
    if (status == RF_OK)
        status = dev_look_init(&dev, f, centroids, in, err);
    if (status == RF_OK) {
        learn(&b, f, centroids, in, distance, order, &dev,
              f->arrays[first + RADIUS].data);
        dev_look_release(&dev);
    }
    rf_adb_boundary_release(&b);
    free(distance);
    free(order);
    return status;
}

rf_status rf_adb_fit(rf_fence *f, size_t first, const rf_adb_data *in, rf_error *err)
{
    rf_class_stats stats;
    /* also where a bad class or a NaN among the features is found */
    rf_status status = rf_class_stats_init(&stats, in->x, in->class_of, in->rows,
                                           f->width, f->classes, err);
    if (status != RF_OK)
        return status;
    status = rf_fence_room(f, first + CENTROIDS, f->classes, f->width, err);
    if (status == RF_OK)
        status = rf_fence_room(f, first + RADIUS, f->classes, 1, err);
    if (status == RF_OK) {
        memcpy(f->arrays[first + CENTROIDS].data,
               in->centroids ? in->centroids : stats.mean,
               f->classes * f->width * sizeof(float));
        status = learn_radii(f, first, in, err);
    }
    rf_class_stats_release(&stats);
    return status;
}

rf_status rf_adb_fit_to(rf_fence *f, size_t first, const rf_fit *in, const float *x,
                        const float *dev_x, const float *centroids, rf_error *err)
{
    rf_adb_data data = {.rows = in->rows,
                        .x = x,
                        .class_of = in->class_of,
                        .dev_rows = in->dev_rows,
                        .dev_x = dev_x,
                        .dev_class = in->dev_class,
                        .centroids = centroids,
                        .epochs = in->o->boundary_epochs,
                        .rate = in->o->boundary_rate,
                        .dropout = in->dropout,
                        .seed = in->seed};
    return rf_adb_fit(f, first, &data, err);
}

/* ---- Judging ----------------------------------------------------------------------- */

rf_status rf_adb_check(const rf_fence *f, size_t first, rf_error *err)
{
    for (size_t c = 0; c < f->classes; c++)
        if (!(f->arrays[first + RADIUS].data[c] >= 0.0f))
            return rf_fail(err, RF_ERR_FORMAT, c,
                           "adb: class %zu: found radius %g, wanted at least 0", c,
                           (double)f->arrays[first + RADIUS].data[c]);
    return RF_OK;
}

void rf_adb_judge(const rf_fence *f, size_t first, const float *x, size_t n,
                  rf_verdict *out, float *margins)
{
    const float *centroids = f->arrays[first + CENTROIDS].data;
    const float *radius = f->arrays[first + RADIUS].data;
    for (size_t i = 0; i < n; i++, margins += f->classes) {
        uint32_t best = (uint32_t)nearest_of(centroids, f->classes, f->width,
                                             x + i * f->width, margins);
        out[i] = (rf_verdict){.nearest = best, .fence = best};
        for (size_t c = 0; c < f->classes; c++)
            margins[c] = radius[c] - margins[c];
    }
}

/* ---- The method -------------------------------------------------------------------- */

rf_status rf_adb_fit_hidden(rf_fence *f, const rf_fit *in, rf_error *err)
{
    size_t rows = in->rows + in->dev_rows, floats;
    float *hidden = NULL;
    if (rf_size_mul(rows, in->width, &floats))
        hidden = rf_floats_new(floats);
    if (!hidden)
        return rf_fail_nomem(err, floats * sizeof(float), "the hidden layer of all rows");
    float *dev = hidden + in->rows * in->width;
    rf_status status =
        rf_rows_signals(in->known, in->z, in->rows, hidden, NULL, in->team, err);
    if (status == RF_OK)
        status =
            rf_rows_signals(in->known, in->dev_z, in->dev_rows, dev, NULL, in->team, err);
    if (status == RF_OK)
        status = rf_adb_fit_to(f, 0, in, hidden, dev, NULL, err);
    free(hidden);
    return status;
}

rf_status rf_adb_prepare(rf_fence *f, rf_error *err)
{
    return rf_adb_check(f, 0, err);
}

void rf_adb_judge_hidden(const rf_fence *f, const rf_signals *s, rf_verdict *out,
                         float *margins, float *scratch)
{
    (void)scratch;
    rf_adb_judge(f, 0, s->hidden, s->n, out, margins);
}

const rf_fence_array rf_adb_arrays[] = {RF_ADB_ARRAYS};

const rf_method rf_method_adb = {
    .name = "adb",
    .title = "ADB",
    .summary = "a learnt ball around each class in the classifier's hidden layer",
    .arrays = rf_adb_arrays,
    .n_arrays = RF_ADB_N_ARRAYS,
    .fit = rf_adb_fit_hidden,
    .prepare = rf_adb_prepare,
    .judge = rf_adb_judge_hidden,
};
