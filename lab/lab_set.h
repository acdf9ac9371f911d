/*
 * lab_set.h - one data set of the lab: its texts, and the frozen layers' output for them
 *
 * The output of the frozen layers is computed once per file (train, dev, test) and cached
 * in a sealed file,
 *
 *   CACHE/frozen-HASH.st      tensors "offsets" [texts + 1], "states" [tokens, width]
 *
 * named by a hash of what it depends on: encoder, layer, maximum of tokens, the texts.
 */
#ifndef RF_LAB_LAB_SET_H
#define RF_LAB_LAB_SET_H

#include "base/digest.h"
#include "encoder/activations.h"
#include "model/container.h"

typedef enum rf_lab_part {
    RF_LAB_TRAIN = 0,
    RF_LAB_DEV = 1, /* optional */
    RF_LAB_TEST = 2,
    RF_LAB_OPEN = 3, /* optional: unlabelled texts for methods that train on some */
} rf_lab_part;
#define RF_LAB_PARTS 4

typedef struct rf_lab_set {
    rf_dataset *data[RF_LAB_PARTS]; /* NULL: missing */
    size_t max_tokens; /* per text; 0 may remain until rf_lab_set_encode sets it */
    char texts_sha256[RF_SHA256_HEX]; /* of train, dev and test with their labels */
    char open_sha256[RF_SHA256_HEX];  /* of the open texts */
    rf_container files[RF_LAB_PARTS];
    rf_activations frozen[RF_LAB_PARTS]; /* states point into files: do not release */
    double seconds; /* the frozen layers took, now or when the cache was filled */
} rf_lab_set;

typedef struct rf_lab_set_options {
    const char *dir; /* of the set: train.tsv, dev.tsv, test.tsv (or .csv, .jsonl) */
    const rf_data_options *data; /* NULL: raw TSV, as published */
    const char *open_texts;      /* file, may be NULL */
    size_t max_tokens;  /* 0: as published for a set of that name, else the encoder's */
    const char *cache;  /* directory */
    rf_texts_done done; /* may be NULL */
    void *user;
} rf_lab_set_options;

/* Reads the files. */
rf_status rf_lab_set_open(rf_lab_set *set, const rf_lab_set_options *o, rf_error *err);
void rf_lab_set_close(rf_lab_set *set); /* accepts a zeroed struct */

/* The class of a training file with this name; RF_OPEN if there is none. */
size_t rf_lab_class(const rf_dataset *train, const char *label);

/* Fills `frozen` from the cache, or computes it and fills the cache. encoder_hash is that
 * of rf_model_encoder_hash; layer is the number of frozen layers. */
rf_status rf_lab_set_encode(rf_lab_set *set, const rf_lab_set_options *o,
                            const rf_encoder *e, const char *encoder_hash, size_t layer,
                            rf_team *team, rf_error *err);

#endif
