/* prior.c - scores of rows: rotate, then products with what the classes have learnt */
#include "ans/prior.h"

#include "ans/prior_parts.h"
#include "base/memory.h"
#include "num/panels.h"
#include "num/vectors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TEXTS_AT_ONCE 256 /* kept texts that rows are compared with at a time */

struct rf_prior {
    size_t width, classes, texts;
    float *block;                            /* holds the panels */
    float *rotate, *linear, *square, *means; /* panels */
    float *kept;                             /* panels of the texts */
    const float *centre, *constant, *weight; /* the state's */
    uint32_t *class_of;                      /* [texts] */
    float *one_by_count;                     /* [classes] */
};

/* The class of each kept text; false if the counts do not add up to their number. */
static bool list_classes(uint32_t *class_of, const float *counts, size_t classes,
                         size_t texts)
{
    size_t at = 0;
    for (size_t c = 0; c < classes; c++) {
        if (!(counts[c] >= 1.0f && (double)counts[c] <= (double)(texts - at)) ||
            counts[c] != floorf(counts[c]))
            return false;
        for (size_t i = 0; i < (size_t)counts[c]; i++)
            class_of[at++] = (uint32_t)c;
    }
    return at == texts;
}

rf_prior *rf_prior_new(const rf_method_state *state, size_t first, rf_error *err)
{
    size_t d = state->width, k = state->classes;
    size_t texts = state->arrays[first + RF_PRIOR_TEXTS].shape[0];
    size_t square = rf_panels_floats(d, d), flat = rf_panels_floats(k, d), all;
    rf_prior *p = calloc(1, sizeof *p);
    if (!p || !rf_size_mul(rf_panels_padded(texts), d, &all) ||
        all > SIZE_MAX / 8 - square - 3 * flat) {
        free(p);
        rf_fail_nomem(err, sizeof *p, "the prior");
        return NULL;
    }
    *p = (rf_prior){.width = d, .classes = k, .texts = texts};
    p->block = rf_floats_new(square + 3 * flat + all);
    p->class_of = calloc(texts + 1, sizeof *p->class_of);
    p->one_by_count = calloc(k, sizeof *p->one_by_count);
    if (!p->block || !p->class_of || !p->one_by_count) {
        rf_prior_free(p);
        rf_fail_nomem(err, (square + 3 * flat + all) * sizeof(float), "the prior");
        return NULL;
    }
    const float *counts = rf_prior_array(state, first, RF_PRIOR_COUNTS);
    if (!list_classes(p->class_of, counts, k, texts)) {
        rf_prior_free(p);
        rf_fail(err, RF_ERR_FORMAT, 0,
                "\"prior.counts\": wanted whole numbers from 1 on that add up to the "
                "%zu rows of \"prior.texts\"",
                texts);
        return NULL;
    }
    for (size_t c = 0; c < k; c++)
        p->one_by_count[c] = 1.0f / counts[c];
    p->rotate = p->block;
    p->linear = p->rotate + square;
    p->square = p->linear + flat;
    p->means = p->square + flat;
    p->kept = p->means + flat;
    rf_panels_pack(p->rotate, rf_prior_array(state, first, RF_PRIOR_ROTATE), d, d);
    rf_panels_pack(p->linear, rf_prior_array(state, first, RF_PRIOR_LINEAR), k, d);
    rf_panels_pack(p->square, rf_prior_array(state, first, RF_PRIOR_SQUARE), k, d);
    rf_panels_pack(p->means, rf_prior_array(state, first, RF_PRIOR_MEANS), k, d);
    rf_panels_pack(p->kept, rf_prior_array(state, first, RF_PRIOR_TEXTS), texts, d);
    p->centre = rf_prior_array(state, first, RF_PRIOR_CENTRE);
    p->constant = rf_prior_array(state, first, RF_PRIOR_CONSTANT);
    p->weight = rf_prior_array(state, first, RF_PRIOR_TEXTS_WEIGHT);
    return p;
}

void rf_prior_free(rf_prior *p)
{
    if (!p)
        return;
    free(p->block);
    free(p->class_of);
    free(p->one_by_count);
    free(p);
}

void rf_prior_rotate(const float *rotate, const float *centre, const float *unit,
                     size_t n, size_t width, float *out, float *scratch)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < width; j++)
            scratch[i * width + j] = unit[i * width + j] - centre[j];
    rf_panels_multiply(out, scratch, rotate, NULL, n, width, width);
    rf_rows_normalise(out, out, n, width);
}

/* Adds the part of the single texts. */
static void add_texts(const rf_prior *p, const float *rotated, size_t n, float *scores,
                      float *scratch)
{
    float *cosines = scratch;
    float *begun = cosines + RF_JUDGE_ROWS * TEXTS_AT_ONCE; /* a class across blocks */
    memset(begun, 0, n * sizeof *begun);
    for (size_t from = 0; from < p->texts; from += TEXTS_AT_ONCE) {
        size_t some = p->texts - from < TEXTS_AT_ONCE ? p->texts - from : TEXTS_AT_ONCE;
        rf_gemm_args g = rf_panels_product(cosines, rotated, p->kept + from * p->width,
                                           NULL, n, some, p->width);
        rf_kernels()->gemm(&g);
        rf_prior_similarities(cosines, n * some);
        for (size_t i = 0; i < n; i++) {
            float sum = begun[i];
            for (size_t j = 0; j < some; j++) {
                uint32_t c = p->class_of[from + j];
                sum += cosines[i * some + j];
                if (from + j + 1 < p->texts && p->class_of[from + j + 1] == c)
                    continue;
                scores[i * p->classes + c] +=
                    p->weight[c] * (float)rf_log((double)((sum + RF_PRIOR_NO_SIMILARITY) *
                                                          p->one_by_count[c]));
                sum = 0.0f;
            }
            begun[i] = sum;
        }
    }
}

size_t rf_prior_scratch(size_t width)
{
    return RF_JUDGE_ROWS * (3 * width + TEXTS_AT_ONCE + 1);
}

void rf_prior_score(const rf_prior *p, const float *z, size_t n, float *scores,
                    float *scratch)
{
    size_t d = p->width, k = p->classes;
    float *unit = scratch, *rotated = unit + RF_JUDGE_ROWS * d;
    float *rest = rotated + RF_JUDGE_ROWS * d; /* [RF_JUDGE_ROWS, d], then more */
    rf_rows_normalise(unit, z, n, d);
    rf_prior_rotate(p->rotate, p->centre, unit, n, d, rotated, rest);
    rf_panels_multiply(scores, rotated, p->linear, p->constant, n, k, d);
    for (size_t i = 0; i < n * d; i++)
        rest[i] = rotated[i] * rotated[i];
    rf_gemm_args g = rf_panels_product(scores, rest, p->square, NULL, n, k, d);
    g.after = RF_GEMM_ADD;
    rf_kernels()->gemm(&g);
    g = rf_panels_product(scores, unit, p->means, NULL, n, k, d);
    g.after = RF_GEMM_ADD;
    rf_kernels()->gemm(&g);
    add_texts(p, rotated, n, scores, rest + RF_JUDGE_ROWS * d);
}
