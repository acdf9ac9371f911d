/* kmeans.c - assigns points by products with the centres, then moves the centres */
#include "lab/kmeans.h"

#include "base/memory.h"
#include "base/rng.h"
#include "base/streams.h"
#include "num/panels.h"
#include "num/vectors.h"

#include <stdlib.h>
#include <string.h>

#define ROWS 64 /* points of a product */

typedef struct clustering {
    const float *points;
    size_t n, width, k;
    float *centres;   /* [k, width] */
    float *panels;    /* the same, packed */
    float *bias;      /* [k] -|c|^2 / 2 */
    float *scores;    /* [threads][ROWS, k] */
    double *sums;     /* [k, width] */
    uint32_t *of;     /* [n] */
    uint32_t *size;   /* [k] */
    double *distance; /* [n] squared, to the nearest centre */
} clustering;

static void release(clustering *c)
{
    free(c->centres);
    free(c->panels);
    free(c->bias);
    free(c->scores);
    free(c->sums);
    free(c->of);
    free(c->size);
    free(c->distance);
}

static rf_status room(clustering *c, size_t threads, rf_error *err)
{
    size_t floats;
    if (!rf_size_mul(rf_panels_padded(c->k), c->width, &floats) ||
        floats > SIZE_MAX / 64 || c->k > SIZE_MAX / 64 / (threads * ROWS))
        return rf_fail(err, RF_ERR_LIMIT, 0, "%zu clusters are too many", c->k);
    c->centres = rf_floats_new(floats + 1);
    c->panels = rf_floats_new(floats + 1);
    c->bias = rf_floats_new(rf_panels_padded(c->k) + 1);
    c->scores = rf_floats_new(threads * ROWS * c->k);
    c->sums = calloc(c->k * c->width + 1, sizeof *c->sums);
    c->of = calloc(c->n + 1, sizeof *c->of);
    c->size = calloc(c->k + 1, sizeof *c->size);
    c->distance = calloc(c->n + 1, sizeof *c->distance);
    return c->centres && c->panels && c->bias && c->scores && c->sums && c->of &&
                   c->size && c->distance
               ? RF_OK
               : rf_fail_nomem(err, 2 * floats * sizeof(float), "clusters");
}

static double squared(const float *a, const float *b, size_t n)
{
    double d = rf_distance(a, b, n);
    return d * d;
}

/* ---- Starts ------------------------------------------------------------------------ */

/* A point, with a chance that grows with its distance from the centres so far. */
static size_t draw_point(const clustering *c, rf_rng *r)
{
    double total = 0.0;
    for (size_t i = 0; i < c->n; i++)
        total += c->distance[i];
    if (!(total > 0.0))
        return rf_rng_below(r, c->n);
    double at = (double)(rf_rng_next(r) >> 11) * 0x1p-53 * total;
    size_t last = 0;
    for (size_t i = 0; i < c->n; i++) {
        if (c->distance[i] > 0.0)
            last = i;
        if ((at -= c->distance[i]) < 0.0)
            return i;
    }
    return last;
}

typedef struct nearer_work {
    clustering *c;
    const float *centre;
    bool first;
} nearer_work;

static void measure_centre(void *arg, size_t member, size_t members)
{
    const nearer_work *w = arg;
    clustering *c = w->c;
    for (size_t i = member; i < c->n; i += members) {
        double d = squared(c->points + i * c->width, w->centre, c->width);
        if (w->first || d < c->distance[i])
            c->distance[i] = d;
    }
}

static void start(clustering *c, uint64_t seed, size_t number, rf_team *team)
{
    rf_rng r = rf_rng_open(rf_stream_key(seed, RF_STREAM_LAB_CLUSTERS, number, 0));
    for (size_t k = 0; k < c->k; k++) {
        size_t i = k ? draw_point(c, &r) : rf_rng_below(&r, c->n);
        float *centre = c->centres + k * c->width;
        memcpy(centre, c->points + i * c->width, c->width * sizeof *centre);
        nearer_work w = {c, centre, k == 0};
        rf_team_run(team, measure_centre, &w);
    }
}

/* ---- Steps ------------------------------------------------------------------------- */

static void assign_some(void *arg, size_t member, size_t members)
{
    clustering *c = arg;
    float *scores = c->scores + member * ROWS * c->k;
    for (size_t i = member * ROWS; i < c->n; i += members * ROWS) {
        size_t n = c->n - i < ROWS ? c->n - i : ROWS;
        rf_gemm_args g = rf_panels_product(scores, c->points + i * c->width, c->panels,
                                           c->bias, n, c->k, c->width);
        rf_kernels()->gemm(&g);
        for (size_t r = 0; r < n; r++) {
            uint32_t best = (uint32_t)rf_largest(scores + r * c->k, c->k);
            c->of[i + r] = best;
            c->distance[i + r] = squared(c->points + (i + r) * c->width,
                                         c->centres + best * c->width, c->width);
        }
    }
}

static double assign(clustering *c, rf_team *team)
{
    double spread = 0.0;
    for (size_t k = 0; k < c->k; k++) {
        const float *x = c->centres + k * c->width;
        double sum = 0.0;
        for (size_t j = 0; j < c->width; j++)
            sum += (double)x[j] * (double)x[j];
        c->bias[k] = (float)(-0.5 * sum);
    }
    rf_panels_pack(c->panels, c->centres, c->k, c->width);
    rf_team_run(team, assign_some, c);
    for (size_t i = 0; i < c->n; i++)
        spread += c->distance[i];
    return spread;
}

/* Gives an empty cluster the point that is farthest from its centre. */
static void refill(clustering *c, size_t k)
{
    size_t far = 0;
    for (size_t i = 1; i < c->n; i++)
        if (c->distance[i] > c->distance[far])
            far = i;
    c->distance[far] = 0.0;
    memcpy(c->centres + k * c->width, c->points + far * c->width,
           c->width * sizeof *c->centres);
}

static void move_centres(clustering *c)
{
    size_t d = c->width;
    memset(c->sums, 0, c->k * d * sizeof *c->sums);
    memset(c->size, 0, c->k * sizeof *c->size);
    for (size_t i = 0; i < c->n; i++) {
        double *sum = c->sums + c->of[i] * d;
        c->size[c->of[i]]++;
        for (size_t j = 0; j < d; j++)
            sum[j] += (double)c->points[i * d + j];
    }
    for (size_t k = 0; k < c->k; k++) {
        if (c->size[k] == 0)
            refill(c, k);
        for (size_t j = 0; j < d && c->size[k] > 0; j++)
            c->centres[k * d + j] = (float)(c->sums[k * d + j] / c->size[k]);
    }
}

static void start_from(clustering *c, const uint32_t *clusters)
{
    memcpy(c->of, clusters, c->n * sizeof *c->of);
    move_centres(c);
}

rf_status rf_kmeans(const float *points, size_t n, size_t width,
                    const rf_kmeans_options *o, uint32_t *cluster, double *spread,
                    rf_team *team, rf_error *err)
{
    clustering c = {.points = points, .n = n, .width = width, .k = o->clusters};
    double best = -1.0;
    if (o->clusters == 0 || o->clusters > n)
        return rf_fail(err, RF_ERR_ARG, 0, "%zu clusters of %zu points, wanted 1 to %zu",
                       o->clusters, n, n);
    rf_status st = room(&c, rf_team_size(team), err);
    for (size_t i = 0; i < (o->start ? 1 : o->restarts) && st == RF_OK; i++) {
        if (o->start)
            start_from(&c, o->start);
        else
            start(&c, o->seed, i, team);
        double now = assign(&c, team), before;
        size_t step = 0;
        do {
            before = now;
            move_centres(&c);
            now = assign(&c, team);
        } while (now < before && ++step < o->most_steps);
        if (best >= 0.0 && !(now < best))
            continue;
        best = now;
        memcpy(cluster, c.of, n * sizeof *cluster);
    }
    if (spread)
        *spread = best;
    release(&c);
    return st;
}
