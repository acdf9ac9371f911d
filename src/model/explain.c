/*
 * explain.c - the training texts nearest to a feature
 *
 * Every row is looked at: a training set has thousands of rows, not millions, and an
 * explanation that may miss the nearest one explains nothing. Distances are summed in
 * double, so what is nearer comes first also where single precision would see a tie; real
 * ties go to the earlier row.
 */
#include "model/model.h"

#include "base/memory.h"
#include "num/kernels.h"

#include <math.h>
#include <stdlib.h>

/* Features that are widened at a time: they stay in the first-level cache. */
#define BLOCK_FLOATS 4096
#define LANES 8

typedef struct found {
    double squared; /* distance */
    size_t row;
} found;

static bool nearer(const found *a, const found *b)
{
    return a->squared < b->squared || (a->squared == b->squared && a->row < b->row);
}

/* ---- The nearest so far: a heap with the farthest of them on top --------------------
 */

/* Puts x where heap[at] was, below which all is in order. */
static void sink_down(found *heap, size_t n, size_t at, found x)
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

static void rise_up(found *heap, size_t at, found x)
{
    for (; at > 0 && nearer(&heap[(at - 1) / 2], &x); at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = x;
}

/* From a heap to an array, nearest first. */
static void sort_heap(found *heap, size_t n)
{
    while (n > 1) {
        found last = heap[--n];
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

/* The k nearest rows into heap [k]; block is [rows_at_once, width]. */
static void search(const rf_model *m, const double *z, found *heap, size_t k,
                   float *block, size_t rows_at_once)
{
    size_t width = m->known.width, n = 0;
    for (size_t from = 0; from < m->n_rows; from += rows_at_once) {
        size_t left = m->n_rows - from;
        size_t rows = left < rows_at_once ? left : rows_at_once;
        rf_kernels()->widen_f16(block, m->features + from * width, rows * width);
        for (size_t i = 0; i < rows; i++) {
            found x = {squared_distance(z, block + i * width, width), from + i};
            if (n < k)
                rise_up(heap, n++, x);
            else if (nearer(&x, &heap[0]))
                sink_down(heap, n, 0, x);
        }
    }
    sort_heap(heap, n);
}

static rf_neighbour describe(const rf_model *m, const found *f)
{
    rf_neighbour out = {.class_index = (size_t)m->row_class[f->row],
                        .distance = (float)sqrt(f->squared)};
    if (m->texts) {
        uint64_t begin = f->row ? m->text_ends[f->row - 1] : 0;
        out.text = m->texts + begin;
        out.text_len = (size_t)(m->text_ends[f->row] - begin);
    }
    return out;
}

rf_status rf_explain(const rf_model *m, const float *feature, rf_neighbour *out,
                     size_t *n, rf_error *err)
{
    size_t width = m->known.width, k = *n < m->n_rows ? *n : m->n_rows;
    *n = 0;
    if (m->n_rows == 0)
        return rf_fail(err, RF_ERR_MISSING, 0,
                       "the model keeps no training features, so it cannot show the "
                       "nearest examples; it was saved without them");
    if (!rf_kernels()->all_finite(feature, width))
        return rf_fail(err, RF_ERR_NUMERIC, 0,
                       "the feature to explain holds a NaN or an infinity");
    if (k == 0)
        return RF_OK;
    rf_status st = RF_OK;
    size_t at_once = width < BLOCK_FLOATS ? BLOCK_FLOATS / width : 1;
    double *z = malloc(width * sizeof *z);
    float *block = rf_floats_new(at_once * width);
    found *heap = malloc(k * sizeof *heap);
    if (z && block && heap) {
        for (size_t i = 0; i < width; i++)
            z[i] = (double)feature[i];
        search(m, z, heap, k, block, at_once);
        for (size_t i = 0; i < k; i++)
            out[i] = describe(m, &heap[i]);
        *n = k;
    } else {
        st = rf_fail_nomem(
            err, width * sizeof *z + at_once * width * sizeof *block + k * sizeof *heap,
            "the search for neighbours");
    }
    free(heap);
    free(block);
    free(z);
    return st;
}
