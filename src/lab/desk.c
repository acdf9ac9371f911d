#include "lab/desk.h"

#include "lab/plan.h"
#include "model/train_settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

rf_status rf_desk_open(rf_desk *d, const rf_lab_options *o, rf_train_progress progress,
                       void *user, rf_error *err)
{
    *d = (rf_desk){.o = o,
                   .encoder = o->encoder ? o->encoder : "minilm",
                   .progress = progress,
                   .user = user};
    if (!o->data || !o->out)
        return rf_fail(err, RF_ERR_ARG, 0,
                       "wanted a directory of data and a directory for results");
    if (strlen(d->encoder) >= sizeof((rf_run *)0)->encoder)
        return rf_fail(err, RF_ERR_LIMIT, 0, "%.100s...: the encoder's name is too long",
                       d->encoder);
    rf_status st = rf_path_join(d->cache, o->out, "cache", err);
    if (st != RF_OK)
        return st;
    size_t cpus = rf_cpu_count() < RF_MAX_THREADS ? rf_cpu_count() : RF_MAX_THREADS;
    d->team = rf_team_new(o->threads ? o->threads : cpus, err);
    return d->team ? RF_OK : RF_ERR_NOMEM;
}

void rf_desk_close(rf_desk *d)
{
    rf_material_close(&d->material);
    rf_team_free(d->team);
    *d = (rf_desk){0};
}

rf_status rf_desk_take(rf_desk *d, const char *set, rf_error *err)
{
    if (strcmp(d->set, set) == 0)
        return RF_OK;
    char dir[RF_PATH_MAX];
    rf_material_close(&d->material);
    d->set[0] = '\0';
    rf_material_options mo = {.dir = dir,
                              .data = d->o->format,
                              .open_texts = d->o->open_texts,
                              .max_tokens = d->o->max_tokens,
                              .cache = d->cache};
    rf_status st = rf_path_join(dir, d->o->data, set, err);
    if (st == RF_OK)
        st = rf_material_open(&d->material, &mo, err);
    if (st == RF_OK)
        snprintf(d->set, sizeof d->set, "%s", set);
    return st;
}

/* ---- The frozen layers ------------------------------------------------------------- */

static int texts_done(void *user, size_t done)
{
    rf_desk *d = user;
    const rf_train_event event = {
        .stage = RF_STAGE_ENCODE, .done = done, .seconds_left = -1.0};
    return d->progress ? d->progress(d->user, &event) : 0;
}

static rf_status freeze(rf_desk *d, rf_error *err)
{
    if (d->material.frozen[RF_LAB_TRAIN].states)
        return RF_OK;
    rf_material_options mo = {.cache = d->cache, .done = texts_done, .user = d};
    rf_model *m = rf_model_new(err);
    if (!m)
        return RF_ERR_NOMEM;
    rf_status st = rf_model_use_encoder(m, d->encoder, err);
    if (st == RF_OK) {
        const rf_config *c = &m->encoder->config;
        size_t live = d->o->train.train_layers;
        d->config = *c;
        rf_model_encoder_hash(m, d->encoder_hash);
        st = live <= c->layers
                 ? rf_material_freeze(&d->material, &mo, m->encoder, d->encoder_hash,
                                      c->layers - live, d->team, err)
                 : rf_fail(err, RF_ERR_ARG, 0, "train_layers is %zu, wanted 0 to %zu",
                           live, c->layers);
    }
    rf_model_free(m);
    return st;
}

/* ---- A trial ----------------------------------------------------------------------- */

static rf_status split_and_learn(rf_desk *d, rf_trial *t, rf_error *err)
{
    rf_split_options so = {.ratio = t->ratio, .seed = t->seed};
    rf_dataset *const *data = d->material.data;
    rf_status st;
    t->o = d->o->train;
    t->o.method = t->method->name;
    t->o.seed = t->seed;
    t->o.threads = rf_team_size(d->team);
    t->o.progress = d->progress;
    t->o.user = d->user;
    if ((st = rf_variant_apply(t->variant ? t->variant : "", &t->o, &so, err)) != RF_OK ||
        (st = freeze(d, err)) != RF_OK ||
        (st = rf_split_make(&t->split, data[RF_LAB_TRAIN], data[RF_LAB_DEV],
                            data[RF_LAB_TEST], &so, err)) != RF_OK)
        return st;
    t->o.max_tokens = d->material.max_tokens;
    const rf_stage1_problem problem = {.material = &d->material,
                                       .split = &t->split,
                                       .encoder = d->encoder,
                                       .encoder_hash = d->encoder_hash,
                                       .config = &d->config,
                                       .method = t->method,
                                       .o = t->o,
                                       .cache = d->cache,
                                       .team = d->team};
    if ((st = rf_stage1_get(&t->stage1, &problem, err)) != RF_OK)
        return st;
    return rf_train_resolve(&t->o, &d->config, t->split.train.n, t->split.classes, err);
}

rf_status rf_trial_begin(rf_desk *d, rf_trial *t, rf_error *err)
{
    t->split = (rf_split){0};
    t->stage1 = (rf_stage1){0};
    rf_status st = split_and_learn(d, t, err);
    if (st != RF_OK)
        rf_trial_end(t);
    return st;
}

void rf_trial_end(rf_trial *t)
{
    rf_stage1_release(&t->stage1);
    rf_split_release(&t->split);
}

rf_model *rf_trial_fit(const rf_desk *d, const rf_trial *t, rf_error *err)
{
    rf_error local = {0};
    const rf_stage1 *s = &t->stage1;
    const rf_split *split = &t->split;
    rf_model *m = rf_model_new(err);
    if (!m)
        return NULL;
    m->method = t->method;
    rf_training training = {.o = t->o,
                            .model = m,
                            .team = d->team,
                            .start = rf_seconds(),
                            .err = err ? err : &local};
    /* Borrowed: these parts are not released. */
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
