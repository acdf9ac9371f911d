/*
 * material.h - one data set as one encoder's frozen layers see it
 *
 * The three files of a set (train, dev, test) and the output of the frozen layers for
 * every text of them. That is computed once and kept in a sealed file per part,
 *
 *   CACHE/frozen-HASH.st      tensors "offsets" [texts + 1], "states" [tokens, width]
 *
 * named by what it depends on: encoder, layers, longest text, the texts themselves.
 */
#ifndef RF_LAB_MATERIAL_H
#define RF_LAB_MATERIAL_H

#include "base/digest.h"
#include "encoder/activations.h"
#include "model/container.h"

typedef enum rf_lab_part {
    RF_LAB_TRAIN = 0,
    RF_LAB_DEV = 1, /* may be missing */
    RF_LAB_TEST = 2,
    RF_LAB_OPEN = 3, /* texts of no class, for methods that learn from such; if given */
} rf_lab_part;
#define RF_LAB_PARTS 4

typedef struct rf_material {
    rf_dataset *data[RF_LAB_PARTS];   /* a missing one is NULL */
    size_t max_tokens;                /* of a text; settled when the layers are frozen */
    char texts_sha256[RF_SHA256_HEX]; /* of train, dev and test, labels too */
    char open_sha256[RF_SHA256_HEX];  /* of the texts of no class */
    rf_container files[RF_LAB_PARTS];
    rf_activations frozen[RF_LAB_PARTS]; /* states lie in files: not to be released */
    double seconds; /* that the frozen layers took, now or when they were computed */
} rf_material;

typedef struct rf_material_options {
    const char *dir; /* of the set: train.tsv, dev.tsv, test.tsv (or .csv, .jsonl) */
    const rf_data_options *data; /* NULL: as published: raw TSV */
    const char *open_texts;      /* file, may be NULL */
    size_t max_tokens;  /* 0: as published for a set of that name, else the encoder's */
    const char *cache;  /* directory */
    rf_texts_done done; /* may be NULL */
    void *user;
} rf_material_options;

/* Reads the three files. */
rf_status rf_material_open(rf_material *m, const rf_material_options *o, rf_error *err);
void rf_material_close(rf_material *m); /* accepts a zeroed struct */

/* The frozen layers, from the cache or computed into it. encoder_hash names the encoder
 * (rf_model_encoder_hash), layer the last frozen one. */
rf_status rf_material_freeze(rf_material *m, const rf_material_options *o,
                             const rf_encoder *e, const char *encoder_hash, size_t layer,
                             rf_team *team, rf_error *err);

#endif
