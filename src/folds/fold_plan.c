/*
 * fold_plan.c - which fold hides which classes and holds out which rows
 *
 * Texts that people collect are often alike: variants of one sentence, answers to one
 * question. A row whose near copies stay in the training is answered too well, and the
 * texts of real users, who do not know that sentence, fare worse. So the rows of a class
 * are put into a chain, each followed by the nearest one that is left, and a fold holds
 * out a piece of the chain.
 */
#include "folds/fold_plan.h"

#include "base/memory.h"
#include "base/rng.h"
#include "base/streams.h"
#include "num/vectors.h"

#include <stdlib.h>
#include <string.h>

/* Attempts to draw a second partition that differs from the first. */
#define MAX_DRAWS 50
/* A cross-fit uses at most so many rows of a class, and trains shorter: it must cost less
 * than the training itself. */
#define CROSS_ROWS 125
#define CROSS_EFFORT 0.34
#define ROW_ALWAYS 254 /* held out by no fold */

/* ---- Classes ----------------------------------------------------------------------- */

/* part_of[c]: which of n folds hides class c. */
static void draw_partition(uint32_t *part_of, uint32_t *order, size_t classes, size_t n,
                           uint64_t key)
{
    rf_rng rng = rf_rng_open(key);
    for (size_t i = 0; i < classes; i++)
        order[i] = (uint32_t)i;
    rf_rng_shuffle(&rng, order, classes);
    for (size_t i = 0; i < classes; i++)
        part_of[order[i]] = (uint32_t)(i % n);
}

/* Whether both group the same classes together. */
static bool same_partition(const uint32_t *a, const uint32_t *b, size_t classes)
{
    for (size_t i = 0; i < classes; i++)
        for (size_t j = 0; j < i; j++)
            if ((a[i] == a[j]) != (b[i] == b[j]))
                return false;
    return true;
}

static void add_partition(rf_fold_plan *p, const uint32_t *part_of, size_t n)
{
    for (size_t i = 0; i < n; i++, p->folds++)
        for (size_t c = 0; c < p->classes; c++)
            p->hidden[p->folds * p->classes + c] = part_of[c] == i;
}

rf_status rf_fold_plan_make(rf_fold_plan *p, size_t classes, rf_tune_effort effort,
                            uint64_t seed, rf_error *err)
{
    *p = (rf_fold_plan){.classes = classes};
    if (classes < RF_FOLDS_OF_A_PARTITION)
        return rf_fail(err, RF_ERR_ARG, 0, "%zu classes, wanted at least %d", classes,
                       RF_FOLDS_OF_A_PARTITION);
    uint32_t *first = calloc(3 * classes, sizeof *first);
    uint32_t *other = first ? first + classes : NULL;
    uint32_t *order = first ? other + classes : NULL;
    p->hidden = calloc(RF_MAX_FOLDS * classes, sizeof *p->hidden);
    if (!first || !p->hidden) {
        free(first);
        rf_fold_plan_release(p);
        return rf_fail_nomem(err, RF_MAX_FOLDS * classes, "the folds");
    }
    draw_partition(first, order, classes, RF_FOLDS_OF_A_PARTITION,
                   rf_stream_key(seed, RF_STREAM_FOLDS, 0, 0));
    add_partition(p, first, RF_FOLDS_OF_A_PARTITION);
    for (size_t i = 0; effort == RF_TUNE_THOROUGH && i < MAX_DRAWS; i++) {
        draw_partition(other, order, classes, RF_FOLDS_OF_A_PARTITION,
                       rf_stream_key(seed, RF_STREAM_FOLDS, 1, i));
        if (same_partition(first, other, classes))
            continue;
        add_partition(p, other, RF_FOLDS_OF_A_PARTITION);
        break;
    }
    free(first);
    return RF_OK;
}

/* ---- Rows -------------------------------------------------------------------------- */

/* Deals the training rows of each class, in random order, to the folds. */
static rf_status deal_rows(rf_fold_plan *p, const rf_training *t, rf_error *err)
{
    size_t n = t->train.n - t->train.n_open, classes = p->classes;
    uint32_t *order = calloc(n + classes + 1, sizeof *order);
    uint32_t *rows = order ? order + n : NULL; /* [classes] of the class so far */
    p->row_fold = malloc(t->train.n + 1);
    if (!order || !p->row_fold) {
        free(order);
        return rf_fail_nomem(err, n * sizeof *order, "the folds");
    }
    rf_rng rng = rf_rng_open(rf_stream_key(t->o.seed, RF_STREAM_FOLDS, 2, 0));
    for (size_t i = 0; i < n; i++)
        order[i] = (uint32_t)i;
    rf_rng_shuffle(&rng, order, n);
    for (size_t i = 0; i < n; i++) {
        uint32_t c = t->train.class_of[order[i]], number = rows[c]++;
        p->row_fold[order[i]] = number < CROSS_ROWS ? (uint8_t)((number + c) % p->folds)
                                                    : (uint8_t)RF_ROW_UNUSED;
    }
    for (size_t i = 0; i < n; i++)
        if (rows[t->train.class_of[i]] == 1)
            p->row_fold[i] = ROW_ALWAYS;
    for (size_t i = n; i < t->train.n; i++) /* open texts are in random order */
        p->row_fold[i] = (uint8_t)(i % p->folds);
    free(order);
    return RF_OK;
}

rf_status rf_fold_plan_cross(rf_fold_plan *p, const rf_training *t, rf_error *err)
{
    size_t classes = t->model->classes;
    size_t folds = classes < RF_CROSS_FOLDS ? classes : RF_CROSS_FOLDS;
    *p = (rf_fold_plan){.classes = classes, .effort = CROSS_EFFORT};
    uint32_t *part_of = calloc(2 * classes + 1, sizeof *part_of);
    p->hidden = calloc(folds * classes + 1, sizeof *p->hidden);
    rf_status st =
        part_of && p->hidden ? RF_OK : rf_fail_nomem(err, folds * classes, "the folds");
    if (st == RF_OK) {
        draw_partition(part_of, part_of + classes, classes, folds,
                       rf_stream_key(t->o.seed, RF_STREAM_FOLDS, 3, 0));
        add_partition(p, part_of, folds);
        st = deal_rows(p, t, err);
    }
    free(part_of);
    if (st != RF_OK)
        rf_fold_plan_release(p);
    return st;
}

/* Puts n rows z, of unit length, into a chain: the first, then each time the nearest one
 * that is left. chain [n] holds their numbers on entry and in that order on exit. */
static void make_chain(uint32_t *chain, const float *z, size_t n, size_t width)
{
    for (size_t at = 0; at + 2 < n; at++) {
        size_t nearest = at + 1;
        double shortest = 0.0;
        for (size_t i = at + 1; i < n; i++) {
            double far = rf_distance(z + chain[at] * width, z + chain[i] * width, width);
            if (i == at + 1 || far < shortest) {
                shortest = far;
                nearest = i;
            }
        }
        uint32_t row = chain[nearest];
        memmove(chain + at + 2, chain + at + 1, (nearest - at - 1) * sizeof *chain);
        chain[at + 1] = row;
    }
}

/* Deals n rows of class c: as many pieces of a chain as there are folds. */
static rf_status deal_pieces(rf_fold_plan *p, const rf_training *t, const uint32_t *rows,
                             size_t n, size_t c, float *z, rf_error *err)
{
    uint32_t chain[CROSS_ROWS];
    size_t width = t->train.a.width;
    rf_status st = rf_activations_features_of(&t->train.a, t->model->encoder, rows, n, z,
                                              t->team, err);
    if (st != RF_OK)
        return st;
    rf_rows_normalise(z, z, n, width);
    for (size_t i = 0; i < n; i++)
        chain[i] = (uint32_t)i;
    make_chain(chain, z, n, width);
    for (size_t i = 0; i < n; i++) {
        size_t piece = n > p->folds ? i * p->folds / n : i;
        p->row_fold[rows[chain[i]]] = (uint8_t)((piece + c) % p->folds);
    }
    return RF_OK;
}

rf_status rf_fold_plan_chain(rf_fold_plan *p, const rf_training *t, rf_error *err)
{
    size_t n = t->train.n - t->train.n_open, classes = p->classes;
    size_t most = classes * CROSS_ROWS;
    uint32_t *rows = calloc(most + 1, sizeof *rows); /* [classes, CROSS_ROWS] */
    size_t *count = calloc(classes + 1, sizeof *count);
    float *z = rf_floats_new(CROSS_ROWS * t->train.a.width);
    rf_status st =
        rows && count && z ? RF_OK : rf_fail_nomem(err, most * sizeof *rows, "the folds");
    for (size_t i = 0; i < n && st == RF_OK; i++)
        if (p->row_fold[i] < p->folds) {
            size_t c = t->train.class_of[i];
            rows[c * CROSS_ROWS + count[c]++] = (uint32_t)i;
        }
    for (size_t c = 0; c < classes && st == RF_OK; c++)
        if (count[c] > 2)
            st = deal_pieces(p, t, rows + c * CROSS_ROWS, count[c], c, z, err);
    free(rows);
    free(count);
    free(z);
    return st;
}

void rf_fold_plan_release(rf_fold_plan *p)
{
    free(p->row_fold);
    free(p->hidden);
    *p = (rf_fold_plan){0};
}
