/*
 * model_save.c - save a model as the sections of a sealed file (see docs/FORMAT.md,
 * "Model file")
 *
 * Weights that are packed in panels in memory are written as plain rows, the encoder in
 * half precision. Both are converted piece by piece while writing. Weights of the encoder
 * that its file has in 8 bits stay as they are, unless training tuned them.
 */
#include "model/model.h"

#include "base/memory.h"
#include "base/options.h"
#include "num/panels.h"
#include "num/train.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PIECE 16384 /* minimum number of floats to convert at a time */

/* Besides those of the encoder and the method: 4 files, 4 of the classifier, 5 of the
 * classes, 4 of the rows, 2 of the map. */
#define OTHER_SECTIONS 21

typedef struct saving {
    const rf_model *m;
    const rf_train_table *kernels;
    rf_section *sections;
    size_t n;
    float *floats;    /* [room] */
    uint16_t *halves; /* [room] */
    size_t room;
    bool half[RF_METHOD_ARRAYS]; /* of the method's arrays: written in half precision */
} saving;

/* Rows of `columns` floats that fit into the buffers. */
static size_t rows_at_once(const saving *s, size_t columns)
{
    return s->room / columns;
}

/* ---- Writing sections -------------------------------------------------------------- */

static rf_status write_panels(const saving *s, const float *panels, size_t out, size_t in,
                              bool half, rf_container_writer *w, rf_error *err)
{
    rf_status st = RF_OK;
    for (size_t i = 0, n; i < out && st == RF_OK; i += n) {
        n = out - i < rows_at_once(s, in) ? out - i : rows_at_once(s, in);
        rf_panels_unpack_rows(s->floats, panels, i, n, in);
        if (half)
            s->kernels->narrow_f16(s->halves, s->floats, n * in);
        st = half ? rf_container_put(w, s->halves, n * in * sizeof(uint16_t), err)
                  : rf_container_put(w, s->floats, n * in * sizeof(float), err);
    }
    return st;
}

static rf_status write_halves(const saving *s, const float *x, size_t n,
                              rf_container_writer *w, rf_error *err)
{
    rf_status st = RF_OK;
    for (size_t i = 0, some; i < n && st == RF_OK; i += some) {
        some = n - i < s->room ? n - i : s->room;
        s->kernels->narrow_f16(s->halves, x + i, some);
        st = rf_container_put(w, s->halves, some * sizeof(uint16_t), err);
    }
    return st;
}

/* index: 0 is the first layer, 1 the second */
static rf_status write_known(void *user, size_t index, rf_container_writer *w,
                             rf_error *err)
{
    const saving *s = user;
    const rf_known *k = &s->m->known;
    return index == 0 ? write_panels(s, k->dense_w, k->width, k->width, false, w, err)
                      : write_panels(s, k->out_w, k->classes, k->width, false, w, err);
}

/* index: of the method's array */
static rf_status write_array(void *user, size_t index, rf_container_writer *w,
                             rf_error *err)
{
    const saving *s = user;
    const rf_method_state *state = &s->m->state;
    const size_t *shape = state->arrays[index].shape;
    bool panels = s->m->method->arrays[index].rank == 3, half = s->half[index];
    rf_status st = RF_OK;
    for (size_t i = 0, n; i < rf_method_state_pieces(state, index) && st == RF_OK; i++) {
        const float *x = rf_method_state_piece(state, index, i, &n);
        st = panels ? write_panels(s, x, shape[1], shape[2], half, w, err)
             : half ? write_halves(s, x, n, w, err)
                    : rf_container_put(w, x, n * sizeof *x, err);
    }
    return st;
}

static rf_status write_class_rows(void *user, size_t index, rf_container_writer *w,
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
static rf_status write_encoder(void *user, size_t index, rf_container_writer *w,
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
        /* Tensors still in a file were checked when they were read. */
        if (!t.stored && !halves_finite(s->halves, n * t.columns))
            return rf_fail(err, RF_ERR_NUMERIC, 0,
                           "tensor \"%s\": a number that half precision cannot hold",
                           t.name);
        st = rf_container_put(w, s->halves, n * t.columns * sizeof(uint16_t), err);
    }
    return st;
}

/* ---- The list of sections ---------------------------------------------------------- */

static void add_section(saving *s, rf_section section)
{
    section.user = s;
    s->sections[s->n++] = section;
}

/* The bytes of tensor i and what they mean; false if it is to be written in half
 * precision. */
static bool add_bytes(saving *s, const rf_encoder_tensor *t, size_t i)
{
    const rf_encoder *e = s->m->encoder;
    size_t frozen =
        RF_EMBEDDING_TENSORS + (e->config.layers - s->m->tuned) * RF_LAYER_TENSORS;
    const rf_tensor *bytes = i < frozen ? rf_weights_bytes(&e->weights, t->name) : NULL;
    if (!bytes)
        return false;
    rf_section section = {.dtype = RF_U8,
                          .rank = t->rank,
                          .shape = {t->shape[0], t->shape[1]},
                          .data = bytes->data};
    memcpy(section.name, t->name, sizeof t->name);
    add_section(s, section);
    rf_section scale = {
        .dtype = RF_F32, .rank = 1, .shape = {2}, .data = bytes->quantised};
    snprintf(scale.name, sizeof scale.name, "%.80s_scale", t->name);
    add_section(s, scale);
    return true;
}

static void add_encoder(saving *s, bool slim)
{
    const rf_encoder *e = s->m->encoder;
    size_t layers = e->config.layers;
    size_t first =
        slim ? RF_EMBEDDING_TENSORS + (layers - s->m->tuned) * RF_LAYER_TENSORS : 0;
    for (size_t i = first; i < RF_EMBEDDING_TENSORS + layers * RF_LAYER_TENSORS; i++) {
        const rf_encoder_tensor t = rf_encoder_tensor_at(e, i);
        if (add_bytes(s, &t, i))
            continue;
        rf_section section = {.dtype = RF_F16,
                              .rank = t.rank,
                              .shape = {t.shape[0], t.shape[1]},
                              .write = write_encoder,
                              .index = i};
        static_assert(sizeof section.name == sizeof t.name, "names fit");
        memcpy(section.name, t.name, sizeof t.name);
        add_section(s, section);
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
                add_section(s, section);
            }
    }
}

/* Floats of rank 1 (n1 is 0) or 2; without data, `write` writes them. */
static void add_floats(saving *s, const char *name, size_t n0, size_t n1,
                       const float *data, rf_section_source write, size_t index)
{
    rf_section section = {.dtype = RF_F32,
                          .rank = n1 ? 2 : 1,
                          .shape = {n0, n1},
                          .data = data,
                          .write = write,
                          .index = index};
    snprintf(section.name, sizeof section.name, "%s", name);
    add_section(s, section);
}

/* Half precision holds all numbers of a method's array as they are. Heads and kept texts
 * are rounded to it when they are made, but those of older files are not. */
static bool fits_half(const saving *s, size_t index)
{
    const rf_method_state *state = &s->m->state;
    for (size_t i = 0, n; i < rf_method_state_pieces(state, index); i++) {
        const float *x = rf_method_state_piece(state, index, i, &n);
        for (size_t k = 0, some; k < n; k += some) {
            some = n - k < s->room ? n - k : s->room;
            s->kernels->narrow_f16(s->halves, x + k, some);
            rf_kernels()->widen_f16(s->floats, s->halves, some);
            if (memcmp(s->floats, x + k, some * sizeof *x) != 0)
                return false;
        }
    }
    return true;
}

static void add_method(saving *s)
{
    const rf_method *method = s->m->method;
    for (size_t i = 0; i < method->n_arrays; i++) {
        const size_t *shape = s->m->state.arrays[i].shape;
        if (!s->m->state.arrays[i].data || shape[0] == 0)
            continue; /* optional, or no class has a head */
        s->half[i] = method->arrays[i].rank > 1 && fits_half(s, i);
        rf_section section = {.dtype = s->half[i] ? RF_F16 : RF_F32,
                              .rank = method->arrays[i].rank,
                              .shape = {shape[0], shape[1], shape[2]},
                              .write = write_array,
                              .index = i};
        snprintf(section.name, sizeof section.name, "open.%s", method->arrays[i].name);
        add_section(s, section);
    }
}

static void add_classifier(saving *s)
{
    const rf_model *m = s->m;
    const rf_known *k = &m->known;
    size_t d = k->width, c = m->classes;
    add_floats(s, "known.dense.weight", d, d, NULL, write_known, 0);
    add_floats(s, "known.dense.bias", d, 0, k->dense_b, NULL, 0);
    add_floats(s, "known.out.weight", k->classes, d, NULL, write_known, 1);
    add_floats(s, "known.out.bias", k->classes, 0, k->out_b, NULL, 0);
    add_method(s);
    add_floats(s, "classes.mean", c, d, m->stats.mean, NULL, 0);
    add_floats(s, "classes.variance", c, d, m->stats.variance, NULL, 0);
    add_floats(s, "classes.distance", c, 0, m->stats.distance, NULL, 0);
    add_floats(s, "classes.radius", c, 0, m->radius, NULL, 0);
    add_section(s, (rf_section){"classes.rows", .dtype = RF_I64, .rank = 1, .shape = {c},
                                .write = write_class_rows});
}

static void add_rows(saving *s, rf_model_extent stored)
{
    const rf_model *m = s->m;
    size_t n = m->n_rows;
    if (m->spelling) {
        size_t words, bytes;
        const int32_t *counts = rf_spelling_counts(m->spelling, &words);
        const char *text = rf_spelling_words(m->spelling, &bytes);
        add_section(s, (rf_section){"spelling.counts", .dtype = RF_I32, .rank = 1,
                                    .shape = {words}, .data = counts});
        add_section(s, (rf_section){"spelling.words", .dtype = RF_U8, .rank = 1,
                                    .shape = {bytes}, .data = text});
    }
    if (stored.features) {
        add_section(s, (rf_section){"train.features", .dtype = RF_F16, .rank = 2,
                                    .shape = {n, m->known.width}, .data = m->features});
        add_section(s, (rf_section){"train.classes", .dtype = RF_I32, .rank = 1,
                                    .shape = {n}, .data = m->row_class});
    }
    if (stored.texts) {
        add_section(s, (rf_section){"train.texts", .dtype = RF_U8, .rank = 1,
                                    .shape = {m->text_ends[n - 1]}, .data = m->texts});
        add_section(s, (rf_section){"train.text_ends", .dtype = RF_I64, .rank = 1,
                                    .shape = {n}, .data = m->text_ends});
    }
    if (stored.map) {
        add_section(s, (rf_section){"map.rows", .dtype = RF_I32, .rank = 1,
                                    .shape = {m->map_n}, .data = m->map_rows});
        add_section(s, (rf_section){"map.points", .dtype = RF_F32, .rank = 2,
                                    .shape = {m->map_n, 2}, .data = m->map_xy});
    }
}

/* ---- Saving ------------------------------------------------------------------------ */

/* Never write a file that could not be loaded. */
static rf_status check_finite(const rf_model *m, rf_error *err)
{
    size_t d = m->known.width, c = m->classes;
    const struct {
        const char *name;
        const float *values;
        size_t n;
    } parts[] = {{"the classifier of known classes", m->known.block, m->known.floats},
                 {"the means of the classes", m->stats.mean, c * d},
                 {"the variances of the classes", m->stats.variance, c * d},
                 {"the map", m->map_xy, 2 * m->map_n}};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (!rf_kernels()->all_finite(parts[i].values, parts[i].n))
            return rf_fail(err, RF_ERR_NUMERIC, 0,
                           "a NaN or an infinity in %s: the model is not saved",
                           parts[i].name);
    const char *bad = rf_method_not_finite(m->method, &m->state);
    if (bad)
        return rf_fail(err, RF_ERR_NUMERIC, 0,
                       "a NaN or an infinity in \"open.%s\": the model is not saved",
                       bad);
    return RF_OK;
}

static rf_status make_room(saving *s, rf_error *err)
{
    const rf_config *c = &s->m->encoder->config;
    size_t widest = c->inner > c->width ? c->inner : c->width;
    size_t sections = 2 * (RF_EMBEDDING_TENSORS + c->layers * RF_LAYER_TENSORS) +
                      OTHER_SECTIONS + s->m->method->n_arrays;
    s->room = widest > PIECE ? widest : PIECE;
    s->sections = calloc(sections, sizeof *s->sections);
    s->floats = rf_floats_new(s->room);
    s->halves = malloc(s->room * sizeof *s->halves);
    if (!s->sections || !s->floats || !s->halves)
        return rf_fail_nomem(err, sections * sizeof *s->sections + 6 * s->room,
                             "saving a model");
    return RF_OK;
}

/* To the file at path, or to memory if path is NULL. */
static rf_status write_model(saving *s, const char *path, rf_buffer *memory,
                             rf_model_extent stored, rf_error *err)
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
        st = path ? rf_container_write(path, "model", json.data, s->sections, s->n, err)
                  : rf_container_write_memory(memory, "model", json.data, s->sections,
                                              s->n, err);
    }
    json_decref(root);
    rf_buffer_release(&json);
    return st;
}

void rf_save_options_init(rf_save_options *options, size_t struct_size)
{
    const rf_save_options defaults = {.keep_examples = true};
    rf_options_give(options, struct_size, &defaults, sizeof defaults);
}

static rf_status save_model(const rf_model *m, const char *path, rf_buffer *memory,
                            const rf_save_options *options, rf_error *err)
{
    rf_save_options o = rf_save_options_default();
    rf_error local = {0};
    err = err ? err : &local;
    rf_status st = rf_options_take(&o, sizeof o, options, "rf_save_options", err);
    if (st != RF_OK)
        return st;
    assert(m->encoder->weights.half);
    saving s = {.m = m, .kernels = rf_train_kernels()};
    rf_model_extent stored = {.encoder = !o.slim,
                              .features = !o.no_features && m->n_rows > 0,
                              .texts = o.keep_examples && !o.no_features &&
                                       rf_model_has_examples(m),
                              .map = !o.no_features && m->map_n > 0};
    st = write_model(&s, path, memory, stored, err);
    free(s.sections);
    free(s.floats);
    free(s.halves);
    return st;
}

rf_status rf_model_save(const rf_model *m, const char *path,
                        const rf_save_options *options, rf_error *err)
{
    return save_model(m, path, NULL, options, err);
}

rf_status rf_model_save_bytes(const rf_model *m, const rf_save_options *options,
                              void **bytes, size_t *len, rf_error *err)
{
    rf_buffer memory;
    rf_buffer_init(&memory, SIZE_MAX / 4, "a model in memory");
    rf_status st = save_model(m, NULL, &memory, options, err);
    if (st != RF_OK)
        rf_buffer_release(&memory);
    *bytes = memory.data;
    *len = memory.len;
    return st;
}
