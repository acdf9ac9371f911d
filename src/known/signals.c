/* signals.c - the known classifier on many rows, in blocks shared among threads */
#include "known/signals.h"

#include "base/memory.h"
#include "num/kernels.h"

#include <stdlib.h>

#define BLOCK 96 /* rows that a thread takes at a time */

typedef struct signals_work {
    const rf_known *known;
    const float *z;
    size_t n;
    float *hidden, *logits;
    float *spare; /* per thread: a block of each, for outputs that are not wanted */
} signals_work;

static void signals_of_blocks(void *arg, size_t member, size_t members)
{
    const signals_work *w = arg;
    size_t width = w->known->width, classes = w->known->classes;
    float *spare = w->spare + member * BLOCK * (width + classes);
    for (size_t i = member * BLOCK; i < w->n; i += members * BLOCK) {
        size_t n = w->n - i < BLOCK ? w->n - i : BLOCK;
        float *hidden = w->hidden ? w->hidden + i * width : spare;
        float *logits = w->logits ? w->logits + i * classes : spare + BLOCK * width;
        rf_known_logits(w->known, w->z + i * width, n, logits, hidden);
    }
}

rf_status rf_known_signals(const rf_known *known, const float *z, size_t n, float *hidden,
                           float *logits, rf_team *team, rf_error *err)
{
    /* checked here, because the ReLU would turn a NaN into 0 */
    if (n > 0 && !rf_kernels()->all_finite(z, n * known->width))
        return rf_fail(err, RF_ERR_NUMERIC, 0, "the features hold a NaN or an infinity");
    size_t spare = rf_team_size(team) * BLOCK * (known->width + known->classes);
    signals_work w = {.known = known, .z = z, .n = n, .hidden = hidden, .logits = logits};
    w.spare = rf_floats_new(spare);
    if (!w.spare)
        return rf_fail_nomem(err, spare * sizeof(float), "the known classifier's output");
    rf_team_run(team, signals_of_blocks, &w);
    free(w.spare);
    return RF_OK;
}
