/* encoder_files.c - opens the files of an encoder, in a directory or in a model */
#include "encoder/encoder_files.h"

#include "encoder/config.h"
#include "text/vocab.h"

#include <stdio.h>
#include <string.h>

static size_t limit_of(const char *name)
{
    if (strcmp(name, "config.json") == 0)
        return RF_MAX_CONFIG;
    return strcmp(name, "tokenizer_config.json") == 0 ? RF_MAX_TOKENIZER_CONFIG
                                                      : RF_MAX_TOKENIZER_FILE;
}

static rf_status set_part(rf_encoder_files *f, size_t i, const char *name,
                          const void *bytes, size_t len, rf_error *err)
{
    rf_encoder_part *p = &f->parts[i];
    if (len > limit_of(name))
        return rf_fail(err, RF_ERR_LIMIT, 0, "%s/%s: more than %zu bytes", f->where, name,
                       limit_of(name));
    p->name = name;
    p->bytes = len ? bytes : "";
    p->len = len;
    return RF_OK;
}

static rf_status map_part(rf_encoder_files *f, size_t i, const char *name, bool copy,
                          rf_error *err)
{
    char path[RF_PATH_MAX];
    rf_mapping *mapping = &f->parts[i].mapping;
    rf_status st = rf_path_join(path, f->where, name, err);
    if (st == RF_OK)
        st = copy ? rf_mapping_copy(mapping, path, err)
                  : rf_mapping_open(mapping, path, err);
    return st == RF_OK ? set_part(f, i, name, mapping->data, mapping->len, err) : st;
}

static rf_status open_dir(rf_encoder_files *f, const char *dir, bool copy, rf_error *err)
{
    char path[RF_PATH_MAX];
    const char *names[2];
    rf_status st;
    if ((st = rf_path_join(path, dir, "model.safetensors", err)) != RF_OK)
        return st;
    snprintf(f->where, sizeof f->where, "%s", dir);
    if ((st = map_part(f, 0, "config.json", copy, err)) != RF_OK ||
        (st = copy ? rf_safetensors_copy(&f->own, path, err)
                   : rf_safetensors_open(&f->own, path, err)) != RF_OK ||
        (st = rf_vocab_files(dir, names, err)) != RF_OK ||
        (st = map_part(f, 1, names[0], copy, err)) != RF_OK)
        return st;
    return names[1] ? map_part(f, 2, names[1], copy, err) : RF_OK;
}

rf_status rf_encoder_files_open(rf_encoder_files *f, const char *dir, bool copy,
                                rf_error *err)
{
    *f = (rf_encoder_files){0};
    rf_status st = open_dir(f, dir, copy, err);
    if (st != RF_OK)
        rf_encoder_files_close(f);
    return st;
}

/* A file stored as the tensor "files/" + name; *found says whether it is there. */
static rf_status find_part(rf_encoder_files *f, size_t i, const char *name, bool *found,
                           rf_error *err)
{
    char full[64];
    snprintf(full, sizeof full, "files/%s", name);
    const rf_tensor *t = rf_safetensors_find(f->shared, full);
    *found = t;
    if (!t)
        return RF_OK;
    if (t->dtype != RF_U8 || t->rank != 1)
        return rf_fail(err, RF_ERR_FORMAT, t->offset,
                       "%s: tensor \"%s\" is %s of %zu dimensions, wanted bytes (U8)",
                       f->shared->name, full, rf_dtype_name(t->dtype), t->rank);
    return set_part(f, i, name, t->data, t->count, err);
}

static rf_status take_inside(rf_encoder_files *f, rf_error *err)
{
    bool config, json, text = false, more;
    rf_status st;
    if ((st = find_part(f, 0, "config.json", &config, err)) != RF_OK ||
        (st = find_part(f, 1, "tokenizer.json", &json, err)) != RF_OK ||
        (!json && ((st = find_part(f, 1, "vocab.txt", &text, err)) != RF_OK ||
                   (st = find_part(f, 2, "tokenizer_config.json", &more, err)) != RF_OK)))
        return st;
    if (!config || (!json && !text))
        return rf_fail(err, RF_ERR_FORMAT, 0, "%s: tensor \"files/%s\" is missing",
                       f->shared->name, config ? "vocab.txt" : "config.json");
    return RF_OK;
}

rf_status rf_encoder_files_inside(rf_encoder_files *f, const rf_safetensors *model,
                                  rf_error *err)
{
    *f = (rf_encoder_files){.shared = model};
    int n = snprintf(f->where, sizeof f->where, "%s/files", model->name);
    rf_status st = n > 0 && (size_t)n < sizeof f->where
                       ? take_inside(f, err)
                       : rf_fail(err, RF_ERR_LIMIT, 0, "%.64s...: path longer than %zu",
                                 model->name, sizeof f->where - sizeof "/files");
    if (st != RF_OK)
        rf_encoder_files_close(f);
    return st;
}

void rf_encoder_files_close(rf_encoder_files *f)
{
    for (size_t i = 0; i < RF_ENCODER_PARTS; i++)
        rf_mapping_close(&f->parts[i].mapping);
    rf_safetensors_close(&f->own);
    *f = (rf_encoder_files){0};
}
