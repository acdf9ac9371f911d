/* fence_line.c - measure margins and move the fences of a model */
#include "stages/fence_line.h"

#include "base/memory.h"
#include "answer/judge.h"
#include "num/vectors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void rf_fence_move(rf_model *m, const float *offsets, float all)
{
    for (size_t c = 0; c < m->classes; c++)
        m->method->move_fence(&m->state, c, offsets ? offsets[c] : all);
}

typedef struct largest_margins {
    float *margins;
    uint32_t *classes;
} largest_margins;

static void copy_largest(void *user, const rf_judge *j, size_t from, size_t n)
{
    const largest_margins *w = user;
    for (size_t i = 0; i < n; i++) {
        uint32_t c = j->verdicts[i].fence;
        w->margins[from + i] = j->margins[i * j->classes + c];
        if (w->classes)
            w->classes[from + i] = c;
    }
}

rf_status rf_fence_margins(const rf_model *m, const float *z, size_t n, rf_team *team,
                           float *margins, uint32_t *classes, rf_error *err)
{
    largest_margins w = {margins, classes};
    return rf_judge_all(m, z, n, false, team, copy_largest, &w, err);
}

static void copy_all(void *user, const rf_judge *j, size_t from, size_t n)
{
    float *margins = user;
    memcpy(margins + from * j->classes, j->margins, n * j->classes * sizeof *margins);
}

rf_status rf_fence_all_margins(const rf_model *m, const float *z, size_t n, rf_team *team,
                               float *margins, rf_error *err)
{
    return rf_judge_all(m, z, n, false, team, copy_all, margins, err);
}

float rf_fence_loosening(float *margins, size_t n, double share)
{
    /* A share that was a float may be slightly too small. */
    size_t outside = (size_t)((share + 1e-6) * (double)n) + 1;
    if (outside >= n)
        return 0.0f;
    rf_sort(margins, n);
    float first_inside = margins[outside];
    /* Slightly more than needed: the sum within the head rounds. */
    return first_inside < 0.0f ? -first_inside + 1e-5f * (1.0f - first_inside) : 0.0f;
}

rf_status rf_fence_place(rf_training *t)
{
    rf_model *m = t->model;
    float offset = 0.0f;
    if (t->dev.n > 0 && t->s.fence_reject > 0.0f && t->s.fence_reject < 1.0f) {
        float *margins = rf_floats_new(t->dev.n);
        rf_status st =
            margins
                ? rf_fence_margins(m, t->dev.z, t->dev.n, t->team, margins, NULL, t->err)
                : rf_fail_nomem(t->err, t->dev.n * sizeof *margins, "the dev texts");
        if (st == RF_OK)
            offset = rf_fence_loosening(margins, t->dev.n, (double)t->s.fence_reject);
        free(margins);
        if (st != RF_OK)
            return st;
    }
    t->loosened = offset;
    rf_fence_move(m, NULL, t->fence + offset + t->s.fence_offset);
    return RF_OK;
}
