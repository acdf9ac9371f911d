/* nearest.c - exhaustive search: blocks of rows, and a heap of the nearest so far */
#include "answer/nearest.h"

#include "base/memory.h"
#include "num/kernels.h"

#include <stdlib.h>

/* Features converted to float at a time: they stay in the first-level cache. */
#define BLOCK_FLOATS 4096
#define LANES 8

static bool nearer(const rf_nearest *a, const rf_nearest *b)
{
    return a->squared < b->squared || (a->squared == b->squared && a->at < b->at);
}

/* ---- The nearest so far: a heap with the farthest of them on top ------------------- */

/* Replaces heap[at] by x and restores the order below it. */
static void sink_down(rf_nearest *heap, size_t n, size_t at, rf_nearest x)
{
    for (size_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && nearer(&heap[child], &heap[child + 1]))
            child++;
        if (!nearer(&x, &heap[child]))
            break;
        heap[at] = heap[child];
    }
    heap[at] = x;
}

static void rise_up(rf_nearest *heap, size_t at, rf_nearest x)
{
    for (; at > 0 && nearer(&heap[(at - 1) / 2], &x); at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = x;
}

/* From a heap to an array, nearest first. */
static void sort_heap(rf_nearest *heap, size_t n)
{
    while (n > 1) {
        rf_nearest last = heap[--n];
        heap[n] = heap[0];
        sink_down(heap, n, 0, last);
    }
}

/* ---- The search -------------------------------------------------------------------- */

static double squared_distance(const double *a, const float *b, size_t n)
{
    double sum[LANES] = {0};
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (size_t j = 0; j < LANES; j++) {
            double d = a[i + j] - (double)b[i + j];
            sum[j] += d * d;
        }
    for (; i < n; i++) {
        double d = a[i] - (double)b[i];
        sum[0] += d * d;
    }
    for (size_t j = 1; j < LANES; j++)
        sum[0] += sum[j];
    return sum[0];
}

typedef struct searching {
    const rf_model *m;
    const int32_t *rows; /* NULL: all from 0 on */
    size_t n;
    double *z;      /* [width] */
    float *block;   /* [at_once, width] */
    size_t at_once; /* rows */
} searching;

/* Converts rows from..from + n of the list to float, into the block. */
static void widen(const searching *s, size_t from, size_t n)
{
    const rf_model *m = s->m;
    size_t width = m->known.width;
    if (!s->rows)
        rf_kernels()->widen_f16(s->block, m->features + from * width, n * width);
    for (size_t i = 0; s->rows && i < n; i++)
        rf_kernels()->widen_f16(s->block + i * width,
                                m->features + (size_t)s->rows[from + i] * width, width);
}

/* The k nearest into heap [k]. */
static void search(const searching *s, rf_nearest *heap, size_t k)
{
    size_t width = s->m->known.width, n = 0;
    for (size_t from = 0; from < s->n; from += s->at_once) {
        size_t left = s->n - from;
        size_t rows = left < s->at_once ? left : s->at_once;
        widen(s, from, rows);
        for (size_t i = 0; i < rows; i++) {
            rf_nearest x = {squared_distance(s->z, s->block + i * width, width),
                            from + i};
            if (n < k)
                rise_up(heap, n++, x);
            else if (nearer(&x, &heap[0]))
                sink_down(heap, n, 0, x);
        }
    }
    sort_heap(heap, n);
}

rf_status rf_model_nearest(const rf_model *m, const float *feature, const int32_t *rows,
                           size_t n, rf_nearest *out, size_t k, rf_error *err)
{
    size_t width = m->known.width;
    if (!rf_kernels()->all_finite(feature, width))
        return rf_fail(err, RF_ERR_NUMERIC, 0, "the feature holds a NaN or an infinity");
    if (k == 0)
        return RF_OK;
    size_t at_once = width < BLOCK_FLOATS ? BLOCK_FLOATS / width : 1;
    searching s = {.m = m,
                   .rows = rows,
                   .n = n,
                   .z = malloc(width * sizeof *s.z),
                   .block = rf_floats_new(at_once * width),
                   .at_once = at_once};
    rf_status st = RF_OK;
    if (s.z && s.block) {
        for (size_t i = 0; i < width; i++)
            s.z[i] = (double)feature[i];
        search(&s, out, k);
    } else {
        st = rf_fail_nomem(err, width * sizeof *s.z + at_once * width * sizeof *s.block,
                           "the search for neighbours");
    }
    free(s.block);
    free(s.z);
    return st;
}
