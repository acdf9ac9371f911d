/*
 * tsne.c - t-SNE by gradient descent
 *
 * Each point's force is computed by one thread from the same numbers in the same order,
 * and the one sum over all points is taken by the caller, so threads change nothing.
 */
#include "map/tsne.h"

#include "num/kernels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK 32         /* points, in the tree's order, per task of a thread */
#define SLOW_MOMENTUM .5 /* early on */
#define FAST_MOMENTUM .8
#define LEAST_GAIN .01
#define TELL_EVERY 10 /* iterations */

rf_tsne_options rf_tsne_options_default(void)
{
    return (rf_tsne_options){.perplexity = 30,
                             .theta = 0.5,
                             .iterations = 1000,
                             .early = 250,
                             .exaggeration = 12};
}

/* ---- The gradient ------------------------------------------------------------------ */

typedef struct forces {
    const double *map;
    const rf_affinities *p;
    const rf_quadtree *tree;
    double theta, exaggeration;
    double *repel; /* [n, 2] before division by the sum of all */
    double *sums;  /* [n] of q */
} forces;

static void repel_some(void *arg, size_t member, size_t members)
{
    const forces *f = arg;
    size_t n = f->tree->n;
    for (size_t from = member * CHUNK; from < n; from += members * CHUNK)
        for (size_t k = from; k < n && k < from + CHUNK; k++) {
            size_t i = f->tree->order[k];
            rf_quadtree_repel(f->tree, f->map[2 * i], f->map[2 * i + 1], f->theta,
                              f->repel + 2 * i, &f->sums[i]);
        }
}

/* sum over j of P q (y_i - y_j) */
static void attract(const forces *f, size_t i, double out[2])
{
    double x = f->map[2 * i], y = f->map[2 * i + 1], fx = 0, fy = 0;
    for (size_t e = f->p->begin[i]; e < f->p->begin[i + 1]; e++) {
        const double *other = f->map + 2 * (size_t)f->p->row[e];
        double dx = x - other[0], dy = y - other[1];
        double pull = f->p->value[e] / (1 + dx * dx + dy * dy);
        fx += pull * dx;
        fy += pull * dy;
    }
    out[0] = fx;
    out[1] = fy;
}

typedef struct finish {
    const forces *f;
    double *gradient;
    double total;
} finish;

static void finish_some(void *arg, size_t member, size_t members)
{
    const finish *g = arg;
    size_t n = g->f->tree->n;
    for (size_t from = member * CHUNK; from < n; from += members * CHUNK)
        for (size_t k = from; k < n && k < from + CHUNK; k++) {
            size_t i = g->f->tree->order[k];
            double pull[2];
            attract(g->f, i, pull);
            for (size_t d = 0; d < 2; d++)
                g->gradient[2 * i + d] = 4 * (g->f->exaggeration * pull[d] -
                                              g->f->repel[2 * i + d] / g->total);
        }
}

void rf_tsne_gradient(double *gradient, const double *map, const rf_affinities *p,
                      double exaggeration, double theta, rf_quadtree *tree, double *sums,
                      rf_team *team)
{
    forces f = {map, p, tree, theta, exaggeration, gradient, sums};
    finish g = {&f, gradient, 0};
    rf_quadtree_build(tree, map);
    rf_team_run(team, repel_some, &f);
    for (size_t i = 0; i < p->n; i++)
        g.total += sums[i] - 1; /* a point does not repel itself */
    if (!(g.total > 0))
        g.total = 1; /* one point, or all infinitely far: nothing repels */
    rf_team_run(team, finish_some, &g);
}

/* ---- Descent ----------------------------------------------------------------------- */

typedef struct descent {
    size_t n;
    double *map;
    double *gradient, *speed, *gains; /* [n, 2] each */
    double *sums;                     /* [n] */
    rf_affinities p;
    rf_quadtree tree;
} descent;

static void move(descent *d, double rate, double momentum)
{
    double centre[2] = {0};
    for (size_t i = 0; i < 2 * d->n; i++) {
        bool onward = d->gradient[i] * d->speed[i] < 0;
        double gain = onward ? d->gains[i] + .2 : d->gains[i] * .8;
        d->gains[i] = gain < LEAST_GAIN ? LEAST_GAIN : gain;
        d->speed[i] = momentum * d->speed[i] - rate * d->gains[i] * d->gradient[i];
        d->map[i] += d->speed[i];
        centre[i % 2] += d->map[i] / (double)d->n;
    }
    for (size_t i = 0; i < 2 * d->n; i++)
        d->map[i] -= centre[i % 2];
}

static rf_status descend(descent *d, const rf_tsne_options *o, rf_team *team,
                         rf_error *err)
{
    double rate =
        o->rate > 0 ? o->rate : fmax((double)d->n / (4 * o->exaggeration), 50.0);
    for (size_t i = 0; i < 2 * d->n; i++)
        d->gains[i] = 1;
    for (size_t t = 0; t < o->iterations; t++) {
        bool early = t < o->early;
        if (t == o->early)
            memset(d->speed, 0, 2 * d->n * sizeof *d->speed);
        rf_tsne_gradient(d->gradient, d->map, &d->p, early ? o->exaggeration : 1,
                         o->theta, &d->tree, d->sums, team);
        move(d, rate, early ? SLOW_MOMENTUM : FAST_MOMENTUM);
        if (o->progress && t % TELL_EVERY == 0 && o->progress(o->user, t, o->iterations))
            return rf_fail(err, RF_ERR_STOPPED, 0, "stopped while drawing the map");
    }
    for (size_t i = 0; i < 2 * d->n; i++)
        if (!isfinite(d->map[i]))
            return rf_fail(err, RF_ERR_NUMERIC, i / 2,
                           "the map is not finite at point %zu", i / 2);
    return RF_OK;
}

static rf_status check_input(const float *x, size_t n, size_t width,
                             const rf_tsne_options *o, rf_error *err)
{
    if (!(o->theta >= 0 && o->theta <= 0.7))
        return rf_fail(err, RF_ERR_ARG, 0, "theta: found %g, wanted 0 to 0.7", o->theta);
    if (!(o->perplexity >= 1) || !(o->exaggeration >= 1) || !(o->rate >= 0))
        return rf_fail(
            err, RF_ERR_ARG, 0,
            "perplexity, exaggeration and rate: found %g, %g and %g, wanted at "
            "least 1, 1 and 0",
            o->perplexity, o->exaggeration, o->rate);
    if (!rf_kernels()->all_finite(x, n * width))
        return rf_fail(err, RF_ERR_NUMERIC, 0, "the features hold a NaN or an infinity");
    return RF_OK;
}

rf_status rf_tsne(double *map, const float *x, size_t n, size_t width,
                  const rf_tsne_options *options, rf_team *team, rf_error *err)
{
    descent d = {.n = n, .map = map};
    rf_status st = check_input(x, n, width, options, err);
    if (st == RF_OK && n < 2)
        memset(map, 0, 2 * n * sizeof *map);
    if (st != RF_OK || n < 2)
        return st;
    double *block = calloc(7 * n, sizeof *block);
    if (!block)
        return rf_fail_nomem(err, 7 * n * sizeof *block, "a map");
    d.gradient = block;
    d.speed = block + 2 * n;
    d.gains = block + 4 * n;
    d.sums = block + 6 * n;
    st = rf_quadtree_init(&d.tree, n, err);
    if (st == RF_OK)
        st = rf_affinities_init(&d.p, x, n, width, options->perplexity, team, err);
    if (st == RF_OK)
        st = rf_tsne_start(map, x, n, width, options->seed, team, err);
    if (st == RF_OK)
        st = descend(&d, options, team, err);
    rf_affinities_release(&d.p);
    rf_quadtree_release(&d.tree);
    free(block);
    return st;
}
