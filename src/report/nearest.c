/*
 * nearest.c - neighbours by blocks: |a - b|^2 = |a|^2 + |b|^2 - 2 ab, the products by the
 * matrix kernel
 *
 * That formula loses digits where a and b are close, so a few candidates more than wanted
 * are kept, their distances are computed anew in double, and the best of them win.
 */
#include "report/nearest.h"

#include "base/memory.h"
#include "num/panels.h"

#include <stdlib.h>

#define ROWS 32     /* of a block */
#define COLUMNS 512 /* of a block: 64 KB of products */
#define SPARE 16    /* candidates beyond k */

typedef struct candidate {
    double squared;
    uint32_t row;
} candidate;

typedef struct search {
    const float *x;
    size_t n, width, k, kept;
    const float *panels;
    const float *norms; /* [n] |x|^2 */
    uint32_t *index;
    double *squared;
    float *products;  /* [members][ROWS, COLUMNS] */
    candidate *heaps; /* [members][ROWS, kept] */
} search;

static bool nearer(const candidate *a, const candidate *b)
{
    return a->squared < b->squared || (a->squared == b->squared && a->row < b->row);
}

/* ---- A heap with the farthest candidate on top ------------------------------------- */

static void sink_down(candidate *heap, size_t n, size_t at, candidate c)
{
    for (size_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && nearer(&heap[child], &heap[child + 1]))
            child++;
        if (!nearer(&c, &heap[child]))
            break;
        heap[at] = heap[child];
    }
    heap[at] = c;
}

static void rise_up(candidate *heap, size_t at, candidate c)
{
    for (; at > 0 && nearer(&heap[(at - 1) / 2], &c); at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = c;
}

static int by_distance(const void *a, const void *b)
{
    return nearer(a, b) ? -1 : nearer(b, a);
}

/* ---- Blocks ------------------------------------------------------------------------ */

/* Products of one row with columns [from, from + count) against its heap. Every entry of
 * a row looks at the same columns in the same order, whoever does it. */
static size_t sift(const search *s, candidate *heap, size_t held, size_t row,
                   const float *products, size_t from, size_t count)
{
    for (size_t j = 0; j < count; j++) {
        size_t other = from + j;
        candidate c = {(double)(s->norms[row] + s->norms[other] - 2.0f * products[j]),
                       (uint32_t)other};
        if (other == row)
            continue;
        if (held < s->kept)
            rise_up(heap, held++, c);
        else if (c.squared < heap[0].squared)
            sink_down(heap, held, 0, c);
    }
    return held;
}

static double exact_squared(const float *a, const float *b, size_t n)
{
    double sum[4] = {0};
    for (size_t i = 0; i < n; i++) {
        double d = (double)a[i] - (double)b[i];
        sum[i % 4] += d * d;
    }
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

static void settle(const search *s, candidate *heap, size_t held, size_t row)
{
    for (size_t i = 0; i < held; i++)
        heap[i].squared =
            exact_squared(s->x + row * s->width, s->x + heap[i].row * s->width, s->width);
    qsort(heap, held, sizeof *heap, by_distance);
    for (size_t i = 0; i < s->k; i++) {
        s->index[row * s->k + i] = heap[i].row;
        s->squared[row * s->k + i] = heap[i].squared;
    }
}

static void search_rows(const search *s, size_t first, size_t rows, float *products,
                        candidate *heaps)
{
    size_t held[ROWS] = {0};
    for (size_t from = 0; from < s->n; from += COLUMNS) {
        size_t count = s->n - from < COLUMNS ? s->n - from : COLUMNS;
        rf_kernels()->gemm(&(rf_gemm_args){.c = products,
                                           .ldc = COLUMNS,
                                           .a = s->x + first * s->width,
                                           .lda = s->width,
                                           .b = s->panels + from * s->width,
                                           .b_row = RF_PANEL,
                                           .b_panel = s->width * RF_PANEL,
                                           .m = rows,
                                           .n = count,
                                           .k = s->width});
        for (size_t i = 0; i < rows; i++)
            held[i] = sift(s, heaps + i * s->kept, held[i], first + i,
                           products + i * COLUMNS, from, count);
    }
    for (size_t i = 0; i < rows; i++)
        settle(s, heaps + i * s->kept, held[i], first + i);
}

static void work(void *arg, size_t member, size_t members)
{
    const search *s = arg;
    for (size_t first = member * ROWS; first < s->n; first += members * ROWS)
        search_rows(s, first, s->n - first < ROWS ? s->n - first : ROWS,
                    s->products + member * ROWS * COLUMNS,
                    s->heaps + member * ROWS * s->kept);
}

rf_status rf_nearest(uint32_t *index, double *squared, const float *x, size_t n,
                     size_t width, size_t k, rf_team *team, rf_error *err)
{
    if (k >= n || n > UINT32_MAX)
        return rf_fail(err, RF_ERR_ARG, 0,
                       "neighbours: found %zu of %zu rows, wanted fewer", k, n);
    size_t members = rf_team_size(team), kept = k + SPARE < n - 1 ? k + SPARE : n - 1;
    search s = {.x = x,
                .n = n,
                .width = width,
                .k = k,
                .kept = kept,
                .index = index,
                .squared = squared};
    float *panels = rf_floats_new(rf_panels_floats(n, width) + 1);
    float *norms = rf_floats_new(n);
    s.products = rf_floats_new(members * ROWS * COLUMNS);
    s.heaps = calloc(members * ROWS * (kept + 1), sizeof *s.heaps);
    rf_status st = RF_OK;
    if (panels && norms && s.products && s.heaps) {
        rf_panels_pack(panels, x, n, width);
        for (size_t i = 0; i < n; i++) {
            double sum = 0;
            for (size_t j = 0; j < width; j++)
                sum += (double)x[i * width + j] * (double)x[i * width + j];
            norms[i] = (float)sum;
        }
        s.panels = panels;
        s.norms = norms;
        rf_team_run(team, work, &s);
    } else
        st = rf_fail_nomem(err, rf_panels_floats(n, width) * sizeof *panels,
                           "the search for neighbours");
    free(panels);
    free(norms);
    free(s.products);
    free(s.heaps);
    return st;
}
