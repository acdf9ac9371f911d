/*
 * knncl.c - KNN-contrastive learning (Zhou, Liu and Qiu, 2022): texts are pulled
 * towards only their nearest neighbours of the same class, and away from all other
 * classes
 *
 * Stage 1 minimises  contrast_weight L_con + (1 - contrast_weight) L_ce.  L_ce is that of
 * the classifier of known classes. L_con (methods/contrast.h) sees a second head on z,
 * dense -> ReLU -> dropout -> dense, its output divided by its length, and compares it
 * with a queue of keys: in each step, for each text of the batch, three other texts of
 * its class pass through a key encoder and a key head, which follow the trained ones
 * slowly (momentum), and enter the queue. The fence is LOF on z.
 *
 * Where this differs from the authors' code: z is the mean over tokens, not the pooler's
 * output; the heads have our ReLU, not tanh; keys are computed without dropout; the queue
 * starts empty, not with noise, and wraps around completely; gradients are not clipped.
 * The contrastive head is not needed after training and is not in the model. A checkpoint
 * would not hold the queue and the key encoder, so this method has none.
 */
#include "base/memory.h"
#include "base/rng.h"
#include "base/streams.h"
#include "num/panels.h"
#include "methods/contrast.h"
#include "methods/cosine.h"
#include "methods/dense.h"
#include "methods/dev_score.h"
#include "methods/lof.h"
#include "open/method.h"
#include "num/vectors.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POSITIVES 3 /* keys per text of a batch */
#define TEMPERATURE 0.5f

/* ---- Stage 1 ------------------------------------------------------------------------
 */

typedef struct knncl {
    rf_objective base;
    rf_dense d; /* the classifier */
    rf_known head;
    rf_dense q; /* the contrastive head */
    rf_contrast contrast;
    rf_dev_score score;
    float momentum, weight;

    rf_known key_head;
    rf_encoder *encoder; /* being trained */
    rf_encoder *key;     /* follows it; the same object if no layer is trained */
    bool own_key;
    size_t live;
    const rf_activations *texts;
    rf_team *team;
    uint32_t *by_class; /* [texts] rows sorted by class */
    size_t *first;      /* [classes + 1] where a class begins in by_class */

    uint32_t *rows, *key_class;  /* [POSITIVES batch] */
    float *block;                /* memory of the arrays below */
    float *key_z, *key_h, *keys; /* [POSITIVES batch, width] */
    float *unit, *dq, *dz;       /* [batch, width] */
    float *norms;                /* [batch] */
} knncl;

/* ---- Keys */

/* to = m to + (1 - m) from */
static void follow_weights(float *to, const float *from, size_t n, float m)
{
    for (size_t i = 0; i < n; i++)
        to[i] = m * to[i] + (1.0f - m) * from[i];
}

/* Momentum 0 copies the trained weights. */
static void update_key_weights(knncl *k, float momentum)
{
    size_t layers = k->encoder->config.layers;
    follow_weights(k->key_head.block, k->head.block, k->head.floats, momentum);
    for (size_t i = layers - k->live; i < layers; i++)
        for (size_t j = 0; j < RF_LAYER_GROUPS; j++) {
            rf_layer_group to = rf_encoder_layer_group(k->key, i, j);
            rf_layer_group from = rf_encoder_layer_group(k->encoder, i, j);
            size_t out = to.out * to.n_names;
            follow_weights(to.weight, from.weight,
                           to.in ? rf_panels_floats(out, to.in) : out, momentum);
            follow_weights(to.bias, from.bias, out, momentum);
        }
}

/* For each text of the batch, texts of its class; itself only if there is no other. */
static void draw_positives(knncl *k, const rf_objective_batch *b)
{
    for (size_t i = 0; i < b->n; i++) {
        rf_rng rng =
            rf_rng_open(rf_stream_key(b->seed, RF_STREAM_KNNCL_POSITIVES, b->step, i));
        const uint32_t *own = k->by_class + k->first[b->class_of[i]];
        size_t n = k->first[b->class_of[i] + 1] - k->first[b->class_of[i]];
        for (size_t j = i * POSITIVES; j < (i + 1) * POSITIVES; j++) {
            uint32_t row = n > 1 ? own[rf_rng_below(&rng, n - 1)] : b->rows[i];
            k->rows[j] = n > 1 && row == b->rows[i] ? own[n - 1] : row;
            k->key_class[j] = b->class_of[i];
        }
    }
}

static rf_status add_keys(knncl *k, const rf_objective_batch *b)
{
    size_t n = POSITIVES * b->n, width = k->head.width;
    rf_activations some = {0};
    update_key_weights(k, k->momentum);
    draw_positives(k, b);
    rf_status st = rf_activations_select(&some, k->texts, k->rows, n, NULL);
    if (st == RF_OK)
        st = rf_activations_features(&some, k->key, k->key_z, k->team, NULL, NULL, NULL);
    rf_activations_release(&some);
    if (st != RF_OK)
        return st;
    rf_known_logits(&k->key_head, k->key_z, n, k->keys, k->key_h);
    rf_rows_normalise(k->keys, k->keys, n, width);
    rf_contrast_add(&k->contrast, k->keys, k->key_class, n);
    return RF_OK;
}

/* ---- Learning */

/* Returns the contrastive loss, takes a step on its head, writes dloss / dz to k->dz. */
static double step_contrast(knncl *k, const rf_objective_batch *b)
{
    size_t width = k->head.width;
    rf_dense_forward(&k->q, b->z, b->n, b->dropout,
                     rf_stream_key(b->seed, RF_STREAM_DROP_HIDDEN, b->step, 1));
    rf_unit_rows(k->unit, k->q.logits, b->n, width, k->norms);
    double loss = rf_contrast_loss(&k->contrast, k->unit, b->class_of, b->n, k->dq);
    rf_unit_rows_back(k->dq, k->unit, k->norms, b->n, width);
    for (size_t i = 0; i < b->n * width; i++)
        k->dq[i] *= k->weight;
    rf_dense_back_out(&k->q, k->dq, b->n, b->adam);
    rf_dense_back_hidden(&k->q, b->z, b->n, k->dz, b->adam);
    return loss;
}

static double step_classifier(knncl *k, const rf_objective_batch *b, float *dz)
{
    size_t classes = k->d.known->classes;
    rf_dense_forward(&k->d, b->z, b->n, b->dropout,
                     rf_stream_key(b->seed, RF_STREAM_DROP_HIDDEN, b->step, 0));
    double loss = rf_cross_entropy(k->d.logits, b->class_of, b->n, classes, 1.0f);
    for (size_t i = 0; i < b->n * classes; i++)
        k->d.logits[i] *= 1.0f - k->weight;
    rf_dense_back_out(&k->d, k->d.logits, b->n, b->adam);
    rf_dense_back_hidden(&k->d, b->z, b->n, dz, b->adam);
    return loss;
}

static double knncl_step(rf_objective *o, const rf_objective_batch *b, float *dz)
{
    knncl *k = (knncl *)o;
    if ((o->failed = add_keys(k, b)) != RF_OK) {
        memset(dz, 0, b->n * k->head.width * sizeof *dz);
        return NAN;
    }
    double contrast = step_contrast(k, b), entropy = step_classifier(k, b, dz);
    for (size_t i = 0; i < b->n * k->head.width; i++)
        dz[i] += k->dz[i];
    return (double)k->weight * contrast + (1.0 - (double)k->weight) * entropy;
}

static void knncl_look_at_dev(rf_objective *o, const float *z, const uint32_t *class_of,
                              size_t n, double *score, double *loss)
{
    knncl *k = (knncl *)o;
    double sum = 0.0;
    rf_dev_score_clear(&k->score);
    for (size_t from = 0; from < n; from += k->d.max_rows) {
        size_t some = n - from < k->d.max_rows ? n - from : k->d.max_rows;
        rf_dense_forward(&k->d, z + from * k->head.width, some, 0.0f, 0);
        rf_dev_score_add(&k->score, k->d.logits, class_of + from, some);
        sum += (double)some * rf_cross_entropy(k->d.logits, class_of + from, some,
                                               k->d.known->classes, 1.0f);
    }
    *score = rf_dev_score_f1(&k->score);
    *loss = n ? sum / (double)n : 0.0;
}

/* Keys made with replaced weights are useless. */
static void knncl_refresh(rf_objective *o)
{
    knncl *k = (knncl *)o;
    rf_dense_refresh(&k->d);
    rf_dense_refresh(&k->q);
    update_key_weights(k, 0.0f);
    rf_contrast_clear(&k->contrast);
}

/* ---- Making one */

static void knncl_release(rf_objective *o)
{
    knncl *k = (knncl *)o;
    rf_dense_release(&k->d);
    rf_dense_release(&k->q);
    rf_known_release(&k->head);
    rf_known_release(&k->key_head);
    rf_contrast_release(&k->contrast);
    rf_dev_score_release(&k->score);
    if (k->own_key)
        rf_encoder_free(k->key);
    free(k->by_class);
    free(k->first);
    free(k->rows);
    free(k->key_class);
    free(k->block);
    free(k);
}

/* Sorts the training rows by class, leaving out rows of no class. */
static rf_status sort_rows(knncl *k, const rf_objective_setting *s, rf_error *err)
{
    size_t n = s->texts->n_texts, classes = s->known->classes;
    k->by_class = calloc(n ? n : 1, sizeof *k->by_class);
    k->first = calloc(classes + 2, sizeof *k->first);
    if (!k->by_class || !k->first)
        return rf_fail_nomem(err, n * sizeof *k->by_class, "training");
    for (size_t i = 0; i < n; i++)
        if (s->class_of[i] < classes)
            k->first[s->class_of[i] + 2]++;
    for (size_t c = 2; c < classes + 2; c++)
        k->first[c] += k->first[c - 1];
    for (size_t i = 0; i < n; i++) /* leaves first[c + 1] at the end of class c */
        if (s->class_of[i] < classes)
            k->by_class[k->first[s->class_of[i] + 1]++] = (uint32_t)i;
    return RF_OK;
}

static rf_status make_heads(knncl *k, const rf_objective_setting *s, rf_error *err)
{
    rf_status st = rf_dense_init(&k->d, s->known, s->batch, err);
    if (st == RF_OK)
        st = rf_known_init(&k->head, s->width, s->width, err);
    if (st == RF_OK)
        st = rf_known_init(&k->key_head, s->width, s->width, err);
    if (st != RF_OK)
        return st;
    rf_known_reset(&k->head, rf_stream_key(s->seed, RF_STREAM_KNNCL_HEAD, 0, 0));
    st = rf_dense_init(&k->q, &k->head, s->batch, err);
    if (st != RF_OK)
        return st;
    rf_dense_list(&k->d, &k->base);
    size_t from = k->base.n_params;
    rf_dense_list(&k->q, &k->base);
    static const char *const names[4] = {"contrast.dense.weight", "contrast.dense.bias",
                                         "contrast.out.weight", "contrast.out.bias"};
    for (size_t i = 0; i < 4; i++)
        snprintf(k->base.params[from + i].name, sizeof k->base.params[from + i].name,
                 "%s", names[i]);
    return rf_dev_score_init(&k->score, s->known->classes, err);
}

static rf_status make_key_encoder(knncl *k, const rf_objective_setting *s, rf_error *err)
{
    k->encoder = k->key = s->encoder;
    k->live = s->live;
    if (s->live == 0)
        return RF_OK;
    rf_error why = {0};
    k->key = rf_encoder_load_half(s->encoder_dir, &why);
    k->own_key = k->key != NULL;
    if (!k->key)
        return rf_fail(err, why.code, why.pos, "%s", why.msg);
    if (k->key->config.layers != s->encoder->config.layers ||
        k->key->config.width != s->encoder->config.width ||
        k->key->config.inner != s->encoder->config.inner)
        return rf_fail(err, RF_ERR_FORMAT, 0,
                       "%s: found a different encoder from the one in training",
                       s->encoder_dir);
    return RF_OK;
}

static rf_status make_room(knncl *k, const rf_objective_setting *s, rf_error *err)
{
    size_t keys = POSITIVES * s->batch;
    size_t n = (3 * keys + 3 * s->batch) * s->width + s->batch;
    k->rows = calloc(keys, sizeof *k->rows);
    k->key_class = calloc(keys, sizeof *k->key_class);
    k->block = rf_floats_new(n);
    if (!k->rows || !k->key_class || !k->block)
        return rf_fail_nomem(err, n * sizeof(float), "keys");
    k->key_z = k->block;
    k->key_h = k->key_z + keys * s->width;
    k->keys = k->key_h + keys * s->width;
    k->unit = k->keys + keys * s->width;
    k->dq = k->unit + s->batch * s->width;
    k->dz = k->dq + s->batch * s->width;
    k->norms = k->dz + s->batch * s->width;
    /* In a queue longer than the training set, most keys would be outdated copies. */
    size_t room = s->texts->n_texts > keys ? s->texts->n_texts : keys;
    float t = s->o->temperature > 0.0f ? s->o->temperature : TEMPERATURE;
    return rf_contrast_init(&k->contrast, s->width,
                            room < s->o->queue ? room : s->o->queue, s->batch, s->o->top,
                            t, s->o->textoir, err);
}

static rf_status knncl_make(rf_objective *o, const rf_objective_setting *s, rf_error *err)
{
    knncl *k = (knncl *)o;
    k->momentum = s->o->momentum;
    k->weight = s->o->contrast_weight;
    k->texts = s->texts;
    k->team = s->team;
    rf_status st = sort_rows(k, s, err);
    if (st == RF_OK)
        st = make_heads(k, s, err);
    if (st == RF_OK)
        st = make_room(k, s, err);
    if (st == RF_OK)
        st = make_key_encoder(k, s, err);
    if (st == RF_OK)
        update_key_weights(k, 0.0f);
    return st;
}

static rf_objective *knncl_new(const rf_objective_setting *s, rf_error *err)
{
    const rf_objective first = {.step = knncl_step,
                                .look_at_dev = knncl_look_at_dev,
                                .refresh = knncl_refresh,
                                .release = knncl_release};
    return rf_objective_new(sizeof(knncl), first, knncl_make, s, err);
}

/* ---- The fence ----------------------------------------------------------------------
 */

static rf_status knncl_fit(rf_method_state *state, const rf_fit *in, rf_error *err)
{
    return rf_lof_fit(state, in, in->z, err);
}

static void knncl_judge(const rf_method_state *state, const rf_signals *s,
                        rf_verdict *out, float *margins, float *scratch)
{
    rf_lof_judge(state, s, s->z, out, margins, scratch);
}

const rf_method rf_method_knncl = {
    .name = "knncl",
    .title = "KNN-contrastive",
    .summary = "contrast with the nearest keys of the class, local outlier factor",
    .no_checkpoint = true,
    .objective = knncl_new,
    .arrays = rf_lof_arrays,
    .n_arrays = RF_LOF_N_ARRAYS,
    .fit = knncl_fit,
    .prepare = rf_lof_prepare,
    .release = rf_lof_release,
    .scratch = rf_lof_scratch,
    .judge = knncl_judge,
};
