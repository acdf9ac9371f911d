/* stage1.c - trains stage 1 of an experiment, or reads it from the cache */
#include "lab/stage1.h"

#include "base/clock.h"
#include "base/memory.h"
#include "stages/train_settings.h"
#include "num/kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Identity ---------------------------------------------------------------------- */

json_t *rf_stage1_identity(const rf_stage1_problem *p, const rf_train_options *o,
                           const rf_settings *s)
{
    const rf_lab_set *m = p->set;
    const rf_method *method = p->method;
    json_t *all = rf_train_settings_json(o, s), *id = NULL;
    if (all)
        id = json_pack(
            "{s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:s, s:O}", "program", RF_VERSION,
            "encoder", p->encoder_hash, "kernels", rf_kernels_name(), "texts",
            m->texts_sha256, "classes", p->split->classes_sha256, "rows",
            (json_int_t)p->split->train.n, "seed", (json_int_t)o->seed, "max_tokens",
            (json_int_t)o->max_tokens, "objective", rf_method_objective(method), "known",
            json_object_get(all, "known"));
    bool good = id;
    if (good && method->objective)
        good = json_object_set(id, "method_options",
                               json_object_get(all, "method_options")) == 0;
    if (good && method->wants_open_texts)
        good = json_object_set_new(id, "open", json_string(m->open_sha256)) == 0;
    if (good && *p->split->draw) /* as many rows may be other rows */
        good = json_object_set_new(id, "draw", json_string(p->split->draw)) == 0;
    json_decref(all);
    if (good)
        return id;
    json_decref(id);
    return NULL;
}

static bool file_name(const rf_stage1_problem *p, const rf_train_options *o,
                      const rf_settings *s, char path[RF_PATH_MAX], char **identity)
{
    json_t *id = rf_stage1_identity(p, o, s);
    *identity = id ? json_dumps(id, JSON_COMPACT) : NULL;
    json_decref(id);
    if (!*identity)
        return false;
    char hex[RF_SHA256_HEX];
    rf_sha256_bytes(*identity, strlen(*identity), hex);
    snprintf(path, RF_PATH_MAX, "%s/stage1-%.16s.st", p->cache, hex);
    return true;
}

/* ---- Training ---------------------------------------------------------------------- */

static rf_status take_part(rf_part *part, const rf_lab_set *m, rf_lab_part which,
                           const rf_split_rows *rows, rf_error *err)
{
    part->n = rows->n;
    part->class_of = calloc(rows->n + 1, sizeof *part->class_of);
    if (!part->class_of)
        return rf_fail_nomem(err, rows->n * sizeof *part->class_of, "the rows");
    memcpy(part->class_of, rows->class_index, rows->n * sizeof *part->class_of);
    return rf_activations_select(&part->a, &m->frozen[which], rows->row, rows->n, err);
}

rf_status rf_stage1_rows(const rf_stage1_problem *p, rf_training *t)
{
    const rf_split *split = p->split;
    rf_status st = take_part(&t->train, p->set, RF_LAB_TRAIN, &split->train, t->err);
    if (st == RF_OK && split->dev.n > 0)
        st = take_part(&t->dev, p->set, RF_LAB_DEV, &split->dev, t->err);
    return st;
}

/* Appends open texts to the training rows, at most as many as there are rows. */
static rf_status add_open_texts(rf_part *part, const rf_lab_set *m, size_t classes,
                                uint64_t seed, rf_error *err)
{
    const rf_activations *open = &m->frozen[RF_LAB_OPEN], *own = &part->a;
    size_t most = open->n_texts, n = most < part->n ? most : part->n;
    uint32_t *order = calloc(most + 1, sizeof *order);
    uint32_t *class_of = calloc(part->n + n, sizeof *class_of);
    rf_activations extra = {0}, both = {.n_texts = part->n + n,
                                        .width = own->width,
                                        .layer = own->layer};
    rf_status st = order && class_of
                       ? RF_OK
                       : rf_fail_nomem(err, most * sizeof *order, "the open texts");
    if (st == RF_OK) {
        rf_open_text_order(order, most, seed);
        st = rf_activations_select(&extra, open, order, n, err);
    }
    if (st == RF_OK) {
        size_t tokens = own->n_tokens + extra.n_tokens;
        both.offsets = calloc(part->n + n + 1, sizeof *both.offsets);
        both.states = rf_floats_new(tokens * own->width);
        both.n_tokens = tokens;
        both.longest = own->longest > extra.longest ? own->longest : extra.longest;
        if (!both.offsets || !both.states)
            st = rf_fail_nomem(err, tokens * own->width * sizeof(float), "activations");
    }
    if (st == RF_OK) {
        memcpy(both.offsets, own->offsets, (part->n + 1) * sizeof *both.offsets);
        for (size_t i = 0; i < n; i++)
            both.offsets[part->n + 1 + i] = own->n_tokens + extra.offsets[i + 1];
        memcpy(both.states, own->states, own->n_tokens * own->width * sizeof(float));
        memcpy(both.states + own->n_tokens * own->width, extra.states,
               extra.n_tokens * own->width * sizeof(float));
        memcpy(class_of, part->class_of, part->n * sizeof *class_of);
        for (size_t i = 0; i < n; i++)
            class_of[part->n + i] = (uint32_t)classes;
        rf_activations_release(&part->a);
        free(part->class_of);
        part->a = both;
        part->class_of = class_of;
        part->n += n;
        part->n_open = n;
        class_of = NULL;
    } else {
        rf_activations_release(&both);
    }
    rf_activations_release(&extra);
    free(order);
    free(class_of);
    return st;
}

/* Features of the three parts. */
typedef struct features {
    float *z[3];
} features;

static void release_features(features *f)
{
    for (size_t i = 0; i < 3; i++)
        free(f->z[i]);
}

/* Features from layers blended between the original encoder (0) and stage 1 (1). */
static rf_status compute_features(features *f, rf_training *t, const rf_stage1_problem *p,
                                  float share)
{
    const rf_activations *parts[3] = {&t->train.a, &t->dev.a,
                                      &p->set->frozen[RF_LAB_TEST]};
    rf_status st = rf_training_blend(t, share);
    for (size_t i = 0; i < 3 && st == RF_OK; i++) {
        size_t n = parts[i]->n_texts, width = p->config->width;
        f->z[i] = rf_floats_new(n * width + 1);
        if (!f->z[i])
            return rf_fail_nomem(t->err, n * width * sizeof(float), "the features");
        if (n > 0)
            st = rf_activations_features(parts[i], t->model->encoder, f->z[i], t->team,
                                         NULL, NULL, t->err);
    }
    return st;
}

/* views: as tuned, and blended for the methods that share this stage 1 and want it. */
static rf_status train_stage1(rf_training *t, const rf_stage1_problem *p,
                              features views[2])
{
    rf_status st = rf_stage1_rows(p, t);
    if (st == RF_OK && p->method->wants_open_texts)
        st = add_open_texts(&t->train, p->set, p->split->classes, t->o.seed, t->err);
    if (st != RF_OK)
        return st;
    if ((st = rf_training_known(t)) != RF_OK ||
        (st = compute_features(&views[0], t, p, 1.0f)) != RF_OK ||
        (p->method->objective && !p->method->blends_layers))
        return st;
    return compute_features(&views[1], t, p, t->s.blend);
}

static const char *const feature_names[2][3] = {
    {"train", "dev", "test"}, {"blended.train", "blended.dev", "blended.test"}};

static rf_status write_file(const rf_training *t, const rf_stage1_problem *p,
                            const char *path, const char *identity, double seconds,
                            const features views[2])
{
    const rf_known *known = &t->model->known;
    json_t *root = json_pack(
        "{s:s, s:f, s:f, s:I, s:I}", "identity", identity, "seconds", seconds,
        "dev_score", t->dev.n ? t->known.best_accuracy : -1.0, "epochs",
        (json_int_t)t->known.epoch, "best_epoch", (json_int_t)t->known.best_epoch);
    char *json = root ? json_dumps(root, JSON_COMPACT) : NULL;
    json_decref(root);
    if (!json)
        return rf_fail_nomem(t->err, 1024, "a description");
    const size_t rows[3] = {t->train.n - t->train.n_open, t->dev.n, p->split->test.n};
    size_t n = 1;
    rf_section sections[7] = {{.name = "known",
                               .dtype = RF_F32,
                               .rank = 1,
                               .shape = {known->floats},
                               .data = known->block}};
    for (size_t i = 0; i < 6; i++) {
        const float *z = views[i / 3].z[i % 3];
        if (!z || rows[i % 3] == 0)
            continue;
        rf_section *section = &sections[n++];
        *section = (rf_section){
            .dtype = RF_F32, .rank = 2, .shape = {rows[i % 3], known->width}, .data = z};
        snprintf(section->name, sizeof section->name, "%s", feature_names[i / 3][i % 3]);
    }
    rf_status st = rf_container_write(path, "stage1", json, sections, n, t->err);
    free(json);
    return st;
}

static rf_status compute(const rf_stage1_problem *p, const char *path,
                         const char *identity, rf_model *model, const rf_train_options *o,
                         const rf_settings *s, rf_error *err)
{
    double start = rf_clock_seconds();
    features views[2] = {0};
    rf_training t = {
        .o = *o, .s = *s, .model = model, .team = p->team, .start = start, .err = err};
    rf_status st = train_stage1(&t, p, views);
    if (st == RF_OK)
        st = write_file(&t, p, path, identity, rf_clock_seconds() - start, views);
    release_features(&views[0]);
    release_features(&views[1]);
    rf_training_release(&t);
    return st;
}

/* ---- Reading ----------------------------------------------------------------------- */

static rf_status take_floats(rf_stage1 *s, const char *name, size_t rank,
                             const size_t *shape, const float **out, rf_error *err)
{
    const rf_tensor *t = rf_container_find(&s->file, name, RF_F32, rank, shape, err);
    if (!t)
        return RF_ERR_FORMAT;
    *out = (const float *)(const void *)t->data;
    return rf_kernels()->all_finite(*out, t->count)
               ? RF_OK
               : rf_fail(err, RF_ERR_NUMERIC, t->offset,
                         "%s: tensor \"%s\": a NaN or an infinity", s->file.file.name,
                         name);
}

static rf_status read_file(rf_stage1 *s, const rf_stage1_problem *p, const char *path,
                           const char *identity, rf_error *err)
{
    const char *const *names = feature_names[p->method->blends_layers];
    const rf_split_rows *rows[3] = {&p->split->train, &p->split->dev, &p->split->test};
    rf_known shape = {0};
    s->width = p->config->width;
    s->known_classes = p->split->classes + p->method->open_class;
    rf_status st = rf_container_open(&s->file, path, "stage1", err);
    if (st != RF_OK)
        return st;
    const char *found = json_string_value(json_object_get(s->file.json, "identity"));
    if (!found || strcmp(found, identity) != 0)
        return rf_fail(err, RF_ERR_FORMAT, 0,
                       "%s: its content does not match its name; remove it", path);
    if ((st = rf_known_init(&shape, s->width, s->known_classes, err)) != RF_OK)
        return st;
    st = take_floats(s, "known", 1, &shape.floats, &s->known, err);
    rf_known_release(&shape);
    for (size_t i = 0; i < 3 && st == RF_OK; i++) {
        const size_t wanted[] = {rows[i]->n, s->width};
        s->rows[i] = rows[i]->n;
        if (rows[i]->n > 0)
            st = take_floats(s, names[i], 2, wanted, &s->z[i], err);
    }
    s->seconds = json_number_value(json_object_get(s->file.json, "seconds"));
    return st;
}

/* ---- Cached or new ----------------------------------------------------------------- */

/* Trains it on a model with labels and an encoder of its own. */
static rf_status make_stage1(const rf_stage1_problem *p, const char *path,
                             const char *identity, const rf_train_options *o,
                             const rf_settings *s, rf_error *err)
{
    rf_model *m = rf_model_new(err);
    if (!m)
        return RF_ERR_NOMEM;
    m->method = p->method;
    rf_status st = rf_model_set_labels(m, p->split->label, p->split->classes, err);
    if (st == RF_OK)
        st = rf_model_use_encoder(m, p->encoder, err);
    if (st == RF_OK)
        st = compute(p, path, identity, m, o, s, err);
    rf_model_free(m);
    return st;
}

rf_status rf_stage1_get(rf_stage1 *s, const rf_stage1_problem *p, rf_error *err)
{
    char path[RF_PATH_MAX], *identity = NULL;
    rf_train_options o = p->o;
    rf_settings settings = p->s;
    rf_error local = {0};
    err = err ? err : &local;
    *s = (rf_stage1){0};
    if (p->method->wants_open_texts && !p->set->data[RF_LAB_OPEN])
        return rf_fail(err, RF_ERR_ARG, 0,
                       "method %s trains on open texts: wanted a file of them",
                       p->method->name);
    rf_status st = rf_train_resolve(&o, &settings, p->config, p->split->train.n,
                                    p->split->classes, err);
    if (st == RF_OK && !file_name(p, &o, &settings, path, &identity))
        st = rf_fail_nomem(err, 1024, "a description");
    s->found = st == RF_OK && rf_file_exists(path);
    if (st == RF_OK && !s->found)
        st = make_stage1(p, path, identity, &o, &settings, err);
    if (st == RF_OK)
        st = read_file(s, p, path, identity, err);
    free(identity);
    if (st != RF_OK)
        rf_stage1_release(s);
    return st;
}

void rf_stage1_release(rf_stage1 *s)
{
    rf_container_close(&s->file);
    *s = (rf_stage1){0};
}
