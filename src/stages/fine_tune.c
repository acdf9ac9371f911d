/* fine_tune.c - stage 1: forward, backward and AdamW updates over batches, in parallel */
#include "stages/fine_tune.h"

#include "base/memory.h"
#include "base/rng.h"
#include "base/streams.h"
#include "encoder/forward.h"
#include "encoder/live.h"
#include "num/panels.h"

#include <assert.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Tokens whose gradients are summed at once; larger batches take several parts. */
#define PART_TOKENS 2048
/* Tokens of a group. Groups shrink towards the end of a part so that the threads
 * finish at about the same time. */
#define GROUP_MAX 96
#define GROUP_MIN 32
#define GROUPS_LEFT 8

#define DEV_ROWS 96

/* One learnable array with its moments. */
typedef struct param {
    char name[32];
    float *value, *m, *v;
    size_t n;
} param;

/* One thread's memory. */
typedef struct worker {
    rf_live_scratch scratch;
    rf_live_saved *saved; /* [live] */
    float *block;
    float *x, *dx;                /* [tokens, width] */
    float *z, *pre, *hidden, *dz; /* [texts, width] */
    float *logits;                /* [texts, classes] */
} worker;

/* What the threads share during one part of a batch. */
typedef struct part {
    const uint32_t *rows;  /* of the training set, [n_texts] */
    const size_t *offsets; /* [n_texts + 1] */
    size_t n_texts, first_text, n_batch;
    bool first, last;
    bool only_features; /* first of two passes: an objective needs the whole batch */
    size_t step;
    atomic_size_t next_group, next_task;
    rf_adam encoder_adam, known_adam;
} part;

struct rf_fine_tune {
    rf_encoder *e;
    rf_known *known;
    rf_labelled train, dev;
    rf_settings s;
    uint64_t seed;
    rf_team *team;
    size_t live, max_tokens, max_group;
    rf_live_layer *layers;     /* [live] */
    rf_linear dense, out;      /* without an objective */
    rf_objective *objective;   /* NULL: cross entropy of the classifier */
    float *batch_z, *batch_dz; /* [batch, width] for the objective */
    uint32_t *batch_class;     /* [batch] */
    float *train_z;            /* [train, width] if the objective uses it */
    worker *workers;           /* [team] */
    uint32_t *order;           /* [train] */
    size_t *offsets;           /* [batch + 1] */
    size_t *groups;            /* [batch + 1] first text of each group of a part */
    size_t n_groups;
    float *losses; /* [batch] */
    param *params;
    size_t n_params;
    float *best; /* all values one after another */
    float *dev_z, *dev_logits, *dev_scratch;
    rf_fine_tune_array *arrays;
    size_t n_arrays;
    rf_fine_tune_state state;
    part part;
};

float rf_fine_tune_factor(size_t step, size_t steps, float warmup)
{
    size_t w = (size_t)(warmup * (float)steps);
    if (w < 1)
        w = 1;
    float up = (float)(step + 1) / (float)w;
    float down = steps > w ? (float)(steps - step) / (float)(steps - w) : 1.0f;
    float f = up < down ? up : down;
    return f < 1.0f ? f : 1.0f;
}

/* ---- One group of texts, by one thread --------------------------------------------- */

static void gather_states(const rf_fine_tune *t, worker *w, const rf_group *g,
                          const uint32_t *rows)
{
    const rf_activations *a = t->train.texts;
    float *x = w->x;
    for (size_t i = 0; i < g->n_texts; i++) {
        size_t from = a->offsets[rows[i]];
        size_t n = (a->offsets[rows[i] + 1] - from) * a->width;
        memcpy(x, a->states + from * a->width, n * sizeof(float));
        x += n;
    }
}

/* z = mean over a text's tokens */
static void pool_texts(const rf_fine_tune *t, worker *w, const rf_group *g,
                       const float *x)
{
    size_t width = t->known->width;
    for (size_t i = 0; i < g->n_texts; i++) {
        size_t first = g->offsets[i] - g->offsets[0];
        size_t n = g->offsets[i + 1] - g->offsets[i];
        rf_pool_mean(w->z + i * width, x + first * width, n, width);
    }
}

static void pool_back(const rf_fine_tune *t, worker *w, const rf_group *g)
{
    size_t width = t->known->width;
    for (size_t i = 0; i < g->n_texts; i++) {
        size_t first = g->offsets[i] - g->offsets[0];
        size_t n = g->offsets[i + 1] - g->offsets[i];
        float *dz = w->dz + i * width;
        for (size_t j = 0; j < width; j++)
            dz[j] /= (float)n;
        for (size_t k = 0; k < n; k++)
            memcpy(w->dx + (first + k) * width, dz, width * sizeof(float));
    }
}

static void drop_hidden(const rf_fine_tune *t, const rf_group *g, float *x)
{
    size_t width = t->known->width;
    for (size_t i = 0; i < g->n_texts; i++)
        rf_train_kernels()->dropout(x + i * width, x + i * width, width, g->dropout,
                                    rf_stream_key(g->seed, RF_STREAM_DROP_HIDDEN, g->step,
                                                  (uint64_t)(g->first_text + i) << 32));
}

/* The classifier forward and back: w->z in, w->dz out; losses by text. */
static void run_classifier(rf_fine_tune *t, worker *w, const rf_group *g,
                           const uint32_t *rows, size_t first_text)
{
    size_t width = t->known->width, classes = t->known->classes, n = g->n_texts;
    rf_linear_forward(&t->dense, w->pre, w->z, n);
    for (size_t i = 0; i < n * width; i++)
        w->hidden[i] = w->pre[i] > 0.0f ? w->pre[i] : 0.0f;
    drop_hidden(t, g, w->hidden);
    rf_linear_forward(&t->out, w->logits, w->hidden, n);

    rf_kernels()->softmax(w->logits, n, classes, classes, 1.0f);
    float share = 1.0f / (float)t->part.n_batch;
    for (size_t i = 0; i < n; i++) {
        float *p = w->logits + i * classes;
        uint32_t y = t->train.class_of[rows[i]];
        t->losses[first_text + i] = -logf(p[y] > 1e-37f ? p[y] : 1e-37f);
        p[y] -= 1.0f;
        for (size_t c = 0; c < classes; c++)
            p[c] *= share;
    }
    rf_linear_store(&t->out, w->hidden, w->logits, first_text, n);
    rf_linear_backward(&t->out, w->hidden, w->logits, n, false);
    drop_hidden(t, g, w->hidden);
    for (size_t i = 0; i < n * width; i++)
        w->hidden[i] = w->pre[i] > 0.0f ? w->hidden[i] : 0.0f;
    rf_linear_store(&t->dense, w->z, w->hidden, first_text, n);
    if (t->live > 0)
        rf_linear_backward(&t->dense, w->dz, w->hidden, n, false);
}

static void run_group(rf_fine_tune *t, worker *w, size_t index)
{
    const part *p = &t->part;
    size_t from = t->groups[index], to = t->groups[index + 1];
    const uint32_t *rows = p->rows + from;
    rf_group g = {.offsets = p->offsets + from,
                  .n_texts = to - from,
                  .first_text = p->first_text + from,
                  .index = index,
                  .first_row = p->offsets[from] - p->offsets[0],
                  .seed = t->seed,
                  .step = p->step,
                  .dropout = t->s.dropout};
    gather_states(t, w, &g, rows);
    const float *x = w->x;
    for (size_t i = 0; i < t->live; i++) {
        rf_live_forward(&t->layers[i], &w->saved[i], x, &g, &w->scratch);
        x = w->saved[i].out;
    }
    pool_texts(t, w, &g, x);
    size_t at = g.first_text * t->known->width, n = g.n_texts * t->known->width;
    if (p->only_features) {
        memcpy(t->batch_z + at, w->z, n * sizeof(float));
        return;
    }
    if (t->objective)
        memcpy(w->dz, t->batch_dz + at, n * sizeof(float));
    else
        run_classifier(t, w, &g, rows, from);
    if (t->live > 0)
        pool_back(t, w, &g);
    for (size_t i = t->live; i-- > 0;)
        rf_live_backward(&t->layers[i], &w->saved[i], w->dx, i == 0, &g, &w->scratch);
}

/* ---- Updating, block by block ------------------------------------------------------ */

/* Dense layer i, four per live layer. */
static rf_linear *linear_of(rf_fine_tune *t, size_t i)
{
    rf_live_layer *l = &t->layers[i / 4];
    rf_linear *of[4] = {&l->down, &l->up, &l->qkv, &l->attn};
    return of[i % 4];
}

/* Runs task `task`, counted over the blocks of all dense layers and then over the live
 * layers' norms; false if there is no such task. */
static bool run_task(rf_fine_tune *t, size_t task)
{
    part *p = &t->part;
    size_t rows = p->offsets[p->n_texts] - p->offsets[0];
    const rf_adam *adam = p->last ? &p->encoder_adam : NULL;
    for (size_t i = 0; i < 4 * t->live; i++) {
        rf_linear *l = linear_of(t, i);
        if (task < rf_linear_blocks(l)) {
            rf_linear_update(l, task, rows, !p->first, adam);
            return true;
        }
        task -= rf_linear_blocks(l);
    }
    rf_linear *known[2] = {&t->out, &t->dense};
    for (size_t i = 0; i < 2 && !t->objective; i++) {
        if (task < rf_linear_blocks(known[i])) {
            rf_linear_update(known[i], task, p->n_texts, !p->first,
                             p->last ? &p->known_adam : NULL);
            return true;
        }
        task -= rf_linear_blocks(known[i]);
    }
    if (task >= t->live)
        return false;
    rf_live_update_norms(&t->layers[task], t->n_groups, !p->first, adam);
    return true;
}

static void run_part(void *arg, size_t member, size_t members)
{
    (void)members;
    rf_fine_tune *t = arg;
    size_t i;
    while ((i = atomic_fetch_add(&t->part.next_group, 1)) < t->n_groups)
        run_group(t, &t->workers[member], i);
    if (t->part.only_features)
        return;
    rf_team_barrier(t->team);
    while (run_task(t, atomic_fetch_add(&t->part.next_task, 1)))
        ;
}

/* ---- Batches ----------------------------------------------------------------------- */

/* Splits a part into groups; the split depends only on the text lengths. */
static void cut_groups(rf_fine_tune *t, const size_t *offsets, size_t n_texts)
{
    t->n_groups = 0;
    for (size_t from = 0; from < n_texts;) {
        size_t most = (offsets[n_texts] - offsets[from]) / GROUPS_LEFT, to = from + 1;
        most = most > GROUP_MAX ? GROUP_MAX : most < GROUP_MIN ? GROUP_MIN : most;
        while (to < n_texts && offsets[to + 1] - offsets[from] <= most)
            to++;
        t->groups[t->n_groups++] = from;
        from = to;
    }
    t->groups[t->n_groups] = n_texts;
}

/* One pass over a batch, part by part; returns the sum of the losses. */
static double run_batch(rf_fine_tune *t, const uint32_t *rows, size_t n)
{
    part *p = &t->part;
    double loss = 0.0;
    for (size_t from = 0, to; from < n; from = to) {
        to = from + 1;
        while (to < n && t->offsets[to + 1] - t->offsets[from] <= t->max_tokens)
            to++;
        p->rows = rows + from;
        p->offsets = t->offsets + from;
        p->n_texts = to - from;
        p->first_text = from;
        p->first = from == 0;
        p->last = to == n;
        cut_groups(t, p->offsets, p->n_texts);
        atomic_store(&p->next_group, 0);
        atomic_store(&p->next_task, 0);
        rf_team_run(t->team, run_part, t);
        for (size_t i = 0; i < p->n_texts && !t->objective; i++)
            loss += (double)t->losses[i];
    }
    return loss;
}

/* The live layers run twice: once for the features of the whole batch, then, with the
 * gradient known, forward again and back. Dropout is keyed, so both passes agree to
 * the bit, and a thread stores only one group's activations at a time. */
static double step_objective(rf_fine_tune *t, const uint32_t *rows, size_t n, size_t step)
{
    part *p = &t->part;
    p->only_features = true;
    run_batch(t, rows, n);
    p->only_features = false;
    for (size_t i = 0; i < n; i++)
        t->batch_class[i] = t->train.class_of[rows[i]];
    const rf_objective_batch batch = {.n = n,
                                      .z = t->batch_z,
                                      .rows = rows,
                                      .class_of = t->batch_class,
                                      .step = step,
                                      .seed = t->seed,
                                      .dropout = t->s.dropout,
                                      .adam = &p->known_adam};
    double loss = t->objective->step(t->objective, &batch, t->batch_dz);
    if (t->live > 0)
        run_batch(t, rows, n);
    return loss;
}

double rf_fine_tune_step(rf_fine_tune *t, const uint32_t *rows, size_t n, size_t step)
{
    const rf_activations *a = t->train.texts;
    t->offsets[0] = 0;
    for (size_t i = 0; i < n; i++)
        t->offsets[i + 1] = t->offsets[i] + a->offsets[rows[i] + 1] - a->offsets[rows[i]];

    float factor = rf_fine_tune_factor(step, rf_fine_tune_steps(t), t->s.warmup);
    rf_adam adam = {.rate = t->s.encoder_rate * factor,
                    .beta1 = 0.9f,
                    .beta2 = 0.999f,
                    .eps = 1e-6f,
                    .decay = t->s.weight_decay,
                    .fix1 = (float)(1.0 / (1.0 - pow(0.9, (double)step + 1.0))),
                    .fix2 = (float)(1.0 / (1.0 - pow(0.999, (double)step + 1.0)))};
    part *p = &t->part;
    p->encoder_adam = p->known_adam = adam;
    p->known_adam.rate = t->s.known_rate * factor;
    p->step = step;
    p->n_batch = n;
    return t->objective ? step_objective(t, rows, n, step)
                        : run_batch(t, rows, n) / (double)n;
}

static size_t steps_per_epoch(const rf_fine_tune *t)
{
    assert(t->s.batch > 0);
    return (t->train.texts->n_texts + t->s.batch - 1) / t->s.batch;
}

size_t rf_fine_tune_steps(const rf_fine_tune *t)
{
    return steps_per_epoch(t) * t->s.epochs;
}

/* ---- Dev --------------------------------------------------------------------------- */

static rf_status measure_dev(rf_fine_tune *t, double *accuracy, double *loss,
                             rf_error *err)
{
    const rf_activations *a = t->dev.texts;
    size_t classes = t->known->classes, right = 0;
    rf_status st = rf_activations_features(a, t->e, t->dev_z, t->team, NULL, NULL, err);
    if (st != RF_OK)
        return st;
    if (t->objective) {
        t->objective->look_at_dev(t->objective, t->dev_z, t->dev.class_of, a->n_texts,
                                  accuracy, loss);
        return RF_OK;
    }
    double sum = 0.0;
    for (size_t from = 0; from < a->n_texts; from += DEV_ROWS) {
        size_t n = a->n_texts - from < DEV_ROWS ? a->n_texts - from : DEV_ROWS;
        rf_known_logits(t->known, t->dev_z + from * a->width, n, t->dev_logits,
                        t->dev_scratch);
        rf_kernels()->softmax(t->dev_logits, n, classes, classes, 1.0f);
        for (size_t i = 0; i < n; i++) {
            const float *p = t->dev_logits + i * classes;
            size_t top = 0, y = t->dev.class_of[from + i];
            for (size_t c = 1; c < classes; c++)
                if (p[c] > p[top])
                    top = c;
            right += top == y;
            sum -= log(p[y] > 1e-37f ? (double)p[y] : 1e-37);
        }
    }
    *accuracy = 100.0 * (double)right / (double)a->n_texts;
    *loss = sum / (double)a->n_texts;
    return RF_OK;
}

static void save_best(rf_fine_tune *t)
{
    float *to = t->best;
    for (size_t i = 0; i < t->n_params; to += t->params[i++].n)
        memcpy(to, t->params[i].value, t->params[i].n * sizeof(float));
    t->state.best_epoch = t->state.epoch;
}

void rf_fine_tune_restore_best(rf_fine_tune *t)
{
    const float *from = t->best;
    for (size_t i = 0; i < t->n_params; from += t->params[i++].n)
        memcpy(t->params[i].value, from, t->params[i].n * sizeof(float));
}

static rf_status objective_before_epoch(rf_fine_tune *t, rf_error *err)
{
    if (!t->objective || !t->objective->before_epoch)
        return RF_OK;
    rf_status st = rf_activations_features(t->train.texts, t->e, t->train_z, t->team,
                                           NULL, NULL, err);
    return st == RF_OK
               ? t->objective->before_epoch(t->objective, t->train_z, t->state.epoch, err)
               : st;
}

rf_status rf_fine_tune_epoch(rf_fine_tune *t, rf_steps_done done, void *user,
                             rf_error *err)
{
    rf_fine_tune_state *s = &t->state;
    size_t n = t->train.texts->n_texts, step = s->epoch * steps_per_epoch(t);
    rf_status st = objective_before_epoch(t, err);
    if (st != RF_OK)
        return st;
    for (size_t i = 0; i < n; i++)
        t->order[i] = (uint32_t)i;
    rf_rng rng = rf_rng_open(rf_stream_key(t->seed, RF_STREAM_TEXT_ORDER, s->epoch, 0));
    rf_rng_shuffle(&rng, t->order, n);
    double loss = 0.0;
    for (size_t from = 0; from < n; from += t->s.batch) {
        size_t some = n - from < t->s.batch ? n - from : t->s.batch;
        loss += (double)some * rf_fine_tune_step(t, t->order + from, some, step++);
        if (done && done(user, step) != 0)
            return rf_fail(err, RF_ERR_STOPPED, 0, "stopped in epoch %zu", s->epoch + 1);
    }
    s->loss = loss / (double)n;
    s->epoch++;
    if (t->objective && t->objective->failed != RF_OK)
        return rf_fail(err, t->objective->failed, 0,
                       "cannot allocate what a step of epoch %zu needs: %s", s->epoch,
                       rf_status_name(t->objective->failed));
    if (!isfinite(s->loss))
        return rf_fail(err, RF_ERR_NUMERIC, 0,
                       "training diverged in epoch %zu (the loss is not finite); a "
                       "smaller learning rate may help",
                       s->epoch);
    if (t->dev.texts->n_texts == 0) {
        save_best(t);
        return RF_OK;
    }
    double dev_loss;
    st = measure_dev(t, &s->accuracy, &dev_loss, err);
    if (st == RF_OK && (s->best_epoch == 0 || s->accuracy > s->best_accuracy ||
                        (s->accuracy == s->best_accuracy && dev_loss < s->best_loss))) {
        s->best_accuracy = s->accuracy;
        s->best_loss = dev_loss;
        save_best(t);
    }
    return st;
}

bool rf_fine_tune_finished(const rf_fine_tune *t)
{
    const rf_fine_tune_state *s = &t->state;
    return s->epoch >= t->s.epochs || s->epoch - s->best_epoch >= t->s.patience;
}

rf_fine_tune_state *rf_fine_tune_where(rf_fine_tune *t)
{
    return &t->state;
}

/* ---- Construction ------------------------------------------------------------------ */

static void add_param(rf_fine_tune *t, const char *name, const char *kind, float *value,
                      float *m, float *v, size_t n)
{
    param *p = &t->params[t->n_params++];
    *p = (param){.value = value, .m = m, .v = v, .n = n};
    snprintf(p->name, sizeof p->name, "%s.%s", name, kind);
}

static void add_linear(rf_fine_tune *t, const char *name, rf_linear *l)
{
    add_param(t, name, "weight", l->w, l->w_m, l->w_v, rf_panels_floats(l->out, l->in));
    add_param(t, name, "bias", l->b, l->b_m, l->b_v, l->out);
}

static void add_layer(rf_fine_tune *t, size_t index)
{
    static const char *const dense[4] = {"down", "up", "qkv", "attn"};
    static const char *const norm[2] = {"attn_norm", "out_norm"};
    rf_live_layer *l = &t->layers[index];
    float *values[4] = {l->y->attn_gain, l->y->attn_shift, l->y->out_gain,
                        l->y->out_shift};
    size_t width = t->known->width;
    char name[24];
    for (size_t j = 0; j < 4; j++) {
        snprintf(name, sizeof name, "%zu.%s", index % 1000, dense[j]);
        add_linear(t, name, linear_of(t, 4 * index + j));
    }
    for (size_t j = 0; j < 4; j++) {
        snprintf(name, sizeof name, "%zu.%s", index % 1000, norm[j / 2]);
        add_param(t, name, j % 2 ? "bias" : "weight", values[j],
                  l->norms + (4 + j) * width, l->norms + (8 + j) * width, width);
    }
}

/* Lists all learnable arrays in a fixed order. */
static rf_status list_params(rf_fine_tune *t, rf_error *err)
{
    size_t total = 0, most = t->live * 12 + RF_OBJECTIVE_PARAMS;
    t->params = calloc(most, sizeof *t->params);
    t->arrays = calloc(most * 3 + 1, sizeof *t->arrays);
    if (!t->params || !t->arrays)
        return rf_fail_nomem(err, most * 3 * sizeof *t->arrays, "training");
    for (size_t i = 0; i < t->live; i++)
        add_layer(t, i);
    for (size_t i = 0; t->objective && i < t->objective->n_params; i++) {
        const rf_objective_param *q = &t->objective->params[i];
        param *p = &t->params[t->n_params++];
        *p = (param){.value = q->value, .m = q->m, .v = q->v, .n = q->n};
        memcpy(p->name, q->name, sizeof p->name);
    }
    if (!t->objective) {
        add_linear(t, "known.dense", &t->dense);
        add_linear(t, "known.out", &t->out);
    }
    for (size_t i = 0; i < t->n_params; i++) {
        const param *p = &t->params[i];
        float *data[3] = {p->value, p->m, p->v};
        static const char *const what[3] = {"value", "mean", "square"};
        for (size_t j = 0; j < 3; j++) {
            rf_fine_tune_array *a = &t->arrays[t->n_arrays++];
            snprintf(a->name, sizeof a->name, "%s.%s", what[j], p->name);
            a->data = data[j];
            a->n = p->n;
        }
        total += p->n;
    }
    t->best = rf_floats_new(total);
    if (!t->best)
        return rf_fail_nomem(err, total * sizeof(float), "training");
    memset(t->best, 0, total * sizeof(float));
    t->arrays[t->n_arrays++] = (rf_fine_tune_array){"best", t->best, total};
    return RF_OK;
}

const rf_fine_tune_array *rf_fine_tune_arrays(rf_fine_tune *t, size_t *n)
{
    *n = t->n_arrays;
    return t->arrays;
}

void rf_fine_tune_refresh(rf_fine_tune *t)
{
    for (size_t i = 0; i < 4 * t->live; i++)
        rf_linear_transpose(linear_of(t, i));
    if (t->objective) {
        t->objective->refresh(t->objective);
        return;
    }
    rf_linear_transpose(&t->dense);
    rf_linear_transpose(&t->out);
}

static rf_status worker_init(worker *w, const rf_fine_tune *t, rf_error *err)
{
    const rf_config *c = &t->e->config;
    size_t tokens = t->max_group, texts = tokens < t->s.batch ? tokens : t->s.batch;
    size_t n = 2 * tokens * c->width + texts * (4 * c->width + t->known->classes);
    rf_status st =
        rf_live_scratch_init(&w->scratch, c, tokens, t->train.texts->longest, err);
    w->saved = calloc(t->live + 1, sizeof *w->saved);
    w->block = rf_floats_new(n);
    if (st == RF_OK && (!w->saved || !w->block))
        st = rf_fail_nomem(err, n * sizeof(float), "training");
    for (size_t i = 0; i < t->live && st == RF_OK; i++)
        st = rf_live_saved_init(&w->saved[i], c, tokens, err);
    if (st != RF_OK)
        return st;
    w->x = w->block;
    w->dx = w->x + tokens * c->width;
    w->z = w->dx + tokens * c->width;
    w->pre = w->z + texts * c->width;
    w->hidden = w->pre + texts * c->width;
    w->dz = w->hidden + texts * c->width;
    w->logits = w->dz + texts * c->width;
    return RF_OK;
}

static rf_status make_objective_room(rf_fine_tune *t, rf_error *err)
{
    size_t width = t->known->width, n = t->train.texts->n_texts;
    t->batch_z = rf_floats_new(2 * t->s.batch * width);
    t->batch_class = calloc(t->s.batch, sizeof *t->batch_class);
    bool all = t->objective->before_epoch;
    t->train_z = all ? rf_floats_new(n * width) : NULL;
    if (!t->batch_z || !t->batch_class || (all && !t->train_z))
        return rf_fail_nomem(err, (2 * t->s.batch + n) * width * sizeof(float),
                             "training");
    t->batch_dz = t->batch_z + t->s.batch * width;
    return RF_OK;
}

static rf_status init_fine_tune(rf_fine_tune *t, rf_error *err)
{
    const rf_config *c = &t->e->config;
    size_t longest = t->train.texts->longest, batch = t->s.batch;
    size_t width = c->width, threads = rf_team_size(t->team);
    t->max_tokens = longest > PART_TOKENS ? longest : PART_TOKENS;
    if (batch * longest < t->max_tokens)
        t->max_tokens = batch * longest;
    t->max_group = longest > GROUP_MAX ? longest : GROUP_MAX;
    t->layers = calloc(t->live + 1, sizeof *t->layers);
    t->workers = calloc(threads, sizeof *t->workers);
    t->order = calloc(t->train.texts->n_texts, sizeof *t->order);
    t->offsets = calloc(batch + 1, sizeof *t->offsets);
    t->groups = calloc(batch + 1, sizeof *t->groups);
    t->losses = rf_floats_new(batch);
    t->dev_z = rf_floats_new(t->dev.texts->n_texts * width + 1);
    t->dev_logits = rf_floats_new(DEV_ROWS * (t->known->classes + width));
    if (!t->layers || !t->workers || !t->order || !t->offsets || !t->groups ||
        !t->losses || !t->dev_z || !t->dev_logits)
        return rf_fail_nomem(err, t->dev.texts->n_texts * width * sizeof(float),
                             "training");
    t->dev_scratch = t->dev_logits + DEV_ROWS * t->known->classes;
    rf_status st = t->objective ? make_objective_room(t, err) : RF_OK;
    for (size_t i = 0; i < t->live && st == RF_OK; i++)
        st = rf_live_init(&t->layers[i], t->e, c->layers - t->live + i, i, t->max_tokens,
                          batch, err);
    if (st == RF_OK && !t->objective)
        st = rf_linear_init(&t->dense, t->known->dense_w, t->known->dense_b, width, width,
                            batch, err);
    if (st == RF_OK && !t->objective)
        st = rf_linear_init(&t->out, t->known->out_w, t->known->out_b, t->known->classes,
                            width, batch, err);
    for (size_t i = 0; i < threads && st == RF_OK; i++)
        st = worker_init(&t->workers[i], t, err);
    if (st == RF_OK)
        st = list_params(t, err);
    if (st == RF_OK)
        rf_fine_tune_refresh(t);
    return st;
}

rf_fine_tune *rf_fine_tune_new(rf_encoder *e, size_t live, rf_known *known,
                               rf_labelled train, rf_labelled dev,
                               rf_objective *objective, const rf_settings *s,
                               uint64_t seed, rf_team *team, rf_error *err)
{
    rf_fine_tune *t = calloc(1, sizeof *t);
    if (!t) {
        rf_fail_nomem(err, sizeof *t, "training");
        return NULL;
    }
    t->e = e;
    t->live = live;
    t->known = known;
    t->train = train;
    t->dev = dev;
    t->objective = objective;
    t->s = *s;
    t->seed = seed;
    t->team = team;
    if (t->s.batch > train.texts->n_texts)
        t->s.batch = train.texts->n_texts;
    if (init_fine_tune(t, err) != RF_OK) {
        rf_fine_tune_free(t);
        return NULL;
    }
    return t;
}

void rf_fine_tune_free(rf_fine_tune *t)
{
    if (!t)
        return;
    for (size_t i = 0; t->workers && i < rf_team_size(t->team); i++) {
        worker *w = &t->workers[i];
        rf_live_scratch_release(&w->scratch);
        for (size_t j = 0; w->saved && j < t->live; j++)
            rf_live_saved_release(&w->saved[j]);
        free(w->saved);
        free(w->block);
    }
    for (size_t i = 0; t->layers && i < t->live; i++)
        rf_live_release(&t->layers[i]);
    rf_linear_release(&t->dense);
    rf_linear_release(&t->out);
    free(t->layers);
    free(t->workers);
    free(t->order);
    free(t->offsets);
    free(t->groups);
    free(t->losses);
    free(t->batch_z);
    free(t->batch_class);
    free(t->train_z);
    free(t->params);
    free(t->arrays);
    free(t->best);
    free(t->dev_z);
    free(t->dev_logits);
    free(t);
}
