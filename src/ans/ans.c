/* ans.c - checks a fit and shares its heads out among threads */
#include "ans/ans.h"

#include "base/memory.h"
#include "num/kernels.h"
#include "ans/ans_head.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define SAME 1e-5 /* a class is a point if D is at most this share of the norm */
#define POINT_DISTANCE 0.5f /* D as a share of the norm, if every class is a point */

/* ---- Checks ------------------------------------------------------------------------ */

/* The statistics must belong to these rows, and every class must have a row. */
static rf_status check_classes(const rf_fit *in, rf_error *err)
{
    rf_status status = RF_OK;
    size_t *rows = calloc(in->classes + 1, sizeof *rows);
    if (!rows)
        return rf_fail_nomem(err, in->classes * sizeof *rows, "counting rows");
    for (size_t i = 0; status == RF_OK && i < in->rows; i++) {
        if (in->class_of[i] < in->classes)
            rows[in->class_of[i]]++;
        else
            status = rf_fail(err, RF_ERR_ARG, 0,
                             "row %zu: found class %zu, wanted one below %zu", i,
                             (size_t)in->class_of[i], in->classes);
    }
    for (size_t c = 0; status == RF_OK && c < in->classes; c++)
        if (rows[c] == 0 || rows[c] != in->stats->rows[c])
            status =
                rf_fail(err, RF_ERR_ARG, 0,
                        "class %zu: found %zu rows, wanted the %zu of its statistics", c,
                        rows[c], in->stats->rows[c]);
    free(rows);
    return status;
}

static rf_status check_fit(const rf_heads *heads, const rf_fit *in, rf_error *err)
{
    if (heads->width != in->width || heads->classes != in->classes)
        return rf_fail(err, RF_ERR_ARG, 0,
                       "heads: found %zu of width %zu, wanted %zu of width %zu",
                       heads->classes, heads->width, in->classes, in->width);
    if (in->stats->width != in->width || in->stats->classes != in->classes)
        return rf_fail(err, RF_ERR_ARG, 0,
                       "class statistics: found %zu of width %zu, wanted %zu of %zu",
                       in->stats->classes, in->stats->width, in->classes, in->width);
    if (in->rows > UINT32_MAX)
        return rf_fail(err, RF_ERR_LIMIT, 0, "%zu rows: wanted at most %zu", in->rows,
                       (size_t)UINT32_MAX);
    if (!rf_kernels()->all_finite(in->z, in->rows * in->width))
        return rf_fail(err, RF_ERR_NUMERIC, 0, "the features hold a NaN or an infinity");
    return check_classes(in, err);
}

/* ---- Classes that are points ---------------------------------------------------- */

/* The root mean square norm of the features: within a class the mean of |z|^2
 * is |mean|^2 + sum variance. */
static double typical_norm(const rf_class_stats *stats)
{
    double square = 0.0, rows = 0.0;
    for (size_t c = 0; c < stats->classes; c++) {
        double d = (double)stats->distance[c], sum = 0.5 * d * d;
        for (size_t j = c * stats->width; j < (c + 1) * stats->width; j++)
            sum += (double)stats->mean[j] * (double)stats->mean[j];
        square += sum * (double)stats->rows[c];
        rows += (double)stats->rows[c];
    }
    return rows > 0.0 ? sqrt(square / rows) : 0.0;
}

/* The mean variance of the classes that are not points. If all are points: the same
 * variance in every direction, with D half the typical norm of a feature vector, or 1 if
 * that norm is 0. */
static void measure_spread(rf_ans_spread *s, const rf_fit *in)
{
    size_t width = in->width, spread_out = 0;
    double norm = typical_norm(in->stats), total = 0.0;
    s->smallest = (float)(SAME * norm);
    for (size_t c = 0; c < in->classes; c++)
        spread_out += in->stats->distance[c] > s->smallest;
    for (size_t j = 0; j < width; j++) {
        double sum = 0.0;
        for (size_t c = 0; c < in->classes; c++)
            if (in->stats->distance[c] > s->smallest)
                sum += (double)in->stats->variance[c * width + j];
        double variance = spread_out ? sum / (double)spread_out : 0.0;
        s->variance[j] = (float)variance;
        total += variance;
    }
    s->distance = (float)sqrt(2.0 * total);
    if (spread_out == 0) {
        s->distance = norm > 0.0 ? POINT_DISTANCE * (float)norm : 1.0f;
        for (size_t j = 0; j < width; j++)
            s->variance[j] = s->distance * s->distance / (2.0f * (float)width);
    }
}

/* ---- Threads -------------------------------------------------------------------- */

typedef struct rf_ans_training {
    rf_heads *heads;
    const rf_fit *in;
    rf_ans_spread spread;
    rf_ans_trainer *trainers; /* one per thread */
    size_t n_trainers;
    size_t from, to;    /* classes that are being trained */
    atomic_size_t next; /* the first class no thread has taken */
    rf_class_report *reports;
} rf_ans_training;

static bool is_trained(const rf_fit *in, size_t class_index)
{
    return !in->untrained || !in->untrained[class_index];
}

static void train_heads(void *arg, size_t member, size_t members)
{
    rf_ans_training *j = arg;
    (void)members;
    if (member >= j->n_trainers)
        return;
    for (;;) {
        size_t m = atomic_fetch_add(&j->next, 1);
        if (m >= j->to)
            return;
        if (!is_trained(j->in, m))
            continue;
        rf_head head = rf_head_at(j->heads, m);
        rf_ans_train_head(&j->trainers[member], &head, m, j->in, &j->spread,
                          &j->reports[m - j->from]);
    }
}

static rf_status make_trainers(rf_ans_training *j, rf_error *err)
{
    j->spread.variance = rf_floats_new(j->in->width);
    j->trainers = calloc(j->n_trainers, sizeof *j->trainers);
    if (!j->spread.variance || !j->trainers)
        return rf_fail_nomem(err, j->in->width * sizeof(float), "training heads");
    for (size_t i = 0; i < j->n_trainers; i++) {
        rf_status status = rf_ans_trainer_init(&j->trainers[i], j->in, err);
        if (status != RF_OK)
            return status;
    }
    measure_spread(&j->spread, j->in);
    return RF_OK;
}

rf_status rf_ans_training_open(rf_ans_training **out, rf_heads *heads, const rf_fit *in,
                               rf_error *err)
{
    *out = NULL;
    rf_status status = rf_settings_check(in->o, err);
    if (status == RF_OK)
        status = check_fit(heads, in, err);
    if (status != RF_OK)
        return status;
    rf_ans_training *j = calloc(1, sizeof *j);
    if (!j)
        return rf_fail_nomem(err, sizeof *j, "training heads");
    j->heads = heads;
    j->in = in;
    for (size_t c = 0; c < in->classes && j->n_trainers < rf_team_size(in->team); c++)
        j->n_trainers += is_trained(in, c);
    status = make_trainers(j, err);
    if (status == RF_OK)
        *out = j;
    else
        rf_ans_training_close(j);
    return status;
}

void rf_ans_training_close(rf_ans_training *j)
{
    if (!j)
        return;
    for (size_t i = 0; j->trainers && i < j->n_trainers; i++)
        rf_ans_trainer_release(&j->trainers[i]);
    free(j->trainers);
    free(j->spread.variance);
    free(j);
}

rf_status rf_ans_training_run(rf_ans_training *j, size_t from, size_t to,
                              rf_class_report *reports, rf_error *err)
{
    if (from > to || to > j->in->classes)
        return rf_fail(err, RF_ERR_ARG, 0, "classes %zu to %zu: there are %zu", from, to,
                       j->in->classes);
    j->from = from;
    j->to = to;
    j->reports = reports;
    for (size_t m = from; m < to; m++)
        if (!is_trained(j->in, m))
            reports[m - from].recall = reports[m - from].dev_recall = -1.0f;
    atomic_init(&j->next, from);
    rf_team_run(j->in->team, train_heads, j);
    for (size_t i = 0; i < to - from; i++)
        if (!isfinite(reports[i].loss))
            return rf_fail(
                err, RF_ERR_NUMERIC, 0,
                "class %zu: training diverged; a smaller rate than %g may help", from + i,
                (double)j->in->o->head_rate);
    return RF_OK;
}

rf_status rf_ans_train(rf_heads *heads, const rf_fit *in, size_t from, size_t to,
                       rf_class_report *reports, rf_error *err)
{
    rf_ans_training *t;
    rf_status status = rf_ans_training_open(&t, heads, in, err);
    if (status == RF_OK)
        status = rf_ans_training_run(t, from, to, reports, err);
    rf_ans_training_close(t);
    return status;
}
