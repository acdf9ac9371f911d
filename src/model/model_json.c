/* model_json.c - the description of a model as JSON (see docs/FORMAT.md, "Model file") */
#include "model/model.h"

#include "num/kernels.h"

#include <stdlib.h>

#define MAX_JSON ((size_t)64 << 20)

/* One object per class: its label, and the tensors classes.* in readable form. */
static json_t *describe_classes(const rf_model *m)
{
    json_t *list = json_array();
    bool good = list;
    for (size_t i = 0; i < m->classes && good; i++)
        good = json_array_append_new(
                   list, json_pack("{s:s, s:I, s:f, s:f}", "label", m->labels[i], "rows",
                                   (json_int_t)m->stats.rows[i], "distance",
                                   (double)m->stats.distance[i], "radius",
                                   (double)m->radius[i])) == 0;
    if (good)
        return list;
    json_decref(list);
    return NULL;
}

static json_t *list_labels(const rf_model *m)
{
    json_t *list = json_array();
    bool good = list;
    for (size_t i = 0; i < m->classes && good; i++)
        good = json_array_append_new(list, json_string(m->labels[i])) == 0;
    if (good)
        return list;
    json_decref(list);
    return NULL;
}

/* The sha256 of config.json and the tokenizer's files. */
static json_t *list_files(const rf_encoder_files *files)
{
    json_t *list = json_object();
    bool good = list;
    for (size_t i = 0; i < RF_ENCODER_PARTS && good; i++) {
        const rf_encoder_part *p = &files->parts[i];
        char hex[RF_SHA256_HEX];
        if (!p->name)
            continue;
        rf_sha256_bytes(p->bytes, p->len, hex);
        good = json_object_set_new(list, p->name, json_string(hex)) == 0;
    }
    if (good)
        return list;
    json_decref(list);
    return NULL;
}

static json_t *describe_encoder(const rf_model *m, bool contained)
{
    const rf_config *c = &m->encoder->config;
    return json_pack(
        "{s:s, s:s, s:o, s:b, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:s}", "name",
        m->encoder_name, "sha256", m->encoder_sha256, "files",
        list_files(&m->encoder->files), "contained", contained, "layers",
        (json_int_t)c->layers, "width", (json_int_t)c->width, "heads",
        (json_int_t)c->heads, "inner", (json_int_t)c->inner, "vocab_size",
        (json_int_t)c->vocab_size, "positions", (json_int_t)c->positions, "parameters",
        (json_int_t)m->encoder->parameters, "tuned_layers", (json_int_t)m->tuned,
        "max_tokens", (json_int_t)m->max_tokens, "pooling", "mean");
}

/* 17 digits hold a float exactly. Omitted if the model was never calibrated. */
static bool describe_calibration(json_t *root, const rf_calibration *c)
{
    const char *from = rf_calibration_source_name(c->from);
    return !from || json_object_set_new(
                        root, "calibration",
                        json_pack("{s:f, s:f, s:f, s:s}", "slope", (double)c->slope,
                                  "bias", (double)c->bias, "temperature",
                                  (double)c->temperature, "from", from)) == 0;
}

/* A new reference, or {} for NULL. */
static json_t *object_or_empty(json_t *own)
{
    return own ? json_incref(own) : json_object();
}

json_t *rf_model_describe_as(const rf_model *m, rf_model_extent stored, rf_error *err)
{
    if (!rf_kernels()->all_finite(m->stats.distance, m->classes) ||
        !rf_kernels()->all_finite(m->radius, m->classes)) {
        rf_fail(err, RF_ERR_NUMERIC, 0,
                "a NaN or an infinity among the distances or radii of the classes");
        return NULL;
    }
    if (rf_calibration_check(&m->calibration, err) != RF_OK)
        return NULL;
    json_t *kept = json_pack("{s:I, s:b, s:b, s:I}", "rows",
                             (json_int_t)(stored.features ? m->n_rows : 0), "features",
                             stored.features, "texts", stored.texts, "map",
                             (json_int_t)(stored.map ? m->map_n : 0));
    size_t words = 0;
    if (m->spelling)
        (void)rf_spelling_counts(m->spelling, &words);
    if (kept && words &&
        json_object_set_new(kept, "words", json_integer((json_int_t)words))) {
        json_decref(kept);
        kept = NULL;
    }
    json_t *root = json_pack(
        "{s:i, s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "format",
        RF_CONTAINER_VERSION, "kind", "model", "method", m->method->name, "program",
        "ringfence " RF_VERSION, "labels", list_labels(m), "encoder",
        describe_encoder(m, stored.encoder), "classes", describe_classes(m), "kept", kept,
        "settings", object_or_empty(m->settings), "summary", object_or_empty(m->summary));
    if (root && describe_calibration(root, &m->calibration))
        return root;
    json_decref(root);
    rf_fail_nomem(err, 1024 + 256 * m->classes, "the description of a model");
    return NULL;
}

rf_status rf_model_describe(rf_model *m, rf_error *err)
{
    rf_error local = {0};
    rf_buffer text;
    err = err ? err : &local;
    rf_buffer_init(&text, MAX_JSON, "the description of a model");
    json_t *root = rf_model_describe_as(
        m,
        (rf_model_extent){!m->file.json || m->encoder->files.shared, m->n_rows > 0,
                          m->n_rows > 0 && m->texts, m->map_n > 0},
        err);
    if (!root)
        return err->code;
    rf_status st = rf_json_write(root, &text, err);
    json_decref(root);
    if (st != RF_OK) {
        rf_buffer_release(&text);
        return st;
    }
    free(m->json);
    m->json = text.data;
    return RF_OK;
}
