/* ward.c - chains of nearest clusters, joins in order, and cuts */
#include "lab/ward.h"

#include "base/memory.h"
#include "review/linkage.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct nearest {
    double cost;
    uint32_t cluster;
} nearest;

typedef struct joining {
    size_t n, width;
    float *centre;  /* [n, width] */
    double *square; /* [n] |centre|^2 */
    uint32_t *size; /* [n] */
    uint32_t *live; /* [n_live] clusters that are left, ascending */
    size_t n_live;
    uint32_t *chain; /* [n] */
    nearest *found;  /* [threads] */
    uint32_t from;   /* whose nearest is looked for */
} joining;

static rf_status room(joining *j, const float *points, size_t threads, rf_error *err)
{
    size_t floats;
    if (!rf_size_mul(j->n + 1, j->width, &floats) || floats > SIZE_MAX / 8)
        return rf_fail(err, RF_ERR_LIMIT, 0, "%zu points are too many", j->n);
    j->centre = rf_floats_new(floats);
    j->square = calloc(j->n + 1, sizeof *j->square);
    j->size = calloc(j->n + 1, sizeof *j->size);
    j->live = calloc(j->n + 1, sizeof *j->live);
    j->chain = calloc(j->n + 1, sizeof *j->chain);
    j->found = calloc(threads, sizeof *j->found);
    if (!j->centre || !j->square || !j->size || !j->live || !j->chain || !j->found)
        return rf_fail_nomem(err, floats * sizeof *j->centre, "clusters");
    memcpy(j->centre, points, j->n * j->width * sizeof *points);
    for (uint32_t i = 0; i < j->n; i++) {
        const float *x = points + i * j->width;
        j->square[i] = rf_review_dot(x, x, j->width);
        j->size[i] = 1;
        j->live[j->n_live++] = i;
        if (!isfinite(j->square[i]))
            return rf_fail(err, RF_ERR_NUMERIC, 0, "point %zu is not finite", (size_t)i);
    }
    return RF_OK;
}

static void release(joining *j)
{
    free(j->centre);
    free(j->square);
    free(j->size);
    free(j->live);
    free(j->chain);
    free(j->found);
}

static double cost_of(const joining *j, uint32_t a, uint32_t b)
{
    double product =
        rf_review_dot(j->centre + a * j->width, j->centre + b * j->width, j->width);
    double apart = j->square[a] + j->square[b] - 2.0 * product;
    double sizes = (double)j->size[a] * j->size[b] / ((double)j->size[a] + j->size[b]);
    return apart > 0.0 ? sizes * apart : 0.0;
}

static void find_some(void *arg, size_t member, size_t members)
{
    joining *j = arg;
    nearest best = {INFINITY, UINT32_MAX};
    for (size_t i = member; i < j->n_live; i += members) {
        uint32_t b = j->live[i];
        double cost = b == j->from ? INFINITY : cost_of(j, j->from, b);
        if (cost < best.cost)
            best = (nearest){cost, b};
    }
    j->found[member] = best;
}

/* The nearest of cluster a: of equals `before`, which may be UINT32_MAX, else the lowest.
 */
static nearest find_nearest(joining *j, uint32_t a, uint32_t before, rf_team *team)
{
    nearest best = {INFINITY, UINT32_MAX};
    j->from = a;
    rf_team_run(team, find_some, j);
    for (size_t i = 0; i < rf_team_size(team); i++) {
        const nearest *f = &j->found[i];
        if (f->cost < best.cost || (f->cost == best.cost && f->cluster < best.cluster))
            best = *f;
    }
    if (before != UINT32_MAX && cost_of(j, a, before) <= best.cost)
        best.cluster = before;
    return best;
}

/* b becomes part of a. */
static void join(joining *j, uint32_t a, uint32_t b)
{
    float *x = j->centre + a * j->width;
    const float *y = j->centre + b * j->width;
    double all = (double)j->size[a] + j->size[b];
    size_t kept = 0;
    for (size_t i = 0; i < j->width; i++)
        x[i] = (float)(((double)j->size[a] * (double)x[i] +
                        (double)j->size[b] * (double)y[i]) /
                       all);
    j->square[a] = rf_review_dot(x, x, j->width);
    j->size[a] += j->size[b];
    for (size_t i = 0; i < j->n_live; i++)
        if (j->live[i] != b)
            j->live[kept++] = j->live[i];
    j->n_live = kept;
}

static void join_all(joining *j, rf_ward_join *joins, rf_team *team)
{
    size_t len = 0, done = 0;
    while (j->n_live > 1) {
        if (len == 0)
            j->chain[len++] = j->live[0];
        uint32_t a = j->chain[len - 1], before = len > 1 ? j->chain[len - 2] : UINT32_MAX;
        nearest b = find_nearest(j, a, before, team);
        if (b.cluster != before) {
            j->chain[len++] = b.cluster;
            continue;
        }
        uint32_t low = a < before ? a : before, high = a < before ? before : a;
        joins[done++] = (rf_ward_join){b.cost, low, high};
        join(j, low, high);
        len -= 2;
    }
}

static int by_cost(const void *a, const void *b)
{
    const rf_ward_join *x = a, *y = b;
    if (x->cost != y->cost)
        return x->cost < y->cost ? -1 : 1;
    if (x->a != y->a)
        return x->a < y->a ? -1 : 1;
    return (x->b > y->b) - (x->b < y->b);
}

rf_status rf_ward_make(rf_ward *tree, const float *points, size_t n, size_t width,
                       rf_team *team, rf_error *err)
{
    joining j = {.n = n, .width = width};
    *tree = (rf_ward){.n = n, .joins = calloc(n + 1, sizeof *tree->joins)};
    rf_status st = tree->joins ? room(&j, points, rf_team_size(team), err)
                               : rf_fail_nomem(err, n * sizeof *tree->joins, "clusters");
    if (st == RF_OK && n > 0) {
        join_all(&j, tree->joins, team);
        qsort(tree->joins, n - 1, sizeof *tree->joins, by_cost);
    }
    release(&j);
    if (st != RF_OK)
        rf_ward_release(tree);
    return st;
}

void rf_ward_release(rf_ward *tree)
{
    free(tree->joins);
    *tree = (rf_ward){0};
}

/* ---- Cuts -------------------------------------------------------------------------- */

static uint32_t root_of(uint32_t *parent, uint32_t i)
{
    while (parent[i] != i)
        i = parent[i] = parent[parent[i]];
    return i;
}

rf_status rf_ward_cut(const rf_ward *tree, size_t clusters, uint32_t *cluster,
                      rf_error *err)
{
    uint32_t *parent = calloc(tree->n + 1, sizeof *parent), n = 0;
    if (!parent)
        return rf_fail_nomem(err, tree->n * sizeof *parent, "clusters");
    for (uint32_t i = 0; i < tree->n; i++)
        parent[i] = i;
    for (size_t i = 0; i + clusters < tree->n; i++) {
        uint32_t a = root_of(parent, tree->joins[i].a);
        uint32_t b = root_of(parent, tree->joins[i].b);
        parent[a > b ? a : b] = a > b ? b : a; /* a root is the lowest point */
    }
    for (uint32_t i = 0; i < tree->n; i++) {
        uint32_t root = root_of(parent, i);
        cluster[i] = root == i ? n++ : cluster[root];
    }
    free(parent);
    return RF_OK;
}
