/*
 * deepunk.c - DeepUnk (Lin and Xu, 2019): a classifier by cosines with a margin, and the
 * local outlier factor on its hidden layer
 *
 * Stage 1 learns h = Wd z + bd, dropped out, with the large margin cosine loss
 *   CE(s (cos(h, w_k) - m [k = y])),  s = 30, m = 0.35
 * which pulls a class together more than plain cross entropy does. The fence is LOF on
 * h / |h|. As TEXTOIR does it (rf_method_options.textoir), a softmax over the cosines
 * comes before scale and margin.
 */
#include "base/memory.h"
#include "base/rng.h"
#include "encoder/live.h"
#include "open/cosine.h"
#include "open/dev_score.h"
#include "open/lof.h"
#include "open/method.h"
#include "open/rows.h"

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

/* The mean loss of the n rows whose cosines stand in c; d.logits becomes its gradient by
 * what scale and margin are applied to. */
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

static double step(rf_objective *o, const rf_lesson *b, float *dz)
{
    deepunk *u = (deepunk *)o;
    size_t classes = u->d.known->classes;
    rf_dense_forward(&u->d, b->z, b->n, b->dropout,
                     rf_rng_key(b->seed, b->step, RF_DROP_HIDDEN, 0));
    rf_cosine_forward(&u->c, b->n);
    double loss = margin_loss(u, b->class_of, b->n);
    if (u->soft)
        rf_train_kernels()->softmax_back(u->d.logits, u->soft, b->n, classes, classes,
                                         1.0f);
    rf_cosine_back(&u->c, u->d.logits, b->n, b->adam);
    rf_dense_back_hidden(&u->d, b->z, b->n, dz, b->adam);
    return loss;
}

static void look_at_dev(rf_objective *o, const float *z, const uint32_t *class_of,
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

static void refresh(rf_objective *o)
{
    rf_dense_refresh(&((deepunk *)o)->d);
}

static void release_objective(rf_objective *o)
{
    deepunk *u = (deepunk *)o;
    rf_cosine_release(&u->c);
    rf_dense_release(&u->d);
    rf_dev_score_release(&u->score);
    free(u->soft);
    free(u);
}

static rf_status make(deepunk *u, const rf_objective_setting *s, rf_error *err)
{
    /* Written so that a NaN fails. */
    if (!(u->scale > 0.0f && u->scale <= 1e4f))
        return rf_fail(err, RF_ERR_ARG, 0, "cosine scale: found %g, wanted above 0",
                       (double)u->scale);
    if (!(u->margin >= 0.0f && u->margin <= 2.0f))
        return rf_fail(err, RF_ERR_ARG, 0, "cosine margin: found %g, wanted 0 to 2",
                       (double)u->margin);
    rf_status st = rf_dense_init(&u->d, s->known, s->batch, err);
    if (st == RF_OK)
        st = rf_cosine_init(&u->c, &u->d, err);
    if (st == RF_OK)
        st = rf_dev_score_init(&u->score, s->known->classes, err);
    size_t n = s->batch * s->known->classes;
    if (st == RF_OK && s->o->textoir && !(u->soft = rf_floats_new(n)))
        st = rf_fail_nomem(err, n * sizeof(float), "training a classifier by cosines");
    if (st == RF_OK)
        rf_dense_list(&u->d, &u->base);
    return st;
}

static rf_objective *objective(const rf_objective_setting *s, rf_error *err)
{
    deepunk *u = calloc(1, sizeof *u);
    if (!u) {
        rf_fail_nomem(err, sizeof *u, "training");
        return NULL;
    }
    u->base.step = step;
    u->base.look_at_dev = look_at_dev;
    u->base.refresh = refresh;
    u->base.release = release_objective;
    u->scale = s->o->cosine_scale;
    u->margin = s->o->cosine_margin;
    if (make(u, s, err) != RF_OK) {
        release_objective(&u->base);
        return NULL;
    }
    return &u->base;
}

/* ---- The fence ----------------------------------------------------------------------
 */

static rf_status fit(rf_fence *f, const rf_fit *in, rf_error *err)
{
    size_t floats = 0;
    float *hidden = NULL;
    if (rf_size_mul(in->rows, in->width, &floats) && floats <= SIZE_MAX / sizeof(float))
        hidden = rf_floats_new(floats);
    if (!hidden)
        return rf_fail_nomem(err, floats * sizeof(float), "the hidden layer of all rows");
    rf_status st =
        rf_rows_signals(in->known, in->z, in->rows, hidden, NULL, in->team, err);
    rf_rows_normalise(hidden, hidden, st == RF_OK ? in->rows : 0, in->width);
    if (st == RF_OK)
        st = rf_lof_fit(f, 0, hidden, in->rows, in->width, in->o->neighbours,
                        in->o->contamination, in->team, err);
    free(hidden);
    return st;
}

static rf_status prepare(rf_fence *f, rf_error *err)
{
    return rf_lof_prepare(f, 0, err);
}

static size_t scratch_floats(const rf_fence *f)
{
    return RF_JUDGE_ROWS * f->width + rf_lof_scratch(f);
}

static void judge(const rf_fence *f, const rf_signals *s, rf_verdict *out, float *margins,
                  float *scratch)
{
    rf_rows_normalise(scratch, s->hidden, s->n, f->width);
    rf_lof_judge(f, scratch, s->logits, f->classes, s->n, out, margins,
                 scratch + RF_JUDGE_ROWS * f->width);
}

static const rf_fence_array arrays[] = {RF_LOF_ARRAYS};

const rf_method rf_method_deepunk = {
    .name = "deepunk",
    .title = "DeepUnk",
    .summary = "large margin cosine loss, local outlier factor on the hidden layer",
    .form = RF_KNOWN_COSINE_FLAT,
    .objective = objective,
    .arrays = arrays,
    .n_arrays = RF_LOF_N_ARRAYS,
    .fit = fit,
    .prepare = prepare,
    .release = rf_lof_release,
    .scratch = scratch_floats,
    .judge = judge,
};
