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

/* With more classes than this, only those that many whose other parts are the largest are
 * compared text by text; the others are taken to be as far as classes are on average. */
#define NEAR_CLASSES 64
#define SAMPLED 32 /* texts, and classes of each, for that average */

struct rf_prior {
    size_t width, classes, texts;
    float *block;                            /* holds the panels */
    float *rotate, *linear, *square, *means; /* panels */
    float *kept;                             /* panels of the texts */
    const float *centre, *constant, *weight; /* the state's */
    const float *fence;                      /* the state's, may be NULL */
    uint32_t *class_of;                      /* [texts] */
    size_t *from;                            /* [classes + 1] the texts of a class */
    float *one_by_count;                     /* [classes] */
    float far; /* what texts of a class add that is not near */
};

/* The class of each kept text, and the first text of each class; false if the counts do
 * not add up to their number. */
static bool list_classes(uint32_t *class_of, size_t *first, const float *counts,
                         size_t classes, size_t texts)
{
    size_t at = 0;
    for (size_t c = 0; c < classes; c++) {
        first[c] = at;
        if (!(counts[c] >= 1.0f && (double)counts[c] <= (double)(texts - at)) ||
            counts[c] != floorf(counts[c]))
            return false;
        for (size_t i = 0; i < (size_t)counts[c]; i++)
            class_of[at++] = (uint32_t)c;
    }
    first[classes] = at;
    return at == texts;
}

/* The logarithm of the mean similarity of one rotated row to the texts of a class. */
static float log_similarity(const rf_prior *p, const float *rotated, size_t c,
                            float *cosines)
{
    float sum = 0.0f;
    size_t end = p->from[c + 1];
    for (size_t at = p->from[c] / RF_PANEL * RF_PANEL, n; at < end; at += n) {
        n = end - at < TEXTS_AT_ONCE ? end - at : TEXTS_AT_ONCE;
        rf_panels_multiply(cosines, rotated, p->kept + at * p->width, NULL, 1, n,
                           p->width);
        size_t skip = at < p->from[c] ? p->from[c] - at : 0; /* of the class before */
        rf_prior_similarities(cosines + skip, n - skip);
        for (size_t j = skip; j < n; j++)
            sum += cosines[j];
    }
    return (float)rf_log((double)((sum + RF_PRIOR_NO_SIMILARITY) * p->one_by_count[c]));
}

/* The mean of that over some texts and classes that are not theirs. */
static float measure_far(const rf_prior *p, const float *texts, float *cosines)
{
    double sum = 0.0, n = 0.0;
    for (size_t i = 0; i < SAMPLED; i++)
        for (size_t k = 0; k < SAMPLED; k++) {
            size_t text = i * p->texts / SAMPLED, c = k * p->classes / SAMPLED;
            if (p->class_of[text] == c)
                continue;
            sum += (double)log_similarity(p, texts + text * p->width, c, cosines);
            n += 1.0;
        }
    return (float)(sum / n);
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
    p->from = calloc(k + 1, sizeof *p->from);
    p->one_by_count = calloc(k, sizeof *p->one_by_count);
    if (!p->block || !p->class_of || !p->from || !p->one_by_count) {
        rf_prior_free(p);
        rf_fail_nomem(err, (square + 3 * flat + all) * sizeof(float), "the prior");
        return NULL;
    }
    const float *counts = rf_prior_array(state, first, RF_PRIOR_COUNTS);
    if (!list_classes(p->class_of, p->from, counts, k, texts)) {
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
    p->fence = rf_prior_array(state, first, RF_PRIOR_FENCE);
    float cosines[TEXTS_AT_ONCE];
    if (k > NEAR_CLASSES)
        p->far = measure_far(p, rf_prior_array(state, first, RF_PRIOR_TEXTS), cosines);
    return p;
}

void rf_prior_free(rf_prior *p)
{
    if (!p)
        return;
    free(p->block);
    free(p->class_of);
    free(p->from);
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

/* ---- With many classes ------------------------------------------------------------- */

typedef struct near_class {
    float reach, score;
    size_t class_index;
} near_class;

/* The classes with the largest scores so far, as they were before they were scaled by
 * the shares of heads, which the weights were, too. The first of equals. */
static void find_near(const rf_prior *p, const float *scores, near_class *near)
{
    size_t n = 0, last = 0; /* last: the smallest of those found */
    for (size_t c = 0; c < p->classes; c++) {
        float fence = p->fence ? p->fence[c] : 0.0f;
        float reach = (scores[c] - fence) / (p->weight[c] > 0.0f ? p->weight[c] : 1.0f);
        if (n == NEAR_CLASSES && !(reach > near[last].reach))
            continue;
        near[n < NEAR_CLASSES ? n++ : last] = (near_class){reach, scores[c], c};
        for (size_t i = last = 0; n == NEAR_CLASSES && i < n; i++)
            if (near[i].reach < near[last].reach ||
                (near[i].reach == near[last].reach &&
                 near[i].class_index > near[last].class_index))
                last = i;
    }
}

static void add_near_texts(const rf_prior *p, const float *rotated, size_t n,
                           float *scores, float *cosines)
{
    near_class near[NEAR_CLASSES];
    for (size_t i = 0; i < n; i++, scores += p->classes, rotated += p->width) {
        find_near(p, scores, near);
        for (size_t c = 0; c < p->classes; c++)
            scores[c] += p->weight[c] * p->far;
        for (size_t k = 0; k < NEAR_CLASSES; k++) {
            size_t c = near[k].class_index;
            scores[c] =
                near[k].score + p->weight[c] * log_similarity(p, rotated, c, cosines);
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
    if (k > NEAR_CLASSES)
        add_near_texts(p, rotated, n, scores, rest + RF_JUDGE_ROWS * d);
    else
        add_texts(p, rotated, n, scores, rest + RF_JUDGE_ROWS * d);
}
