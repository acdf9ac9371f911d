#include "model/fence_line.h"

#include "base/memory.h"
#include "model/judge.h"
#include "open/rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void rf_fence_move(rf_model *m, float offset)
{
    for (size_t c = 0; c < m->classes; c++)
        *rf_head_at(&m->heads, c).b3 += offset;
}

void rf_fence_move_each(rf_model *m, const float *offsets)
{
    for (size_t c = 0; c < m->classes; c++)
        *rf_head_at(&m->heads, c).b3 += offsets[c];
}

typedef struct margins_wanted {
    float *margins;
    uint32_t *classes;
} margins_wanted;

static void take_largest(void *user, const rf_judge *j, size_t from, size_t n)
{
    const margins_wanted *w = user;
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
    margins_wanted w = {margins, classes};
    return rf_judge_all(m, z, n, team, take_largest, &w, err);
}

static void take_all(void *user, const rf_judge *j, size_t from, size_t n)
{
    float *margins = user;
    memcpy(margins + from * j->classes, j->margins, n * j->classes * sizeof *margins);
}

rf_status rf_fence_all_margins(const rf_model *m, const float *z, size_t n, rf_team *team,
                               float *margins, rf_error *err)
{
    return rf_judge_all(m, z, n, team, take_all, margins, err);
}

float rf_fence_loosening(float *margins, size_t n, double share)
{
    /* A share that was a float may be a little less than what was meant. */
    size_t outside = (size_t)((share + 1e-6) * (double)n) + 1;
    if (outside >= n)
        return 0.0f;
    rf_sort(margins, n);
    float first_inside = margins[outside];
    /* A little more than needed: the sum within the head rounds. */
    return first_inside < 0.0f ? -first_inside + 1e-5f * (1.0f - first_inside) : 0.0f;
}

rf_status rf_fence_settle(rf_training *t)
{
    rf_model *m = t->model;
    float offset = 0.0f;
    if (t->dev.n > 0 && t->o.fence_reject < 1.0f) {
        float *margins = rf_floats_new(t->dev.n);
        rf_status st =
            margins
                ? rf_fence_margins(m, t->dev.z, t->dev.n, t->team, margins, NULL, t->err)
                : rf_fail_nomem(t->err, t->dev.n * sizeof *margins, "the dev texts");
        if (st == RF_OK)
            offset = rf_fence_loosening(margins, t->dev.n, (double)t->o.fence_reject);
        free(margins);
        if (st != RF_OK)
            return st;
    }
    t->loosened = offset;
    rf_fence_move(m, offset + t->o.fence_offset);
    return RF_OK;
}
