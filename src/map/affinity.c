/* affinity.c - widths by bisection, then the sparse matrix made symmetric */
#include "map/affinity.h"

#include "base/memory.h"
#include "num/neighbours.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define HALVINGS 100 /* of the interval of beta; more change nothing */

/* ---- One row ----------------------------------------------------------------------- */

/* p = exp(-beta (d - d[0])) / sum; returns the entropy. d ascends. */
static double spread(double *p, const double *d, size_t k, double beta)
{
    double sum = 0, weighted = 0;
    for (size_t j = 0; j < k; j++) {
        double x = beta * (d[j] - d[0]);
        p[j] = exp(-x);
        sum += p[j];
        weighted += p[j] * x;
    }
    for (size_t j = 0; j < k; j++)
        p[j] /= sum;
    return log(sum) + weighted / sum;
}

static void row_probabilities(double *p, const double *d, size_t k, double perplexity)
{
    double mean = 0, low = 0, high = INFINITY, target = log(perplexity);
    for (size_t j = 0; j < k; j++)
        mean += (d[j] - d[0]) / (double)k;
    /* All at the same distance: any width will do, and 1 / mean may not exist. */
    double beta = mean > 0 && isfinite(1 / mean) ? 1 / mean : 0;
    for (size_t i = 0; i < HALVINGS; i++) {
        double entropy = spread(p, d, k, beta);
        if (beta == 0 || fabs(entropy - target) < 1e-12)
            return;
        if (entropy > target)
            low = beta;
        else
            high = beta;
        double next = isfinite(high) ? low + (high - low) / 2 : 2 * beta;
        if (next == beta || next > 1e200 / (mean + 1))
            return;
        beta = next;
    }
}

typedef struct job {
    double *p;       /* [n, k] distances in, probabilities out */
    double *scratch; /* [members, k] */
    size_t n, k;
    double perplexity;
} job;

static void work(void *arg, size_t member, size_t members)
{
    const job *j = arg;
    double *d = j->scratch + member * j->k;
    for (size_t i = member; i < j->n; i += members) {
        memcpy(d, j->p + i * j->k, j->k * sizeof *d);
        row_probabilities(j->p + i * j->k, d, j->k, j->perplexity);
    }
}

/* ---- Symmetric --------------------------------------------------------------------- */

typedef struct entry {
    uint32_t row;
    double value;
} entry;

static int by_row(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    return x->row < y->row ? -1 : x->row > y->row;
}

/* All entries of both directions, by row; begin is [n + 1], all [2 n k]. */
static void gather(size_t *begin, entry *all, const uint32_t *index, const double *p,
                   size_t n, size_t k)
{
    memset(begin, 0, (n + 1) * sizeof *begin);
    for (size_t e = 0; e < n * k; e++)
        begin[index[e] + 1]++;
    for (size_t i = 0; i < n; i++)
        begin[i + 1] += begin[i] + k;
    for (size_t i = 0; i < n; i++)
        for (size_t e = i * k; e < (i + 1) * k; e++) {
            all[begin[i]++] = (entry){index[e], p[e]};
            all[begin[index[e]]++] = (entry){(uint32_t)i, p[e]};
        }
    memmove(begin + 1, begin, n * sizeof *begin); /* each had moved to its row's end */
    begin[0] = 0;
}

/* Sorts each row and joins its pairs; packs everything to the front. */
static void join(rf_affinities *a, entry *all)
{
    size_t out = 0, from = 0;
    for (size_t i = 0; i < a->n; i++) {
        size_t end = a->begin[i + 1];
        qsort(all + from, end - from, sizeof *all, by_row);
        a->begin[i] = out;
        for (size_t e = from; e < end; e++) {
            double v = all[e].value / (2.0 * (double)a->n);
            if (out > a->begin[i] && a->row[out - 1] == all[e].row)
                a->value[out - 1] += v;
            else {
                a->row[out] = all[e].row;
                a->value[out++] = v;
            }
        }
        from = end;
    }
    a->begin[a->n] = out;
}

static rf_status make_symmetric(rf_affinities *a, const uint32_t *index, const double *p,
                                size_t k, rf_error *err)
{
    size_t most = 2 * a->n * k;
    entry *all = malloc((most + 1) * sizeof *all);
    a->row = malloc((most + 1) * sizeof *a->row);
    a->value = malloc((most + 1) * sizeof *a->value);
    if (!all || !a->row || !a->value) {
        free(all);
        return rf_fail_nomem(err, most * sizeof *all, "the affinities of a map");
    }
    gather(a->begin, all, index, p, a->n, k);
    join(a, all);
    free(all);
    return RF_OK;
}

/* Squared distances of the k nearest others of every point. */
static rf_status find_nearest(uint32_t *index, double *squared, const float *x, size_t n,
                              size_t width, size_t k, rf_team *team, rf_error *err)
{
    rf_neighbours among;
    rf_status st = rf_neighbours_init(&among, x, n, width, err);
    if (st != RF_OK)
        return st;
    float *distance = rf_floats_new(n * k);
    st = distance
             ? rf_neighbours_find_all(&among, x, n, k, true, index, distance, team, err)
             : rf_fail_nomem(err, n * k * sizeof *distance, "the nearest points");
    for (size_t i = 0; i < n * k && st == RF_OK; i++)
        squared[i] = (double)distance[i] * (double)distance[i];
    free(distance);
    rf_neighbours_release(&among);
    return st;
}

rf_status rf_affinities_init(rf_affinities *a, const float *x, size_t n, size_t width,
                             double perplexity, rf_team *team, rf_error *err)
{
    *a = (rf_affinities){.n = n, .begin = calloc(n + 1, sizeof *a->begin)};
    if (!a->begin)
        return rf_fail_nomem(err, n * sizeof *a->begin, "the affinities of a map");
    if (n < 2)
        return RF_OK;
    perplexity = fmax(1.0, fmin(perplexity, (double)(n - 1) / 3.0));
    size_t k = (size_t)(3.0 * perplexity);
    k = k < n - 1 ? k : n - 1;
    uint32_t *index = malloc(n * k * sizeof *index);
    double *p = malloc(n * k * sizeof *p);
    double *scratch = malloc(rf_team_size(team) * k * sizeof *scratch);
    rf_status st = RF_OK;
    if (!index || !p || !scratch)
        st = rf_fail_nomem(err, n * k * sizeof *p, "the affinities of a map");
    if (st == RF_OK)
        st = find_nearest(index, p, x, n, width, k, team, err);
    if (st == RF_OK) {
        job j = {p, scratch, n, k, perplexity};
        rf_team_run(team, work, &j);
        st = make_symmetric(a, index, p, k, err);
    }
    free(index);
    free(p);
    free(scratch);
    if (st != RF_OK)
        rf_affinities_release(a);
    return st;
}

void rf_affinities_release(rf_affinities *p)
{
    free(p->begin);
    free(p->row);
    free(p->value);
    *p = (rf_affinities){0};
}
