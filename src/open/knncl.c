/*
 * knncl.c - KNN-contrastive learning (Zhou, Liu and Qiu, 2022): texts are drawn towards
 * their nearest neighbours of the same class only, and away from all other classes
 *
 * Stage 1 learns  contrast_weight L_con + (1 - contrast_weight) L_ce.  L_ce is that of
 * the classifier of known classes. L_con (open/contrast.h) sees a second head on z,
 * dense -> ReLU -> dropout -> dense, its output divided by its length, and compares it
 * with a queue of keys: each step, three other texts of the class of each text of the
 * batch go through a key encoder and a key head, which follow the learning ones slowly
 * (momentum), and into the queue. The fence is LOF on z.
 *
 * Where this differs from the authors' code: z is the mean over tokens, not the pooler's
 * output; the heads have our ReLU, not tanh; keys are computed without dropout; the queue
 * begins empty, not with noise, and goes round whole; gradients are not clipped. The
 * contrastive head is of no use after training and is not in the model. The queue and the
 * key encoder would not be in a checkpoint, so there is none with this method.
 */
#include "base/memory.h"
#include "base/rng.h"
#include "encoder/live.h"
#include "num/panels.h"
#include "open/contrast.h"
#include "open/cosine.h"
#include "open/dense.h"
#include "open/dev_score.h"
#include "open/lof.h"
#include "open/method.h"
#include "open/rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POSITIVES 3 /* keys per text of a batch */
#define TEMPERATURE 0.5f
#define SEED_CONTRAST 11 /* names of streams */
#define STREAM_POSITIVES (UINT64_C(2) << 40)

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
    rf_encoder *encoder; /* that learns */
    rf_encoder *key;     /* follows it; the same one if no layer learns */
    bool own_key;
    size_t live;
    const rf_activations *texts;
    rf_team *team;
    uint32_t *by_class; /* [texts] rows in order of classes */
    size_t *first;      /* [classes + 1] where a class begins in by_class */

    uint32_t *rows, *key_class;  /* [POSITIVES batch] */
    float *block;                /* all that follows */
    float *key_z, *key_h, *keys; /* [POSITIVES batch, width] */
    float *unit, *dq, *dz;       /* [batch, width] */
    float *norms;                /* [batch] */
} knncl;

/* ---- Keys */

/* to = m to + (1 - m) from */
static void follow(float *to, const float *from, size_t n, float m)
{
    for (size_t i = 0; i < n; i++)
        to[i] = m * to[i] + (1.0f - m) * from[i];
}

/* Momentum 0 makes the keys' weights those that learn. */
static void follow_all(knncl *k, float momentum)
{
    size_t layers = k->encoder->config.layers;
    follow(k->key_head.block, k->head.block, k->head.floats, momentum);
    for (size_t i = layers - k->live; i < layers; i++)
        for (size_t j = 0; j < RF_LAYER_GROUPS; j++) {
            rf_layer_group to = rf_encoder_layer_group(k->key, i, j);
            rf_layer_group from = rf_encoder_layer_group(k->encoder, i, j);
            size_t out = to.out * to.n_names;
            follow(to.weight, from.weight, to.in ? rf_panels_floats(out, to.in) : out,
                   momentum);
            follow(to.bias, from.bias, out, momentum);
        }
}

/* Texts of the same class as each of the batch; itself only if there is no other. */
static void draw_positives(knncl *k, const rf_lesson *b)
{
    for (size_t i = 0; i < b->n; i++) {
        rf_rng rng = rf_rng_open(rf_rng_key(b->seed, b->step, STREAM_POSITIVES, i));
        const uint32_t *own = k->by_class + k->first[b->class_of[i]];
        size_t n = k->first[b->class_of[i] + 1] - k->first[b->class_of[i]];
        for (size_t j = i * POSITIVES; j < (i + 1) * POSITIVES; j++) {
            uint32_t row = n > 1 ? own[rf_rng_below(&rng, n - 1)] : b->rows[i];
            k->rows[j] = n > 1 && row == b->rows[i] ? own[n - 1] : row;
            k->key_class[j] = b->class_of[i];
        }
    }
}

static rf_status add_keys(knncl *k, const rf_lesson *b)
{
    size_t n = POSITIVES * b->n, width = k->head.width;
    rf_activations some = {0};
    follow_all(k, k->momentum);
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

/* The contrastive loss and a step of its head; its gradient by z into k->dz. */
static double step_contrast(knncl *k, const rf_lesson *b)
{
    size_t width = k->head.width;
    rf_dense_forward(&k->q, b->z, b->n, b->dropout,
                     rf_rng_key(b->seed, b->step, RF_DROP_HIDDEN, 1));
    rf_unit_rows(k->unit, k->q.logits, b->n, width, k->norms);
    double loss = rf_contrast_loss(&k->contrast, k->unit, b->class_of, b->n, k->dq);
    rf_unit_rows_back(k->dq, k->unit, k->norms, b->n, width);
    for (size_t i = 0; i < b->n * width; i++)
        k->dq[i] *= k->weight;
    rf_dense_back_out(&k->q, k->dq, b->n, b->adam);
    rf_dense_back_hidden(&k->q, b->z, b->n, k->dz, b->adam);
    return loss;
}

static double step_classifier(knncl *k, const rf_lesson *b, float *dz)
{
    size_t classes = k->d.known->classes;
    rf_dense_forward(&k->d, b->z, b->n, b->dropout,
                     rf_rng_key(b->seed, b->step, RF_DROP_HIDDEN, 0));
    double loss = rf_cross_entropy(k->d.logits, b->class_of, b->n, classes, 1.0f);
    for (size_t i = 0; i < b->n * classes; i++)
        k->d.logits[i] *= 1.0f - k->weight;
    rf_dense_back_out(&k->d, k->d.logits, b->n, b->adam);
    rf_dense_back_hidden(&k->d, b->z, b->n, dz, b->adam);
    return loss;
}

static double step(rf_objective *o, const rf_lesson *b, float *dz)
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

static void look_at_dev(rf_objective *o, const float *z, const uint32_t *class_of,
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

/* The keys of weights that are no more are of no use. */
static void refresh(rf_objective *o)
{
    knncl *k = (knncl *)o;
    rf_dense_refresh(&k->d);
    rf_dense_refresh(&k->q);
    follow_all(k, 0.0f);
    rf_contrast_clear(&k->contrast);
}

/* ---- Making one */

static void release_objective(rf_objective *o)
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

/* Written so that a NaN fails. */
static rf_status check(const knncl *k, const rf_method_options *o, rf_error *err)
{
    if (o->queue < 1 || o->top < 1)
        return rf_fail(err, RF_ERR_ARG, 0,
                       "queue and top: found %zu and %zu, wanted 1 "
                       "or more",
                       o->queue, o->top);
    if (!(o->temperature >= 0.0f && isfinite(o->temperature)))
        return rf_fail(err, RF_ERR_ARG, 0, "temperature: found %g, wanted above 0",
                       (double)o->temperature);
    if (!(k->momentum >= 0.0f && k->momentum <= 1.0f))
        return rf_fail(err, RF_ERR_ARG, 0, "momentum: found %g, wanted 0 to 1",
                       (double)k->momentum);
    if (!(k->weight >= 0.0f && k->weight <= 1.0f))
        return rf_fail(err, RF_ERR_ARG, 0, "contrast weight: found %g, wanted 0 to 1",
                       (double)k->weight);
    return RF_OK;
}

/* Rows of the training set by class; those of no class are left out. */
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
    for (size_t i = 0; i < n; i++) /* moves each beginning by one place */
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
    rf_known_reset(&k->head, rf_rng_key(s->seed, SEED_CONTRAST, 0, 0));
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
                       "%s: found another encoder than the one in training",
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
    /* A few texts would be in a long queue many times over, most of them out of date. */
    size_t room = s->texts->n_texts > keys ? s->texts->n_texts : keys;
    float t = s->o->temperature > 0.0f ? s->o->temperature : TEMPERATURE;
    return rf_contrast_init(&k->contrast, s->width,
                            room < s->o->queue ? room : s->o->queue, s->batch, s->o->top,
                            t, s->o->textoir, err);
}

static rf_status make(knncl *k, const rf_objective_setting *s, rf_error *err)
{
    k->momentum = s->o->momentum;
    k->weight = s->o->contrast_weight;
    k->texts = s->texts;
    k->team = s->team;
    rf_status st = check(k, s->o, err);
    if (st == RF_OK)
        st = sort_rows(k, s, err);
    if (st == RF_OK)
        st = make_heads(k, s, err);
    if (st == RF_OK)
        st = make_room(k, s, err);
    if (st == RF_OK)
        st = make_key_encoder(k, s, err);
    if (st == RF_OK)
        follow_all(k, 0.0f);
    return st;
}

static rf_objective *objective(const rf_objective_setting *s, rf_error *err)
{
    knncl *k = calloc(1, sizeof *k);
    if (!k) {
        rf_fail_nomem(err, sizeof *k, "training");
        return NULL;
    }
    k->base.step = step;
    k->base.look_at_dev = look_at_dev;
    k->base.refresh = refresh;
    k->base.release = release_objective;
    if (make(k, s, err) != RF_OK) {
        release_objective(&k->base);
        return NULL;
    }
    return &k->base;
}

/* ---- The fence ----------------------------------------------------------------------
 */

static rf_status fit(rf_fence *f, const rf_fit *in, rf_error *err)
{
    return rf_lof_fit(f, 0, in->z, in->rows, in->width, in->o->neighbours,
                      in->o->contamination, in->team, err);
}

static rf_status prepare(rf_fence *f, rf_error *err)
{
    return rf_lof_prepare(f, 0, err);
}

static void judge(const rf_fence *f, const rf_signals *s, rf_verdict *out, float *margins,
                  float *scratch)
{
    rf_lof_judge(f, s->z, s->logits, f->classes, s->n, out, margins, scratch);
}

static const rf_fence_array arrays[] = {RF_LOF_ARRAYS};

const rf_method rf_method_knncl = {
    .name = "knncl",
    .title = "KNN-contrastive",
    .summary = "contrast with the nearest keys of the class, local outlier factor",
    .no_checkpoint = true,
    .objective = objective,
    .arrays = arrays,
    .n_arrays = RF_LOF_N_ARRAYS,
    .fit = fit,
    .prepare = prepare,
    .release = rf_lof_release,
    .scratch = rf_lof_scratch,
    .judge = judge,
};
