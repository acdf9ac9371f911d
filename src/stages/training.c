/* training.c - run the stages of training and report progress */
#include "stages/training.h"

#include "stages/fence_line.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/rng.h"
#include "base/streams.h"
#include "stages/draw_map.h"
#include "num/panels.h"
#include "num/train.h"

#include <stdlib.h>
#include <string.h>

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

static void begin_stage(rf_training *t, rf_stage stage, size_t done, size_t total)
{
    t->stage = stage;
    t->stage_start = rf_clock_seconds();
    t->stage_first = done;
    t->stage_total = total;
}

/* Reports to the caller; a result other than 0 is a stop request. */
static int report_progress(rf_training *t, size_t done, bool epoch_end)
{
    if (!t->o.progress)
        return 0;
    double now = rf_clock_seconds();
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

static int on_progress(void *user, size_t done)
{
    return report_progress(user, done, false);
}

static rf_status fail_stopped(rf_training *t)
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
    rf_rng rng = rf_rng_open(rf_stream_key(seed, RF_STREAM_OPEN_TEXTS, 0, 0));
    rf_rng_shuffle(&rng, order, n);
}

/* ---- Stage 1 ----------------------------------------------------------------------- */

rf_status rf_training_encode(rf_training *t)
{
    const rf_config *c = &t->model->encoder->config;
    const char *tmp = getenv("TMPDIR");
    rf_activation_options o = {.layer = c->layers - t->s.train_layers,
                               .max_tokens = t->o.max_tokens,
                               .cache_bytes = (size_t)t->o.cache_mb << 20,
                               .cache_dir = t->o.cache_dir ? t->o.cache_dir
                                            : tmp && *tmp  ? tmp
                                                           : "/tmp",
                               .done = on_progress,
                               .user = t};
    rf_part *parts[2] = {&t->train, &t->dev};
    rf_status st = RF_OK;
    for (size_t i = 0; i < 2 && st == RF_OK; i++) {
        rf_part *p = parts[i];
        begin_stage(t, RF_STAGE_ENCODE, 0, p->n);
        st = rf_activations_init(&p->a, t->model->encoder, p->texts, p->lens, p->n, &o,
                                 t->team, t->err);
    }
    t->n_cut = t->train.a.n_cut;
    return st;
}

static rf_status run_epochs(rf_training *t, rf_fine_tune *tune)
{
    size_t per_epoch = rf_fine_tune_steps(tune) / t->s.epochs;
    rf_fine_tune_state *s = rf_fine_tune_where(tune);
    bool found;
    rf_status st = rf_checkpoint_load_known(&t->checkpoint, tune, &found, t->err);
    begin_stage(t, RF_STAGE_KNOWN, s->epoch * per_epoch, rf_fine_tune_steps(tune));
    t->last.epochs = t->s.epochs;
    while (st == RF_OK && !rf_fine_tune_finished(tune)) {
        st = rf_fine_tune_epoch(tune, on_progress, t, t->err);
        if (st == RF_OK)
            st = rf_checkpoint_save_known(&t->checkpoint, tune, t->err);
        t->last.epoch = s->epoch;
        t->last.loss = s->loss;
        t->last.dev_accuracy = t->dev.n ? s->accuracy : -1.0;
        if (st == RF_OK && report_progress(t, s->epoch * per_epoch, true) != 0)
            st = fail_stopped(t);
    }
    t->known = *s;
    return st;
}

/* The loss of stage 1 for this method; *out stays NULL for plain cross entropy. */
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
                                          .batch = t->s.batch,
                                          .texts = &t->train.a,
                                          .class_of = t->train.class_of,
                                          .encoder = m->encoder,
                                          .encoder_dir = dir,
                                          .live = t->s.train_layers,
                                          .team = t->team,
                                          .seed = t->o.seed,
                                          .o = &t->s};
    *out = m->method->objective(&setting, t->err);
    return *out ? RF_OK : t->err->code;
}

rf_status rf_training_freeze(rf_training *t)
{
    rf_part *parts[2] = {&t->train, &t->dev};
    rf_status st = RF_OK;
    for (size_t i = 0; i < 2 && st == RF_OK; i++)
        if (parts[i]->n > 0)
            st = rf_activations_pool(&parts[i]->a, t->model->encoder, t->team, t->err);
    t->s.train_layers = 0;
    return st;
}

rf_status rf_training_known(rf_training *t)
{
    rf_model *m = t->model;
    rf_status st = rf_known_init(&m->known, m->encoder->config.width,
                                 m->classes + m->method->open_class, t->err);
    if (st != RF_OK)
        return st;
    m->known.form = m->method->form;
    rf_known_reset(&m->known, rf_stream_key(t->o.seed, RF_STREAM_CLASSIFIER, 0, 0));
    rf_objective *objective;
    st = make_objective(t, &objective);
    if (st == RF_OK)
        st = rf_upper_layers_copy(&t->first, m->encoder, t->s.train_layers, t->err);
    rf_activations texts = t->train.a; /* open texts are at the end */
    if (!m->method->wants_open_texts)
        texts.n_texts -= t->train.n_open;
    rf_fine_tune *tune =
        st == RF_OK ? rf_fine_tune_new(m->encoder, t->s.train_layers, &m->known,
                                       (rf_labelled){&texts, t->train.class_of},
                                       (rf_labelled){&t->dev.a, t->dev.class_of},
                                       objective, &t->s, t->o.seed, t->team, t->err)
                    : NULL;
    if (st == RF_OK)
        st = tune ? run_epochs(t, tune) : t->err->code;
    if (st == RF_OK) {
        rf_fine_tune_restore_best(tune);
        m->tuned = t->s.train_layers;
        st = rf_upper_layers_copy(&t->tuned, m->encoder, t->s.train_layers, t->err);
    }
    rf_fine_tune_free(tune);
    rf_objective_free(objective);
    return st == RF_OK
               ? rf_training_blend(t, m->method->blends_layers ? t->s.blend : 1.0f)
               : st;
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
        begin_stage(t, RF_STAGE_FEATURES, 0, p->n);
        p->z = rf_floats_new(p->n * width + 1);
        if (!p->z)
            return rf_fail_nomem(t->err, p->n * width * sizeof(float), "the features");
        st = rf_activations_features(&p->a, t->model->encoder, p->z, t->team, on_progress,
                                     t, t->err);
        rf_activations_release(&p->a);
    }
    return st;
}

/* ---- Stage 2 ----------------------------------------------------------------------- */

static rf_status resume_part(void *user, rf_fit_part *part, rf_error *err)
{
    rf_training *t = user;
    rf_status st = rf_checkpoint_load_part(&t->checkpoint, part, err);
    begin_stage(t, RF_STAGE_OPEN, part->from + part->n, t->model->classes);
    return st;
}

static rf_status save_part(void *user, const rf_fit_part *part, rf_error *err)
{
    rf_training *t = user;
    rf_status st = rf_checkpoint_save_part(&t->checkpoint, part, err);
    t->last.loss = (double)part->reports[part->n - 1].loss;
    if (st == RF_OK && report_progress(t, part->from + part->n, false) != 0)
        st = fail_stopped(t);
    return st;
}

/* dev_recall of each class with the current fences. */
static void count_dev_accepted(rf_training *t, const float *margins)
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

/* Dev texts calibrate the probabilities among the known classes. Known against open
 * takes folds (rf_calibration_fit_known). */
rf_status rf_training_measure_dev(rf_training *t)
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
        count_dev_accepted(t, margins);
    free(margins);
    return st;
}

static rf_status fit_method(rf_training *t)
{
    rf_model *m = t->model;
    uint64_t *keys = calloc(m->classes, sizeof *keys);
    t->reports = calloc(m->classes, sizeof *t->reports);
    if (!keys || !t->reports) {
        free(keys);
        return rf_fail_nomem(t->err, m->classes * sizeof *t->reports, "the classes");
    }
    for (size_t i = 0; i < m->classes; i++)
        keys[i] = rf_label_key(m->labels[i]);
    const rf_fit in = {.width = m->known.width,
                       .classes = m->classes,
                       .rows = t->train.n - t->train.n_open,
                       .open_rows = m->method->takes_open_texts ? t->train.n_open : 0,
                       .z = t->train.z,
                       .class_of = t->train.class_of,
                       .class_key = keys,
                       .stats = &m->stats,
                       .dev_rows = t->dev.n,
                       .dev_z = t->dev.z,
                       .dev_class = t->dev.class_of,
                       .known = &m->known,
                       .o = &t->s,
                       .dropout = t->s.dropout,
                       .seed = t->o.seed,
                       .team = t->team,
                       .quick = t->quick,
                       .reports = t->reports,
                       .hooks = {t, resume_part, save_part}};
    begin_stage(t, RF_STAGE_OPEN, 0, m->classes);
    rf_status st = t->update
                       ? rf_method_update(m->method, &m->state, &in, t->update, t->err)
                       : rf_method_fit(m->method, &m->state, &in, t->err);
    for (size_t i = 0; i < m->classes && st == RF_OK; i++)
        m->radius[i] = t->reports[i].radius;
    free(keys);
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
    if (st == RF_OK)
        st = fit_method(t);
    if (t->update) /* fences and confidence are the caller's */
        return st;
    if (st == RF_OK && m->method->move_fence)
        st = rf_fence_place(t);
    if (st != RF_OK || !m->method->score)
        return st;
    m->calibration = RF_CALIBRATION_DEFAULT;
    return rf_training_measure_dev(t);
}

/* ---- The map ----------------------------------------------------------------------- */

static int on_map_progress(void *user, size_t done, size_t total)
{
    (void)total;
    return on_progress(user, done);
}

rf_status rf_training_map(rf_training *t)
{
    rf_tsne_options o = rf_tsne_options_default();
    if (t->o.map_points == 0)
        return RF_OK;
    o.seed = t->o.seed;
    o.progress = on_map_progress;
    o.user = t;
    begin_stage(t, RF_STAGE_MAP, 0, o.iterations);
    rf_status st = rf_draw_map(t->model, (size_t)t->o.map_points, &o, t->team, t->err);
    if (st == RF_OK)
        (void)report_progress(t, o.iterations, false); /* done: nothing left to stop */
    return st;
}
