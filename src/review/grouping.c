/* grouping.c - neighbours, linkage, moving, and what is left */
#include "review/grouping.h"

#include "base/memory.h"
#include "num/neighbours.h"
#include "review/linkage.h"

#include <stdlib.h>
#include <string.h>

#define SWEEPS 4

typedef struct work {
    const float *points;
    size_t n, width, k;
    double level;
    uint32_t *near;  /* [n, k] */
    uint32_t *group; /* [n] the point that names it, or RF_NO_GROUP */
    uint32_t *size;  /* [n] */
    float *sum;      /* [n, width] */
} work;

static rf_status find_near(work *w, rf_team *team, rf_error *err)
{
    rf_neighbours search = {0};
    float *distance = malloc((w->n * w->k + 1) * sizeof *distance);
    rf_status st = distance
                       ? rf_neighbours_init(&search, w->points, w->n, w->width, err)
                       : rf_fail_nomem(err, w->n * w->k * sizeof *distance, "neighbours");
    if (st == RF_OK)
        st = rf_neighbours_find_all(&search, w->points, w->n, w->k, true, w->near,
                                    distance, team, err);
    rf_neighbours_release(&search);
    free(distance);
    return st;
}

/* ---- Moving ------------------------------------------------------------------------ */

/* The mean cosine of point i with the other points of a group; -1 if there are none. */
static double similarity(const work *w, size_t i, uint32_t group)
{
    const float *x = w->points + i * w->width;
    bool own = w->group[i] == group;
    uint32_t others = w->size[group] - own;
    if (others == 0)
        return -1.0;
    double sum = rf_review_dot(x, w->sum + (size_t)group * w->width, w->width);
    if (own)
        sum -= rf_review_dot(x, x, w->width);
    return sum / others;
}

static void add_to_sum(work *w, uint32_t group, const float *x, float sign)
{
    float *sum = w->sum + (size_t)group * w->width;
    for (size_t j = 0; j < w->width; j++)
        sum[j] += sign * x[j];
}

static void move(work *w, size_t i, uint32_t to)
{
    const float *x = w->points + i * w->width;
    if (w->group[i] != RF_NO_GROUP) {
        add_to_sum(w, w->group[i], x, -1.0f);
        w->size[w->group[i]]--;
    }
    if (to != RF_NO_GROUP) {
        add_to_sum(w, to, x, 1.0f);
        w->size[to]++;
    }
    w->group[i] = to;
}

/* Where point i belongs: among its own group and those of its neighbours. */
static uint32_t best_group(const work *w, size_t i)
{
    uint32_t best = w->group[i];
    double most = best == RF_NO_GROUP ? -1.0 : similarity(w, i, best);
    for (size_t j = 0; j < w->k; j++) {
        uint32_t g = w->group[w->near[i * w->k + j]];
        if (g == RF_NO_GROUP || g == best)
            continue;
        double s = similarity(w, i, g);
        if (s > most + 1e-6) {
            most = s;
            best = g;
        }
    }
    return most >= w->level ? best : RF_NO_GROUP;
}

static void move_points(work *w)
{
    size_t moved = 1;
    for (size_t i = 0; i < w->n; i++)
        if (w->size[w->group[i]] == 1)
            move(w, i, RF_NO_GROUP);
    for (size_t sweep = 0; sweep < SWEEPS && moved > 0; sweep++) {
        moved = 0;
        for (size_t i = 0; i < w->n; i++) {
            uint32_t to = best_group(w, i);
            moved += to != w->group[i];
            if (to != w->group[i])
                move(w, i, to);
        }
    }
}

/* ---- What is left ------------------------------------------------------------------ */

/* Numbers groups that are large enough, in order of their first points. */
static size_t number_groups(const work *w, size_t least, uint32_t *number)
{
    size_t groups = 0;
    memset(number, 0xff, w->n * sizeof *number);
    for (size_t i = 0; i < w->n; i++) {
        uint32_t g = w->group[i];
        if (g != RF_NO_GROUP && w->size[g] >= least && number[g] == RF_NO_GROUP)
            number[g] = (uint32_t)groups++;
    }
    return groups;
}

static void measure(rf_grouping *g, const work *w)
{
    for (size_t i = 0; i < g->n; i++) {
        uint32_t own = g->group[i];
        if (own == RF_NO_GROUP)
            continue;
        size_t reach = g->size[own] - 1 < w->k ? g->size[own] - 1 : w->k, inside = 0;
        for (size_t j = 0; j < reach; j++)
            inside += g->group[w->near[i * w->k + j]] == own;
        g->fit[i] = (float)similarity(w, i, w->group[i]);
        g->inside[own] += (double)g->fit[i] / g->size[own];
        g->apart[own] += (double)inside / (double)reach;
    }
    for (size_t k = 0; k < g->groups; k++)
        g->apart[k] = g->apart[k] < g->size[k] ? g->apart[k] / g->size[k] : 1.0;
}

static rf_status keep(rf_grouping *g, const work *w, size_t least, rf_error *err)
{
    size_t n = g->n, d = g->width;
    uint32_t *number = malloc((n + 1) * sizeof *number);
    if (!number)
        return rf_fail_nomem(err, n * sizeof *number, "groups");
    g->groups = number_groups(w, least, number);
    g->group = malloc((n + 1) * sizeof *g->group);
    g->fit = calloc(n + 1, sizeof *g->fit);
    g->size = calloc(g->groups + 1, sizeof *g->size);
    g->inside = calloc(g->groups + 1, sizeof *g->inside);
    g->apart = calloc(g->groups + 1, sizeof *g->apart);
    g->mean = rf_floats_new((g->groups + 1) * d);
    rf_status st = RF_OK;
    if (g->group && g->fit && g->size && g->inside && g->apart && g->mean) {
        for (size_t i = 0; i < n; i++)
            g->group[i] = w->group[i] == RF_NO_GROUP ? RF_NO_GROUP : number[w->group[i]];
        for (size_t s = 0; s < n; s++) {
            if (number[s] == RF_NO_GROUP)
                continue;
            g->size[number[s]] = w->size[s];
            for (size_t j = 0; j < d; j++)
                g->mean[number[s] * d + j] = w->sum[s * d + j] / (float)w->size[s];
        }
        measure(g, w);
    } else {
        st = rf_fail_nomem(err, (n + g->groups * d) * sizeof *g->mean, "groups");
    }
    free(number);
    return st;
}

static rf_status room(work *w, rf_error *err)
{
    size_t floats, near;
    if (!rf_size_mul(w->n, w->width, &floats) || floats > SIZE_MAX / 8 ||
        !rf_size_mul(w->n + 1, 8 * (w->k + 1), &near))
        return rf_fail(err, RF_ERR_LIMIT, 0, "%zu texts are too many to group", w->n);
    w->near = malloc((w->n * w->k + 1) * sizeof *w->near);
    w->group = calloc(w->n + 1, sizeof *w->group);
    w->size = calloc(w->n + 1, sizeof *w->size);
    w->sum = rf_floats_new(floats + 1);
    return w->near && w->group && w->size && w->sum
               ? RF_OK
               : rf_fail_nomem(err, floats * sizeof *w->sum, "grouping texts");
}

rf_status rf_grouping_make(rf_grouping *g, const float *points, size_t n, size_t width,
                           double level, size_t least, rf_team *team, rf_error *err)
{
    work w = {.points = points, .n = n, .width = width, .level = level};
    *g = (rf_grouping){.n = n, .width = width};
    w.k = n <= RF_REVIEW_NEAR ? (n > 0 ? n - 1 : 0) : RF_REVIEW_NEAR;
    rf_status st = room(&w, err);
    if (st == RF_OK && w.k > 0)
        st = find_near(&w, team, err);
    if (st == RF_OK)
        st = rf_linkage(points, n, width, w.near, w.k, level, w.group, w.sum, w.size,
                        team, err);
    if (st == RF_OK) {
        move_points(&w);
        st = keep(g, &w, least, err);
    }
    free(w.near);
    free(w.group);
    free(w.size);
    free(w.sum);
    if (st != RF_OK)
        rf_grouping_release(g);
    return st;
}

void rf_grouping_release(rf_grouping *g)
{
    free(g->group);
    free(g->size);
    free(g->mean);
    free(g->fit);
    free(g->inside);
    free(g->apart);
    *g = (rf_grouping){0};
}
