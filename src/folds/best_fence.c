/*
 * best_fence.c - the offset at which answers to texts with known labels are best
 *
 * The offsets tried are quantiles of the margins. The curve over them is smoothed, as its
 * highest point is partly luck.
 *
 * Of held-out and hidden texts every one counts 1 / sqrt(texts of its class): a class of
 * many texts weighs more than one of few, but not as much as its share. Open texts
 * together have the share that is expected in use; of it, n open texts that came with the
 * training data have n / (n + GIVEN_ROWS), and the texts of hidden classes the rest.
 *
 * New texts of a class are less like its training texts than held-out ones are, and the
 * more so the fewer there are: the few that somebody thought of are often variants of one
 * another. So the margins of held-out texts move towards the mean of the hidden ones, by
 * up to SHIFT of the way, half of that with SHIFT_ROWS held-out texts per class.
 */
#include "folds/cross_fit.h"

#include "base/memory.h"
#include "num/vectors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define GIVEN_ROWS 50.0
#define SHIFT 0.25
#define SHIFT_ROWS 24.0
#define OFFSETS 199   /* tried: quantiles of the margins */
#define SMOOTH_SD 8.0 /* in offsets */
#define SMOOTH_REACH 24

/* Outcomes with their weights. */
typedef struct answers {
    size_t n, classes;
    const rf_outcome **row;                /* [n] */
    float *margin;                         /* [n] that decides */
    double *weight;                        /* [n] all together 1 */
    double *support, *predicted, *correct; /* [classes + 1] open last */
} answers;

static void release_answers(answers *a)
{
    free(a->row);
    free(a->margin);
    free(a->weight);
    free(a->support);
}

static size_t truth_of(const answers *a, size_t i)
{
    return a->row[i]->hidden ? a->classes : a->row[i]->truth;
}

/* Room for n of them. Whatever it returns, the caller releases. */
static rf_status make_room(answers *a, size_t n, size_t classes, rf_error *err)
{
    *a = (answers){.classes = classes};
    a->row = calloc(n + 1, sizeof *a->row);
    a->margin = rf_floats_new(n + 1);
    a->weight = calloc(n + 1, sizeof *a->weight);
    a->support = calloc(3 * (classes + 1), sizeof *a->support);
    if (!a->row || !a->margin || !a->weight || !a->support)
        return rf_fail_nomem(err, n * sizeof *a->row, "the outcomes");
    a->predicted = a->support + classes + 1;
    a->correct = a->predicted + classes + 1;
    return RF_OK;
}

/* Moves the margins of held-out texts; the first n answers are theirs and those of hidden
 * texts. */
static void shift_known(answers *a, size_t n, const size_t *count)
{
    double known = 0.0, hidden = 0.0, mean = 0.0, classes = 0.0;
    for (size_t c = 0; c < a->classes; c++) {
        known += (double)count[2 * c];
        classes += count[2 * c] > 0;
    }
    for (size_t i = 0; i < n; i++)
        if (a->row[i]->hidden) {
            mean += (double)a->margin[i];
            hidden++;
        }
    if (!(hidden > 0.0) || !(classes > 0.0))
        return;
    mean /= hidden;
    double shift = SHIFT * SHIFT_ROWS / (SHIFT_ROWS + known / classes);
    for (size_t i = 0; i < n; i++)
        if (!a->row[i]->hidden)
            a->margin[i] -= (float)(shift * ((double)a->margin[i] - mean));
}

/* The outcomes of folds. Whatever it returns, the caller releases. */
static rf_status take_answers(answers *a, const rf_outcomes *folds, size_t n_folds,
                              size_t classes, double open_share, rf_error *err)
{
    size_t n = 0, *count = calloc(2 * classes, sizeof *count);
    for (size_t f = 0; f < n_folds; f++)
        n += folds[f].n + folds[f].n_given;
    rf_status st = make_room(a, n, classes, err);
    if (st == RF_OK && !count)
        st = rf_fail_nomem(err, 2 * classes * sizeof *count, "the classes");
    if (st != RF_OK) {
        free(count);
        return st;
    }
    for (size_t f = 0; f < n_folds; f++)
        for (size_t i = 0; i < folds[f].n; i++)
            if (isfinite(folds[f].row[i].margin[0])) {
                a->row[a->n] = &folds[f].row[i];
                a->margin[a->n] = folds[f].row[i].margin[0];
                count[2 * a->row[a->n]->truth + a->row[a->n]->hidden]++;
                a->n++;
            }
    double sum[2] = {0.0, 0.0};
    for (size_t i = 0; i < a->n; i++) {
        const rf_outcome *row = a->row[i];
        a->weight[i] = 1.0 / sqrt((double)count[2 * row->truth + row->hidden]);
        sum[row->hidden] += a->weight[i];
    }
    size_t drawn = a->n;
    shift_known(a, drawn, count);
    for (size_t f = 0; f < n_folds; f++)
        for (size_t i = 0; i < folds[f].n_given; i++)
            if (isfinite(folds[f].given[i].margin[0])) {
                a->margin[a->n] = folds[f].given[i].margin[0];
                a->row[a->n++] = &folds[f].given[i];
            }
    double given = (double)(a->n - drawn), of_given = given / (given + GIVEN_ROWS);
    for (size_t i = 0; i < a->n; i++) {
        bool hidden = a->row[i]->hidden;
        if (i >= drawn)
            a->weight[i] = open_share * of_given / given;
        else
            a->weight[i] *=
                (hidden ? open_share * (1.0 - of_given) : 1.0 - open_share) / sum[hidden];
        a->support[truth_of(a, i)] += a->weight[i];
    }
    free(count);
    return RF_OK;
}

/* F1 and accuracy, weighed by f1_share and its rest, in per cent, if margins below
 * `fence` are open. */
static double value_at(const answers *a, double f1_share, float fence)
{
    double f1 = 0.0, right = 0.0;
    size_t present = 0;
    memset(a->predicted, 0, 2 * (a->classes + 1) * sizeof *a->predicted);
    for (size_t i = 0; i < a->n; i++) {
        size_t truth = truth_of(a, i);
        size_t answer = a->margin[i] >= fence ? a->row[i]->head[0] : a->classes;
        a->predicted[answer] += a->weight[i];
        if (answer == truth)
            a->correct[truth] += a->weight[i];
    }
    for (size_t c = 0; c <= a->classes; c++) {
        if (!(a->support[c] > 0.0))
            continue;
        f1 += 2.0 * a->correct[c] / (a->support[c] + a->predicted[c]);
        right += a->correct[c];
        present++;
    }
    if (present == 0)
        return 0.0;
    return 100.0 * (f1_share * (f1 / (double)present) + (1.0 - f1_share) * right);
}

static double smoothed(const double *values, size_t at)
{
    double sum = 0.0, weights = 0.0;
    for (int k = -SMOOTH_REACH; k <= SMOOTH_REACH; k++) {
        long i = (long)at + k;
        i = i < 0 ? 0 : i >= OFFSETS ? OFFSETS - 1 : i; /* the ends go on */
        double w = exp(-0.5 * k * k / (SMOOTH_SD * SMOOTH_SD));
        sum += w * values[i];
        weights += w;
    }
    return sum / weights;
}

static rf_status find_best(const answers *a, double f1_share, float *offset,
                           double *value, rf_error *err)
{
    double values[OFFSETS], fences[OFFSETS], best = -1.0;
    double *margins = calloc(a->n + 1, sizeof *margins);
    if (!margins)
        return rf_fail_nomem(err, a->n * sizeof *margins, "the outcomes");
    for (size_t i = 0; i < a->n; i++)
        margins[i] = (double)a->margin[i];
    for (size_t i = 0; i < OFFSETS && a->n > 0; i++) {
        fences[i] = rf_quantile(margins, a->n, (double)(i + 1) / (OFFSETS + 1));
        values[i] = value_at(a, f1_share, (float)fences[i]);
    }
    for (size_t i = 0; i < OFFSETS && a->n > 0; i++) {
        double v = smoothed(values, i);
        if (v > best) {
            best = v;
            *offset = (float)-fences[i];
        }
    }
    if (value)
        *value = best;
    free(margins);
    return RF_OK;
}

rf_status rf_best_fence(const rf_outcomes *folds, size_t n_folds, size_t classes,
                        double open_share, float *offset, double *value, rf_error *err)
{
    answers a;
    *offset = 0.0f;
    rf_status st = take_answers(&a, folds, n_folds, classes, open_share, err);
    if (st == RF_OK)
        st = find_best(&a, 0.0, offset, value, err);
    release_answers(&a);
    return st;
}

rf_status rf_best_fence_of_rows(const rf_outcome *const *rows, size_t n, size_t classes,
                                double f1_share, float *offset, rf_error *err)
{
    answers a;
    *offset = 0.0f;
    rf_status st = make_room(&a, n, classes, err);
    for (size_t i = 0; i < n && st == RF_OK; i++) {
        a.row[i] = rows[i];
        a.margin[i] = rows[i]->margin[0];
        a.weight[i] = 1.0 / (double)n;
        a.n = i + 1;
        a.support[truth_of(&a, i)] += a.weight[i];
    }
    if (st == RF_OK)
        st = find_best(&a, f1_share, offset, NULL, err);
    release_answers(&a);
    return st;
}
