/* neighbours.c - candidates from products of strips of points, then exact distances */
#include "num/neighbours.h"

#include "base/memory.h"
#include "num/panels.h"
#include "num/vectors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STRIP 512 /* points at a time: 96 x 512 scores fit the second-level cache */
#define SPARE 16  /* candidates beyond k */

/* ---- The points -------------------------------------------------------------------- */

static void fill_mean(rf_neighbours *s, double *sums)
{
    for (size_t j = 0; j < s->width; j++)
        sums[j] = 0.0;
    for (size_t i = 0; i < s->n; i++)
        for (size_t j = 0; j < s->width; j++)
            sums[j] += (double)s->points[i * s->width + j];
    for (size_t j = 0; j < s->width; j++)
        s->mean[j] = (float)(sums[j] / (double)s->n);
}

/* Packs one panel of points less the mean; rows is scratch [RF_PANEL, width]. False if a
 * point is not finite or too large. */
static bool pack_points(rf_neighbours *s, size_t first, float *rows)
{
    size_t n = s->n - first < RF_PANEL ? s->n - first : RF_PANEL;
    bool finite = true;
    for (size_t i = 0; i < n; i++) {
        const float *p = s->points + (first + i) * s->width;
        double square = 0.0;
        for (size_t j = 0; j < s->width; j++) {
            float d = p[j] - s->mean[j];
            rows[i * s->width + j] = d;
            square += (double)d * (double)d;
        }
        s->bias[first + i] = (float)(-0.5 * square);
        finite = finite && isfinite(s->bias[first + i]);
    }
    rf_kernels()->pack_panel(s->panels + first * s->width, rows, s->width, n, s->width);
    return finite;
}

rf_status rf_neighbours_init(rf_neighbours *s, const float *points, size_t n,
                             size_t width, rf_error *err)
{
    *s = (rf_neighbours){.n = n, .width = width, .points = points};
    if (n == 0 || n > UINT32_MAX)
        return rf_fail(err, RF_ERR_LIMIT, 0, "points: found %zu, wanted 1 to %zu", n,
                       (size_t)UINT32_MAX);
    size_t padded = rf_panels_padded(n), floats;
    if (!rf_size_mul(padded + 1, width, &floats) ||
        !rf_size_add(floats, padded, &floats) || floats > SIZE_MAX / sizeof(float))
        return rf_fail(err, RF_ERR_LIMIT, 0, "%zu points of %zu numbers are too many", n,
                       width);
    double *sums = malloc((width + 1) * sizeof *sums);
    float *rows = malloc((width + 1) * RF_PANEL * sizeof *rows);
    s->block = rf_floats_new(floats);
    rf_status status = RF_OK;
    if (sums && rows && s->block) {
        bool finite = true;
        s->panels = s->block;
        s->mean = s->panels + padded * width;
        s->bias = s->mean + width;
        fill_mean(s, sums);
        for (size_t i = 0; i < n; i += RF_PANEL)
            finite = pack_points(s, i, rows) && finite;
        if (!finite)
            status = rf_fail(err, RF_ERR_NUMERIC, 0,
                             "points: found a NaN, an infinity or a number too large to "
                             "square");
    } else {
        status = rf_fail_nomem(err, floats * sizeof(float), "a search among points");
    }
    free(sums);
    free(rows);
    if (status != RF_OK)
        rf_neighbours_release(s);
    return status;
}

void rf_neighbours_release(rf_neighbours *s)
{
    free(s->block);
    *s = (rf_neighbours){0};
}

/* ---- Searching --------------------------------------------------------------------- */

/* The best candidates of a query, best first. */
typedef struct candidates {
    size_t n, most;
    float *score;
    uint32_t *index;
} candidates;

static size_t candidates_of(const rf_neighbours *s, size_t k)
{
    return k < s->n - (s->n < SPARE ? s->n : SPARE) ? k + SPARE : s->n;
}

/* Points come in order of index, so ties keep that order. */
static void offer(candidates *c, float score, uint32_t index)
{
    size_t at = c->n < c->most ? c->n++ : c->most - 1;
    for (; at > 0 && c->score[at - 1] < score; at--) {
        c->score[at] = c->score[at - 1];
        c->index[at] = c->index[at - 1];
    }
    c->score[at] = score;
    c->index[at] = index;
}

static void offer_strip(candidates *c, const float *scores, size_t first, size_t n,
                        size_t self)
{
    size_t j = 0;
    for (; j < n && c->n < c->most; j++)
        if (first + j != self)
            offer(c, scores[j], (uint32_t)(first + j));
    if (j == n)
        return;
    float least = c->score[c->most - 1];
    for (; j < n; j++)
        if (scores[j] > least && first + j != self) {
            offer(c, scores[j], (uint32_t)(first + j));
            least = c->score[c->most - 1];
        }
}

/* Replaces scores by true distances and sorts; the order is nearly right already. */
static void measure(const rf_neighbours *s, candidates *c, const float *x)
{
    for (size_t i = 0; i < c->n; i++) {
        uint32_t index = c->index[i];
        float d = (float)rf_distance(x, s->points + index * s->width, s->width);
        size_t at = i;
        for (; at > 0 && (c->score[at - 1] > d ||
                          (c->score[at - 1] == d && c->index[at - 1] > index));
             at--) {
            c->score[at] = c->score[at - 1];
            c->index[at] = c->index[at - 1];
        }
        c->score[at] = d;
        c->index[at] = index;
    }
}

/* Whether no point nearer than the k-th can be missing. Such a point p would have
 * |p| < |x| + d_k, and rounding, at most `off`, would have kept its score below that of
 * the last candidate, `least`. x is the query less the mean. */
static bool complete(const candidates *c, const float *x, size_t width, size_t k,
                     float least)
{
    double square = 0.0, kth = (double)c->score[k - 1];
    for (size_t j = 0; j < width; j++)
        square += (double)x[j] * (double)x[j];
    double reach = sqrt(square) + kth;
    double off = (double)(width + 16) * 0x1p-24 * reach * reach;
    return (double)least + off < 0.5 * (square - kth * kth);
}

/* Brute force, if rounding may have hidden a neighbour. */
static void measure_all(const rf_neighbours *s, candidates *c, const float *x,
                        size_t self)
{
    c->n = 0;
    for (size_t i = 0; i < s->n; i++) {
        if (i == self)
            continue;
        float d = (float)rf_distance(x, s->points + i * s->width, s->width);
        if (c->n < c->most || -d > c->score[c->most - 1])
            offer(c, -d, (uint32_t)i);
    }
    for (size_t i = 0; i < c->n; i++)
        c->score[i] = -c->score[i];
}

size_t rf_neighbours_scratch(const rf_neighbours *s, size_t k)
{
    return RF_NEIGHBOURS_ROWS * (s->width + STRIP + 2 * candidates_of(s, k));
}

void rf_neighbours_find(const rf_neighbours *s, const float *x, size_t n, size_t k,
                        size_t self, uint32_t *index, float *distance, float *scratch)
{
    size_t width = s->width, most = candidates_of(s, k);
    float *shifted = scratch;
    float *scores = shifted + RF_NEIGHBOURS_ROWS * width;
    float *best = scores + RF_NEIGHBOURS_ROWS * STRIP;
    uint32_t *which = (uint32_t *)(void *)(best + RF_NEIGHBOURS_ROWS * most);
    candidates c[RF_NEIGHBOURS_ROWS];
    for (size_t i = 0; i < n; i++) {
        c[i] = (candidates){.most = most, .score = best + i * most};
        c[i].index = which + i * most;
        for (size_t j = 0; j < width; j++)
            shifted[i * width + j] = x[i * width + j] - s->mean[j];
    }
    for (size_t first = 0; first < s->n; first += STRIP) {
        size_t points = s->n - first < STRIP ? s->n - first : STRIP;
        rf_gemm_args g = rf_panels_product(scores, shifted, s->panels + first * width,
                                           s->bias + first, n, points, width);
        g.ldc = STRIP;
        rf_kernels()->gemm(&g);
        for (size_t i = 0; i < n; i++)
            offer_strip(&c[i], scores + i * STRIP, first, points,
                        self == RF_NOT_AMONG ? self : self + i);
    }
    for (size_t i = 0; i < n; i++) {
        float least = c[i].score[c[i].n - 1];
        measure(s, &c[i], x + i * width);
        if (most < s->n && !complete(&c[i], shifted + i * width, width, k, least))
            measure_all(s, &c[i], x + i * width, self == RF_NOT_AMONG ? self : self + i);
        memcpy(index + i * k, c[i].index, k * sizeof *index);
        memcpy(distance + i * k, c[i].score, k * sizeof *distance);
    }
}

typedef struct find_work {
    const rf_neighbours *s;
    const float *x;
    size_t n, k;
    bool own;
    uint32_t *index;
    float *distance;
    float *scratch; /* one part per thread */
} find_work;

static void find_blocks(void *arg, size_t member, size_t members)
{
    const find_work *w = arg;
    float *scratch = w->scratch + member * rf_neighbours_scratch(w->s, w->k);
    const size_t block = RF_NEIGHBOURS_ROWS;
    for (size_t i = member * block; i < w->n; i += members * block)
        rf_neighbours_find(w->s, w->x + i * w->s->width,
                           w->n - i < block ? w->n - i : block, w->k,
                           w->own ? i : RF_NOT_AMONG, w->index + i * w->k,
                           w->distance + i * w->k, scratch);
}

rf_status rf_neighbours_find_all(const rf_neighbours *s, const float *x, size_t n,
                                 size_t k, bool own, uint32_t *index, float *distance,
                                 rf_team *team, rf_error *err)
{
    size_t floats = rf_neighbours_scratch(s, k) * rf_team_size(team);
    find_work w = {.s = s,
                   .x = x,
                   .n = n,
                   .k = k,
                   .own = own,
                   .index = index,
                   .distance = distance,
                   .scratch = rf_floats_new(floats)};
    if (!w.scratch)
        return rf_fail_nomem(err, floats * sizeof(float), "a search among points");
    rf_team_run(team, find_blocks, &w);
    free(w.scratch);
    return RF_OK;
}
