#include "model/training.h"

#include "model/fence_line.h"
#include "base/memory.h"
#include "base/rng.h"
#include "model/draw_map.h"
#include "model/train_settings.h"
#include "num/panels.h"
#include "num/train.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Heads per thread between two looks at progress and checkpoint. */
#define HEADS_AT_ONCE 4
#define STREAM_KNOWN (UINT64_C(3) << 40)
#define STREAM_OPEN_TEXTS (UINT64_C(4) << 40)

/* ---- Progress ---------------------------------------------------------------------- */

void rf_training_release(rf_training *t)
{
    rf_checkpoint_close(&t->checkpoint);
    rf_part_release(&t->train);
    rf_part_release(&t->dev);
    rf_upper_layers_release(&t->first);
    rf_upper_layers_release(&t->tuned);
    free(t->reports);
    t->reports = NULL;
}

double rf_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void begin(rf_training *t, rf_stage stage, size_t done, size_t total)
{
    t->stage = stage;
    t->stage_start = rf_seconds();
    t->stage_first = done;
    t->stage_total = total;
}

/* Tells the caller; anything but 0 means stop. */
static int tell(rf_training *t, size_t done, bool epoch_end)
{
    if (!t->o.progress)
        return 0;
    double now = rf_seconds();
    size_t new = done - t->stage_first;
    rf_train_event *e = &t->last;
    e->stage = t->stage;
    e->done = done;
    e->total = t->stage_total;
    e->epoch_end = epoch_end;
    e->seconds = now - t->start;
    e->seconds_left =
        new ? (now - t->stage_start) / (double)new *(double)(t->stage_total - done)
            : -1.0;
    return t->o.progress(t->o.user, e);
}

static int told(void *user, size_t done)
{
    return tell(user, done, false);
}

static rf_status stopped(rf_training *t)
{
    return rf_fail(t->err, RF_ERR_STOPPED, 0, "training was stopped");
}

/* ---- Parts ------------------------------------------------------------------------- */

void rf_part_release(rf_part *p)
{
    free(p->texts);
    free(p->lens);
    free(p->class_of);
    free(p->z);
    rf_activations_release(&p->a);
    *p = (rf_part){0};
}

rf_status rf_part_room(rf_part *p, size_t most, rf_error *err)
{
    p->texts = calloc(most + 1, sizeof *p->texts);
    p->lens = calloc(most + 1, sizeof *p->lens);
    p->class_of = calloc(most + 1, sizeof *p->class_of);
    return p->texts && p->lens && p->class_of
               ? RF_OK
               : rf_fail_nomem(err, most * sizeof *p->texts, "the rows");
}

uint64_t rf_label_key(const char *label)
{
    uint64_t h = 14695981039346656037u; /* FNV-1a */
    for (; *label; label++)
        h = (h ^ (unsigned char)*label) * 1099511628211u;
    return rf_rng_mix(h);
}

void rf_open_text_order(uint32_t *order, size_t n, uint64_t seed)
{
    for (size_t i = 0; i < n; i++)
        order[i] = (uint32_t)i;
    rf_rng rng = rf_rng_open(rf_rng_key(seed, STREAM_OPEN_TEXTS, 0, 0));
    rf_rng_shuffle(&rng, order, n);
}

/* ---- Stage 1 ----------------------------------------------------------------------- */

rf_status rf_training_encode(rf_training *t)
{
    const rf_config *c = &t->model->encoder->config;
    const char *tmp = getenv("TMPDIR");
    rf_activation_options o = {.layer = c->layers - t->o.train_layers,
                               .max_tokens = t->o.max_tokens,
                               .cache_bytes = t->o.cache_mb << 20,
                               .cache_dir = t->o.cache_dir ? t->o.cache_dir
                                            : tmp && *tmp  ? tmp
                                                           : "/tmp",
                               .done = told,
                               .user = t};
    rf_part *parts[2] = {&t->train, &t->dev};
    rf_status st = RF_OK;
    for (size_t i = 0; i < 2 && st == RF_OK; i++) {
        rf_part *p = parts[i];
        begin(t, RF_STAGE_ENCODE, 0, p->n);
        st = rf_activations_init(&p->a, t->model->encoder, p->texts, p->lens, p->n, &o,
                                 t->team, t->err);
    }
    t->n_cut = t->train.a.n_cut;
    return st;
}

static rf_status run_epochs(rf_training *t, rf_tune *tune)
{
    size_t per_epoch = rf_tune_steps(tune) / t->o.epochs;
    rf_tune_state *s = rf_tune_where(tune);
    bool found;
    rf_status st = rf_checkpoint_load_known(&t->checkpoint, tune, &found, t->err);
    begin(t, RF_STAGE_KNOWN, s->epoch * per_epoch, rf_tune_steps(tune));
    t->last.epochs = t->o.epochs;
    while (st == RF_OK && !rf_tune_finished(tune)) {
        st = rf_tune_epoch(tune, told, t, t->err);
        if (st == RF_OK)
            st = rf_checkpoint_save_known(&t->checkpoint, tune, t->err);
        t->last.epoch = s->epoch;
        t->last.loss = s->loss;
        t->last.dev_accuracy = t->dev.n ? s->accuracy : -1.0;
        if (st == RF_OK && tell(t, s->epoch * per_epoch, true) != 0)
            st = stopped(t);
    }
    t->known = *s;
    return st;
}

/* What stage 1 learns with this method; *out stays NULL for plain cross entropy. */
static rf_status make_objective(rf_training *t, rf_objective **out)
{
    rf_model *m = t->model;
    char dir[RF_PATH_MAX];
    *out = NULL;
    if (!m->method->objective)
        return RF_OK;
    rf_status st = rf_encoder_path(m->encoder_name, dir, sizeof dir, t->err);
    if (st != RF_OK)
        return st;
    const rf_objective_setting setting = {.known = &m->known,
                                          .width = m->known.width,
                                          .classes = m->classes,
                                          .batch = t->o.batch,
                                          .texts = &t->train.a,
                                          .class_of = t->train.class_of,
                                          .encoder = m->encoder,
                                          .encoder_dir = dir,
                                          .live = t->o.train_layers,
                                          .team = t->team,
                                          .seed = t->o.seed,
                                          .o = &t->o.method_options};
    *out = m->method->objective(&setting, t->err);
    return *out ? RF_OK : t->err->code;
}

rf_status rf_training_known(rf_training *t)
{
    rf_model *m = t->model;
    rf_status st = rf_known_init(&m->known, m->encoder->config.width,
                                 m->classes + m->method->open_class, t->err);
    if (st != RF_OK)
        return st;
    m->known.form = m->method->form;
    rf_known_reset(&m->known, rf_rng_key(t->o.seed, STREAM_KNOWN, 0, 0));
    rf_objective *objective;
    st = make_objective(t, &objective);
    if (st == RF_OK)
        st = rf_upper_layers_copy(&t->first, m->encoder, t->o.train_layers, t->err);
    const rf_tune_options o = rf_train_tune_options(&t->o);
    rf_tune *tune = st == RF_OK
                        ? rf_tune_new(m->encoder, t->o.train_layers, &m->known,
                                      (rf_labelled){&t->train.a, t->train.class_of},
                                      (rf_labelled){&t->dev.a, t->dev.class_of},
                                      objective, &o, t->team, t->err)
                        : NULL;
    if (st == RF_OK)
        st = tune ? run_epochs(t, tune) : t->err->code;
    if (st == RF_OK) {
        rf_tune_restore_best(tune);
        m->tuned = t->o.train_layers;
        st = rf_upper_layers_copy(&t->tuned, m->encoder, t->o.train_layers, t->err);
    }
    rf_tune_free(tune);
    rf_objective_free(objective);
    return st == RF_OK ? rf_training_blend(t, m->method->heads ? t->o.blend : 1.0f) : st;
}

rf_status rf_training_blend(rf_training *t, float share)
{
    return rf_upper_layers_blend(t->model->encoder, &t->first, &t->tuned, share, t->err);
}

rf_status rf_training_features(rf_training *t)
{
    rf_part *parts[2] = {&t->train, &t->dev};
    size_t width = t->model->encoder->config.width;
    rf_status st = RF_OK;
    for (size_t i = 0; i < 2 && st == RF_OK; i++) {
        rf_part *p = parts[i];
        begin(t, RF_STAGE_FEATURES, 0, p->n);
        p->z = rf_floats_new(p->n * width + 1);
        if (!p->z)
            return rf_fail_nomem(t->err, p->n * width * sizeof(float), "the features");
        st = rf_activations_features(&p->a, t->model->encoder, p->z, t->team, told, t,
                                     t->err);
        rf_activations_release(&p->a);
    }
    return st;
}

/* ---- Stage 2 ----------------------------------------------------------------------- */

static rf_status run_heads(rf_training *t, const rf_ans_problem *problem)
{
    rf_model *m = t->model;
    const rf_ans_options o = rf_train_ans_options(&t->o);
    size_t most = HEADS_AT_ONCE * t->o.threads, from = 0;
    rf_status st = RF_OK;
    for (size_t n = 1; from < m->classes && n > 0 && st == RF_OK; from += n)
        st = rf_checkpoint_load_heads(&t->checkpoint, &m->heads, from, &n,
                                      t->reports + from, t->err);
    begin(t, RF_STAGE_OPEN, from, m->classes);
    while (from < m->classes && st == RF_OK) {
        size_t to = from + most < m->classes ? from + most : m->classes;
        st = rf_ans_train(&m->heads, problem, &o, from, to, t->team, t->reports + from,
                          t->err);
        if (st == RF_OK)
            st = rf_checkpoint_save_heads(&t->checkpoint, &m->heads, from, to - from,
                                          t->reports + from, t->err);
        from = to;
        t->last.loss = (double)t->reports[to - 1].loss;
        if (st == RF_OK && tell(t, from, false) != 0)
            st = stopped(t);
    }
    return st;
}

/* dev_recall of each head, the fences being where they are. */
static void count_accepted(rf_training *t, const float *margins)
{
    size_t classes = t->model->classes;
    for (size_t c = 0; c < classes; c++) {
        size_t own = 0, accepted = 0;
        for (size_t i = 0; i < t->dev.n; i++) {
            bool is_own = t->dev.class_of[i] == c;
            own += is_own;
            accepted += is_own && margins[i * classes + c] >= 0.0f;
        }
        t->reports[c].dev_recall = own ? (float)accepted / (float)own : -1.0f;
    }
}

/* From margins to probabilities: nothing but folds can say how known and open texts lie
 * (rf_calibration_fit_known), but the dev texts how the classes do. */
rf_status rf_training_look_at_dev(rf_training *t)
{
    rf_model *m = t->model;
    size_t n = t->dev.n, floats = 0;
    if (n == 0)
        return RF_OK;
    bool fits = rf_size_mul(n, m->classes, &floats) && floats <= SIZE_MAX / sizeof(float);
    float *margins = fits ? rf_floats_new(floats) : NULL;
    if (!margins)
        return rf_fail_nomem(t->err, floats * sizeof *margins, "the dev texts");
    rf_status st = rf_fence_all_margins(m, t->dev.z, n, t->team, margins, t->err);
    if (st == RF_OK)
        st = rf_calibration_fit_classes(&m->calibration, margins, t->dev.class_of, n,
                                        m->classes, t->err);
    if (st == RF_OK)
        count_accepted(t, margins);
    free(margins);
    return st;
}

/* ANS and its kin: one network per class. */
static rf_status fit_heads(rf_training *t)
{
    rf_model *m = t->model;
    size_t width = m->known.width, classes = m->classes;
    uint64_t *keys = calloc(classes, sizeof *keys);
    t->reports = calloc(classes, sizeof *t->reports);
    rf_status st = keys && t->reports
                       ? rf_heads_init(&m->heads, width, classes, t->err)
                       : rf_fail_nomem(t->err, classes * sizeof *t->reports, "the heads");
    if (st == RF_OK) {
        for (size_t i = 0; i < classes; i++)
            keys[i] = rf_label_key(m->labels[i]);
        const rf_ans_problem problem = {.width = width,
                                        .classes = classes,
                                        .rows = t->train.n - t->train.n_open,
                                        .z = t->train.z,
                                        .class_of = t->train.class_of,
                                        .class_key = keys,
                                        .stats = &m->stats,
                                        .dev_rows = t->dev.n,
                                        .dev_z = t->dev.z,
                                        .dev_class = t->dev.class_of};
        st = run_heads(t, &problem);
    }
    for (size_t i = 0; i < classes && st == RF_OK; i++)
        m->radius[i] = t->reports[i].radius;
    free(keys);
    if (st == RF_OK)
        st = rf_fence_settle(t);
    m->calibration = RF_CALIBRATION_DEFAULT;
    return st == RF_OK ? rf_training_look_at_dev(t) : st;
}

static rf_status fit_fence(rf_training *t)
{
    rf_model *m = t->model;
    const rf_method *method = m->method;
    const rf_fit fit = {.width = m->known.width,
                        .classes = m->classes,
                        .rows = t->train.n - t->train.n_open,
                        .z = t->train.z,
                        .class_of = t->train.class_of,
                        .dev_rows = t->dev.n,
                        .dev_z = t->dev.z,
                        .dev_class = t->dev.class_of,
                        .known = &m->known,
                        .o = &t->o.method_options,
                        .dropout = t->o.dropout,
                        .seed = t->o.seed,
                        .team = t->team};
    begin(t, RF_STAGE_OPEN, 0, 1);
    m->fence = (rf_fence){.width = m->known.width, .classes = m->classes};
    rf_status st = method->fit ? method->fit(&m->fence, &fit, t->err) : RF_OK;
    for (size_t i = 0; i < method->n_arrays && st == RF_OK; i++)
        if (!rf_kernels()->all_finite(m->fence.arrays[i].data,
                                      m->fence.arrays[i].shape[0] *
                                          m->fence.arrays[i].shape[1]))
            st = rf_fail(t->err, RF_ERR_NUMERIC, 0,
                         "method %s: fitting gave a NaN or an infinity in \"%s\"",
                         method->name, method->arrays[i].name);
    if (st == RF_OK && method->prepare)
        st = method->prepare(&m->fence, t->err);
    return st;
}

rf_status rf_training_open(rf_training *t)
{
    rf_model *m = t->model;
    m->radius = calloc(m->classes, sizeof *m->radius);
    if (!m->radius)
        return rf_fail_nomem(t->err, m->classes * sizeof *m->radius, "the classes");
    rf_status st = rf_class_stats_init(&m->stats, t->train.z, t->train.class_of,
                                       t->train.n - t->train.n_open, m->known.width,
                                       m->classes, t->err);
    if (st != RF_OK)
        return st;
    return m->method->heads ? fit_heads(t) : fit_fence(t);
}

/* ---- The map ----------------------------------------------------------------------- */

static int told_of_map(void *user, size_t done, size_t total)
{
    (void)total;
    return told(user, done);
}

rf_status rf_training_map(rf_training *t)
{
    rf_tsne_options o = rf_tsne_options_default();
    if (t->o.map_points == 0)
        return RF_OK;
    o.seed = t->o.seed;
    o.progress = told_of_map;
    o.user = t;
    begin(t, RF_STAGE_MAP, 0, o.iterations);
    rf_status st = rf_draw_map(t->model, t->o.map_points, &o, t->team, t->err);
    if (st == RF_OK)
        (void)tell(t, o.iterations, false); /* it is done: there is nothing to stop */
    return st;
}
