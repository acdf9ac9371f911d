/*
 * classes_alike.c - pairs of classes that cannot be told apart
 *
 * Rows of each are taken for the other, out of fold, far more often than happens between
 * neighbours. One way alone is not enough: that is a class inside another, or errors.
 */
#include "check/label_errors.h"

#include <stdlib.h>

#define LEAST_SHARE 0.25 /* of the rows of each class */
#define LEAST_ROWS 3     /* so many of each */

typedef struct confusion {
    uint32_t own, other, row;
} confusion;

static int by_classes(const void *a, const void *b)
{
    const confusion *x = a, *y = b;
    if (x->own != y->own)
        return x->own < y->own ? -1 : 1;
    if (x->other != y->other)
        return x->other < y->other ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

/* The confusions of one class with another, in a sorted list. */
static const confusion *find(const confusion *list, size_t n, uint32_t own,
                             uint32_t other, size_t *found)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const confusion *m = &list[middle];
        if (m->own < own || (m->own == own && m->other < other))
            low = middle + 1;
        else
            high = middle;
    }
    for (*found = 0; low + *found < n && list[low + *found].own == own &&
                     list[low + *found].other == other;)
        ++*found;
    return list + low;
}

typedef struct alike {
    uint32_t a, b;
    double share; /* of the rows of both */
} alike;

static int by_share(const void *a, const void *b)
{
    const alike *x = a, *y = b;
    if (x->share != y->share)
        return x->share > y->share ? -1 : 1;
    return x->a != y->a ? (x->a < y->a ? -1 : 1) : x->b < y->b ? -1 : x->b > y->b;
}

/* Pairs that cannot be told apart, worst first, at most one per confusion. */
static size_t list_pairs(const confusion *list, size_t n, const size_t *size, alike *out)
{
    size_t pairs = 0, there, back;
    for (size_t i = 0; i < n; i += there) {
        uint32_t a = list[i].own, b = list[i].other;
        find(list, n, a, b, &there);
        if (a > b || there < LEAST_ROWS)
            continue;
        find(list, n, b, a, &back);
        double x = (double)there / (double)size[a], y = (double)back / (double)size[b];
        if (back >= LEAST_ROWS && x >= LEAST_SHARE && y >= LEAST_SHARE)
            out[pairs++] =
                (alike){a, b, (double)(there + back) / (double)(size[a] + size[b])};
    }
    qsort(out, pairs, sizeof *out, by_share);
    return pairs;
}

static rf_status report(const rf_checked *c, const rf_encoded *e, const confusion *list,
                        size_t n, const alike *pair, uint32_t *rows, rf_error *err)
{
    size_t there, back;
    const confusion *x = find(list, n, pair->a, pair->b, &there);
    const confusion *y = find(list, n, pair->b, pair->a, &back);
    for (size_t i = 0; i < there; i++)
        rows[i] = e->rows[x[i].row];
    for (size_t i = 0; i < back; i++)
        rows[there + i] = e->rows[y[i].row];
    rf_finding finding = rf_finding_of(RF_FINDING_CLASSES_ALIKE);
    finding.class_index = e->class_at[pair->a];
    finding.other_class = e->class_at[pair->b];
    finding.n_rows = there + back;
    finding.score = pair->share;
    return rf_findings_add(c, finding, rows, err,
                           "\"%.100s\" and \"%.100s\": %.0f %% of their rows look like "
                           "the other class",
                           rf_dataset_label(c->data, finding.class_index, NULL),
                           rf_dataset_label(c->data, finding.other_class, NULL),
                           100.0 * pair->share);
}

rf_status rf_classes_alike_report(const rf_checked *c, const rf_encoded *e,
                                  const rf_outside_view *views, rf_error *err)
{
    size_t n = 0, pairs = 0;
    confusion *list = calloc(e->n + 1, sizeof *list);
    alike *found = calloc(e->n + 1, sizeof *found);
    uint32_t *rows = calloc(e->n + 1, sizeof *rows);
    size_t *size = calloc(e->classes + 1, sizeof *size);
    rf_status st = list && found && rows && size
                       ? RF_OK
                       : rf_fail_nomem(err, e->n * sizeof *list, "pairs of classes");
    for (uint32_t i = 0; i < e->n && st == RF_OK; i++) {
        size[e->class_of[i]]++;
        if (views[i].best > views[i].own)
            list[n++] = (confusion){e->class_of[i], views[i].other, i};
    }
    if (st == RF_OK) {
        qsort(list, n, sizeof *list, by_classes);
        pairs = list_pairs(list, n, size, found);
    }
    for (size_t i = 0; i < pairs && st == RF_OK; i++)
        st = report(c, e, list, n, &found[i], rows, err);
    free(list);
    free(found);
    free(rows);
    free(size);
    return st;
}
