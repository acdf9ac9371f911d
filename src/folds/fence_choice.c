/* fence_choice.c - F1 of the outcomes of a fold at each position of the fence */
#include "folds/fence_choice.h"

#include "base/memory.h"
#include "stages/fence_line.h"

#include <stdlib.h>
#include <string.h>

void rf_fence_positions(rf_fence_position out[RF_FENCE_POSITIONS], const rf_settings *s)
{
    static const float rejects[] = {1.0f,  0.20f, 0.15f, 0.12f, 0.10f,
                                    0.08f, 0.06f, 0.04f, 0.02f};
    static const float offsets[] = {0.0f, -0.5f, -1.0f, -2.0f};
    size_t n = 0;
    out[n++] = (rf_fence_position){s->fence_reject, s->fence_offset};
    for (size_t i = 0; i < sizeof rejects / sizeof *rejects; i++)
        for (size_t k = 0; k < sizeof offsets / sizeof *offsets; k++)
            out[n++] = (rf_fence_position){rejects[i], offsets[k]};
}

/* Total weights of texts by class, "open" last. */
typedef struct tally {
    double *support, *predicted, *correct; /* [classes + 1] */
} tally;

static double f1_of(const tally *t, size_t classes)
{
    double sum = 0.0;
    size_t counted = 0;
    for (size_t c = 0; c <= classes; c++) {
        if (t->support[c] == 0.0)
            continue; /* hidden, or without dev texts */
        sum += 200.0 * t->correct[c] / (t->support[c] + t->predicted[c]);
        counted++;
    }
    return counted ? sum / (double)counted : 0.0;
}

static double f1_at(const rf_outcomes *o, size_t classes, float offset, tally *t)
{
    size_t known = o->n - o->n_hidden;
    double open_weight = o->n_hidden ? (double)known / (double)o->n_hidden : 0.0;
    memset(t->support, 0, 3 * (classes + 1) * sizeof *t->support);
    for (size_t i = 0; i < o->n; i++) {
        const rf_outcome *row = &o->row[i];
        double weight = row->hidden ? open_weight : 1.0;
        size_t truth = row->hidden ? classes : row->truth;
        size_t answer = row->margin[0] + offset >= 0.0f ? row->head[0] : classes;
        t->support[truth] += weight;
        t->predicted[answer] += weight;
        if (truth == answer)
            t->correct[truth] += weight;
    }
    return f1_of(t, classes);
}

rf_status rf_outcomes_f1(const rf_outcomes *o, size_t classes,
                         const rf_fence_position *positions, size_t n, double *f1,
                         rf_error *err)
{
    size_t known = o->n - o->n_hidden;
    float *margins = rf_floats_new(known + 1);
    double *room = calloc(3 * (classes + 1), sizeof *room);
    if (!margins || !room) {
        free(margins);
        free(room);
        return rf_fail_nomem(err, known * sizeof *margins, "the outcomes");
    }
    tally t = {room, room + classes + 1, room + 2 * (classes + 1)};
    for (size_t i = 0, k = 0; i < o->n; i++)
        if (!o->row[i].hidden)
            margins[k++] = o->row[i].margin[0];
    for (size_t i = 0; i < n; i++) {
        float loosened =
            positions[i].reject < 1.0f
                ? rf_fence_loosening(margins, known, (double)positions[i].reject)
                : 0.0f;
        f1[i] = f1_at(o, classes, loosened + positions[i].offset, &t);
    }
    free(margins);
    free(room);
    return RF_OK;
}
