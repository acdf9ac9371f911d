/* class_stats.c - mean, variance and spread of each class */
#include "open/class_stats.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Counts the rows of each class; every class must have one. */
static rf_status count_rows(rf_class_stats *s, const uint32_t *class_of, size_t rows,
                            rf_error *err)
{
    for (size_t i = 0; i < rows; i++) {
        if (class_of[i] >= s->classes)
            return rf_fail(err, RF_ERR_ARG, 0,
                           "row %zu: found class %zu, wanted one below %zu", i,
                           (size_t)class_of[i], s->classes);
        s->rows[class_of[i]]++;
    }
    for (size_t c = 0; c < s->classes; c++)
        if (s->rows[c] == 0)
            return rf_fail(err, RF_ERR_ARG, 0, "class %zu has no rows", c);
    return RF_OK;
}

/* Two passes in double, means and then squared deviations: a single pass over sums of
 * squares would lose the variance of features far from zero. */
static void sum_rows(const rf_class_stats *s, const float *z, const uint32_t *class_of,
                     size_t rows, double *mean, double *square)
{
    size_t width = s->width;
    for (size_t i = 0; i < rows; i++) {
        double *sum = mean + class_of[i] * width;
        for (size_t j = 0; j < width; j++)
            sum[j] += (double)z[i * width + j];
    }
    for (size_t c = 0; c < s->classes; c++)
        for (size_t j = 0; j < width; j++)
            mean[c * width + j] /= (double)s->rows[c];
    for (size_t i = 0; i < rows; i++) {
        const double *centre = mean + class_of[i] * width;
        double *sum = square + class_of[i] * width;
        for (size_t j = 0; j < width; j++) {
            double d = (double)z[i * width + j] - centre[j];
            sum[j] += d * d;
        }
    }
}

static rf_status store_stats(rf_class_stats *s, const double *mean, const double *square,
                             rf_error *err)
{
    for (size_t c = 0; c < s->classes; c++) {
        double total = 0.0;
        for (size_t j = c * s->width; j < (c + 1) * s->width; j++) {
            double variance = square[j] / (double)s->rows[c];
            s->mean[j] = (float)mean[j];
            s->variance[j] = (float)variance;
            total += variance;
        }
        s->distance[c] = (float)sqrt(2.0 * total);
        /* A sum of squares is finite only if every term is. */
        if (!isfinite(s->distance[c]))
            return rf_fail(err, RF_ERR_NUMERIC, 0,
                           "class %zu: the features hold a NaN, an infinity or numbers "
                           "too large to square",
                           c);
    }
    return RF_OK;
}

rf_status rf_class_stats_init(rf_class_stats *s, const float *z, const uint32_t *class_of,
                              size_t rows, size_t width, size_t classes, rf_error *err)
{
    *s = (rf_class_stats){.width = width, .classes = classes};
    size_t cells, doubles;
    if (!rf_size_mul(width, classes, &cells) || !rf_size_mul(cells, 2, &doubles))
        return rf_fail(err, RF_ERR_LIMIT, 0, "%zu classes of %zu features are too many",
                       classes, width);
    double *sums = calloc(doubles ? doubles : 1, sizeof *sums);
    s->mean = rf_floats_new(cells);
    s->variance = rf_floats_new(cells);
    s->distance = rf_floats_new(classes);
    s->rows = calloc(classes ? classes : 1, sizeof *s->rows);
    rf_status status = RF_OK;
    if (!sums || !s->mean || !s->variance || !s->distance || !s->rows)
        status = rf_fail_nomem(err, cells * 2 * (sizeof(double) + sizeof(float)),
                               "the classes' means and variances");
    if (status == RF_OK)
        status = count_rows(s, class_of, rows, err);
    if (status == RF_OK) {
        sum_rows(s, z, class_of, rows, sums, sums + cells);
        status = store_stats(s, sums, sums + cells, err);
    }
    free(sums);
    if (status != RF_OK)
        rf_class_stats_release(s);
    return status;
}

void rf_class_stats_release(rf_class_stats *s)
{
    free(s->mean);
    free(s->variance);
    free(s->distance);
    free(s->rows);
    *s = (rf_class_stats){0};
}
