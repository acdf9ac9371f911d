/* split.c - draws known classes and training rows, and sorts out the rows of the files */
#include "lab/split.h"

#include "base/plural.h"
#include "base/rng.h"
#include "base/streams.h"
#include "lab/numpy_draw.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PI 3.14159265358979323846

size_t rf_split_known(size_t classes, double ratio)
{
    double exact = (double)classes * ratio, below = floor(exact), rest = exact - below;
    bool up = rest > 0.5 || (rest == 0.5 && fmod(below, 2.0) != 0.0);
    size_t n = (size_t)below + (up ? 1 : 0);
    if (n > classes)
        n = classes;
    return n ? n : 1;
}

size_t rf_split_uneven_rows(const rf_split_options *o, size_t k)
{
    rf_rng rng = rf_rng_open(rf_stream_key(o->seed, RF_STREAM_LAB_UNEVEN_ROWS, k, 0));
    /* Box and Muller; the first uniform is above 0 */
    double u = (double)((rf_rng_next(&rng) >> 11) + 1) * 0x1p-53;
    double v = (double)(rf_rng_next(&rng) >> 11) * 0x1p-53;
    double normal = sqrt(-2.0 * log(u)) * cos(2.0 * PI * v);
    double rows = round(exp(log(o->rows_median) + o->rows_spread * normal));
    return (size_t)fmin(fmax(rows, RF_SPLIT_MIN_ROWS), RF_SPLIT_MAX_ROWS);
}

void rf_split_release(rf_split *split)
{
    rf_split_rows *parts[] = {&split->train, &split->dev, &split->test};
    for (size_t i = 0; i < 3; i++) {
        free(parts[i]->row);
        free(parts[i]->class_index);
    }
    free(split->drawn);
    free(split->label);
    *split = (rf_split){0};
}

static rf_status check_options(const rf_split_options *o, size_t classes, rf_error *err)
{
    if (o->seed > UINT32_MAX)
        return rf_fail(err, RF_ERR_ARG, 0, "seed %llu: wanted at most %lu",
                       (unsigned long long)o->seed, (unsigned long)UINT32_MAX);
    if (o->n_classes > classes)
        return rf_fail(err, RF_ERR_ARG, 0,
                       "%zu known %s wanted, but the training data has %zu", o->n_classes,
                       rf_plural(o->n_classes, "class", "classes"), classes);
    if (o->n_classes == 0 && !(o->ratio > 0.0 && o->ratio <= 1.0))
        return rf_fail(err, RF_ERR_ARG, 0,
                       "share of known classes %g: wanted above 0 and at most 1",
                       o->ratio);
    if (o->rows_median != 0.0 && !(o->rows_median >= 1.0 && o->rows_spread >= 0.0 &&
                                   isfinite(o->rows_median * o->rows_spread)))
        return rf_fail(err, RF_ERR_ARG, 0,
                       "lognormal rows with median %g and spread %g: wanted a median of "
                       "at least 1 and a spread of at least 0",
                       o->rows_median, o->rows_spread);
    return classes ? RF_OK : rf_fail(err, RF_ERR_ARG, 0, "the training data has no rows");
}

static void hash_names(rf_split *split)
{
    unsigned char digest[RF_SHA256_SIZE];
    rf_sha256 h;
    rf_sha256_init(&h);
    for (size_t i = 0; i < split->classes; i++) {
        if (i)
            rf_sha256_add(&h, "\n", 1);
        rf_sha256_add(&h, split->drawn[i], strlen(split->drawn[i]));
    }
    rf_sha256_end(&h, digest);
    rf_sha256_text(split->classes_sha256, digest);
}

/* Draws the known classes. index[k] becomes the known index of the training file's class
 * k, or split->classes if it is not known; order is scratch of the same length. */
static rf_status draw_classes(rf_split *split, const rf_dataset *train,
                              const rf_split_options *o, uint32_t *order, uint32_t *index,
                              rf_error *err)
{
    size_t all = rf_dataset_classes(train);
    size_t n = o->n_classes ? o->n_classes : rf_split_known(all, o->ratio);
    split->classes = n;
    split->drawn = calloc(n, sizeof *split->drawn);
    split->label = calloc(n, sizeof *split->label);
    if (!split->drawn || !split->label)
        return rf_fail_nomem(err, n * sizeof *split->drawn, "names of classes");
    rf_numpy_permutation(order, all, (uint32_t)o->seed);
    for (size_t k = 0; k < all; k++)
        index[k] = (uint32_t)n;
    for (size_t i = 0; i < n; i++) {
        split->drawn[i] = rf_dataset_label(train, order[i], NULL);
        index[order[i]] = 0; /* known; numbered below */
    }
    uint32_t next = 0; /* the classes of a dataset are in byte order already */
    for (size_t k = 0; k < all; k++)
        if (index[k] == 0) {
            split->label[next] = rf_dataset_label(train, k, NULL);
            index[k] = next++;
        }
    hash_names(split);
    return RF_OK;
}

static rf_status rows_new(rf_split_rows *rows, size_t capacity, rf_error *err)
{
    rows->row = calloc(capacity ? capacity : 1, sizeof *rows->row);
    rows->class_index = calloc(capacity ? capacity : 1, sizeof *rows->class_index);
    return rows->row && rows->class_index
               ? RF_OK
               : rf_fail_nomem(err, capacity * sizeof *rows->row, "rows of a split");
}

static void rows_add(rf_split_rows *rows, size_t row, uint32_t class_index)
{
    rows->row[rows->n] = (uint32_t)row;
    rows->class_index[rows->n++] = class_index;
}

/* Rows of dev or test. Both lists of labels are in byte order, so one merge pass matches
 * the classes of data with the known ones. */
static rf_status take_rows(const rf_split *split, rf_split_rows *rows,
                           const rf_dataset *data, bool with_open, rf_error *err)
{
    size_t classes = rf_dataset_classes(data), all = rf_dataset_rows(data), known = 0;
    rf_status st = rows_new(rows, all, err);
    if (st != RF_OK)
        return st;
    uint32_t *index = calloc(classes ? classes : 1, sizeof *index);
    if (!index)
        return rf_fail_nomem(err, classes * sizeof *index, "classes of a split");
    for (size_t k = 0; k < classes; k++) {
        const char *name = rf_dataset_label(data, k, NULL);
        while (known < split->classes && strcmp(split->label[known], name) < 0)
            known++;
        bool same = known < split->classes && strcmp(split->label[known], name) == 0;
        index[k] = (uint32_t)(same ? known : split->classes);
    }
    for (size_t i = 0; i < all; i++) {
        uint32_t k = index[rf_dataset_class(data, i)];
        if (with_open || k < split->classes)
            rows_add(rows, i, k);
    }
    free(index);
    return RF_OK;
}

/* Clears keep[row] for all but `max` random rows of a class, which are in of_class[0..n).
 */
static void keep_few(unsigned char *keep, uint32_t *of_class, size_t n, size_t max,
                     uint64_t key)
{
    rf_rng rng = rf_rng_open(key);
    rf_rng_shuffle(&rng, of_class, n);
    for (size_t i = max; i < n; i++)
        keep[of_class[i]] = 0;
}

/* Sets keep[row] for the training rows that stay. scratch has room for all rows. The
 * random stream is named by the file's class number, so the choice does not depend on the
 * other known classes. */
static void choose_rows(unsigned char *keep, uint32_t *scratch, const rf_dataset *train,
                        const uint32_t *index, const rf_split *split,
                        const rf_split_options *o, size_t *start)
{
    size_t all = rf_dataset_rows(train), classes = rf_dataset_classes(train);
    for (size_t i = 0; i < all; i++)
        keep[i] = index[rf_dataset_class(train, i)] < split->classes;
    if (o->rows_per_class == 0 && !(o->rows_median > 0.0))
        return;
    for (size_t k = 0, at = 0; k < classes; k++) {
        size_t rows = 0;
        (void)rf_dataset_label(train, k, &rows);
        start[k] = at;
        at += rows;
    }
    for (size_t i = 0; i < all; i++) /* rows by class; start[k] ends up at its end */
        scratch[start[rf_dataset_class(train, i)]++] = (uint32_t)i;
    for (size_t k = 0, from = 0; k < classes; from = start[k++]) {
        if (index[k] == split->classes)
            continue;
        size_t max =
            o->rows_median > 0.0 ? rf_split_uneven_rows(o, k) : o->rows_per_class;
        keep_few(keep, scratch + from, start[k] - from, max,
                 rf_stream_key(o->seed, RF_STREAM_LAB_FEW_ROWS, k, 0));
    }
}

static rf_status take_train(rf_split *split, const rf_dataset *train,
                            const rf_split_options *o, const uint32_t *index,
                            rf_error *err)
{
    size_t all = rf_dataset_rows(train), classes = rf_dataset_classes(train);
    rf_status st = rows_new(&split->train, all, err);
    if (st != RF_OK)
        return st;
    unsigned char *keep = calloc(all ? all : 1, 1);
    uint32_t *scratch = calloc(all, sizeof *scratch);
    size_t *start = calloc(classes, sizeof *start);
    if (keep && scratch && start) {
        choose_rows(keep, scratch, train, index, split, o, start);
        for (size_t i = 0; i < all; i++)
            if (keep[i])
                rows_add(&split->train, i, index[rf_dataset_class(train, i)]);
    } else {
        st = rf_fail_nomem(err, all * sizeof *scratch, "rows of a split");
    }
    free(keep);
    free(scratch);
    free(start);
    return st;
}

rf_status rf_split_make(rf_split *split, const rf_dataset *train, const rf_dataset *dev,
                        const rf_dataset *test, const rf_split_options *options,
                        rf_error *err)
{
    *split = (rf_split){0};
    size_t classes = rf_dataset_classes(train);
    rf_status st = check_options(options, classes, err);
    if (st != RF_OK)
        return st;
    if (options->rows_median > 0.0)
        snprintf(split->draw, sizeof split->draw, "lognormal:%.17g:%.17g",
                 options->rows_median, options->rows_spread);
    uint32_t *order = calloc(classes, sizeof *order);
    uint32_t *index = calloc(classes, sizeof *index);
    if (!order || !index)
        st = rf_fail_nomem(err, classes * sizeof *index, "classes of a split");
    if (st == RF_OK)
        st = draw_classes(split, train, options, order, index, err);
    if (st == RF_OK)
        st = take_train(split, train, options, index, err);
    if (st == RF_OK && dev && !(options->rows_median > 0.0))
        st = take_rows(split, &split->dev, dev, false, err);
    if (st == RF_OK)
        st = take_rows(split, &split->test, test, true, err);
    free(order);
    free(index);
    if (st != RF_OK)
        rf_split_release(split);
    return st;
}
