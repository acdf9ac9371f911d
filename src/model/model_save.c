/*
 * model_save.c - a model as the sections of a sealed file (docs/FORMAT.md, "Model file")
 *
 * Weights that live as panels are written as plain rows, the encoder in half precision;
 * both are turned over piece by piece on their way to the disk.
 */
#include "model/model.h"

#include "base/memory.h"
#include "num/panels.h"
#include "num/train.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PIECE 16384 /* floats that are turned over at a time, at least */

typedef struct saving {
    const rf_model *m;
    const rf_train_table *kernels;
    rf_section *sections;
    size_t n;
    float *floats;    /* [room] */
    uint16_t *halves; /* [room] */
    size_t room;
} saving;

/* Rows of `columns` floats that fit into the room. */
static size_t rows_at_once(const saving *s, size_t columns)
{
    return s->room / columns;
}

/* ---- Where bytes come from --------------------------------------------------------- */

static rf_status give_panels(const saving *s, const float *panels, size_t out, size_t in,
                             rf_container_writer *w, rf_error *err)
{
    rf_status st = RF_OK;
    for (size_t i = 0, n; i < out && st == RF_OK; i += n) {
        n = out - i < rows_at_once(s, in) ? out - i : rows_at_once(s, in);
        rf_panels_unpack_rows(s->floats, panels, i, n, in);
        st = rf_container_put(w, s->floats, n * in * sizeof(float), err);
    }
    return st;
}

/* index 0: the first layer, 1: the second */
static rf_status give_known(void *user, size_t index, rf_container_writer *w,
                            rf_error *err)
{
    const saving *s = user;
    const rf_known *k = &s->m->known;
    return index == 0 ? give_panels(s, k->dense_w, k->width, k->width, w, err)
                      : give_panels(s, k->out_w, k->classes, k->width, w, err);
}

/* The six parts of a head, in the order of rf_head; index says which. */
static rf_status give_heads(void *user, size_t index, rf_container_writer *w,
                            rf_error *err)
{
    const saving *s = user;
    const rf_heads *h = &s->m->heads;
    rf_status st = RF_OK;
    for (size_t i = 0; i < h->classes && st == RF_OK; i++) {
        rf_head a = rf_head_at(h, i);
        switch (index) {
        case 0: st = give_panels(s, a.w1, RF_HEAD_1, h->width, w, err); break;
        case 1: st = rf_container_put(w, a.b1, RF_HEAD_1 * sizeof(float), err); break;
        case 2: st = give_panels(s, a.w2, RF_HEAD_2, RF_HEAD_1, w, err); break;
        case 3: st = rf_container_put(w, a.b2, RF_HEAD_2 * sizeof(float), err); break;
        case 4: st = rf_container_put(w, a.w3, RF_HEAD_2 * sizeof(float), err); break;
        default: st = rf_container_put(w, a.b3, sizeof(float), err); break;
        }
    }
    return st;
}

static rf_status give_class_rows(void *user, size_t index, rf_container_writer *w,
                                 rf_error *err)
{
    (void)index;
    const saving *s = user;
    rf_status st = RF_OK;
    for (size_t i = 0; i < s->m->classes && st == RF_OK; i++) {
        int64_t rows = (int64_t)s->m->stats.rows[i];
        st = rf_container_put(w, &rows, sizeof rows, err);
    }
    return st;
}

static bool halves_finite(const uint16_t *x, size_t n)
{
    bool good = true;
    for (size_t i = 0; i < n; i++)
        good &= (x[i] & 0x7c00) != 0x7c00;
    return good;
}

/* index: of the encoder's tensor */
static rf_status give_encoder(void *user, size_t index, rf_container_writer *w,
                              rf_error *err)
{
    const saving *s = user;
    const rf_encoder *e = s->m->encoder;
    const rf_encoder_tensor t = rf_encoder_tensor_at(e, index);
    rf_status st = RF_OK;
    for (size_t i = 0, n; i < t.rows && st == RF_OK; i += n) {
        n = t.rows - i < rows_at_once(s, t.columns) ? t.rows - i
                                                    : rows_at_once(s, t.columns);
        rf_encoder_tensor_rows(e, &t, i, n, s->floats);
        s->kernels->narrow_f16(s->halves, s->floats, n * t.columns);
        /* Of what is in a file, the part that is used was checked when it was read. */
        if (!t.stored && !halves_finite(s->halves, n * t.columns))
            return rf_fail(err, RF_ERR_NUMERIC, 0,
                           "tensor \"%s\": a number that half precision cannot hold",
                           t.name);
        st = rf_container_put(w, s->halves, n * t.columns * sizeof(uint16_t), err);
    }
    return st;
}

/* ---- The list of sections ---------------------------------------------------------- */

static void add(saving *s, rf_section section)
{
    section.user = s;
    s->sections[s->n++] = section;
}

static void add_encoder(saving *s, bool slim)
{
    const rf_encoder *e = s->m->encoder;
    size_t layers = e->config.layers;
    size_t first =
        slim ? RF_EMBEDDING_TENSORS + (layers - s->m->tuned) * RF_LAYER_TENSORS : 0;
    for (size_t i = first; i < RF_EMBEDDING_TENSORS + layers * RF_LAYER_TENSORS; i++) {
        const rf_encoder_tensor t = rf_encoder_tensor_at(e, i);
        rf_section section = {.dtype = RF_F16,
                              .rank = t.rank,
                              .shape = {t.shape[0], t.shape[1]},
                              .give = give_encoder,
                              .index = i};
        static_assert(sizeof section.name == sizeof t.name, "names fit");
        memcpy(section.name, t.name, sizeof t.name);
        add(s, section);
    }
    static const char *const names[][2] = {
        {"config.json", "files/config.json"},
        {"tokenizer.json", "files/tokenizer.json"},
        {"vocab.txt", "files/vocab.txt"},
        {"tokenizer_config.json", "files/tokenizer_config.json"}};
    for (size_t i = 0; !slim && i < RF_ENCODER_PARTS; i++) {
        const rf_encoder_part *p = &e->files.parts[i];
        for (size_t j = 0; p->name && j < sizeof names / sizeof names[0]; j++)
            if (strcmp(p->name, names[j][0]) == 0) {
                rf_section section = {
                    .dtype = RF_U8, .rank = 1, .shape = {p->len}, .data = p->bytes};
                strcpy(section.name, names[j][1]);
                add(s, section);
            }
    }
}

static void add_classifier(saving *s)
{
    const rf_model *m = s->m;
    const rf_known *k = &m->known;
    size_t d = k->width, c = m->classes;
    const rf_method *method = m->method;
#define F32 .dtype = RF_F32
    add(s, (rf_section){"known.dense.weight", F32, .rank = 2, .shape = {d, d},
                        .give = give_known, .index = 0});
    add(s, (rf_section){"known.dense.bias", F32, .rank = 1, .shape = {d},
                        .data = k->dense_b});
    add(s, (rf_section){"known.out.weight", F32, .rank = 2, .shape = {k->classes, d},
                        .give = give_known, .index = 1});
    add(s, (rf_section){"known.out.bias", F32, .rank = 1, .shape = {k->classes},
                        .data = k->out_b});
    const rf_section heads[] = {
        {"open.hidden1.weight", F32, .rank = 3, .shape = {c, RF_HEAD_1, d}},
        {"open.hidden1.bias", F32, .rank = 2, .shape = {c, RF_HEAD_1}},
        {"open.hidden2.weight", F32, .rank = 3, .shape = {c, RF_HEAD_2, RF_HEAD_1}},
        {"open.hidden2.bias", F32, .rank = 2, .shape = {c, RF_HEAD_2}},
        {"open.out.weight", F32, .rank = 2, .shape = {c, RF_HEAD_2}},
        {"open.out.bias", F32, .rank = 1, .shape = {c}}};
    for (size_t i = 0; method->heads && i < sizeof heads / sizeof heads[0]; i++) {
        rf_section section = heads[i];
        section.give = give_heads;
        section.index = i;
        add(s, section);
    }
    for (size_t i = 0; i < method->n_arrays; i++) {
        const size_t *shape = m->fence.arrays[i].shape;
        rf_section section = {F32, .rank = method->arrays[i].rank,
                              .shape = {shape[0], shape[1]},
                              .data = m->fence.arrays[i].data};
        snprintf(section.name, sizeof section.name, "open.%s", method->arrays[i].name);
        add(s, section);
    }
    add(s, (rf_section){"classes.mean", F32, .rank = 2, .shape = {c, d},
                        .data = m->stats.mean});
    add(s, (rf_section){"classes.variance", F32, .rank = 2, .shape = {c, d},
                        .data = m->stats.variance});
    add(s, (rf_section){"classes.distance", F32, .rank = 1, .shape = {c},
                        .data = m->stats.distance});
    add(s,
        (rf_section){"classes.radius", F32, .rank = 1, .shape = {c}, .data = m->radius});
    add(s, (rf_section){"classes.rows", .dtype = RF_I64, .rank = 1, .shape = {c},
                        .give = give_class_rows});
#undef F32
}

static void add_rows(saving *s, rf_model_extent stored)
{
    const rf_model *m = s->m;
    size_t n = m->n_rows;
    if (stored.features) {
        add(s, (rf_section){"train.features", .dtype = RF_F16, .rank = 2,
                            .shape = {n, m->known.width}, .data = m->features});
        add(s, (rf_section){"train.classes", .dtype = RF_I32, .rank = 1, .shape = {n},
                            .data = m->row_class});
    }
    if (stored.texts) {
        add(s, (rf_section){"train.texts", .dtype = RF_U8, .rank = 1,
                            .shape = {m->text_ends[n - 1]}, .data = m->texts});
        add(s, (rf_section){"train.text_ends", .dtype = RF_I64, .rank = 1, .shape = {n},
                            .data = m->text_ends});
    }
    if (stored.map) {
        add(s, (rf_section){"map.rows", .dtype = RF_I32, .rank = 1, .shape = {m->map_n},
                            .data = m->map_rows});
        add(s, (rf_section){"map.points", .dtype = RF_F32, .rank = 2,
                            .shape = {m->map_n, 2}, .data = m->map_xy});
    }
}

/* ---- Saving ------------------------------------------------------------------------ */

/* A file that could not be loaded again is not worth writing. */
static rf_status check_finite(const rf_model *m, rf_error *err)
{
    size_t d = m->known.width, c = m->classes;
    const struct {
        const char *name;
        const float *values;
        size_t n;
    } parts[] = {
        {"the classifier of known classes", m->known.block, m->known.floats},
        {"the heads", m->heads.block, m->method->heads ? c * rf_head_floats(d) : 0},
        {"the means of the classes", m->stats.mean, c * d},
        {"the variances of the classes", m->stats.variance, c * d},
        {"the map", m->map_xy, 2 * m->map_n}};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (!rf_kernels()->all_finite(parts[i].values, parts[i].n))
            return rf_fail(err, RF_ERR_NUMERIC, 0,
                           "a NaN or an infinity in %s: the model is not saved",
                           parts[i].name);
    return RF_OK;
}

static rf_status make_room(saving *s, rf_error *err)
{
    const rf_config *c = &s->m->encoder->config;
    size_t widest = c->inner > c->width ? c->inner : c->width;
    size_t sections = RF_EMBEDDING_TENSORS + c->layers * RF_LAYER_TENSORS + 32;
    s->room = widest > PIECE ? widest : PIECE;
    s->sections = calloc(sections, sizeof *s->sections);
    s->floats = rf_floats_new(s->room);
    s->halves = malloc(s->room * sizeof *s->halves);
    if (!s->sections || !s->floats || !s->halves)
        return rf_fail_nomem(err, sections * sizeof *s->sections + 6 * s->room,
                             "saving a model");
    return RF_OK;
}

static rf_status save(saving *s, const char *path, rf_model_extent stored, rf_error *err)
{
    rf_buffer json;
    rf_buffer_init(&json, SIZE_MAX / 4, "the description of the model");
    json_t *root = NULL;
    rf_status st;
    if ((st = check_finite(s->m, err)) != RF_OK || (st = make_room(s, err)) != RF_OK)
        return st;
    root = rf_model_describe_as(s->m, stored, err);
    st = root ? rf_json_write(root, &json, err) : err->code;
    if (st == RF_OK) {
        add_encoder(s, !stored.encoder);
        add_classifier(s);
        add_rows(s, stored);
        st = rf_container_write(path, "model", json.data, s->sections, s->n, err);
    }
    json_decref(root);
    rf_buffer_release(&json);
    return st;
}

rf_status rf_model_save(const rf_model *m, const char *path,
                        const rf_save_options *options, rf_error *err)
{
    const rf_save_options o = options ? *options : (rf_save_options){0};
    rf_error local = {0};
    err = err ? err : &local;
    if (o.no_features && o.keep_examples)
        return rf_fail(err, RF_ERR_ARG, 0,
                       "%s: examples are found by their features: they cannot be kept "
                       "without",
                       path);
    if (o.keep_examples && (m->n_rows == 0 || !m->texts))
        return rf_fail(err, RF_ERR_MISSING, 0,
                       "%s: the model has no training texts to keep", path);
    assert(m->encoder->weights.half);
    saving s = {.m = m, .kernels = rf_train_kernels()};
    rf_model_extent stored = {.encoder = !o.slim,
                              .features = !o.no_features && m->n_rows > 0,
                              .texts = o.keep_examples,
                              .map = !o.no_features && m->map_n > 0};
    rf_status st = save(&s, path, stored, err);
    free(s.sections);
    free(s.floats);
    free(s.halves);
    return st;
}
