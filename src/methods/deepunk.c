/*
 * deepunk.c - DeepUnk (Lin and Xu, 2019): a cosine classifier with a margin, and the
 * local outlier factor on its hidden layer
 *
 * Stage 1 learns h = Wd z + bd, with dropout, by the large margin cosine loss
 *   CE(s (cos(h, w_k) - m [k = y])),  s = 30, m = 0.35
 * which makes classes more compact than plain cross entropy does. The fence is LOF on
 * h / |h|. With rf_settings.textoir, a softmax is applied to the cosines before scale and
 * margin, as TEXTOIR does.
 */
#include "base/memory.h"
#include "base/streams.h"
#include "methods/cosine.h"
#include "methods/dev_score.h"
#include "methods/lof.h"
#include "open/method.h"
#include "known/signals.h"
#include "num/vectors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Stage 1 ------------------------------------------------------------------------
 */

typedef struct deepunk {
    rf_objective base;
    rf_dense d;
    rf_cosine c;
    rf_dev_score score;
    float scale, margin;
    float *soft; /* [batch, classes] softmax of the cosines; NULL: as in the paper */
} deepunk;

/* The mean loss of the n rows whose cosines are in c; d.logits becomes its gradient with
 * respect to the input of scale and margin. */
static double margin_loss(deepunk *u, const uint32_t *class_of, size_t n)
{
    size_t classes = u->d.known->classes;
    const float *v = u->c.cosines;
    if (u->soft) {
        memcpy(u->soft, v, n * classes * sizeof *v);
        rf_kernels()->softmax(u->soft, n, classes, classes, 1.0f);
        v = u->soft;
    }
    float *logits = u->d.logits;
    for (size_t i = 0; i < n * classes; i++)
        logits[i] = u->scale * v[i];
    for (size_t i = 0; i < n; i++)
        logits[i * classes + class_of[i]] -= u->scale * u->margin;
    double loss = rf_cross_entropy(logits, class_of, n, classes, 1.0f);
    for (size_t i = 0; i < n * classes; i++)
        logits[i] *= u->scale;
    return loss;
}

static double deepunk_step(rf_objective *o, const rf_objective_batch *b, float *dz)
{
    deepunk *u = (deepunk *)o;
    size_t classes = u->d.known->classes;
    rf_dense_forward(&u->d, b->z, b->n, b->dropout,
                     rf_stream_key(b->seed, RF_STREAM_DROP_HIDDEN, b->step, 0));
    rf_cosine_forward(&u->c, b->n);
    double loss = margin_loss(u, b->class_of, b->n);
    if (u->soft)
        rf_train_kernels()->softmax_back(u->d.logits, u->soft, b->n, classes, classes,
                                         1.0f);
    rf_cosine_back(&u->c, u->d.logits, b->n, b->adam);
    rf_dense_back_hidden(&u->d, b->z, b->n, dz, b->adam);
    return loss;
}

static void deepunk_look_at_dev(rf_objective *o, const float *z, const uint32_t *class_of,
                                size_t n, double *score, double *loss)
{
    deepunk *u = (deepunk *)o;
    double sum = 0.0;
    rf_dev_score_clear(&u->score);
    for (size_t from = 0; from < n; from += u->d.max_rows) {
        size_t some = n - from < u->d.max_rows ? n - from : u->d.max_rows;
        rf_dense_forward(&u->d, z + from * u->d.known->width, some, 0.0f, 0);
        rf_cosine_forward(&u->c, some);
        rf_dev_score_add(&u->score, u->c.cosines, class_of + from, some);
        sum += (double)some * margin_loss(u, class_of + from, some);
    }
    *score = rf_dev_score_accuracy(&u->score);
    *loss = n ? sum / (double)n : 0.0;
}

static void deepunk_refresh(rf_objective *o)
{
    rf_dense_refresh(&((deepunk *)o)->d);
}

static void deepunk_release(rf_objective *o)
{
    deepunk *u = (deepunk *)o;
    rf_cosine_release(&u->c);
    rf_dense_release(&u->d);
    rf_dev_score_release(&u->score);
    free(u->soft);
    free(u);
}

static rf_status deepunk_make(rf_objective *o, const rf_objective_setting *s,
                              rf_error *err)
{
    deepunk *u = (deepunk *)o;
    u->scale = s->o->cosine_scale;
    u->margin = s->o->cosine_margin;
    rf_status st = rf_dense_init(&u->d, s->known, s->batch, err);
    if (st == RF_OK)
        st = rf_cosine_init(&u->c, &u->d, err);
    if (st == RF_OK)
        st = rf_dev_score_init(&u->score, s->known->classes, err);
    size_t n = s->batch * s->known->classes;
    if (st == RF_OK && s->o->textoir && !(u->soft = rf_floats_new(n)))
        st = rf_fail_nomem(err, n * sizeof(float), "training a classifier by cosines");
    if (st == RF_OK)
        rf_dense_list(&u->d, o);
    return st;
}

static rf_objective *deepunk_new(const rf_objective_setting *s, rf_error *err)
{
    const rf_objective first = {.step = deepunk_step,
                                .look_at_dev = deepunk_look_at_dev,
                                .refresh = deepunk_refresh,
                                .release = deepunk_release};
    return rf_objective_new(sizeof(deepunk), first, deepunk_make, s, err);
}

/* ---- The fence ----------------------------------------------------------------------
 */

static rf_status deepunk_fit(rf_method_state *state, const rf_fit *in, rf_error *err)
{
    return rf_lof_fit_hidden(state, in, true, err);
}

static size_t deepunk_scratch(const rf_method_state *state)
{
    return RF_JUDGE_ROWS * state->width + rf_lof_scratch(state);
}

static void deepunk_judge(const rf_method_state *state, const rf_signals *s,
                          rf_verdict *out, float *margins, float *scratch)
{
    rf_rows_normalise(scratch, s->hidden, s->n, state->width);
    rf_lof_judge(state, s, scratch, out, margins, scratch + RF_JUDGE_ROWS * state->width);
}

const rf_method rf_method_deepunk = {
    .name = "deepunk",
    .title = "DeepUnk",
    .summary = "large margin cosine loss, local outlier factor on the hidden layer",
    .form = RF_KNOWN_COSINE_FLAT,
    .objective = deepunk_new,
    .arrays = rf_lof_arrays,
    .n_arrays = RF_LOF_N_ARRAYS,
    .fit = deepunk_fit,
    .prepare = rf_lof_prepare,
    .release = rf_lof_release,
    .scratch = deepunk_scratch,
    .judge = deepunk_judge,
};
