#include "model/fence_line.h"

#include "base/memory.h"
#include "model/judge.h"

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

rf_status rf_fence_margins(const rf_model *m, const float *z, size_t n, rf_team *team,
                           float *margins, uint32_t *classes, rf_error *err)
{
    rf_judge judge;
    rf_status st = rf_judge_init(&judge, m, n, rf_team_size(team), err);
    if (st != RF_OK)
        return st;
    for (size_t from = 0; from < n; from += judge.max_rows) {
        size_t some = n - from < judge.max_rows ? n - from : judge.max_rows;
        rf_judge_rows(&judge, m, z + from * m->known.width, some, team);
        for (size_t i = 0; i < some; i++) {
            uint32_t c = judge.verdicts[i].fence;
            margins[from + i] = judge.margins[i * m->classes + c];
            if (classes)
                classes[from + i] = c;
        }
    }
    rf_judge_release(&judge);
    return RF_OK;
}

rf_status rf_fence_all_margins(const rf_model *m, const float *z, size_t n, rf_team *team,
                               float *margins, rf_error *err)
{
    rf_judge judge;
    rf_status st = rf_judge_init(&judge, m, n, rf_team_size(team), err);
    if (st != RF_OK)
        return st;
    for (size_t from = 0; from < n; from += judge.max_rows) {
        size_t some = n - from < judge.max_rows ? n - from : judge.max_rows;
        rf_judge_rows(&judge, m, z + from * m->known.width, some, team);
        memcpy(margins + from * m->classes, judge.margins,
               some * m->classes * sizeof *margins);
    }
    rf_judge_release(&judge);
    return RF_OK;
}

static int ascending(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

float rf_fence_loosening(float *margins, size_t n, double share)
{
    /* A share that was a float may be a little less than what was meant. */
    size_t outside = (size_t)((share + 1e-6) * (double)n) + 1;
    if (outside >= n)
        return 0.0f;
    qsort(margins, n, sizeof *margins, ascending);
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
