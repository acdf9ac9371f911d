#include "open/ans_head.h"

#include "base/memory.h"
#include "base/rng.h"
#include "num/kernels.h"
#include "num/panels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LOSS_STEPS 32    /* the last ones, that the report's loss is the mean of */
#define RECALL_ROWS 1024 /* at most this many texts are asked for the recall */
#define NO_NOISE 1e-3f   /* length of the first eps by radius, without noise */

/* ---- Memory ------------------------------------------------------------------------ */

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

rf_status rf_ans_trainer_init(rf_ans_trainer *t, const rf_ans_problem *p,
                              const rf_ans_options *o, rf_error *err)
{
    *t = (rf_ans_trainer){0};
    size_t negatives = smaller(o->negatives, p->rows);
    rf_status status =
        rf_ans_work_init(&t->work, p->width, o->positives, negatives,
                         o->lambda > 0.0f ? o->positives : 0, o->ascent_steps > 0, err);
    if (status != RF_OK)
        return status;
    t->rows = malloc((p->rows + 1) * sizeof *t->rows);
    t->batch = malloc((o->positives + negatives) * sizeof *t->batch);
    t->deviation = rf_floats_new(p->width);
    t->picked = rf_floats_new(RF_SCORE_ROWS * p->width);
    t->scratch = rf_floats_new(RF_SCORE_SCRATCH);
    if (!t->rows || !t->batch || !t->deviation || !t->picked || !t->scratch) {
        rf_ans_trainer_release(t);
        return rf_fail_nomem(err, p->rows * sizeof *t->rows, "training a head");
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

/* Rows dealt round and round, in a new order each time. */
typedef struct deck {
    uint32_t *rows;
    size_t n, next;
    uint64_t seed, class_key, purpose, round;
} deck;

static void deal(deck *d, uint32_t *out, size_t n)
{
    if (n == d->n) { /* all of them each time: the order is of no matter */
        memcpy(out, d->rows, n * sizeof *out);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        if (d->next == d->n) {
            rf_rng r =
                rf_rng_open(rf_rng_key(d->seed, d->class_key, d->purpose, d->round++));
            rf_rng_shuffle(&r, d->rows, d->n);
            d->next = 0;
        }
        out[i] = d->rows[d->next++];
    }
}

/* ---- One head ---------------------------------------------------------------------- */

typedef struct course {
    rf_ans_trainer *t;
    const rf_ans_problem *p;
    const rf_ans_options *o;
    const rf_head *head;
    size_t m;
    uint64_t key; /* of the class */
    deck own, rest;
    rf_ans_settings settings;
    size_t step;
    double power1, power2; /* beta^t */
    float loss[LOSS_STEPS];
} course;

static uint64_t stream(const course *c, rf_ans_purpose purpose)
{
    return rf_rng_key(c->o->seed, c->key, purpose, c->step);
}

static rf_rng even(rf_rng r, float *x, size_t n, size_t fan_in)
{
    float bound = 1.0f / sqrtf((float)fan_in);
    for (size_t i = 0; i < n; i++)
        x[i] = (2.0f * rf_rng_uniform(&r) - 1.0f) * bound;
    return r;
}

/* Weights and biases evenly from +-1 / sqrt(fan in). */
static void first_weights(const course *c)
{
    size_t width = c->p->width;
    const rf_head *h = c->head;
    memset(h->w1, 0, rf_head_floats(width) * sizeof(float));
    rf_rng r = rf_rng_open(stream(c, RF_ANS_FIRST_WEIGHTS));
    r = even(r, h->w1, RF_HEAD_1 * width, width);
    r = even(r, h->b1, RF_HEAD_1, width);
    r = even(r, h->w2, RF_HEAD_2 * RF_HEAD_1, RF_HEAD_1);
    r = even(r, h->b2, RF_HEAD_2, RF_HEAD_1);
    r = even(r, h->w3, RF_HEAD_2, RF_HEAD_2);
    even(r, h->b3, 1, RF_HEAD_2);
}

static void divide_rows(course *c)
{
    const rf_ans_problem *p = c->p;
    size_t n_own = 0, n_rest = 0;
    for (size_t i = 0; i < p->rows; i++)
        n_own += p->class_of[i] == c->m;
    uint32_t *own = c->t->rows, *rest = c->t->rows + n_own;
    deck d = {.seed = c->o->seed, .class_key = c->key};
    c->own = c->rest = d;
    n_own = 0;
    for (size_t i = 0; i < p->rows; i++)
        if (p->class_of[i] == c->m)
            own[n_own++] = (uint32_t)i;
        else
            rest[n_rest++] = (uint32_t)i;
    c->own.rows = own;
    c->own.n = c->own.next = n_own;
    c->own.purpose = RF_ANS_OWN_ORDER;
    c->rest.rows = rest;
    c->rest.n = c->rest.next = n_rest;
    c->rest.purpose = RF_ANS_REST_ORDER;
}

static void settle(course *c, const rf_ans_spread *spread)
{
    const rf_ans_options *o = c->o;
    const rf_class_stats *stats = c->p->stats;
    bool point = !(stats->distance[c->m] > spread->smallest);
    const float *variance =
        point ? spread->variance : stats->variance + c->m * c->p->width;
    float distance = point ? spread->distance : stats->distance[c->m];
    for (size_t j = 0; j < c->p->width; j++)
        c->t->deviation[j] = 2.0f * sqrtf(variance[j]);

    float radius = o->radius > 0.0f ? o->radius : o->rho * distance;
    size_t negatives = smaller(o->negatives, c->rest.n);
    float weight = o->negative_weight;
    if (weight == 0.0f && negatives > 0)
        weight =
            (float)c->rest.n / (float)c->own.n * (float)o->positives / (float)negatives;
    c->settings = (rf_ans_settings){.radius = radius,
                                    .gamma = o->gamma,
                                    .project = o->project,
                                    .ascent_steps = o->ascent_steps,
                                    .ascent_rate = o->ascent_rate * radius,
                                    .lambda = o->lambda,
                                    .negative_weight = weight};
    rf_ans_work_start(&c->t->work, negatives);
}

/* The first eps. */
static void start_noise(const course *c)
{
    rf_ans_work *w = &c->t->work;
    rf_train_kernels()->normal(w->eps, w->synthetic * w->width, stream(c, RF_ANS_NOISE));
    for (size_t i = 0; i < w->synthetic; i++) {
        float *eps = w->eps + i * w->width;
        for (size_t j = 0; j < w->width; j++)
            eps[j] *= c->o->noise ? c->t->deviation[j] : 1.0f;
    }
    if (!c->o->noise) {
        float tiny = NO_NOISE * c->settings.radius;
        rf_ans_project(w, tiny, 1.0f);
    }
}

/* Texts of the class, each somewhere around itself. eps is free to be used: its own
 * numbers come later. */
static void move_positives(const course *c)
{
    rf_ans_work *w = &c->t->work;
    float sigma = 0.5f * c->o->positive_noise; /* deviation is 2 sigma */
    rf_train_kernels()->normal(w->eps, w->synthetic * w->width,
                               stream(c, RF_ANS_POSITIVE_NOISE));
    for (size_t i = 0; i < w->synthetic * w->width; i++)
        w->eps[i] *= sigma * c->t->deviation[i % w->width];
    rf_ans_move_positives(w, w->eps);
}

static void take_step(course *c, float rate)
{
    rf_ans_work *w = &c->t->work;
    uint32_t *batch = c->t->batch;
    deal(&c->own, batch, w->positives);
    deal(&c->rest, batch + w->positives, w->negatives);
    rf_ans_gather(w, c->p->z, batch, batch + w->positives);
    if (c->o->positive_noise > 0.0f && w->synthetic == w->positives)
        move_positives(c);
    start_noise(c);
    rf_adam adam = {.rate = rate, .beta1 = 0.9f, .beta2 = 0.999f, .eps = 1e-8f};
    c->power1 *= 0.9;
    c->power2 *= 0.999;
    adam.fix1 = (float)(1.0 / (1.0 - c->power1));
    adam.fix2 = (float)(1.0 / (1.0 - c->power2));
    rf_head_dropout drop = {c->o->dropout, stream(c, RF_ANS_DROPOUT_1),
                            stream(c, RF_ANS_DROPOUT_2)};
    c->loss[c->step % LOSS_STEPS] = rf_ans_step(w, c->head, &c->settings, &drop, &adam);
    c->step++;
}

/* The share of the class's rows that the head accepts; at most RECALL_ROWS of them are
 * asked, evenly chosen. -1 if there are none. */
static float recall(const course *c, const float *z, const uint32_t *class_of,
                    size_t rows)
{
    size_t width = c->p->width, own = 0, seen = 0, held = 0, accepted = 0;
    rf_heads one = {.width = width, .classes = 1, .block = c->head->w1};
    float margins[RF_SCORE_ROWS];
    for (size_t i = 0; i < rows; i++)
        own += class_of[i] == c->m;
    size_t ask = smaller(own, RECALL_ROWS);
    for (size_t i = 0; i < rows && seen < own; i++) {
        if (class_of[i] != c->m)
            continue;
        bool chosen = seen * ask / own != (seen + 1) * ask / own;
        seen++;
        if (chosen)
            memcpy(c->t->picked + held++ * width, z + i * width, width * sizeof(float));
        if (held == RF_SCORE_ROWS || (seen == own && held > 0)) {
            rf_heads_score(&one, c->t->picked, held, 0, 1, margins, c->t->scratch);
            for (size_t k = 0; k < held; k++)
                accepted += margins[k] >= 0.0f;
            held = 0;
        }
    }
    return own ? (float)accepted / (float)ask : -1.0f;
}

static bool on_course(const course *c)
{
    return c->step == 0 || isfinite(c->loss[(c->step - 1) % LOSS_STEPS]);
}

static void run(course *c)
{
    const rf_ans_options *o = c->o;
    size_t end = o->steps, more = o->steps / 4 ? o->steps / 4 : 1;
    for (;;) {
        while (c->step < end && on_course(c))
            take_step(c, o->rate);
        if (!on_course(c) || end >= o->max_steps ||
            recall(c, c->p->z, c->p->class_of, c->p->rows) >= o->target_recall)
            break;
        end = smaller(end + more, o->max_steps);
    }
    for (size_t i = 0; i < o->cool_steps && on_course(c); i++)
        take_step(c, o->rate * (float)(o->cool_steps - i) / (float)(o->cool_steps + 1));
}

static float mean_loss(const course *c)
{
    size_t n = smaller(c->step, LOSS_STEPS);
    double sum = 0.0;
    for (size_t i = 0; i < n; i++)
        sum += (double)c->loss[i];
    bool finite = rf_kernels()->all_finite(c->head->w1, rf_head_floats(c->p->width));
    return finite ? (float)(n ? sum / (double)n : 0.0) : NAN;
}

void rf_ans_train_head(rf_ans_trainer *t, const rf_head *head, size_t m,
                       const rf_ans_problem *p, const rf_ans_options *o,
                       const rf_ans_spread *spread, rf_ans_report *report)
{
    course c = {.t = t,
                .p = p,
                .o = o,
                .head = head,
                .m = m,
                .key = p->class_key[m],
                .power1 = 1.0,
                .power2 = 1.0};
    first_weights(&c);
    divide_rows(&c);
    settle(&c, spread);
    run(&c);
    *report =
        (rf_ans_report){.steps = c.step,
                        .loss = mean_loss(&c),
                        .recall = recall(&c, p->z, p->class_of, p->rows),
                        .dev_recall = recall(&c, p->dev_z, p->dev_class, p->dev_rows),
                        .radius = c.settings.radius};
}
