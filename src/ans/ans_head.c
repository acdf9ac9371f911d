/* ans_head.c - trains one head: draws batches, takes steps, measures recall */
#include "ans/ans_head.h"

#include "base/memory.h"
#include "base/rng.h"
#include "base/streams.h"
#include "num/kernels.h"
#include "num/panels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LOSS_STEPS 32    /* the reported loss is the mean over this many last steps */
#define RECALL_ROWS 1024 /* recall is measured on at most this many texts */
#define NO_NOISE 1e-3f   /* without noise, the first eps has this share of the radius */

/* ---- Memory ------------------------------------------------------------------------ */

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

rf_status rf_ans_trainer_init(rf_ans_trainer *t, const rf_fit *in, rf_error *err)
{
    const rf_settings *o = in->o;
    *t = (rf_ans_trainer){0};
    size_t negatives = smaller(o->head_negatives, in->rows);
    rf_status status = rf_ans_work_init(&t->work, in->width, o->head_positives, negatives,
                                        o->lambda > 0.0f ? o->head_positives : 0,
                                        o->ascent_steps > 0, err);
    if (status != RF_OK)
        return status;
    t->rows = malloc((in->rows + in->open_rows + 1) * sizeof *t->rows);
    t->batch = malloc((o->head_positives + negatives) * sizeof *t->batch);
    t->deviation = rf_floats_new(in->width);
    t->picked = rf_floats_new(RF_SCORE_ROWS * in->width);
    t->scratch = rf_floats_new(RF_SCORE_SCRATCH);
    if (!t->rows || !t->batch || !t->deviation || !t->picked || !t->scratch) {
        rf_ans_trainer_release(t);
        return rf_fail_nomem(err, in->rows * sizeof *t->rows, "training a head");
    }
    return RF_OK;
}

void rf_ans_trainer_release(rf_ans_trainer *t)
{
    rf_ans_work_release(&t->work);
    free(t->rows);
    free(t->batch);
    free(t->deviation);
    free(t->picked);
    free(t->scratch);
    *t = (rf_ans_trainer){0};
}

/* ---- Rows of a step ---------------------------------------------------------------- */

/* Draws rows without replacement and reshuffles when all have been drawn. */
typedef struct sampler {
    uint32_t *rows;
    size_t n, next;
    uint64_t seed, class_key, round;
    rf_stream purpose;
} sampler;

static void draw_rows(sampler *s, uint32_t *out, size_t n)
{
    if (n == s->n) { /* every row in every batch: the order does not matter */
        memcpy(out, s->rows, n * sizeof *out);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        if (s->next == s->n) {
            rf_rng r =
                rf_rng_open(rf_stream_key(s->seed, s->purpose, s->class_key, s->round++));
            rf_rng_shuffle(&r, s->rows, s->n);
            s->next = 0;
        }
        out[i] = s->rows[s->next++];
    }
}

/* ---- One head ---------------------------------------------------------------------- */

/* One head's run from first step to last. */
typedef struct head_run {
    rf_ans_trainer *t;
    const rf_fit *in;
    const rf_head *head;
    size_t m;     /* its class */
    uint64_t key; /* of the class */
    sampler own, rest;
    rf_ans_settings settings;
    size_t step;
    double power1, power2; /* beta^t */
    float loss[LOSS_STEPS];
} head_run;

static uint64_t stream(const head_run *run, rf_stream purpose)
{
    return rf_stream_key(run->in->seed, purpose, run->key, run->step);
}

static rf_rng fill_uniform(rf_rng r, float *x, size_t n, size_t fan_in)
{
    float bound = 1.0f / sqrtf((float)fan_in);
    for (size_t i = 0; i < n; i++)
        x[i] = (2.0f * rf_rng_uniform(&r) - 1.0f) * bound;
    return r;
}

/* Weights and biases uniform in +-1 / sqrt(fan in). */
static void first_weights(const head_run *run)
{
    size_t width = run->in->width;
    const rf_head *h = run->head;
    memset(h->w1, 0, rf_head_floats(width) * sizeof(float));
    rf_rng r = rf_rng_open(stream(run, RF_STREAM_ANS_WEIGHTS));
    r = fill_uniform(r, h->w1, RF_HEAD_1 * width, width);
    r = fill_uniform(r, h->b1, RF_HEAD_1, width);
    r = fill_uniform(r, h->w2, RF_HEAD_2 * RF_HEAD_1, RF_HEAD_1);
    r = fill_uniform(r, h->b2, RF_HEAD_2, RF_HEAD_1);
    r = fill_uniform(r, h->w3, RF_HEAD_2, RF_HEAD_2);
    fill_uniform(r, h->b3, 1, RF_HEAD_2);
}

static void split_rows(head_run *run)
{
    const rf_fit *in = run->in;
    size_t n_own = 0, n_rest = 0;
    for (size_t i = 0; i < in->rows; i++)
        n_own += in->class_of[i] == run->m;
    uint32_t *own = run->t->rows, *rest = run->t->rows + n_own;
    sampler empty = {.seed = run->in->seed, .class_key = run->key};
    run->own = run->rest = empty;
    n_own = 0;
    for (size_t i = 0; i < in->rows; i++)
        if (in->class_of[i] == run->m)
            own[n_own++] = (uint32_t)i;
        else
            rest[n_rest++] = (uint32_t)i;
    for (size_t i = 0; i < in->open_rows; i++)
        rest[n_rest++] = (uint32_t)(in->rows + i);
    run->own.rows = own;
    run->own.n = run->own.next = n_own;
    run->own.purpose = RF_STREAM_ANS_OWN_ORDER;
    run->rest.rows = rest;
    run->rest.n = run->rest.next = n_rest;
    run->rest.purpose = RF_STREAM_ANS_REST_ORDER;
}

/* Noise, shell and loss weights of this class. */
static void choose_settings(head_run *run, const rf_ans_spread *spread)
{
    const rf_settings *o = run->in->o;
    const rf_class_stats *stats = run->in->stats;
    bool point = !(stats->distance[run->m] > spread->smallest);
    const float *variance =
        point ? spread->variance : stats->variance + run->m * run->in->width;
    float distance = point ? spread->distance : stats->distance[run->m];
    for (size_t j = 0; j < run->in->width; j++)
        run->t->deviation[j] = 2.0f * sqrtf(variance[j]);

    float radius = o->radius > 0.0f ? o->radius : o->rho * distance;
    size_t negatives = smaller(o->head_negatives, run->rest.n);
    float weight = o->negative_weight;
    if (weight == 0.0f && negatives > 0)
        weight = (float)run->rest.n / (float)run->own.n * (float)o->head_positives /
                 (float)negatives;
    run->settings = (rf_ans_settings){.radius = radius,
                                      .gamma = o->gamma,
                                      .project = o->projection,
                                      .ascent_steps = o->ascent_steps,
                                      .ascent_rate = o->ascent_rate * radius,
                                      .lambda = o->lambda,
                                      .negative_weight = weight};
    rf_ans_work_start(&run->t->work, negatives);
}

/* eps before the ascent. */
static void draw_noise(const head_run *run)
{
    rf_ans_work *w = &run->t->work;
    rf_train_kernels()->normal(w->eps, w->synthetic * w->width,
                               stream(run, RF_STREAM_ANS_NOISE));
    for (size_t i = 0; i < w->synthetic; i++) {
        float *eps = w->eps + i * w->width;
        for (size_t j = 0; j < w->width; j++)
            eps[j] *= run->in->o->noise ? run->t->deviation[j] : 1.0f;
    }
    if (!run->in->o->noise) {
        float tiny = NO_NOISE * run->settings.radius;
        rf_ans_project(w, tiny, 1.0f);
    }
}

/* Adds noise to the positives. eps serves as scratch: draw_noise fills it afterwards. */
static void move_positives(const head_run *run)
{
    rf_ans_work *w = &run->t->work;
    float sigma = 0.5f * run->in->o->positive_noise; /* deviation is 2 sigma */
    rf_train_kernels()->normal(w->eps, w->synthetic * w->width,
                               stream(run, RF_STREAM_ANS_OWN_NOISE));
    for (size_t i = 0; i < w->synthetic * w->width; i++)
        w->eps[i] *= sigma * run->t->deviation[i % w->width];
    rf_ans_move_positives(w, w->eps);
}

static void take_step(head_run *run, float rate)
{
    rf_ans_work *w = &run->t->work;
    uint32_t *batch = run->t->batch;
    draw_rows(&run->own, batch, w->positives);
    draw_rows(&run->rest, batch + w->positives, w->negatives);
    rf_ans_gather(w, run->in->z, batch, batch + w->positives);
    if (run->in->o->positive_noise > 0.0f && w->synthetic == w->positives)
        move_positives(run);
    draw_noise(run);
    rf_adam adam = {.rate = rate, .beta1 = 0.9f, .beta2 = 0.999f, .eps = 1e-8f};
    run->power1 *= 0.9;
    run->power2 *= 0.999;
    adam.fix1 = (float)(1.0 / (1.0 - run->power1));
    adam.fix2 = (float)(1.0 / (1.0 - run->power2));
    rf_head_dropout drop = {run->in->o->head_dropout, stream(run, RF_STREAM_ANS_DROP_1),
                            stream(run, RF_STREAM_ANS_DROP_2)};
    run->loss[run->step % LOSS_STEPS] =
        rf_ans_step(w, run->head, &run->settings, &drop, &adam);
    run->step++;
}

/* The share of the class's rows that the head accepts, measured on at most RECALL_ROWS
 * evenly spaced ones; -1 without any. */
static float recall(const head_run *run, const float *z, const uint32_t *class_of,
                    size_t rows)
{
    size_t width = run->in->width, own = 0, seen = 0, held = 0, accepted = 0;
    rf_heads one = {.width = width, .classes = 1, .block = run->head->w1};
    float margins[RF_SCORE_ROWS];
    for (size_t i = 0; i < rows; i++)
        own += class_of[i] == run->m;
    size_t wanted = smaller(own, RECALL_ROWS);
    for (size_t i = 0; i < rows && seen < own; i++) {
        if (class_of[i] != run->m)
            continue;
        bool chosen = seen * wanted / own != (seen + 1) * wanted / own;
        seen++;
        if (chosen)
            memcpy(run->t->picked + held++ * width, z + i * width, width * sizeof(float));
        if (held == RF_SCORE_ROWS || (seen == own && held > 0)) {
            rf_heads_score(&one, run->t->picked, held, 0, 1, margins, run->t->scratch);
            for (size_t k = 0; k < held; k++)
                accepted += margins[k] >= 0.0f;
            held = 0;
        }
    }
    return own ? (float)accepted / (float)wanted : -1.0f;
}

static bool loss_is_finite(const head_run *run)
{
    return run->step == 0 || isfinite(run->loss[(run->step - 1) % LOSS_STEPS]);
}

/* head_steps steps, more until target_recall is reached, then the cooling steps. */
static void take_all_steps(head_run *run)
{
    const rf_settings *o = run->in->o;
    size_t end = o->head_steps, more = o->head_steps / 4 ? o->head_steps / 4 : 1;
    for (;;) {
        while (run->step < end && loss_is_finite(run))
            take_step(run, o->head_rate);
        if (!loss_is_finite(run) || end >= o->head_max_steps ||
            recall(run, run->in->z, run->in->class_of, run->in->rows) >= o->target_recall)
            break;
        end = smaller(end + more, o->head_max_steps);
    }
    for (size_t i = 0; i < o->head_cool_steps && loss_is_finite(run); i++)
        take_step(run, o->head_rate * (float)(o->head_cool_steps - i) /
                           (float)(o->head_cool_steps + 1));
}

static float mean_loss(const head_run *run)
{
    size_t n = smaller(run->step, LOSS_STEPS);
    double sum = 0.0;
    for (size_t i = 0; i < n; i++)
        sum += (double)run->loss[i];
    bool finite = rf_kernels()->all_finite(run->head->w1, rf_head_floats(run->in->width));
    return finite ? (float)(n ? sum / (double)n : 0.0) : NAN;
}

void rf_ans_train_head(rf_ans_trainer *t, const rf_head *head, size_t m, const rf_fit *in,
                       const rf_ans_spread *spread, rf_class_report *report)
{
    head_run run = {.t = t,
                    .in = in,
                    .head = head,
                    .m = m,
                    .key = in->class_key[m],
                    .power1 = 1.0,
                    .power2 = 1.0};
    first_weights(&run);
    split_rows(&run);
    choose_settings(&run, spread);
    take_all_steps(&run);
    *report = (rf_class_report){.steps = (float)run.step,
                                .loss = mean_loss(&run),
                                .recall = recall(&run, in->z, in->class_of, in->rows),
                                .dev_recall =
                                    recall(&run, in->dev_z, in->dev_class, in->dev_rows),
                                .radius = run.settings.radius};
}
