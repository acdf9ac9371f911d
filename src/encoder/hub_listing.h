/*
 * hub_listing.h - what the hub says about a repository
 *
 * The answer to GET /api/models/OWNER/NAME/revision/REVISION?blobs=true. It comes from a
 * stranger: everything in it is checked, and only the files that we know are looked at.
 */
#ifndef RF_ENCODER_HUB_LISTING_H
#define RF_ENCODER_HUB_LISTING_H

#include "base/digest.h"
#include "encoder/hub_name.h"

#define RF_HUB_MAX_ANSWER ((size_t)16 << 20)

/* The files that an encoder may have, in the order in which they are fetched: what
 * decides whether we can run it comes first, the weights last. */
typedef enum rf_hub_file {
    RF_HUB_CONFIG,
    RF_HUB_TOKENIZER,
    RF_HUB_VOCAB,
    RF_HUB_TOKENIZER_CONFIG,
    RF_HUB_SPECIAL_TOKENS,
    RF_HUB_ADDED_TOKENS,
    RF_HUB_MODULES,
    RF_HUB_POOLING,
    RF_HUB_SENTENCE_CONFIG,
    RF_HUB_PROMPTS,
    RF_HUB_WEIGHTS, /* one of these two */
    RF_HUB_ONNX,
    RF_HUB_FILES,
} rf_hub_file;

typedef struct rf_hub_kind {
    const char *name;
    int64_t max; /* bytes */
} rf_hub_kind;

extern const rf_hub_kind rf_hub_kinds[RF_HUB_FILES];

typedef struct rf_hub_entry {
    bool there;
    int64_t size;               /* -1: not said */
    char sha256[RF_SHA256_HEX]; /* of a file in LFS, else "" */
    char git[RF_HUB_COMMIT];    /* the git id of any other file, else "" */
} rf_hub_entry;

typedef struct rf_hub_listing {
    char commit[RF_HUB_COMMIT];
    char id[2 * RF_HUB_PART];       /* the name under which the hub knows it, or "" */
    char licence[64], language[64]; /* printable ASCII, "" if not said */
    rf_hub_entry files[RF_HUB_FILES];
    bool pickled; /* pytorch_model.bin is there */
    bool sharded; /* model.safetensors.index.json is there */
} rf_hub_listing;

/* name is for messages. */
rf_status rf_hub_listing_parse(rf_hub_listing *l, const char *json, size_t len,
                               const char *name, rf_error *err);

/* The files that will be fetched: tokenizer.json makes vocab.txt needless, and
 * model.safetensors the ONNX export. RF_ERR_MISSING, by name, if there is no encoder in
 * the repository that we could read. */
rf_status rf_hub_listing_choose(const rf_hub_listing *l, bool wanted[RF_HUB_FILES],
                                const char *name, rf_error *err);

#endif
