/*
 * prior_update.c - a prior of which most classes stay as they are
 *
 * The space is that of an earlier fit. The classes to fit are a problem of their own in
 * that space: their rows alone give their numbers. These and the kept numbers are then
 * put together, class by class.
 */
#include "ans/prior_parts.h"

#include "base/memory.h"
#include "num/vectors.h"

#include <stdlib.h>
#include <string.h>

/* Rows that may have changed since the space was fitted, as a share of those it was
 * fitted to, before it is fitted again. */
#define MOST_CHANGED 0.5

float rf_prior_fence_of(const rf_method_state *state, size_t first, size_t class_index)
{
    return rf_prior_array(state, first, RF_PRIOR_FENCE)[class_index];
}

rf_status rf_prior_fence(const rf_method_state *state, size_t first, float *fence,
                         bool *known, rf_error *err)
{
    const float *fences = rf_prior_array(state, first, RF_PRIOR_FENCE);
    *known = fences != NULL;
    if (!fences)
        return RF_OK;
    float *sorted = rf_floats_new(state->classes);
    if (!sorted)
        return rf_fail_nomem(err, state->classes * sizeof *sorted, "the fences");
    memcpy(sorted, fences, state->classes * sizeof *sorted);
    rf_sort(sorted, state->classes);
    *fence = sorted[state->classes / 2];
    free(sorted);
    return RF_OK;
}

/* ---- The classes to fit ------------------------------------------------------------ */

typedef struct some_classes {
    rf_fit fit; /* of these classes alone */
    float *z;
    uint32_t *class_of, *number; /* number [classes]: of a class among these */
    rf_class_stats stats;        /* only the numbers of rows */
} some_classes;

static void release_some(some_classes *s)
{
    free(s->z);
    free(s->class_of);
    free(s->number);
    free(s->stats.rows);
}

static rf_status select_classes(some_classes *s, const rf_fit *in, const rf_fit_update *u,
                                rf_error *err)
{
    size_t d = in->width, n = 0, rows = 0;
    *s = (some_classes){.fit = *in};
    s->number = calloc(in->classes, sizeof *s->number);
    s->stats.rows = calloc(in->classes, sizeof *s->stats.rows);
    if (!s->number || !s->stats.rows)
        return rf_fail_nomem(err, in->classes * sizeof *s->number, "the classes");
    for (size_t c = 0; c < in->classes; c++)
        if (u->from[c] == RF_FIT_ANEW) {
            rows += s->stats.rows[n] = in->stats->rows[c];
            s->number[c] = (uint32_t)n++;
        }
    s->z = rf_floats_new(rows * d + 1);
    s->class_of = calloc(rows + 1, sizeof *s->class_of);
    if (!s->z || !s->class_of)
        return rf_fail_nomem(err, rows * d * sizeof *s->z, "the rows");
    rows = 0;
    for (size_t i = 0; i < in->rows; i++)
        if (u->from[in->class_of[i]] == RF_FIT_ANEW) {
            memcpy(s->z + rows * d, in->z + i * d, d * sizeof *s->z);
            s->class_of[rows++] = s->number[in->class_of[i]];
        }
    s->fit.z = s->z;
    s->fit.class_of = s->class_of;
    s->fit.rows = rows;
    s->fit.classes = n;
    s->fit.stats = &s->stats;
    return RF_OK;
}

/* ---- Putting together -------------------------------------------------------------- */

typedef struct joining {
    rf_method_state *to;
    size_t first;
    const rf_method_state *old, *fitted;
    const rf_fit_update *u;
    const uint32_t *number;
} joining;

/* The state that has class c, and its number there. */
static const rf_method_state *source_of(const joining *j, size_t c, size_t *number)
{
    bool anew = j->u->from[c] == RF_FIT_ANEW;
    *number = anew ? j->number[c] : j->u->from[c];
    return anew ? j->fitted : j->old;
}

/* An array of which each class has a row, or all classes share. */
static rf_status join_array(const joining *j, size_t which, bool by_class, rf_error *err)
{
    const size_t *shape = j->old->arrays[j->first + which].shape;
    size_t rows = by_class ? j->to->classes : shape[0], width = shape[1];
    rf_status st = rf_method_state_room(j->to, j->first + which, rows, width, err);
    if (st != RF_OK)
        return st;
    float *to = rf_prior_array(j->to, j->first, which);
    if (!by_class)
        memcpy(to, rf_prior_array(j->old, j->first, which), rows * width * sizeof *to);
    for (size_t c = 0, from; by_class && c < rows; c++) {
        const rf_method_state *source = source_of(j, c, &from);
        memcpy(to + c * width, rf_prior_array(source, j->first, which) + from * width,
               width * sizeof *to);
    }
    return RF_OK;
}

/* The kept texts before those of class c. */
static size_t texts_before(const rf_method_state *state, size_t first, size_t c)
{
    size_t n = 0;
    for (size_t i = 0; i < c; i++)
        n += (size_t)rf_prior_array(state, first, RF_PRIOR_COUNTS)[i];
    return n;
}

/* After the counts. */
static rf_status join_texts(const joining *j, rf_error *err)
{
    size_t d = j->to->width, all = texts_before(j->to, j->first, j->to->classes), at = 0;
    rf_status st = rf_method_state_room(j->to, j->first + RF_PRIOR_TEXTS, all, d, err);
    float *to = rf_prior_array(j->to, j->first, RF_PRIOR_TEXTS);
    for (size_t c = 0, from; c < j->to->classes && st == RF_OK; c++) {
        const rf_method_state *source = source_of(j, c, &from);
        size_t n = (size_t)rf_prior_array(source, j->first, RF_PRIOR_COUNTS)[from];
        const float *texts = rf_prior_array(source, j->first, RF_PRIOR_TEXTS);
        memcpy(to + at * d, texts + texts_before(source, j->first, from) * d,
               n * d * sizeof *to);
        at += n;
    }
    return st;
}

static rf_status join_all(const joining *j, rf_error *err)
{
    rf_status st = RF_OK;
    for (size_t i = 0; i < RF_PRIOR_ARRAYS && st == RF_OK; i++) {
        bool shared = i == RF_PRIOR_CENTRE || i == RF_PRIOR_ROTATE ||
                      i == RF_PRIOR_SPACE || i == RF_PRIOR_SCALE;
        if (i != RF_PRIOR_TEXTS)
            st = join_array(j, i, !shared, err);
    }
    return st == RF_OK ? join_texts(j, err) : st;
}

rf_status rf_prior_update(rf_method_state *state, size_t first, const rf_fit *in,
                          rf_fit_update *u, rf_error *err)
{
    const float *scale = rf_prior_array(u->old, first, RF_PRIOR_SCALE);
    double changed = (double)u->changed;
    if (scale)
        changed += (double)scale[RF_PRIOR_CHANGED];
    u->refitted = !scale || !rf_prior_array(u->old, first, RF_PRIOR_SPACE) ||
                  !u->placed || changed >= MOST_CHANGED * (double)scale[RF_PRIOR_ROWS];
    if (u->refitted)
        return rf_prior_fit(state, first, in, err);
    some_classes some;
    rf_method_state fitted = {0};
    rf_status st = select_classes(&some, in, u, err);
    fitted.width = in->width;
    fitted.classes = some.fit.classes;
    if (st == RF_OK && some.fit.classes > 0)
        st = rf_prior_fit_within(&fitted, first, &some.fit, u->old, err);
    const joining j = {state, first, u->old, &fitted, u, some.number};
    if (st == RF_OK)
        st = join_all(&j, err);
    if (st == RF_OK)
        rf_prior_array(state, first, RF_PRIOR_SCALE)[RF_PRIOR_CHANGED] = (float)changed;
    rf_method_state_release(&fitted);
    release_some(&some);
    return st;
}
