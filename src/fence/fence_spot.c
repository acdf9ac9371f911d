/*
 * fence_spot.c - the common offset, and offsets by class
 *
 * The own offset of class c is judged by the rows whose largest margin is that of c.
 * Moving the fence of c over some of them gains the right answers to g rows and loses
 * those to l: outwards it gains rows of c and loses open ones, inwards the other way
 * round. The best position has the largest g - l. It counts if g and l differ by more
 * than chance explains (sign test, 1 %), and then only (g + l) / (g + l + 10) of the way,
 * since a few rows prove little. The common offset is then found again.
 */
#include "fence/fence_spot.h"

#include "base/memory.h"
#include "folds/cross_fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SHRINK 10.0
#define CERTAIN 2.33 /* standard deviations: 1 %, one-sided */

/* ---- The common offset ------------------------------------------------------------- */

static rf_status common_offset(rf_budget *b, const rf_fence_goal *goal,
                               const rf_outcome *const *rows, size_t n, rf_error *err)
{
    if (b->max_accept == 0.0 && b->max_reject == 0.0)
        return rf_best_fence_of_rows(rows, n, b->classes, goal->f1_share, &b->common,
                                     err);
    size_t known = 0, open = 0;
    float *margins = rf_floats_new(2 * n + 1);
    if (!margins)
        return rf_fail_nomem(err, 2 * n * sizeof *margins, "the margins");
    for (size_t i = 0; i < n; i++)
        if (rows[i]->hidden)
            margins[n + open++] = rows[i]->margin[0];
        else
            margins[known++] = rows[i]->margin[0];
    b->common =
        rf_budget_offset(margins, known, margins + n, open, b->max_accept, b->max_reject);
    free(margins);
    return RF_OK;
}

/* ---- Offsets by class -------------------------------------------------------------- */

typedef struct near_row {
    float margin;
    bool own; /* of the class; else open */
} near_row;

static int by_margin(const void *a, const void *b)
{
    const near_row *x = a, *y = b;
    return x->margin < y->margin ? -1 : x->margin > y->margin;
}

typedef struct move {
    float offset;
    double gained, lost;
} move;

/* Moves the fence over rows[from], rows[from + step], ... while there are any; the best
 * place is half-way to the next row, or just beyond the last one. */
static move best_move(const near_row *rows, size_t n, size_t from, int step)
{
    move here = {0}, best = {0};
    for (size_t i = from; i < n; i += (size_t)step) { /* -1 ends it below 0 */
        bool gain = rows[i].own == (step < 0);
        here.gained += gain;
        here.lost += !gain;
        size_t next = i + (size_t)step;
        float at = rows[i].margin;
        if (next < n && rows[next].margin == at)
            continue;
        float beyond = next < n ? 0.5f * (at + rows[next].margin)
                                : at + (float)step * 1e-3f * (1.0f + fabsf(at));
        here.offset = -beyond;
        if (here.gained - here.lost > best.gained - best.lost)
            best = here;
    }
    return best;
}

static bool is_certain(const move *m)
{
    double n = m->gained + m->lost;
    return n > 0.0 && m->gained - m->lost - 1.0 > CERTAIN * sqrt(n);
}

/* rows: n of them, by margin at the common offset. */
static float own_offset(const near_row *rows, size_t n)
{
    size_t inside = 0;
    while (inside < n && rows[inside].margin < 0.0f)
        inside++;
    move tighter = best_move(rows, n, inside, 1);
    move looser = best_move(rows, n, inside - 1, -1); /* past the end if there is none */
    move *best =
        looser.gained - looser.lost > tighter.gained - tighter.lost ? &looser : &tighter;
    if (!is_certain(best))
        return 0.0f;
    double texts = best->gained + best->lost;
    return (float)(texts / (texts + SHRINK)) * best->offset;
}

/* *some: a class got an offset of its own. */
static rf_status own_offsets(rf_budget *b, const rf_outcome *const *rows, size_t n,
                             bool *some, rf_error *err)
{
    near_row *near = calloc(n + 1, sizeof *near);
    if (!near)
        return rf_fail_nomem(err, n * sizeof *near, "the margins");
    *some = false;
    for (uint32_t c = 0; c < b->classes; c++) {
        size_t count = 0;
        for (size_t i = 0; i < n; i++)
            if (rows[i]->head[0] == c && (rows[i]->hidden || rows[i]->truth == c))
                near[count++] =
                    (near_row){rows[i]->margin[0] + b->common, !rows[i]->hidden};
        qsort(near, count, sizeof *near, by_margin);
        b->own[c] = own_offset(near, count);
        *some |= b->own[c] != 0.0f;
    }
    free(near);
    return RF_OK;
}

/* The common offset again, now that the fences of b have offsets of their own. */
static rf_status common_again(rf_budget *b, const rf_fence_goal *goal,
                              const rf_outcome *const *rows, size_t n, rf_error *err)
{
    rf_outcomes moved = {.n = n, .row = calloc(n + 1, sizeof *moved.row)};
    const rf_outcome **list = calloc(n + 1, sizeof *list);
    rf_status st = moved.row && list
                       ? RF_OK
                       : rf_fail_nomem(err, n * sizeof *moved.row, "the margins");
    for (size_t i = 0; i < n && st == RF_OK; i++) {
        moved.row[i] = *rows[i];
        list[i] = &moved.row[i];
    }
    b->common = 0.0f;
    if (st == RF_OK) {
        rf_budget_apply(b, &moved, 1);
        st = common_offset(b, goal, list, n, err);
    }
    free(list);
    rf_outcomes_release(&moved);
    return st;
}

rf_status rf_fence_spot(rf_budget *b, const rf_fence_goal *goal,
                        const rf_outcome *const *rows, size_t n, rf_error *err)
{
    bool some = false;
    memset(b->own, 0, b->classes * sizeof *b->own);
    rf_status st = common_offset(b, goal, rows, n, err);
    if (st == RF_OK && goal->per_class)
        st = own_offsets(b, rows, n, &some, err);
    return st == RF_OK && some ? common_again(b, goal, rows, n, err) : st;
}
