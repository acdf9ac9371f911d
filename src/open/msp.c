/* msp.c - the largest softmax probability against a fixed threshold (Hendrycks and Gimpel
 * 2017) */
#include "num/kernels.h"
#include "open/method.h"
#include "open/rows.h"

#include <string.h>

static rf_status fit(rf_fence *f, const rf_fit *in, rf_error *err)
{
    if (!(in->o->threshold >= 0.0f && in->o->threshold <= 1.0f))
        return rf_fail(err, RF_ERR_ARG, 0, "threshold: found %g, wanted 0 to 1",
                       (double)in->o->threshold);
    rf_status status = rf_fence_room(f, 0, 1, 1, err);
    if (status == RF_OK)
        *f->arrays[0].data = in->o->threshold;
    return status;
}

static rf_status prepare(rf_fence *f, rf_error *err)
{
    float threshold = *f->arrays[0].data;
    if (!(threshold >= 0.0f && threshold <= 1.0f))
        return rf_fail(err, RF_ERR_FORMAT, 0, "msp: found threshold %g, wanted 0 to 1",
                       (double)threshold);
    return RF_OK;
}

static void judge(const rf_fence *f, const rf_signals *s, rf_verdict *out, float *margins,
                  float *scratch)
{
    (void)scratch;
    size_t classes = f->classes;
    memcpy(margins, s->logits, s->n * classes * sizeof *margins);
    rf_kernels()->softmax(margins, s->n, classes, classes, 1.0f);
    for (size_t i = 0; i < s->n; i++) {
        uint32_t best = (uint32_t)rf_largest(s->logits + i * classes, classes);
        out[i] = (rf_verdict){.nearest = best, .fence = best};
    }
    for (size_t i = 0; i < s->n * classes; i++)
        margins[i] -= *f->arrays[0].data;
}

static const rf_fence_array arrays[] = {{"threshold", 1, {1, 1}}};

const rf_method rf_method_msp = {
    .name = "msp",
    .title = "MSP",
    .summary = "the largest softmax probability against a threshold",
    .arrays = arrays,
    .n_arrays = sizeof arrays / sizeof *arrays,
    .fit = fit,
    .prepare = prepare,
    .judge = judge,
};
