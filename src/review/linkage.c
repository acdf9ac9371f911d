/* linkage.c - rounds of joining every group with the one most similar to it */
#include "review/linkage.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STEP 0.02 /* between rungs, in cosine */
#define LANES 16
#define AT_ONCE 256 /* groups of a work item */

double rf_review_dot(const float *a, const float *b, size_t n)
{
    float part[LANES] = {0};
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (size_t j = 0; j < LANES; j++)
            part[j] += a[i + j] * b[i + j];
    double sum = 0.0;
    for (size_t j = 0; j < LANES; j++)
        sum += (double)part[j];
    for (; i < n; i++)
        sum += (double)a[i] * (double)b[i];
    return sum;
}

typedef struct linking {
    size_t n, width;
    double level;
    uint32_t *group; /* [n] of a point: its group, which is named by its lowest point */
    float *sum;      /* [n, width] */
    uint32_t *size;  /* [n] */
    rf_team *team;

    uint32_t *from, *to; /* [edges] between different groups */
    size_t edges;
    uint32_t *start; /* [n + 1] of each group in `other` */
    uint32_t *other; /* [2 edges] groups that it has an edge to, some of them twice */
    uint32_t *best;  /* [n] the most similar of them */
    float *similar;  /* [n] how much */
    bool *changed;   /* [n] in the last round */
} linking;

static void release(linking *l)
{
    free(l->from);
    free(l->to);
    free(l->start);
    free(l->other);
    free(l->best);
    free(l->similar);
    free(l->changed);
}

static rf_status room(linking *l, size_t k, rf_error *err)
{
    size_t n = l->n, edges = n * k;
    l->from = malloc((edges + 1) * sizeof *l->from);
    l->to = malloc((edges + 1) * sizeof *l->to);
    l->start = calloc(n + 2, sizeof *l->start);
    l->other = malloc((2 * edges + 1) * sizeof *l->other);
    l->best = calloc(n + 1, sizeof *l->best);
    l->similar = calloc(n + 1, sizeof *l->similar);
    l->changed = malloc((n + 1) * sizeof *l->changed);
    if (!l->from || !l->to || !l->start || !l->other || !l->best || !l->similar ||
        !l->changed)
        return rf_fail_nomem(err, 4 * edges * sizeof *l->from, "grouping texts");
    memset(l->changed, 1, n + 1);
    return RF_OK;
}

/* ---- Edges ------------------------------------------------------------------------- */

/* Renames the ends of edges after groups were joined; drops those within a group. */
static void rename_edges(linking *l)
{
    size_t kept = 0;
    for (size_t e = 0; e < l->edges; e++) {
        uint32_t a = l->group[l->from[e]], b = l->group[l->to[e]];
        if (a == b)
            continue;
        l->from[kept] = a;
        l->to[kept++] = b;
    }
    l->edges = kept;
}

/* Sorts edges by group, both ways. */
static void list_edges(linking *l)
{
    size_t n = l->n;
    memset(l->start, 0, (n + 2) * sizeof *l->start);
    for (size_t e = 0; e < l->edges; e++) {
        l->start[l->from[e] + 2]++;
        l->start[l->to[e] + 2]++;
    }
    for (size_t i = 2; i < n + 2; i++)
        l->start[i] += l->start[i - 1];
    for (size_t e = 0; e < l->edges; e++) {
        l->other[l->start[l->from[e] + 1]++] = l->to[e];
        l->other[l->start[l->to[e] + 1]++] = l->from[e];
    }
}

/* ---- A round ----------------------------------------------------------------------- */

static bool is_stale(const linking *l, size_t a)
{
    bool stale = l->changed[a];
    for (uint32_t e = l->start[a]; e < l->start[a + 1] && !stale; e++)
        stale = l->changed[l->other[e]];
    return stale;
}

/* Of equals the lower group; the order of edges does not matter. */
static void find_best(linking *l, size_t a)
{
    uint32_t best = (uint32_t)a;
    float most = -INFINITY;
    for (uint32_t e = l->start[a]; e < l->start[a + 1]; e++) {
        uint32_t b = l->other[e];
        if (b == best || (e > l->start[a] && b == l->other[e - 1]))
            continue;
        double pairs = (double)l->size[a] * (double)l->size[b];
        /* a . b and b . a are the same bits */
        float s = (float)(rf_review_dot(l->sum + a * l->width, l->sum + b * l->width,
                                        l->width) /
                          pairs);
        if (s > most || (s == most && b < best)) {
            most = s;
            best = b;
        }
    }
    l->best[a] = best;
    l->similar[a] = most;
}

static void find_some(void *arg, size_t member, size_t members)
{
    linking *l = arg;
    for (size_t i = member * AT_ONCE; i < l->n; i += members * AT_ONCE)
        for (size_t a = i; a < i + AT_ONCE && a < l->n; a++)
            if (l->group[a] == a && is_stale(l, a))
                find_best(l, a);
}

static uint32_t root_of(linking *l, uint32_t a)
{
    while (l->group[a] != a)
        a = l->group[a] = l->group[l->group[a]];
    return a;
}

/* Joins every group with its best one if they are at least this similar. */
static size_t join(linking *l, double rung)
{
    size_t joined = 0, d = l->width;
    for (uint32_t a = 0; a < l->n; a++) {
        if (l->size[a] == 0 || !((double)l->similar[a] >= rung))
            continue;
        uint32_t x = root_of(l, a), y = root_of(l, l->best[a]);
        if (x == y)
            continue;
        l->group[x > y ? x : y] = x > y ? y : x;
        joined++;
    }
    memset(l->changed, 0, l->n);
    for (uint32_t a = 0; joined && a < l->n; a++) {
        uint32_t root = root_of(l, a);
        if (root == a || l->size[a] == 0)
            continue;
        for (size_t j = 0; j < d; j++)
            l->sum[root * d + j] += l->sum[a * d + j];
        l->size[root] += l->size[a];
        l->size[a] = 0;
        l->similar[a] = -INFINITY;
        l->changed[root] = true;
    }
    for (uint32_t a = 0; joined && a < l->n; a++)
        l->group[a] = root_of(l, a);
    return joined;
}

static void run_rounds(linking *l)
{
    double rung = 1.0;
    while (rung > l->level) {
        rung = rung - STEP > l->level ? rung - STEP : l->level;
        size_t joined;
        do {
            rf_team_run(l->team, find_some, l);
            joined = join(l, rung);
            if (joined) {
                rename_edges(l);
                list_edges(l);
            }
        } while (joined);
    }
}

rf_status rf_linkage(const float *points, size_t n, size_t width, const uint32_t *near,
                     size_t k, double level, uint32_t *group, float *sum, uint32_t *size,
                     rf_team *team, rf_error *err)
{
    linking l = {.n = n,
                 .width = width,
                 .level = level,
                 .group = group,
                 .sum = sum,
                 .size = size,
                 .team = team};
    rf_status st = room(&l, k, err);
    if (st == RF_OK) {
        memcpy(sum, points, n * width * sizeof *sum);
        for (uint32_t i = 0; i < n; i++) {
            group[i] = i;
            size[i] = 1;
            for (size_t j = 0; j < k; j++) {
                l.from[l.edges] = i;
                l.to[l.edges++] = near[i * k + j];
            }
        }
        list_edges(&l);
        run_rounds(&l);
    }
    release(&l);
    return st;
}
