/* config.c - reads and checks config.json */
#include "encoder/config.h"

#include "base/file.h"
#include "base/json.h"

#include <math.h>
#include <string.h>

static rf_status take_count(size_t *out, const json_t *root, const char *key, size_t max,
                            const char *name, rf_error *err)
{
    const json_t *v = json_object_get(root, key);
    json_int_t n = json_integer_value(v);
    if (!json_is_integer(v))
        return rf_fail(err, RF_ERR_FORMAT, 0, "%s: %s is %s, wanted an integer", name,
                       key, rf_json_type(v));
    if (n < 1 || (unsigned long long)n > max)
        return rf_fail(err, RF_ERR_LIMIT, 0, "%s: %s is %lld, wanted 1 to %zu", name, key,
                       (long long)n, max);
    *out = (size_t)n;
    return RF_OK;
}

/* A string that, if present, must be one of two. */
static rf_status want_word(const json_t *root, const char *key, const char *a,
                           const char *b, const char *name, rf_error *err)
{
    const json_t *v = json_object_get(root, key);
    const char *s = json_string_value(v);
    if (!v || json_is_null(v) || (s && (strcmp(s, a) == 0 || strcmp(s, b) == 0)))
        return RF_OK;
    return rf_fail(err, RF_ERR_VERSION, 0, "%s: %s is %s%.60s%s, wanted \"%s\"", name,
                   key, s ? "\"" : "", s ? s : rf_json_type(v), s ? "\"" : "", a);
}

/* Our own key: what the encoder was trained to see before a text. */
static rf_status take_prefix(rf_config *c, const json_t *root, const char *name,
                             rf_error *err)
{
    const json_t *v = json_object_get(root, "query_prefix");
    size_t len = json_string_length(v);
    if (!v || json_is_null(v))
        return RF_OK;
    if (!json_is_string(v) || len >= sizeof c->prefix)
        return rf_fail(
            err, RF_ERR_FORMAT, 0,
            "%s: query_prefix is %s of %zu bytes, wanted a string of up to %zu", name,
            rf_json_type(v), len, sizeof c->prefix - 1);
    memcpy(c->prefix, json_string_value(v), len + 1);
    return RF_OK;
}

rf_status rf_config_parse(rf_config *c, const char *json, size_t len, const char *name,
                          rf_error *err)
{
    rf_error local = {0};
    if (!err)
        err = &local;
    *c = (rf_config){0};
    json_t *root = rf_json_object(json, len, name, err);
    if (!root)
        return err->code;
    rf_status st;
    if ((st = want_word(root, "model_type", "bert", "bert", name, err)) != RF_OK ||
        (st = want_word(root, "hidden_act", "gelu", "gelu_python", name, err)) != RF_OK ||
        (st = want_word(root, "position_embedding_type", "absolute", "absolute", name,
                        err)) != RF_OK ||
        (st = take_count(&c->layers, root, "num_hidden_layers", 256, name, err)) !=
            RF_OK ||
        (st = take_count(&c->width, root, "hidden_size", 16384, name, err)) != RF_OK ||
        (st = take_count(&c->heads, root, "num_attention_heads", 1024, name, err)) !=
            RF_OK ||
        (st = take_count(&c->inner, root, "intermediate_size", 65536, name, err)) !=
            RF_OK ||
        (st = take_count(&c->vocab_size, root, "vocab_size", RF_MAX_VOCAB, name, err)) !=
            RF_OK ||
        (st = take_count(&c->positions, root, "max_position_embeddings", RF_MAX_POSITIONS,
                         name, err)) != RF_OK ||
        (st = take_count(&c->types, root, "type_vocab_size", 1024, name, err)) != RF_OK)
        goto out;
    const json_t *eps = json_object_get(root, "layer_norm_eps");
    double e = eps ? json_number_value(eps) : 1e-12;
    if ((eps && !json_is_number(eps)) || !(e >= 0.0 && e < 1.0)) {
        st = rf_fail(err, RF_ERR_FORMAT, 0,
                     "%s: layer_norm_eps is %g, wanted a number from 0 to below 1", name,
                     e);
        goto out;
    }
    c->eps = (float)e;
    if ((st = take_prefix(c, root, name, err)) != RF_OK)
        goto out;
    if (c->width % c->heads != 0)
        st = rf_fail(err, RF_ERR_FORMAT, 0,
                     "%s: hidden_size %zu is not a multiple of num_attention_heads %zu",
                     name, c->width, c->heads);
    else if (c->positions < 2)
        st = rf_fail(err, RF_ERR_LIMIT, 0,
                     "%s: max_position_embeddings is %zu, wanted at least 2", name,
                     c->positions);
out:
    json_decref(root);
    return st;
}

rf_status rf_config_load(rf_config *c, const char *dir, rf_error *err)
{
    char path[RF_PATH_MAX];
    rf_buffer file;
    rf_buffer_init(&file, RF_MAX_CONFIG, "config.json");
    rf_status st = rf_path_join(path, dir, "config.json", err);
    if (st == RF_OK)
        st = rf_file_read(path, &file, err);
    if (st == RF_OK)
        st = rf_config_parse(c, file.data, file.len, path, err);
    rf_buffer_release(&file);
    return st;
}
