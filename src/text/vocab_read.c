/*
 * vocab_read.c - tokenizer.json, or vocab.txt with tokenizer_config.json
 *
 * tokenizer.json describes a pipeline of exchangeable parts; we accept the one pipeline
 * that BERT has, and those of unigram models (unigram_read.c), and refuse any other by
 * name: a tokenizer that is nearly right gives features that are silently wrong.
 */
#include "text/vocab_build.h"

#include "base/file.h"
#include "base/json.h"
#include "text/unigram.h"

#include <stdlib.h>
#include <string.h>

static const rf_special_names default_names = {"[UNK]", "[CLS]", "[SEP]"};

/* A special token in tokenizer_config.json is a string or {"content": string}; absent or
 * null leaves the default. */
static rf_status take_name(char out[64], json_t *config, const char *key,
                           const char *name, rf_error *err)
{
    json_t *v = json_object_get(config, key);
    if (!v || json_is_null(v))
        return RF_OK;
    if (json_is_object(v))
        v = json_object_get(v, "content");
    size_t len = json_string_length(v);
    if (!json_is_string(v) || len == 0 || len >= 64)
        return rf_fail(err, RF_ERR_FORMAT, 0,
                       "%s: %s is %s of %zu bytes, wanted a string of 1 to 63", name, key,
                       rf_json_type(v), len);
    memcpy(out, json_string_value(v), len + 1);
    return RF_OK;
}

static rf_status take_names(rf_special_names *names, json_t *config, const char *name,
                            rf_error *err)
{
    rf_status st;
    if ((st = take_name(names->unk, config, "unk_token", name, err)) != RF_OK ||
        (st = take_name(names->cls, config, "cls_token", name, err)) != RF_OK)
        return st;
    return take_name(names->sep, config, "sep_token", name, err);
}

/* A boolean that may be absent or null. */
static rf_status take_flag(bool *out, bool *given, json_t *object, const char *key,
                           const char *name, rf_error *err)
{
    json_t *v = json_object_get(object, key);
    *given = json_is_boolean(v);
    if (*given)
        *out = json_is_true(v);
    else if (v && !json_is_null(v))
        return rf_fail(err, RF_ERR_FORMAT, 0, "%s: %s is %s, wanted true or false", name,
                       key, rf_json_type(v));
    return RF_OK;
}

static rf_status take_flags(rf_vocab *v, json_t *object, const char *clean,
                            const char *cjk, const char *lower, const char *name,
                            rf_error *err)
{
    bool given, strip_given;
    if ((clean && take_flag(&v->clean_text, &given, object, clean, name, err) != RF_OK) ||
        take_flag(&v->space_cjk, &given, object, cjk, name, err) != RF_OK ||
        take_flag(&v->fold.lowercase, &given, object, lower, name, err) != RF_OK ||
        take_flag(&v->fold.strip_accents, &strip_given, object, "strip_accents", name,
                  err) != RF_OK)
        return RF_ERR_FORMAT;
    if (!strip_given) /* null: same as lower-casing */
        v->fold.strip_accents = v->fold.lowercase;
    return RF_OK;
}

static rf_status want_type(json_t *root, const char *part, const char *type,
                           const char *name, rf_error *err)
{
    json_t *o = json_object_get(root, part);
    const char *found = json_string_value(json_object_get(o, "type"));
    if (found && strcmp(found, type) == 0)
        return RF_OK;
    return rf_fail(err, RF_ERR_VERSION, 0, "%s: %s is %.60s, wanted %s (BERT)%s", name,
                   part, found ? found : rf_json_type(o), type,
                   strcmp(part, "model") == 0 ? " or Unigram (SentencePiece)" : "");
}

static rf_status take_normalizer(rf_vocab *v, json_t *root, const char *name,
                                 rf_error *err)
{
    json_t *normalizer = json_object_get(root, "normalizer");
    if (!normalizer || json_is_null(normalizer)) { /* the text is used as it is */
        v->clean_text = v->space_cjk = false;
        v->fold = (rf_fold_flags){0};
        return RF_OK;
    }
    rf_status st = want_type(root, "normalizer", "BertNormalizer", name, err);
    if (st != RF_OK)
        return st;
    return take_flags(v, normalizer, "clean_text", "handle_chinese_chars", "lowercase",
                      name, err);
}

static rf_status take_model(rf_vocab_builder *b, json_t *model, rf_special_names *names,
                            rf_error *err)
{
    rf_vocab *v = b->vocab;
    json_t *prefix = json_object_get(model, "continuing_subword_prefix");
    if (prefix) {
        if (json_string_length(prefix) < 1 ||
            json_string_length(prefix) >= sizeof v->prefix)
            return rf_fail(
                err, RF_ERR_FORMAT, 0,
                "%s: model.continuing_subword_prefix is %s of %zu bytes, wanted "
                "a string of 1 to %zu",
                b->name, rf_json_type(prefix), json_string_length(prefix),
                sizeof v->prefix - 1);
        v->prefix_len = json_string_length(prefix);
        memcpy(v->prefix, json_string_value(prefix), v->prefix_len + 1);
    }
    json_t *limit = json_object_get(model, "max_input_chars_per_word");
    if (limit) {
        json_int_t n = json_integer_value(limit);
        if (!json_is_integer(limit) || n < 1 || n > RF_MAX_WORD_CHARS)
            return rf_fail(err, RF_ERR_LIMIT, 0,
                           "%s: model.max_input_chars_per_word is %lld, wanted 1 to %d",
                           b->name, (long long)n, RF_MAX_WORD_CHARS);
        v->max_word_chars = (size_t)n;
    }
    rf_status st = take_name(names->unk, model, "unk_token", b->name, err);
    if (st != RF_OK)
        return st;

    json_t *map = json_object_get(model, "vocab");
    if (!json_is_object(map))
        return rf_fail(err, RF_ERR_FORMAT, 0, "%s: model.vocab is %s, wanted an object",
                       b->name, rf_json_type(map));
    const char *key;
    size_t key_len;
    json_t *id;
    for (void *it = json_object_iter(map); it; it = json_object_iter_next(map, it)) {
        key = json_object_iter_key(it);
        key_len = strlen(key);
        id = json_object_iter_value(it);
        if (!json_is_integer(id))
            return rf_fail(err, RF_ERR_FORMAT, 0,
                           "%s: id of \"%.40s\" is %s, wanted an integer", b->name, key,
                           rf_json_type(id));
        st = rf_vocab_builder_add(b, json_integer_value(id), key, key_len, err);
        if (st != RF_OK)
            return st;
    }
    return RF_OK;
}

static rf_status take_added(rf_vocab_builder *b, json_t *added, rf_error *err)
{
    size_t i;
    json_t *token;
    if (added && !json_is_null(added) && !json_is_array(added))
        return rf_fail(err, RF_ERR_FORMAT, 0, "%s: added_tokens is %s, wanted an array",
                       b->name, rf_json_type(added));
    json_array_foreach(added, i, token)
    {
        json_t *id = json_object_get(token, "id");
        json_t *content = json_object_get(token, "content");
        if (!json_is_integer(id) || !json_is_string(content))
            return rf_fail(
                err, RF_ERR_FORMAT, i,
                "%s: added_tokens[%zu] wants an integer id and a string content", b->name,
                i);
        rf_status st =
            rf_vocab_builder_add(b, json_integer_value(id), json_string_value(content),
                                 json_string_length(content), err);
        if (st != RF_OK)
            return st;
    }
    return RF_OK;
}

static bool is_unigram(const json_t *root)
{
    const json_t *type = json_object_get(json_object_get(root, "model"), "type");
    return json_is_string(type) && strcmp(json_string_value(type), "Unigram") == 0;
}

rf_vocab *rf_vocab_from_json(const char *json, size_t len, const char *name,
                             rf_error *err)
{
    rf_vocab *v = NULL;
    rf_vocab_builder b = {0};
    rf_special_names names = default_names;
    json_t *root = rf_json_object(json, len, name, err);
    if (root && is_unigram(root)) {
        v = rf_unigram_read(root, name, err);
        json_decref(root);
        return v;
    }
    if (root && rf_vocab_builder_init(&b, name, err) == RF_OK &&
        want_type(root, "model", "WordPiece", name, err) == RF_OK &&
        want_type(root, "pre_tokenizer", "BertPreTokenizer", name, err) == RF_OK &&
        take_normalizer(b.vocab, root, name, err) == RF_OK &&
        take_model(&b, json_object_get(root, "model"), &names, err) == RF_OK &&
        take_added(&b, json_object_get(root, "added_tokens"), err) == RF_OK)
        v = rf_vocab_builder_finish(&b, &names, err);
    rf_vocab_builder_release(&b);
    json_decref(root);
    return v;
}

static rf_status add_lines(rf_vocab_builder *b, const char *text, size_t len,
                           rf_error *err)
{
    char piece[1024];
    int64_t id = 0;
    for (size_t i = 0; i < len; id++) {
        const char *end = memchr(text + i, '\n', len - i);
        size_t n = end ? (size_t)(end - (text + i)) : len - i;
        size_t keep = n > 0 && text[i + n - 1] == '\r' ? n - 1 : n;
        if (keep >= sizeof piece || memchr(text + i, '\0', keep))
            return rf_fail(
                err, RF_ERR_FORMAT, (size_t)id + 1,
                "%s: line %lld is %zu bytes long or holds a NUL, wanted a piece "
                "of up to %zu",
                b->name, (long long)id + 1, keep, sizeof piece - 1);
        memcpy(piece, text + i, keep);
        piece[keep] = '\0';
        rf_status st = rf_vocab_builder_add(b, id, piece, keep, err);
        if (st != RF_OK)
            return st;
        i += n + 1;
    }
    return RF_OK;
}

rf_vocab *rf_vocab_from_text(const char *text, size_t len, const char *name,
                             const char *config, size_t config_len,
                             const char *config_name, rf_error *err)
{
    rf_vocab *v = NULL;
    rf_vocab_builder b = {0};
    rf_special_names names = default_names;
    json_t *root = NULL;
    if (rf_vocab_builder_init(&b, name, err) != RF_OK)
        goto out;
    if (config) {
        root = rf_json_object(config, config_len, config_name, err);
        if (!root ||
            take_flags(b.vocab, root, NULL, "tokenize_chinese_chars", "do_lower_case",
                       config_name, err) != RF_OK ||
            take_names(&names, root, config_name, err) != RF_OK)
            goto out;
    }
    if (add_lines(&b, text, len, err) == RF_OK)
        v = rf_vocab_builder_finish(&b, &names, err);
out:
    rf_vocab_builder_release(&b);
    json_decref(root);
    return v;
}

rf_status rf_vocab_files(const char *dir, const char *names[2], rf_error *err)
{
    static const char *const all[] = {"tokenizer.json", "vocab.txt",
                                      "tokenizer_config.json"};
    char path[RF_PATH_MAX];
    bool there[3];
    for (size_t i = 0; i < 3; i++) {
        rf_status st = rf_path_join(path, dir, all[i], err);
        if (st != RF_OK)
            return st;
        there[i] = rf_file_exists(path);
    }
    if (!there[0] && !there[1])
        return rf_fail(err, RF_ERR_MISSING, 0,
                       "%s: found neither tokenizer.json nor vocab.txt", dir);
    names[0] = there[0] ? all[0] : all[1];
    names[1] = !there[0] && there[2] ? all[2] : NULL;
    return RF_OK;
}

rf_vocab *rf_vocab_load(const char *dir, rf_error *err)
{
    char path[RF_PATH_MAX], config_path[RF_PATH_MAX] = "";
    const char *names[2];
    rf_buffer file, config;
    rf_vocab *v = NULL;
    rf_buffer_init(&file, RF_MAX_TOKENIZER_FILE, "tokenizer file");
    rf_buffer_init(&config, RF_MAX_TOKENIZER_CONFIG, "tokenizer_config.json");
    if (rf_vocab_files(dir, names, err) != RF_OK ||
        rf_path_join(path, dir, names[0], err) != RF_OK ||
        rf_file_read(path, &file, err) != RF_OK ||
        (names[1] && (rf_path_join(config_path, dir, names[1], err) != RF_OK ||
                      rf_file_read(config_path, &config, err) != RF_OK)))
        goto out;
    v = strcmp(names[0], "tokenizer.json") == 0
            ? rf_vocab_from_json(file.data, file.len, path, err)
            : rf_vocab_from_text(file.data, file.len, path, names[1] ? config.data : NULL,
                                 config.len, config_path, err);
out:
    rf_buffer_release(&file);
    rf_buffer_release(&config);
    return v;
}
