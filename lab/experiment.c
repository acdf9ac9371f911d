/* experiment.c - from a split to a fitted method: frozen layers, stage 1, stage 2 */
#include "lab/experiment.h"

#include "base/clock.h"
#include "lab/lab_settings.h"
#include "lab/results.h"
#include "stages/train_settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

rf_status rf_lab_context_open(rf_lab_context *c, const rf_lab_options *o,
                              rf_train_progress progress, void *user, rf_error *err)
{
    *c = (rf_lab_context){.o = o,
                          .settings = rf_settings_default(),
                          .encoder = o->encoder ? o->encoder : "minilm",
                          .progress = progress,
                          .user = user};
    if (!o->data || !o->out)
        return rf_fail(err, RF_ERR_ARG, 0,
                       "wanted a directory of data and a directory for results");
    if (strlen(c->encoder) >= sizeof((rf_run *)0)->encoder)
        return rf_fail(err, RF_ERR_LIMIT, 0, "%.100s...: the encoder's name is too long",
                       c->encoder);
    rf_status st = rf_path_join(c->cache, o->out, "cache", err);
    if (st == RF_OK)
        st = rf_settings_parse(&c->settings, o->settings, err);
    if (st != RF_OK)
        return st;
    size_t cpus = rf_cpu_count() < RF_MAX_THREADS ? rf_cpu_count() : RF_MAX_THREADS;
    c->team = rf_team_new(o->threads ? o->threads : cpus, err);
    return c->team ? RF_OK : RF_ERR_NOMEM;
}

void rf_lab_context_close(rf_lab_context *c)
{
    rf_lab_set_close(&c->set);
    rf_team_free(c->team);
    *c = (rf_lab_context){0};
}

rf_status rf_lab_context_use(rf_lab_context *c, const char *set, rf_error *err)
{
    if (strcmp(c->set_name, set) == 0)
        return RF_OK;
    char dir[RF_PATH_MAX];
    rf_lab_set_close(&c->set);
    c->set_name[0] = '\0';
    rf_lab_set_options mo = {.dir = dir,
                             .data = c->o->format,
                             .open_texts = c->o->open_texts,
                             .max_tokens = c->o->max_tokens,
                             .cache = c->cache};
    rf_status st = rf_path_join(dir, c->o->data, set, err);
    if (st == RF_OK)
        st = rf_lab_set_open(&c->set, &mo, err);
    if (st == RF_OK)
        snprintf(c->set_name, sizeof c->set_name, "%s", set);
    return st;
}

rf_status rf_lab_asked(const rf_lab_context *c, const rf_method *method, uint64_t seed,
                       const char *variant, char hex[RF_SHA256_HEX], rf_error *err)
{
    rf_train_options o = rf_train_options_default();
    rf_settings s = c->settings;
    rf_split_options so = {0};
    rf_status st = rf_variant_apply(variant, &s, &so, err);
    if (st != RF_OK)
        return st;
    o.method = method->name;
    o.seed = seed;
    o.max_tokens = c->o->max_tokens;
    json_t *settings = rf_train_settings_json(&o, &s);
    json_t *all =
        json_pack("{s:o?, s:s, s:s}", "settings", settings, "texts", c->set.texts_sha256,
                  "open", method->wants_open_texts ? c->set.open_sha256 : "");
    char *text = settings && all ? json_dumps(all, JSON_COMPACT) : NULL;
    if (text)
        rf_sha256_bytes(text, strlen(text), hex);
    else
        st = rf_fail_nomem(err, 1024, "the settings");
    json_decref(all);
    free(text);
    return st;
}

/* ---- The frozen layers ------------------------------------------------------------- */

static int texts_done(void *user, size_t done)
{
    rf_lab_context *c = user;
    const rf_train_event event = {
        .stage = RF_STAGE_ENCODE, .done = done, .seconds_left = -1.0};
    return c->progress ? c->progress(c->user, &event) : 0;
}

static rf_status run_frozen_layers(rf_lab_context *c, rf_error *err)
{
    if (c->set.frozen[RF_LAB_TRAIN].states)
        return RF_OK;
    rf_lab_set_options mo = {.cache = c->cache, .done = texts_done, .user = c};
    rf_model *m = rf_model_new(err);
    if (!m)
        return RF_ERR_NOMEM;
    rf_status st = rf_model_use_encoder(m, c->encoder, err);
    if (st == RF_OK) {
        const rf_config *config = &m->encoder->config;
        size_t live = c->settings.train_layers;
        c->config = *config;
        rf_model_encoder_hash(m, c->encoder_hash);
        st = live <= config->layers
                 ? rf_lab_set_encode(&c->set, &mo, m->encoder, c->encoder_hash,
                                     config->layers - live, c->team, err)
                 : rf_fail(err, RF_ERR_ARG, 0, "train_layers is %zu, wanted 0 to %zu",
                           live, config->layers);
    }
    rf_model_free(m);
    return st;
}

/* ---- An experiment ----------------------------------------------------------------- */

static rf_status split_and_train(rf_lab_context *c, rf_experiment *e, rf_error *err)
{
    rf_split_options so = {.ratio = e->ratio, .seed = e->seed};
    rf_dataset *const *data = c->set.data;
    rf_status st;
    e->o = rf_train_options_default();
    e->s = c->settings;
    e->o.method = e->method->name;
    e->o.seed = e->seed;
    e->o.threads = rf_team_size(c->team);
    e->o.progress = c->progress;
    e->o.user = c->user;
    if ((st = rf_variant_apply(e->variant ? e->variant : "", &e->s, &so, err)) != RF_OK ||
        (st = run_frozen_layers(c, err)) != RF_OK ||
        (st = rf_split_make(&e->split, data[RF_LAB_TRAIN], data[RF_LAB_DEV],
                            data[RF_LAB_TEST], &so, err)) != RF_OK)
        return st;
    e->o.max_tokens = c->set.max_tokens;
    rf_stage1_problem problem = {.set = &c->set,
                                 .split = &e->split,
                                 .encoder = c->encoder,
                                 .encoder_hash = c->encoder_hash,
                                 .config = &c->config,
                                 .method = e->method,
                                 .o = e->o,
                                 .s = e->s,
                                 .cache = c->cache,
                                 .team = c->team};
    if ((st = rf_lab_folds_get(&e->folds, &problem, err)) != RF_OK)
        return st;
    problem.s.blend = e->s.blend = e->folds.blend;
    if ((st = rf_stage1_get(&e->stage1, &problem, err)) != RF_OK)
        return st;
    return rf_train_resolve(&e->o, &e->s, &c->config, e->split.train.n, e->split.classes,
                            err);
}

rf_status rf_experiment_begin(rf_lab_context *c, rf_experiment *e, rf_error *err)
{
    e->split = (rf_split){0};
    e->stage1 = (rf_stage1){0};
    rf_status st = split_and_train(c, e, err);
    if (st != RF_OK)
        rf_experiment_end(e);
    return st;
}

void rf_experiment_end(rf_experiment *e)
{
    rf_stage1_release(&e->stage1);
    rf_split_release(&e->split);
}

rf_model *rf_experiment_fit(const rf_lab_context *c, const rf_experiment *e,
                            rf_error *err)
{
    rf_error local = {0};
    const rf_stage1 *s = &e->stage1;
    const rf_split *split = &e->split;
    rf_model *m = rf_model_new(err);
    if (!m)
        return NULL;
    m->method = e->method;
    rf_training training = {.o = e->o,
                            .s = e->s,
                            .model = m,
                            .team = c->team,
                            .fence = e->folds.fence,
                            .start = rf_clock_seconds(),
                            .err = err ? err : &local};
    /* Borrowed, so not released here. */
    training.train = (rf_part){.n = split->train.n,
                               .class_of = split->train.class_index,
                               .z = (float *)(uintptr_t)s->z[RF_LAB_TRAIN]};
    training.dev = (rf_part){.n = split->dev.n,
                             .class_of = split->dev.class_index,
                             .z = (float *)(uintptr_t)s->z[RF_LAB_DEV]};
    rf_status st = rf_model_set_labels(m, split->label, split->classes, err);
    if (st == RF_OK)
        st = rf_known_init(&m->known, s->width, s->known_classes, err);
    if (st == RF_OK) {
        m->known.form = m->method->form;
        memcpy(m->known.block, s->known, m->known.floats * sizeof(float));
        st = rf_training_open(&training);
    }
    free(training.reports);
    if (st == RF_OK)
        return m;
    rf_model_free(m);
    return NULL;
}
