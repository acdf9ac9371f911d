/*
 * model_load.c - load a model from a sealed file
 *
 * The container has checked that the bytes are those that were written. This file checks
 * the rest: shapes against each other, the range of numbers, the description against the
 * content. Large arrays used by row (embeddings, features, texts) stay mapped.
 */
#include "model/model_read.h"

#include "methods/methods.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- The description --------------------------------------------------------------- */

static rf_status get_string(const rf_model_reading *l, const json_t *object,
                            const char *key, const char **out)
{
    const json_t *v = json_object_get(object, key);
    *out = json_string_value(v);
    if (*out)
        return RF_OK;
    return rf_fail(l->err, RF_ERR_FORMAT, 0, "%s: \"%s\" is %s, wanted a string", l->name,
                   key, rf_json_type(v));
}

static rf_status get_count(const rf_model_reading *l, const json_t *object,
                           const char *key, size_t *out)
{
    const json_t *v = json_object_get(object, key);
    if (!json_is_integer(v) || json_integer_value(v) < 0)
        return rf_fail(l->err, RF_ERR_FORMAT, 0, "%s: \"%s\" is %s, wanted a count",
                       l->name, key, json_is_integer(v) ? "negative" : rf_json_type(v));
    *out = (size_t)json_integer_value(v);
    return RF_OK;
}

static rf_status get_object(const rf_model_reading *l, const char *key, json_t **out)
{
    *out = json_object_get(l->file->json, key);
    if (json_is_object(*out))
        return RF_OK;
    return rf_fail(l->err, RF_ERR_FORMAT, 0, "%s: \"%s\" is %s, wanted an object",
                   l->name, key, rf_json_type(*out));
}

static rf_status read_labels(rf_model_reading *l)
{
    const json_t *list = json_object_get(l->file->json, "labels");
    size_t n = json_array_size(list);
    if (!json_is_array(list))
        return rf_fail(l->err, RF_ERR_FORMAT, 0, "%s: \"labels\" is %s, wanted an array",
                       l->name, rf_json_type(list));
    const char **labels = calloc(n + 1, sizeof *labels);
    if (!labels)
        return rf_fail_nomem(l->err, (n + 1) * sizeof *labels, "labels");
    rf_status st = RF_OK;
    for (size_t i = 0; i < n && st == RF_OK; i++) {
        labels[i] = json_string_value(json_array_get(list, i));
        if (!labels[i])
            st = rf_fail(l->err, RF_ERR_FORMAT, i, "%s: label %zu is %s, wanted a string",
                         l->name, i + 1, rf_json_type(json_array_get(list, i)));
    }
    rf_error why = {0};
    if (st == RF_OK && (st = rf_model_set_labels(l->m, labels, n, &why)) != RF_OK)
        rf_fail(l->err, st, why.pos, "%s: %s", l->name, why.msg);
    free(labels);
    return st;
}

static rf_status read_method(rf_model_reading *l)
{
    const char *method;
    rf_status st = get_string(l, l->file->json, "method", &method);
    if (st != RF_OK)
        return st;
    const rf_method *found = rf_method_find(method);
    /* Up to version 0.1 ANS was heads alone. */
    const size_t any[] = {SIZE_MAX};
    if (strcmp(method, "ans") == 0 &&
        !rf_container_find(l->file, "open.prior.centre", RF_F32, 1, any, NULL)) {
        found = rf_method_find("heads");
        if (json_object_set_new(l->file->json, "method", json_string("heads")) != 0)
            return rf_fail_nomem(l->err, 64, "the description");
        l->renamed = true;
    }
    if (!found)
        return rf_fail(l->err, RF_ERR_VERSION, 0,
                       "%s: method \"%.40s\", which this program does not know", l->name,
                       method);
    l->m->method = found;
    return RF_OK;
}

static rf_status get_float(const rf_model_reading *l, const json_t *object,
                           const char *key, float *out)
{
    const json_t *v = json_object_get(object, key);
    if (!json_is_number(v))
        return rf_fail(l->err, RF_ERR_FORMAT, 0,
                       "%s: \"calibration.%s\" is %s, wanted a number", l->name, key,
                       rf_json_type(v));
    *out = (float)json_number_value(v);
    return RF_OK;
}

/* Optional: older models have none, and their margins are used as they are. */
static rf_status read_calibration(rf_model_reading *l)
{
    rf_calibration *c = &l->m->calibration;
    json_t *object;
    const char *from;
    rf_status st;
    if (!json_object_get(l->file->json, "calibration"))
        return RF_OK;
    if ((st = get_object(l, "calibration", &object)) != RF_OK ||
        (st = get_float(l, object, "slope", &c->slope)) != RF_OK ||
        (st = get_float(l, object, "bias", &c->bias)) != RF_OK ||
        (st = get_float(l, object, "temperature", &c->temperature)) != RF_OK ||
        (st = get_string(l, object, "from", &from)) != RF_OK)
        return st;
    c->from = RF_CALIBRATION_FROM_LABELLED;
    while (c->from > RF_CALIBRATION_FROM_NOTHING &&
           strcmp(from, rf_calibration_source_name(c->from)) != 0)
        c->from--;
    if (c->from == RF_CALIBRATION_FROM_NOTHING)
        return rf_fail(l->err, RF_ERR_FORMAT, 0,
                       "%s: \"calibration.from\" is \"%.40s\", wanted \"defaults\", "
                       "\"pseudo-open\" or \"labelled\"",
                       l->name, from);
    rf_error why = {0};
    st = rf_calibration_check(c, &why);
    return st == RF_OK ? RF_OK : rf_fail(l->err, st, 0, "%s: %s", l->name, why.msg);
}

/* ---- The encoder ------------------------------------------------------------------- */

/* A slim model identifies the files of its encoder by sha256: checks those found. */
static rf_status check_identity(rf_model_reading *l, const rf_encoder_files *found,
                                const json_t *encoder)
{
    const rf_model *m = l->m;
    char hex[RF_SHA256_HEX];
    const json_t *files = json_object_get(encoder, "files");
    for (size_t i = 0; i <= RF_ENCODER_PARTS; i++) {
        bool weights = i == RF_ENCODER_PARTS;
        const rf_encoder_part *p = weights ? NULL : &found->parts[i];
        if (p && !p->name)
            continue;
        const char *name = weights ? "model.safetensors" : p->name;
        const char *want =
            weights ? m->encoder_sha256 : json_string_value(json_object_get(files, name));
        if (weights)
            rf_sha256_bytes(found->own.bytes, found->own.len, hex);
        else
            rf_sha256_bytes(p->bytes, p->len, hex);
        if (!want || strcmp(hex, want) != 0)
            return rf_fail(l->err, RF_ERR_FORMAT, 0,
                           "%s: needs encoder %.100s as it was: %.150s/%s has sha256 %s, "
                           "wanted %.64s",
                           l->name, m->encoder_name, found->where, name, hex,
                           want ? want : "no such file");
    }
    return RF_OK;
}

static rf_status open_cached(rf_model_reading *l, rf_encoder_files *files,
                             const json_t *encoder)
{
    char dir[RF_PATH_MAX];
    rf_error why = {0};
    bool copy = !l->file->file.mapping.data; /* like the model, which is in memory */
    rf_status st = rf_encoder_path(l->m->encoder_name, dir, sizeof dir, &why);
    if (st == RF_OK)
        st = rf_encoder_files_open(files, dir, copy, &why);
    if (st != RF_OK)
        return rf_fail(l->err, st, why.pos, "%s: refers to its encoder: %s", l->name,
                       why.msg);
    st = check_identity(l, files, encoder);
    if (st != RF_OK)
        rf_encoder_files_close(files);
    return st;
}

/* Every file in the description exists. (check_identity and check_description check
 * the reverse.) */
static rf_status check_files(const rf_model_reading *l, const rf_encoder_files *found,
                             const json_t *encoder)
{
    json_t *files = json_object_get(encoder, "files");
    for (void *it = json_object_iter(files); it; it = json_object_iter_next(files, it)) {
        const char *name = json_object_iter_key(it);
        bool there = false;
        for (size_t i = 0; i < RF_ENCODER_PARTS; i++)
            there |= found->parts[i].name && strcmp(found->parts[i].name, name) == 0;
        if (!there)
            return rf_fail(l->err, RF_ERR_FORMAT, 0,
                           "%s: its encoder has a %.60s, which is not in %.200s", l->name,
                           name, found->where);
    }
    return RF_OK;
}

static rf_status read_encoder(rf_model_reading *l)
{
    rf_model *m = l->m;
    const char *name, *sha256;
    json_t *encoder;
    rf_encoder_files files = {0};
    rf_status st;
    if ((st = get_object(l, "encoder", &encoder)) != RF_OK ||
        (st = get_string(l, encoder, "name", &name)) != RF_OK ||
        (st = get_string(l, encoder, "sha256", &sha256)) != RF_OK ||
        (st = get_count(l, encoder, "tuned_layers", &m->tuned)) != RF_OK ||
        (st = get_count(l, encoder, "max_tokens", &m->max_tokens)) != RF_OK)
        return st;
    const json_t *contained = json_object_get(encoder, "contained");
    if (strlen(name) >= sizeof m->encoder_name || strlen(sha256) != RF_SHA256_HEX - 1 ||
        !json_is_boolean(contained))
        return rf_fail(l->err, RF_ERR_FORMAT, 0,
                       "%s: \"encoder\" wants a name of up to %d bytes, a sha256 of 64, "
                       "and \"contained\" true or false",
                       l->name, RF_PATH_MAX - 1);
    strcpy(m->encoder_name, name);
    strcpy(m->encoder_sha256, sha256);
    bool inside = json_is_true(contained);
    st = inside ? rf_encoder_files_inside(&files, &l->file->file, l->err)
                : open_cached(l, &files, encoder);
    if (st != RF_OK)
        return st;
    if ((st = check_files(l, &files, encoder)) != RF_OK) {
        rf_encoder_files_close(&files);
        return st;
    }
    m->encoder = rf_encoder_load_files(&files, &l->file->file, m->tuned, l->err);
    if (!m->encoder)
        return l->err->code;
    size_t most = m->encoder->config.positions;
    if (m->max_tokens < 2 || m->max_tokens > most)
        return rf_fail(l->err, RF_ERR_FORMAT, 0,
                       "%s: \"max_tokens\" is %zu, wanted 2 to %zu", l->name,
                       m->max_tokens, most);
    return RF_OK;
}

/* ---- The whole model --------------------------------------------------------------- */

/* Whether `found` contains everything in `own`; it may contain more. If not, `at`
 * names the place. */
static bool agrees(const json_t *own, const json_t *found, char at[128], size_t n)
{
    if (json_is_object(own) && json_is_object(found)) {
        json_t *o = (json_t *)(uintptr_t)own; /* the iterator is not const */
        for (void *it = json_object_iter(o); it; it = json_object_iter_next(o, it)) {
            const char *key = json_object_iter_key(it);
            int more = snprintf(at + n, 128 - n, "%s%.60s", n ? "." : "", key);
            size_t end = n + (size_t)more < 128 ? n + (size_t)more : 127;
            if (!agrees(json_object_iter_value(it), json_object_get(found, key), at, end))
                return false;
        }
        return true;
    }
    if (json_is_array(own) && json_array_size(own) == json_array_size(found)) {
        for (size_t i = 0; i < json_array_size(own); i++)
            if (!agrees(json_array_get(own, i), json_array_get(found, i), at, n))
                return false;
        return true;
    }
    return json_equal(own, found);
}

/* The description in the file must match one made from its content. */
static rf_status check_description(rf_model_reading *l, bool contained)
{
    const rf_model *m = l->m;
    char at[128] = "";
    json_t *own = rf_model_describe_as(
        m, (rf_model_extent){contained, m->n_rows > 0, m->texts, m->map_n > 0}, l->err);
    if (!own)
        return l->err->code;
    if (m->map_n == 0 && !json_object_get(json_object_get(l->file->json, "kept"), "map"))
        (void)json_object_del(json_object_get(own, "kept"), "map"); /* older than maps */
    (void)json_object_del(own, "program");                          /* may differ */
    (void)json_object_del(own, "calibration"); /* read from the file, perhaps rounded */
    bool good = agrees(own, l->file->json, at, 0);
    json_decref(own);
    return good ? RF_OK
                : rf_fail(l->err, RF_ERR_FORMAT, 0,
                          "%s: the description does not fit the content at \"%s\"",
                          l->name, at);
}

static rf_status read_summary(rf_model_reading *l)
{
    json_t *settings, *summary;
    rf_status st;
    if ((st = get_object(l, "settings", &settings)) != RF_OK ||
        (st = get_object(l, "summary", &summary)) != RF_OK)
        return st;
    l->m->settings = json_incref(settings);
    l->m->summary = json_incref(summary);
    const char *text = rf_safetensors_metadata(&l->file->file, "ringfence.json");
    if (l->renamed) {
        rf_buffer again;
        rf_buffer_init(&again, 4 * strlen(text), "the description of a model");
        st = rf_json_write(l->file->json, &again, l->err);
        if (st != RF_OK)
            rf_buffer_release(&again);
        l->m->json = again.data;
        return st;
    }
    l->m->json = strdup(text);
    return l->m->json ? RF_OK : rf_fail_nomem(l->err, strlen(text), "a description");
}

static rf_status read_model(rf_model_reading *l)
{
    rf_status st;
    if ((st = read_method(l)) != RF_OK || (st = read_labels(l)) != RF_OK ||
        (st = read_calibration(l)) != RF_OK || (st = read_encoder(l)) != RF_OK ||
        (st = rf_model_read_known(l)) != RF_OK ||
        (st = rf_model_read_state(l)) != RF_OK ||
        (st = rf_model_read_classes(l)) != RF_OK ||
        (st = rf_model_read_rows(l)) != RF_OK || (st = rf_model_read_map(l)) != RF_OK ||
        (st = rf_model_read_spelling(l)) != RF_OK || (st = read_summary(l)) != RF_OK)
        return st;
    st = check_description(l, l->m->encoder->files.shared);
    rf_mapping_forget(&l->file->file.mapping, 0, l->file->file.mapping.len);
    return st;
}

rf_model *rf_model_from(rf_container *file, rf_error *err)
{
    rf_error local = {0};
    err = err ? err : &local;
    rf_model *m = rf_model_new(err);
    if (!m) {
        rf_container_close(file);
        return NULL;
    }
    m->file = *file;
    *file = (rf_container){0};
    rf_model_reading l = {
        .m = m, .file = &m->file, .name = m->file.file.name, .err = err};
    if (read_model(&l) == RF_OK)
        return m;
    rf_model_free(m);
    return NULL;
}

rf_model *rf_model_load_bytes(const void *bytes, size_t len, const char *name,
                              rf_error *err)
{
    rf_container file;
    name = name ? name : "the model in memory";
    if ((uintptr_t)bytes % 8 != 0) {
        rf_fail(err, RF_ERR_ARG, 0,
                "%s: its bytes start at an unaligned address, wanted a "
                "multiple of 8",
                name);
        return NULL;
    }
    if (rf_container_parse(&file, bytes, len, name, "model", err) != RF_OK)
        return NULL;
    return rf_model_from(&file, err);
}

rf_model *rf_model_load(const char *path, rf_error *err)
{
    rf_container file;
    if (rf_container_open(&file, path, "model", err) != RF_OK)
        return NULL;
    return rf_model_from(&file, err);
}
