/*
 * explain.c - the training texts nearest to a feature, with labels and distances
 */
#include "answer/nearest.h"

#include <math.h>
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

bool rf_model_has_examples(const rf_model *m)
{
    return m->n_rows > 0 && m->texts;
}
