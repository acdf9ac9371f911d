/* msp.c - maximum softmax probability against a threshold (Hendrycks and Gimpel 2017) */
#include "methods/msp.h"

#include "num/kernels.h"
#include "num/vectors.h"

#include <string.h>

rf_status rf_msp_fit(rf_method_state *state, const rf_fit *in, rf_error *err)
{
    rf_status status = rf_method_state_room(state, 0, 1, 1, err);
    if (status == RF_OK)
        *state->arrays[0].data = in->o->threshold;
    return status;
}

rf_status rf_msp_prepare(rf_method_state *state, rf_error *err)
{
    float threshold = *state->arrays[0].data;
    if (!(threshold >= 0.0f && threshold <= 1.0f))
        return rf_fail(err, RF_ERR_FORMAT, 0, "msp: found threshold %g, wanted 0 to 1",
                       (double)threshold);
    return RF_OK;
}

static void msp_judge(const rf_method_state *state, const rf_signals *s, rf_verdict *out,
                      float *margins, float *scratch)
{
    (void)scratch;
    size_t classes = state->classes;
    memcpy(margins, s->logits, s->n * classes * sizeof *margins);
    rf_kernels()->softmax(margins, s->n, classes, classes, 1.0f);
    for (size_t i = 0; i < s->n; i++) {
        uint32_t best = (uint32_t)rf_largest(s->logits + i * classes, classes);
        out[i] = (rf_verdict){.nearest = best, .fence = best};
    }
    for (size_t i = 0; i < s->n * classes; i++)
        margins[i] -= *state->arrays[0].data;
}

const rf_method_array rf_msp_arrays[] = {{"threshold", 1, {RF_DIM(1)}}};

const rf_method rf_method_msp = {
    .name = "msp",
    .title = "MSP",
    .summary = "the largest softmax probability against a threshold",
    .arrays = rf_msp_arrays,
    .n_arrays = 1,
    .fit = rf_msp_fit,
    .prepare = rf_msp_prepare,
    .judge = msp_judge,
};
