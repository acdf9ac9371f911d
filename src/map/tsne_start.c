/*
 * tsne_start.c - the initial map: two principal components by orthogonal iteration
 *
 * The iteration need not converge to the last digit: any plane near that of the largest
 * spread will do. Sums over rows use blocks of fixed size, so they do not depend on the
 * threads.
 */
#include "map/tsne.h"

#include "base/rng.h"
#include "base/streams.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 40
#define BLOCK 256   /* rows that are summed together */
#define SPREAD 1e-4 /* standard deviation of the start */
#define JITTER 1e-6 /* added to each point: separates equal ones, unfolds flat maps */

typedef struct plane {
    const float *x;
    size_t n, width, blocks;
    double *mean;   /* [width] */
    double *axes;   /* [2, width] */
    double *sums;   /* [blocks, 2, width]: per block, rows times their coordinates */
    double *coords; /* [n, 2] */
} plane;

static void project_rows(plane *p, size_t block)
{
    size_t end = (block + 1) * BLOCK < p->n ? (block + 1) * BLOCK : p->n, w = p->width;
    double *sum = p->sums + block * 2 * w;
    memset(sum, 0, 2 * w * sizeof *sum);
    for (size_t i = block * BLOCK; i < end; i++) {
        const float *row = p->x + i * w;
        double a = 0, b = 0;
        for (size_t j = 0; j < w; j++) {
            double d = (double)row[j] - p->mean[j];
            a += d * p->axes[j];
            b += d * p->axes[w + j];
        }
        p->coords[2 * i] = a;
        p->coords[2 * i + 1] = b;
        for (size_t j = 0; j < w; j++) {
            double d = (double)row[j] - p->mean[j];
            sum[j] += a * d;
            sum[w + j] += b * d;
        }
    }
}

static void project(void *arg, size_t member, size_t members)
{
    plane *p = arg;
    for (size_t b = member; b < p->blocks; b += members)
        project_rows(p, b);
}

static double dot(const double *a, const double *b, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* To length 1; a zero vector stays, and its coordinate will be 0. */
static void normalise(double *v, size_t n)
{
    double length = sqrt(dot(v, v, n));
    for (size_t i = 0; i < n && length > 0; i++)
        v[i] /= length;
}

static void make_orthogonal(plane *p)
{
    double *a = p->axes, *b = p->axes + p->width;
    normalise(a, p->width);
    for (int twice = 0; twice < 2; twice++) { /* once leaves rounding behind */
        double both = dot(a, b, p->width);
        for (size_t j = 0; j < p->width; j++)
            b[j] -= both * a[j];
    }
    normalise(b, p->width);
}

static void find_plane(plane *p, uint64_t seed, rf_team *team)
{
    rf_rng rng = rf_rng_open(rf_stream_key(seed, RF_STREAM_TSNE_START, 0, 0));
    for (size_t j = 0; j < 2 * p->width; j++)
        p->axes[j] = (double)rf_rng_uniform(&rng) - 0.5;
    make_orthogonal(p);
    for (size_t round = 0; round < ROUNDS; round++) {
        rf_team_run(team, project, p);
        memset(p->axes, 0, 2 * p->width * sizeof *p->axes);
        for (size_t b = 0; b < p->blocks; b++)
            for (size_t j = 0; j < 2 * p->width; j++)
                p->axes[j] += p->sums[b * 2 * p->width + j];
        make_orthogonal(p);
    }
    rf_team_run(team, project, p);
}

static void fill_mean(plane *p)
{
    memset(p->mean, 0, p->width * sizeof *p->mean);
    for (size_t i = 0; i < p->n; i++)
        for (size_t j = 0; j < p->width; j++)
            p->mean[j] += (double)p->x[i * p->width + j];
    for (size_t j = 0; j < p->width; j++)
        p->mean[j] /= (double)p->n;
}

/* The sign of a component is arbitrary; this one makes its largest entry positive. */
static double sign_of(const double *axis, size_t n)
{
    double most = 0;
    for (size_t j = 0; j < n; j++)
        most = fabs(axis[j]) > fabs(most) ? axis[j] : most;
    return most < 0 ? -1 : 1;
}

static void scale(double *map, const plane *p, uint64_t seed)
{
    double squares = 0;
    rf_rng rng = rf_rng_open(rf_stream_key(seed, RF_STREAM_TSNE_JITTER, 0, 0));
    double sign[2] = {sign_of(p->axes, p->width), sign_of(p->axes + p->width, p->width)};
    for (size_t i = 0; i < p->n; i++)
        squares += p->coords[2 * i] * p->coords[2 * i];
    double deviation = sqrt(squares / (double)p->n);
    double by = deviation > 0 && isfinite(SPREAD / deviation) ? SPREAD / deviation : 0;
    for (size_t i = 0; i < 2 * p->n; i++)
        map[i] = sign[i % 2] * p->coords[i] * by +
                 JITTER * ((double)rf_rng_uniform(&rng) - 0.5);
}

rf_status rf_tsne_start(double *map, const float *x, size_t n, size_t width,
                        uint64_t seed, rf_team *team, rf_error *err)
{
    if (n == 0)
        return RF_OK;
    plane p = {.x = x, .n = n, .width = width, .blocks = (n + BLOCK - 1) / BLOCK};
    size_t doubles = width + 2 * width + p.blocks * 2 * width + 2 * n;
    double *block = calloc(doubles, sizeof *block);
    if (!block)
        return rf_fail_nomem(err, doubles * sizeof *block, "the start of a map");
    p.mean = block;
    p.axes = p.mean + width;
    p.sums = p.axes + 2 * width;
    p.coords = p.sums + p.blocks * 2 * width;
    fill_mean(&p);
    find_plane(&p, seed, team);
    scale(map, &p, seed);
    free(block);
    return RF_OK;
}
