/* model_summary.c - the description of a model as typed values */
#include "model/model.h"

static size_t get_count(const json_t *object, const char *key)
{
    json_int_t v = json_integer_value(json_object_get(object, key));
    return v > 0 ? (size_t)v : 0;
}

/* -1 if missing. */
static double get_number(const json_t *object, const char *key)
{
    const json_t *v = json_object_get(object, key);
    return json_is_number(v) ? json_number_value(v) : -1.0;
}

/* The program that wrote the file; this one if there is no file yet. */
static const char *program_name(const rf_model *m)
{
    const char *name = json_string_value(json_object_get(m->file.json, "program"));
    return name ? name : m->file.json ? "?" : "ringfence " RF_VERSION;
}

void rf_model_summarize(const rf_model *m, rf_model_summary *out)
{
    const json_t *known = json_object_get(m->summary, "known");
    *out = (rf_model_summary){
        .program = program_name(m),
        .method = m->method->name,
        .encoder = m->encoder_name,
        .encoder_sha256 = m->encoder_sha256,
        .encoder_contained = !m->file.json || m->encoder->files.shared,
        .layers = m->encoder->config.layers,
        .tuned_layers = m->tuned,
        .width = m->encoder->config.width,
        .parameters = m->encoder->parameters,
        .max_tokens = m->max_tokens,
        .classes = m->classes,
        .rows = get_count(m->summary, "rows"),
        .dev_rows = get_count(m->summary, "dev_rows"),
        .dev_held_out = json_is_true(json_object_get(m->summary, "dev_held_out")),
        .dev_unknown = get_count(m->summary, "dev_unknown"),
        .open_texts = get_count(m->summary, "open_texts"),
        .cut_texts = get_count(m->summary, "cut_texts"),
        .epochs = get_count(known, "epochs"),
        .best_epoch = get_count(known, "best_epoch"),
        .loss = get_number(known, "loss"),
        .dev_accuracy = get_number(known, "dev_accuracy"),
        .kept_rows = m->n_rows,
        .kept_texts = rf_model_has_examples(m),
        .map_points = m->map_n,
    };
}

bool rf_model_class(const rf_model *m, size_t class_index, rf_class_summary *out)
{
    if (class_index >= m->classes)
        return false;
    const json_t *head =
        json_array_get(json_object_get(m->summary, "heads"), class_index);
    *out = (rf_class_summary){.label = m->labels[class_index],
                              .rows = (size_t)m->stats.rows[class_index],
                              .distance = (double)m->stats.distance[class_index],
                              .radius = (double)m->radius[class_index],
                              .recall = get_number(head, "recall"),
                              .dev_recall = get_number(head, "dev_recall")};
    return true;
}
