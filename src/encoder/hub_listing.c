/* hub_listing.c - reads the hub's description of a repository */
#include "encoder/hub_listing.h"

#include "base/json.h"
#include "encoder/config.h"
#include "text/vocab.h"

#include <stdio.h>
#include <string.h>

#define SMALL ((int64_t)4 << 20)
#define WEIGHTS ((int64_t)4 << 30)

const rf_hub_kind rf_hub_kinds[RF_HUB_FILES] = {
    [RF_HUB_CONFIG] = {"config.json", RF_MAX_CONFIG},
    [RF_HUB_TOKENIZER] = {"tokenizer.json", RF_MAX_TOKENIZER_FILE},
    [RF_HUB_VOCAB] = {"vocab.txt", RF_MAX_TOKENIZER_FILE},
    [RF_HUB_TOKENIZER_CONFIG] = {"tokenizer_config.json", RF_MAX_TOKENIZER_CONFIG},
    [RF_HUB_SPECIAL_TOKENS] = {"special_tokens_map.json", SMALL},
    [RF_HUB_ADDED_TOKENS] = {"added_tokens.json", SMALL},
    [RF_HUB_MODULES] = {"modules.json", SMALL},
    [RF_HUB_POOLING] = {"1_Pooling/config.json", SMALL},
    [RF_HUB_SENTENCE_CONFIG] = {"sentence_bert_config.json", SMALL},
    [RF_HUB_PROMPTS] = {"config_sentence_transformers.json", SMALL},
    [RF_HUB_WEIGHTS] = {"model.safetensors", WEIGHTS},
    [RF_HUB_ONNX] = {"onnx/model.onnx", WEIGHTS},
};

static bool is_hex(const char *text, size_t digits)
{
    return text && strlen(text) == digits && strspn(text, "0123456789abcdef") == digits;
}

/* Adds text to a list of words with commas; what is not printable ASCII becomes "?". */
static void add_word(char *out, size_t cap, const char *word)
{
    size_t at = strlen(out);
    if (at + strlen(word) + 2 > cap)
        return;
    if (at > 0)
        out[at++] = ',';
    for (; *word; word++)
        out[at++] = *word > ' ' && *word < 0x7f ? *word : '?';
    out[at] = '\0';
}

/* A field of the card that is a word or a list of words. */
static void take_words(char *out, size_t cap, const json_t *value)
{
    size_t i;
    json_t *item;
    if (json_is_string(value))
        add_word(out, cap, json_string_value(value));
    json_array_foreach(value, i, item)
    {
        if (json_is_string(item))
            add_word(out, cap, json_string_value(item));
    }
}

static void take_card(rf_hub_listing *l, const json_t *root)
{
    static const char prefix[] = "license:";
    const json_t *card = json_object_get(root, "cardData");
    size_t i;
    json_t *tag;
    take_words(l->licence, sizeof l->licence, json_object_get(card, "license"));
    take_words(l->language, sizeof l->language, json_object_get(card, "language"));
    json_array_foreach(json_object_get(root, "tags"), i, tag)
    {
        const char *word = json_string_value(tag);
        if (!l->licence[0] && word && strncmp(word, prefix, sizeof prefix - 1) == 0)
            add_word(l->licence, sizeof l->licence, word + sizeof prefix - 1);
    }
}

static rf_status take_entry(rf_hub_entry *e, const json_t *file, const char *path,
                            const char *name, rf_error *err)
{
    const json_t *lfs = json_object_get(file, "lfs");
    const json_t *size = json_object_get(file, "size");
    const char *oid = json_string_value(json_object_get(lfs, "sha256"));
    const char *git = json_string_value(json_object_get(file, "blobId"));
    if (!size || json_is_null(size))
        size = json_object_get(lfs, "size");
    if (!oid) /* as the list of a tree calls it */
        oid = json_string_value(json_object_get(lfs, "oid"));
    if (e->there)
        return rf_fail(err, RF_ERR_FORMAT, 0, "%s: lists %s twice", name, path);
    *e = (rf_hub_entry){.there = true, .size = -1};
    if (size && !json_is_null(size)) {
        if (!json_is_integer(size) || json_integer_value(size) < 0)
            return rf_fail(err, RF_ERR_FORMAT, 0,
                           "%s: the size of %s is %s, wanted a count of bytes", name,
                           path, json_is_integer(size) ? "negative" : rf_json_type(size));
        e->size = json_integer_value(size);
    }
    if (lfs && !json_is_null(lfs)) {
        if (!is_hex(oid, RF_SHA256_HEX - 1))
            return rf_fail(err, RF_ERR_FORMAT, 0,
                           "%s: the sha256 of %s is %s, wanted 64 hexadecimal digits",
                           name, path, oid ? "something else" : "missing");
        memcpy(e->sha256, oid, RF_SHA256_HEX);
    } else if (is_hex(git, RF_HUB_COMMIT - 1)) {
        memcpy(e->git, git, RF_HUB_COMMIT);
    }
    return RF_OK;
}

static rf_status take_files(rf_hub_listing *l, const json_t *files, const char *name,
                            rf_error *err)
{
    size_t i;
    json_t *file;
    if (!json_is_array(files))
        return rf_fail(err, RF_ERR_FORMAT, 0,
                       "%s: \"siblings\" is %s, wanted the list of files", name,
                       rf_json_type(files));
    json_array_foreach(files, i, file)
    {
        const char *path = json_string_value(json_object_get(file, "rfilename"));
        if (!path)
            return rf_fail(err, RF_ERR_FORMAT, i, "%s: file %zu of the list has no name",
                           name, i);
        l->pickled |= strcmp(path, "pytorch_model.bin") == 0;
        l->sharded |= strcmp(path, "model.safetensors.index.json") == 0;
        for (size_t k = 0; k < RF_HUB_FILES; k++) {
            rf_status st =
                strcmp(path, rf_hub_kinds[k].name) == 0
                    ? take_entry(&l->files[k], file, rf_hub_kinds[k].name, name, err)
                    : RF_OK;
            if (st != RF_OK)
                return st;
        }
    }
    return RF_OK;
}

rf_status rf_hub_listing_parse(rf_hub_listing *l, const char *json, size_t len,
                               const char *name, rf_error *err)
{
    rf_error local = {0};
    err = err ? err : &local;
    *l = (rf_hub_listing){0};
    json_t *root = rf_json_object(json, len, name, err);
    if (!root)
        return err->code;
    rf_status st;
    rf_hub_name id;
    const char *commit = json_string_value(json_object_get(root, "sha"));
    const char *known_as = json_string_value(json_object_get(root, "id"));
    if (!is_hex(commit, RF_HUB_COMMIT - 1)) {
        st = rf_fail(err, RF_ERR_FORMAT, 0,
                     "%s: \"sha\" is %s, wanted a commit of 40 hexadecimal digits", name,
                     commit ? "something else"
                            : rf_json_type(json_object_get(root, "sha")));
    } else {
        memcpy(l->commit, commit, RF_HUB_COMMIT);
        if (known_as && rf_hub_name_parse(&id, known_as, NULL) == RF_OK && !id.pinned)
            snprintf(l->id, sizeof l->id, "%s", known_as);
        take_card(l, root);
        st = take_files(l, json_object_get(root, "siblings"), name, err);
    }
    json_decref(root);
    return st;
}

rf_status rf_hub_listing_choose(const rf_hub_listing *l, bool wanted[RF_HUB_FILES],
                                const char *name, rf_error *err)
{
    const char *missing = NULL;
    for (size_t i = 0; i < RF_HUB_FILES; i++)
        wanted[i] = l->files[i].there;
    if (wanted[RF_HUB_TOKENIZER])
        wanted[RF_HUB_VOCAB] = false;
    if (wanted[RF_HUB_WEIGHTS])
        wanted[RF_HUB_ONNX] = false;
    if (!wanted[RF_HUB_CONFIG])
        missing = "config.json";
    else if (!wanted[RF_HUB_TOKENIZER] && !wanted[RF_HUB_VOCAB])
        missing = "tokenizer.json and no vocab.txt";
    if (missing)
        return rf_fail(err, RF_ERR_MISSING, 0, "%s: the repository has no %s", name,
                       missing);
    if (!wanted[RF_HUB_WEIGHTS] && !wanted[RF_HUB_ONNX])
        return rf_fail(err, RF_ERR_MISSING, 0,
                       "%s: the repository has neither model.safetensors nor "
                       "onnx/model.onnx%s",
                       name,
                       l->sharded   ? "; its weights are split into several files"
                       : l->pickled ? "; pytorch_model.bin is never read, since reading "
                                      "it can run code"
                                    : "");
    for (size_t i = 0; i < RF_HUB_FILES; i++)
        if (wanted[i] && l->files[i].size > rf_hub_kinds[i].max)
            return rf_fail(err, RF_ERR_LIMIT, 0,
                           "%s: %s has %lld bytes, the limit is %lld", name,
                           rf_hub_kinds[i].name, (long long)l->files[i].size,
                           (long long)rf_hub_kinds[i].max);
    return RF_OK;
}
