/*
 * explain.c - the training texts nearest to a feature, and why an answer is open
 */
#include "answer/nearest.h"
#include "base/plural.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static rf_neighbour make_neighbour(const rf_model *m, const rf_nearest *near)
{
    rf_neighbour out = {.class_index = (size_t)m->row_class[near->at],
                        .distance = (float)sqrt(near->squared)};
    out.text = rf_model_text(m, near->at, &out.text_len);
    return out;
}

rf_status rf_explain(const rf_model *m, const float *feature, rf_neighbour *out,
                     size_t *n, rf_error *err)
{
    size_t k = *n < m->n_rows ? *n : m->n_rows;
    *n = 0;
    if (m->n_rows == 0)
        return rf_fail(err, RF_ERR_MISSING, 0,
                       "the model keeps no training features, so it cannot show the "
                       "nearest examples; it was saved without them");
    rf_nearest *near = calloc(k + 1, sizeof *near);
    if (!near)
        return rf_fail_nomem(err, k * sizeof *near, "the neighbours");
    rf_status st = rf_model_nearest(m, feature, NULL, m->n_rows, near, k, err);
    for (size_t i = 0; i < k && st == RF_OK; i++)
        out[i] = make_neighbour(m, &near[i]);
    if (st == RF_OK)
        *n = k;
    free(near);
    return st;
}

/* The class of most of the n nearest texts, of two the one with the nearest text; how
 * many are of it, and how many of class c. */
static size_t most_frequent(const rf_neighbour *nearest, size_t n, size_t c, size_t *most,
                            size_t *own)
{
    size_t best = c;
    *most = *own = 0;
    for (size_t i = 0; i < n; i++) {
        size_t same = 0;
        for (size_t k = 0; k < n; k++)
            same += nearest[k].class_index == nearest[i].class_index;
        if (nearest[i].class_index == c)
            *own = same;
        if (same > *most) {
            *most = same;
            best = nearest[i].class_index;
        }
    }
    return best;
}

char *rf_open_reason(const rf_model *m, const rf_decision *d, const rf_neighbour *nearest,
                     size_t n, char *out, size_t cap)
{
    const char *label = rf_model_label(m, d->margin_class);
    double by = -(double)d->margin;
    size_t most, own, other = most_frequent(nearest, n, d->margin_class, &most, &own);
    const char *texts = rf_plural(n, "text", "texts");
    if (d->class_index != RF_OPEN)
        snprintf(out, cap, "%s", "");
    else if (n == 0)
        snprintf(out, cap, "would be \"%s\", rejected by %.2f", label, by);
    else if (most > own)
        snprintf(
            out, cap,
            "would be \"%s\" (%zu of %zu nearest %s; %zu of \"%s\"), rejected by %.2f",
            label, own, n, texts, most, rf_model_label(m, other), by);
    else
        snprintf(out, cap, "would be \"%s\" (%zu of %zu nearest %s), rejected by %.2f",
                 label, own, n, texts, by);
    return out;
}

bool rf_model_has_examples(const rf_model *m)
{
    return m->n_rows > 0 && m->texts;
}
