/*
 * prior_fit.c - fit the prior to the training rows, in closed form
 *
 *   u = row of unit length       whitened by the covariance within the classes, of unit
 *   length again                 rotated to the axes of the covariance between the
 * classes
 *
 * In that space a class is its mean plus noise of variance `noise` in every direction,
 * and the mean of a class never seen has variance between[j] along axis j. From n texts
 * of a class follow the mean and variance of a new one; the score is the log of its
 * likelihood over that of a text of a new class. Then every training row, left out of its
 * own class, says how far the parts of the score reach.
 */
#include "ans/prior_parts.h"

#include "base/memory.h"
#include "num/covariance.h"
#include "num/eigen.h"
#include "num/panels.h"
#include "num/vectors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Chosen on draws that no result uses (docs/design/few-rows.md). */
#define SHRINKAGE 0.6       /* of the covariance within the classes */
#define ROUND_CLASSES 100.0 /* with few classes the covariance between them is round */
#define LEAST_BETWEEN 0.05  /* variance between classes, by that within */
#define TEXTS_ROWS 15.0     /* rows per class at which single texts have half a say */

#define KEPT_TEXTS 50       /* per class, for their part of the score */
#define MEASURED_ROWS 2000  /* left out of their class, to scale the parts */
#define ROTATED_AT_ONCE 256 /* rows of a work item */
#define MEASURED_AT_ONCE 16
/* If every class has one text, none can be left out: a new text of a class is taken to be
 * this much as near as the text itself. */
#define SELF_GAP 0.5
#define NOT_KEPT SIZE_MAX

/* Smallest distances between a text's class and the others that a part is scaled by. */
#define LEAST_GAP_PLACE 0.1
#define LEAST_GAP_TEXTS 0.5
#define LEAST_GAP_MEAN 0.02

typedef struct fit {
    const rf_fit *in;
    rf_method_state *state;
    size_t first;    /* of the state's arrays */
    size_t n, d, k;  /* rows, width, classes */
    float *unit;     /* [n, d] */
    float *rotated;  /* [n, d] */
    double *raw_sum; /* [k, d] sums of unit by class */
    double *mean;    /* [k, d] of rotated */
    double *centre;  /* [d] mean of `mean` */
    double *between; /* [d] */
    double noise;
    rf_error *err;
} fit;

static float *array_of(const fit *f, size_t which)
{
    return rf_prior_array(f->state, f->first, which);
}

/* ---- The space --------------------------------------------------------------------- */

/* Sums of rows x [n, d] by class, in row order. */
static void sum_classes(const fit *f, const float *x, double *sums)
{
    memset(sums, 0, f->k * f->d * sizeof *sums);
    for (size_t i = 0; i < f->n; i++) {
        double *sum = sums + f->in->class_of[i] * f->d;
        for (size_t j = 0; j < f->d; j++)
            sum[j] += (double)x[i * f->d + j];
    }
}

static double rows_of(const fit *f, size_t c)
{
    return (double)f->in->stats->rows[c];
}

/* Fills `whiten` [d, d] and the state's centre. */
static rf_status whiten_rows(fit *f, float *whiten)
{
    size_t n = f->n, d = f->d;
    double shrinkage = SHRINKAGE;
    float *centre = array_of(f, RF_PRIOR_CENTRE), *x = f->rotated; /* free until then */
    sum_classes(f, f->unit, f->raw_sum);
    for (size_t j = 0; j < d; j++) {
        double sum = 0.0;
        for (size_t c = 0; c < f->k; c++)
            sum += f->raw_sum[c * d + j];
        centre[j] = (float)(sum / (double)n);
    }
    for (size_t i = 0; i < n; i++) {
        size_t c = f->in->class_of[i];
        for (size_t j = 0; j < d; j++)
            x[i * d + j] = (float)((double)f->unit[i * d + j] -
                                   f->raw_sum[c * d + j] / rows_of(f, c));
    }
    return rf_whitening(whiten, x, n, d, &shrinkage, f->in->team, f->err);
}

typedef struct rotation {
    const fit *f;
    const float *panels;
    float *scratch; /* [threads][ROTATED_AT_ONCE, d] */
} rotation;

static void rotate_some(void *arg, size_t member, size_t members)
{
    const rotation *r = arg;
    const fit *f = r->f;
    float *scratch = r->scratch + member * ROTATED_AT_ONCE * f->d;
    for (size_t i = member * ROTATED_AT_ONCE; i < f->n; i += members * ROTATED_AT_ONCE) {
        size_t n = f->n - i < ROTATED_AT_ONCE ? f->n - i : ROTATED_AT_ONCE;
        rf_prior_rotate(r->panels, array_of(f, RF_PRIOR_CENTRE), f->unit + i * f->d, n,
                        f->d, f->rotated + i * f->d, scratch);
    }
}

/* rotated = unit(matrix (unit - centre)) */
static rf_status rotate_all(fit *f, const float *matrix)
{
    size_t panels = rf_panels_floats(f->d, f->d);
    size_t scratch = rf_team_size(f->in->team) * ROTATED_AT_ONCE * f->d;
    float *block = rf_floats_new(panels + scratch);
    if (!block)
        return rf_fail_nomem(f->err, (panels + scratch) * sizeof *block, "the prior");
    rf_panels_pack(block, matrix, f->d, f->d);
    rotation r = {f, block, block + panels};
    rf_team_run(f->in->team, rotate_some, &r);
    free(block);
    return RF_OK;
}

/* The classes' means, their mean, and the variance of rows about their class's mean. */
static void measure_classes(fit *f)
{
    double square = 0.0, spread = 0.0;
    size_t d = f->d;
    sum_classes(f, f->rotated, f->mean);
    memset(f->centre, 0, d * sizeof *f->centre);
    for (size_t c = 0; c < f->k; c++)
        for (size_t j = 0; j < d; j++) {
            f->mean[c * d + j] /= rows_of(f, c);
            f->centre[j] += f->mean[c * d + j] / (double)f->k;
        }
    for (size_t i = 0; i < f->n; i++) {
        const double *mean = f->mean + f->in->class_of[i] * d;
        for (size_t j = 0; j < d; j++) {
            double away = (double)f->rotated[i * d + j] - mean[j];
            square += away * away;
        }
    }
    for (size_t c = 0; c < f->k; c++)
        for (size_t j = 0; j < d; j++) {
            double away = f->mean[c * d + j] - f->centre[j];
            spread += away * away;
        }
    double free_rows = (double)(f->n - f->k), classes = (double)(f->k > 1 ? f->k - 1 : 1);
    f->noise = free_rows > 0.0 ? square / free_rows / (double)d : 0.0;
    if (!(f->noise > 1e-6)) /* one text per class, or copies: half of what there is */
        f->noise = 0.5 * (spread / classes > 1e-3 ? spread / classes : 1.0) / (double)d;
}

/* The covariance of the class means [d, d], lower triangle. */
static void between_classes(const fit *f, double *s)
{
    size_t d = f->d;
    double classes = (double)(f->k > 1 ? f->k - 1 : 1);
    memset(s, 0, d * d * sizeof *s);
    for (size_t c = 0; c < f->k; c++)
        for (size_t i = 0; i < d; i++) {
            double a = (f->mean[c * d + i] - f->centre[i]) / classes;
            for (size_t j = 0; j <= i; j++)
                s[i * d + j] += a * (f->mean[c * d + j] - f->centre[j]);
        }
}

/* Turns the eigenvalues of the means' covariance, which includes the noise of the means,
 * into the variances between classes: shrunk towards one variance for all axes. */
static void variances_between(fit *f)
{
    double trace = 0.0, one_by_rows = 0.0, sum = 0.0, d = (double)f->d;
    for (size_t c = 0; c < f->k; c++)
        one_by_rows += 1.0 / rows_of(f, c) / (double)f->k;
    double of_means = f->noise * one_by_rows;
    for (size_t j = 0; j < f->d; j++) {
        trace += f->between[j];
        f->between[j] = f->between[j] > of_means ? f->between[j] - of_means : 0.0;
        sum += f->between[j];
    }
    double least = LEAST_BETWEEN * f->noise, mean = trace / d - of_means;
    mean = f->k == 1 ? f->noise : mean > least ? mean : least;
    double share = ROUND_CLASSES / (ROUND_CLASSES + (double)f->k);
    for (size_t j = 0; j < f->d; j++)
        f->between[j] =
            share * mean + (sum > 0.0 ? (1.0 - share) * mean * d / sum * f->between[j]
                                      : (1.0 - share) * mean);
}

/* The state's centre and rotate, and everything in rotated coordinates. */
static rf_status find_space(fit *f)
{
    size_t d = f->d;
    float *whiten = rf_floats_new(d * d), *rotate = array_of(f, RF_PRIOR_ROTATE);
    double *axes = calloc(d * d, sizeof *axes);
    rf_status st =
        whiten && axes ? RF_OK : rf_fail_nomem(f->err, d * d * sizeof *axes, "the prior");
    rf_rows_normalise(f->unit, f->in->z, f->n, d);
    if (st == RF_OK && (st = whiten_rows(f, whiten)) == RF_OK &&
        (st = rotate_all(f, whiten)) == RF_OK) {
        measure_classes(f);
        between_classes(f, axes);
        st = rf_eigen_symmetric(axes, f->between, d, f->err);
    }
    for (size_t i = 0; i < d && st == RF_OK; i++) { /* rotate = axes whiten */
        double *row = f->centre; /* free until the classes are measured again */
        memset(row, 0, d * sizeof *row);
        for (size_t k = 0; k < d; k++)
            for (size_t j = 0; j <= k; j++) /* whiten is lower triangular */
                row[j] += axes[i * d + k] * (double)whiten[k * d + j];
        for (size_t j = 0; j < d; j++)
            rotate[i * d + j] = (float)row[j];
    }
    free(whiten);
    free(axes);
    if (st == RF_OK)
        st = rotate_all(f, rotate);
    if (st != RF_OK)
        return st;
    measure_classes(f);
    variances_between(f);
    return RF_OK;
}

/* ---- The parts of the score -------------------------------------------------------- */

/* Coefficients of one axis for a class of n rows with this mean (less the centre). */
typedef struct axis {
    double linear, square, constant;
} axis;

static axis axis_of(const fit *f, size_t j, double n, double mean)
{
    double b = f->between[j], w = f->noise, scale = 30.0 / (double)f->d;
    double expected = n * b / (n * b + w) * mean, variance = w + b * w / (n * b + w);
    axis a = {.linear = expected / variance,
              .square = 0.5 / (w + b) - 0.5 / variance,
              .constant = 0.5 * rf_log((w + b) / variance) -
                          0.5 * expected * expected / variance};
    /* From coordinates about the centre to plain ones. */
    double g = f->centre[j];
    a.constant += g * g * a.square - g * a.linear;
    a.linear -= 2.0 * g * a.square;
    return (axis){scale * a.linear, scale * a.square, scale * a.constant};
}

static void place_classes(const fit *f)
{
    float *linear = array_of(f, RF_PRIOR_LINEAR), *square = array_of(f, RF_PRIOR_SQUARE);
    for (size_t c = 0; c < f->k; c++) {
        double constant = 0.0;
        for (size_t j = 0; j < f->d; j++) {
            size_t at = c * f->d + j;
            axis a = axis_of(f, j, rows_of(f, c), f->mean[at] - f->centre[j]);
            linear[at] = (float)a.linear;
            square[at] = (float)a.square;
            constant += a.constant;
        }
        array_of(f, RF_PRIOR_CONSTANT)[c] = (float)constant;
    }
}

static void unit_means(const fit *f)
{
    float *means = array_of(f, RF_PRIOR_MEANS);
    for (size_t i = 0; i < f->k * f->d; i++)
        means[i] = (float)f->raw_sum[i];
    rf_rows_normalise(means, means, f->k, f->d);
}

/* Kept texts: all of a class, or some evenly spaced ones. text_of[i]: row i among them,
 * or NOT_KEPT. */
static rf_status keep_texts(const fit *f, size_t *text_of)
{
    float *counts = array_of(f, RF_PRIOR_COUNTS);
    size_t all = 0;
    for (size_t c = 0; c < f->k; c++) {
        size_t rows = f->in->stats->rows[c];
        counts[c] = (float)(rows < KEPT_TEXTS ? rows : KEPT_TEXTS);
        all += rows < KEPT_TEXTS ? rows : KEPT_TEXTS;
    }
    rf_status st =
        rf_method_state_room(f->state, f->first + RF_PRIOR_TEXTS, all, f->d, f->err);
    size_t *at = calloc(2 * f->k + 1, sizeof *at), *seen = at ? at + f->k : NULL;
    if (st == RF_OK && !at)
        st = rf_fail_nomem(f->err, f->k * sizeof *at, "the prior");
    for (size_t c = 1; c < f->k && st == RF_OK; c++)
        at[c] = at[c - 1] + (size_t)counts[c - 1];
    for (size_t i = 0; i < f->n && st == RF_OK; i++) {
        size_t c = f->in->class_of[i], rows = f->in->stats->rows[c];
        size_t wanted = (size_t)counts[c], number = seen[c]++;
        text_of[i] = NOT_KEPT;
        if (number * wanted / rows == (number + 1) * wanted / rows)
            continue;
        text_of[i] = at[c]++;
        memcpy(array_of(f, RF_PRIOR_TEXTS) + text_of[i] * f->d, f->rotated + i * f->d,
               f->d * sizeof(float));
    }
    free(at);
    return st;
}

/* ---- Rows left out of their class -------------------------------------------------- */

/* The parts of the score of one row for all classes, the own class without the row. */
static double place_without(const fit *f, size_t i)
{
    size_t c = f->in->class_of[i];
    double n = rows_of(f, c) - 1.0, sum = 0.0;
    const float *t = f->rotated + i * f->d;
    for (size_t j = 0; j < f->d; j++) {
        double x = (double)t[j], mean = f->mean[c * f->d + j];
        axis a = axis_of(f, j, n, (mean * (n + 1.0) - x) / n - f->centre[j]);
        sum += a.linear * x + a.square * x * x + a.constant;
    }
    return sum;
}

static double mean_without(const fit *f, size_t i)
{
    size_t c = f->in->class_of[i];
    double dot = 0.0, square = 0.0;
    for (size_t j = 0; j < f->d; j++) {
        double u = (double)f->unit[i * f->d + j], rest = f->raw_sum[c * f->d + j] - u;
        dot += u * rest;
        square += rest * rest;
    }
    return square > 0.0 ? dot / sqrt(square) : 0.0;
}

/* One part of a row's score: its own class, and the mean of the others. */
typedef struct part {
    double own, others;
} part;

typedef struct measuring {
    const fit *f;
    const size_t *text_of;   /* of keep_texts */
    const float *texts;      /* panels of the kept texts */
    size_t n_texts, rows;    /* rows to measure, evenly spaced */
    part (*parts)[3];        /* [rows] */
    float *cosines, *picked; /* [threads][MEASURED_AT_ONCE, n_texts] and [.., width] */
    double *scores;          /* [threads][classes] */
    bool alone;              /* every class has one text */
} measuring;

static size_t measured_row(const measuring *m, size_t number)
{
    return number * m->f->n / m->rows;
}

static part part_of(const double *scores, size_t classes, size_t own, double own_score)
{
    double others = 0.0;
    for (size_t c = 0; c < classes; c++)
        others += c == own ? 0.0 : scores[c];
    return (part){own_score, classes > 1 ? others / (double)(classes - 1) : 0.0};
}

/* The three parts of a row, for all classes; similar: to the kept texts. */
static void measure_row(const measuring *m, size_t number, const float *similar,
                        double *scores)
{
    const fit *f = m->f;
    size_t i = measured_row(m, number), d = f->d, own = f->in->class_of[i], at = 0;
    const float *t = f->rotated + i * d, *u = f->unit + i * d;
    const float *linear = array_of(f, RF_PRIOR_LINEAR),
                *square = array_of(f, RF_PRIOR_SQUARE),
                *means = array_of(f, RF_PRIOR_MEANS),
                *counts = array_of(f, RF_PRIOR_COUNTS);
    part *out = m->parts[number];
    bool alone = f->in->stats->rows[own] < 2; /* nothing would be left of its class */
    if (alone && !m->alone)
        return;
    for (size_t c = 0; c < f->k; c++) {
        scores[c] = (double)array_of(f, RF_PRIOR_CONSTANT)[c];
        for (size_t j = 0; j < d; j++)
            scores[c] += (double)(t[j] * (linear[c * d + j] + t[j] * square[c * d + j]));
    }
    out[0] = part_of(scores, f->k, own, alone ? scores[own] : place_without(f, i));
    for (size_t c = 0; c < f->k; c++) {
        double sum = 0.0, n = (double)counts[c];
        for (size_t r = 0; r < (size_t)counts[c]; r++, at++)
            if (alone ||
                at != m->text_of[i]) /* subtracting it would leave its rounding */
                sum += (double)similar[at];
        if (c == own && m->text_of[i] != NOT_KEPT && n > 1.0)
            n -= 1.0;
        scores[c] = rf_log((sum + (double)RF_PRIOR_NO_SIMILARITY) / n);
    }
    out[1] = part_of(scores, f->k, own, scores[own]);
    for (size_t c = 0; c < f->k; c++) {
        scores[c] = 0.0;
        for (size_t j = 0; j < d; j++)
            scores[c] += (double)(u[j] * means[c * d + j]);
    }
    out[2] = part_of(scores, f->k, own, alone ? scores[own] : mean_without(f, i));
}

static void measure_some(void *arg, size_t member, size_t members)
{
    const measuring *m = arg;
    size_t d = m->f->d, step = MEASURED_AT_ONCE;
    float *cosines = m->cosines + member * step * m->n_texts;
    float *picked = m->picked + member * step * d;
    for (size_t from = member * step; from < m->rows; from += members * step) {
        size_t n = m->rows - from < step ? m->rows - from : step;
        for (size_t i = 0; i < n; i++)
            memcpy(picked + i * d, m->f->rotated + measured_row(m, from + i) * d,
                   d * sizeof *picked);
        rf_panels_multiply(cosines, picked, m->texts, NULL, n, m->n_texts, d);
        rf_prior_similarities(cosines, n * m->n_texts);
        for (size_t i = 0; i < n; i++)
            measure_row(m, from + i, cosines + i * m->n_texts,
                        m->scores + member * m->f->k);
    }
}

/* Fills m->parts. */
static rf_status measure_parts(measuring *m)
{
    const fit *f = m->f;
    size_t threads = rf_team_size(f->in->team), step = threads * MEASURED_AT_ONCE;
    size_t panels = rf_panels_floats(m->n_texts, f->d);
    size_t floats = panels + step * (m->n_texts + f->d);
    float *block = rf_floats_new(floats);
    m->parts = calloc(m->rows, sizeof *m->parts);
    m->scores = calloc(threads * f->k, sizeof *m->scores);
    rf_status st = block && m->parts && m->scores
                       ? RF_OK
                       : rf_fail_nomem(f->err, floats * sizeof *block, "the prior");
    if (st == RF_OK) {
        rf_panels_pack(block, array_of(f, RF_PRIOR_TEXTS), m->n_texts, f->d);
        m->texts = block;
        m->cosines = block + panels;
        m->picked = m->cosines + step * m->n_texts;
        rf_team_run(f->in->team, measure_some, m);
    }
    free(block);
    free(m->scores);
    return st;
}

/* Weights of the parts and what is subtracted, by the rows left out of their classes. */
static rf_status weigh_parts(const fit *f, const size_t *text_of)
{
    float *scale = array_of(f, RF_PRIOR_SCALE);
    static const double least[3] = {LEAST_GAP_PLACE, LEAST_GAP_TEXTS, LEAST_GAP_MEAN};
    size_t rows = f->n < MEASURED_ROWS ? f->n : MEASURED_ROWS, counted = 0;
    measuring m = {.f = f,
                   .text_of = text_of,
                   .n_texts = f->state->arrays[f->first + RF_PRIOR_TEXTS].shape[0],
                   .alone = f->n == f->k,
                   .rows = rows};
    rf_status st = measure_parts(&m);
    if (st != RF_OK) {
        free(m.parts);
        return st;
    }
    part sum[3] = {{0.0, 0.0}};
    for (size_t i = 0; i < rows; i++) {
        counted +=
            m.alone || f->in->stats->rows[f->in->class_of[measured_row(&m, i)]] > 1;
        for (size_t p = 0; p < 3; p++) {
            sum[p].own += m.parts[i][p].own;
            sum[p].others += m.parts[i][p].others;
        }
    }
    free(m.parts);
    double rows_each = (double)f->n / (double)f->k, level = 0.0, weight[3];
    double say[3] = {1.0, rows_each / (rows_each + TEXTS_ROWS), 1.0};
    for (size_t p = 0; p < 3; p++) {
        double n = (double)(counted ? counted : 1);
        double gap = (m.alone ? SELF_GAP : 1.0) * (sum[p].own - sum[p].others) / n;
        gap = gap > least[p] ? gap : least[p];
        weight[p] = (double)RF_PRIOR_UNIT * say[p] / gap / (2.0 + say[1]);
        level += weight[p] * sum[p].others / n;
        scale[RF_PRIOR_WEIGHT + p] = (float)weight[p];
    }
    scale[RF_PRIOR_LEVEL] = (float)level;
    return RF_OK;
}

static void scale_parts(const fit *f)
{
    const float *weight = array_of(f, RF_PRIOR_SCALE) + RF_PRIOR_WEIGHT;
    double level = (double)array_of(f, RF_PRIOR_SCALE)[RF_PRIOR_LEVEL];
    float *linear = array_of(f, RF_PRIOR_LINEAR), *square = array_of(f, RF_PRIOR_SQUARE),
          *means = array_of(f, RF_PRIOR_MEANS),
          *constant = array_of(f, RF_PRIOR_CONSTANT);
    for (size_t i = 0; i < f->k * f->d; i++) {
        linear[i] *= weight[0];
        square[i] *= weight[0];
        means[i] *= weight[2];
    }
    for (size_t c = 0; c < f->k; c++) {
        constant[c] = (float)((double)constant[c] * (double)weight[0] - level);
        array_of(f, RF_PRIOR_TEXTS_WEIGHT)[c] = weight[1];
        array_of(f, RF_PRIOR_FENCE)[c] = 0.0f;
    }
}

/* ---- Fitting ----------------------------------------------------------------------- */

static rf_status state_room(fit *f)
{
    const size_t shapes[RF_PRIOR_ARRAYS][2] = {
        [RF_PRIOR_CENTRE] = {f->d, 1},    [RF_PRIOR_ROTATE] = {f->d, f->d},
        [RF_PRIOR_LINEAR] = {f->k, f->d}, [RF_PRIOR_SQUARE] = {f->k, f->d},
        [RF_PRIOR_MEANS] = {f->k, f->d},  [RF_PRIOR_CONSTANT] = {f->k, 1},
        [RF_PRIOR_COUNTS] = {f->k, 1},    [RF_PRIOR_TEXTS_WEIGHT] = {f->k, 1},
        [RF_PRIOR_SPACE] = {2, f->d},     [RF_PRIOR_SCALE] = {RF_PRIOR_NUMBERS, 1},
        [RF_PRIOR_FENCE] = {f->k, 1}};
    rf_status st = RF_OK;
    for (size_t i = 0; i < RF_PRIOR_ARRAYS && st == RF_OK; i++)
        if (shapes[i][0] > 0) /* texts: later */
            st = rf_method_state_room(f->state, f->first + i, shapes[i][0], shapes[i][1],
                                      f->err);
    return st;
}

/* Writes the space down for updates. */
static void store_space(const fit *f)
{
    float *space = array_of(f, RF_PRIOR_SPACE), *scale = array_of(f, RF_PRIOR_SCALE);
    for (size_t j = 0; j < f->d; j++) {
        space[j] = (float)f->centre[j];
        space[f->d + j] = (float)f->between[j];
    }
    memset(scale, 0, RF_PRIOR_NUMBERS * sizeof *scale);
    scale[RF_PRIOR_NOISE] = (float)f->noise;
    scale[RF_PRIOR_ROWS] = (float)f->n;
}

/* Takes the space of another state instead of finding one. */
static rf_status take_space(fit *f, const rf_method_state *from)
{
    const size_t shared[] = {RF_PRIOR_CENTRE, RF_PRIOR_ROTATE, RF_PRIOR_SPACE,
                             RF_PRIOR_SCALE};
    for (size_t i = 0; i < sizeof shared / sizeof *shared; i++) {
        const size_t *shape = f->state->arrays[f->first + shared[i]].shape;
        memcpy(array_of(f, shared[i]), rf_prior_array(from, f->first, shared[i]),
               shape[0] * shape[1] * sizeof(float));
    }
    rf_rows_normalise(f->unit, f->in->z, f->n, f->d);
    sum_classes(f, f->unit, f->raw_sum);
    rf_status st = rotate_all(f, array_of(f, RF_PRIOR_ROTATE));
    if (st != RF_OK)
        return st;
    measure_classes(f);
    const float *space = array_of(f, RF_PRIOR_SPACE);
    for (size_t j = 0; j < f->d; j++) {
        f->centre[j] = (double)space[j];
        f->between[j] = (double)space[f->d + j];
    }
    f->noise = (double)array_of(f, RF_PRIOR_SCALE)[RF_PRIOR_NOISE];
    return RF_OK;
}

rf_status rf_prior_fit(rf_method_state *state, size_t first, const rf_fit *in,
                       rf_error *err)
{
    return rf_prior_fit_within(state, first, in, NULL, err);
}

rf_status rf_prior_fit_within(rf_method_state *state, size_t first, const rf_fit *in,
                              const rf_method_state *space, rf_error *err)
{
    fit f = {.in = in,
             .state = state,
             .first = first,
             .n = in->rows,
             .d = in->width,
             .k = in->classes,
             .err = err};
    size_t floats, doubles = (2 * f.k + 2) * f.d;
    if (f.n == 0 || f.d == 0 || f.k == 0)
        return rf_fail(err, RF_ERR_ARG, 0, "the prior has no rows to fit");
    if (!rf_size_mul(f.n, 2 * f.d, &floats) || floats > SIZE_MAX / 16)
        return rf_fail(err, RF_ERR_LIMIT, 0, "%zu rows are too many for the prior", f.n);
    f.unit = rf_floats_new(floats);
    f.raw_sum = calloc(doubles, sizeof *f.raw_sum);
    size_t *text_of = calloc(f.n, sizeof *text_of);
    rf_status st = f.unit && f.raw_sum && text_of
                       ? state_room(&f)
                       : rf_fail_nomem(err, floats * sizeof(float), "the prior");
    if (st == RF_OK) {
        f.rotated = f.unit + f.n * f.d;
        f.mean = f.raw_sum + f.k * f.d;
        f.centre = f.mean + f.k * f.d;
        f.between = f.centre + f.d;
        st = space ? take_space(&f, space) : find_space(&f);
    }
    if (st == RF_OK) {
        place_classes(&f);
        unit_means(&f);
        st = keep_texts(&f, text_of);
    }
    if (st == RF_OK && !space) {
        store_space(&f);
        st = weigh_parts(&f, text_of);
    }
    if (st == RF_OK)
        scale_parts(&f);
    free(f.unit);
    free(f.raw_sum);
    free(text_of);
    return st;
}

const float *rf_prior_fences(const rf_method_state *state, size_t first)
{
    return rf_prior_array(state, first, RF_PRIOR_FENCE);
}

void rf_prior_round(rf_method_state *state, size_t first)
{
    float *texts = rf_prior_array(state, first, RF_PRIOR_TEXTS);
    rf_to_half(texts, texts,
               state->arrays[first + RF_PRIOR_TEXTS].shape[0] * state->width);
}

void rf_prior_scale(rf_method_state *state, size_t first, size_t c, float factor)
{
    size_t d = state->width;
    const size_t wide[] = {RF_PRIOR_LINEAR, RF_PRIOR_SQUARE, RF_PRIOR_MEANS};
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++)
        for (size_t j = 0; j < d; j++)
            rf_prior_array(state, first, wide[i])[c * d + j] *= factor;
    rf_prior_array(state, first, RF_PRIOR_CONSTANT)[c] *= factor;
    rf_prior_array(state, first, RF_PRIOR_TEXTS_WEIGHT)[c] *= factor;
}

void rf_prior_add(rf_method_state *state, size_t first, size_t c, float offset)
{
    rf_prior_array(state, first, RF_PRIOR_CONSTANT)[c] += offset;
    if (rf_prior_array(state, first, RF_PRIOR_FENCE))
        rf_prior_array(state, first, RF_PRIOR_FENCE)[c] += offset;
}
