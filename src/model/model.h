/*
 * model.h - a trained classifier in memory: encoder, classifier, fences, training rows
 */
#ifndef RF_MODEL_MODEL_H
#define RF_MODEL_MODEL_H

#include "base/digest.h"
#include "base/json.h"
#include "encoder/encoder.h"
#include "known/known.h"
#include "model/calibration.h"
#include "model/container.h"
#include "open/method.h"
#include "text/spelling.h"

#include <stdatomic.h>

struct rf_model {
    /* Weights are rounded to half precision, the tuned layers too, so that a model that
     * contains its encoder and one that refers to it compute the same bits. */
    rf_encoder *encoder;
    char encoder_name[RF_PATH_MAX]; /* catalogue name, or the directory it came from */
    char encoder_sha256[RF_SHA256_HEX]; /* of its model.safetensors */
    size_t tuned;          /* upper layers that differ from the encoder's files */
    size_t max_tokens;     /* per text */
    rf_spelling *spelling; /* of the training texts; NULL: words are read as they are */

    size_t classes;
    char **labels; /* [classes], sorted, NUL-terminated; all in label_bytes */
    char *label_bytes;
    const rf_method *method;
    rf_known known;
    rf_calibration calibration;
    rf_method_state state; /* what the method has learnt */
    rf_class_stats stats;
    float *radius; /* [classes] of the shell of synthetic negatives; 0: none */

    /* The training rows, for explanations and for adding classes later. */
    size_t n_rows;       /* 0: not kept */
    uint16_t *features;  /* [n_rows, width] half precision */
    int32_t *row_class;  /* [n_rows] */
    char *texts;         /* all texts one after another, NULL: not kept */
    uint64_t *text_ends; /* [n_rows] */
    /* A 2-D map of some of them (see docs/MODEL.md, "Map"). */
    size_t map_n;      /* 0: no map */
    int32_t *map_rows; /* [map_n] training rows, ascending */
    float *map_xy;     /* [map_n, 2] -1..1 */
    bool rows_mapped;  /* these six are mapped from `file`: do not write or free */

    json_t *settings; /* of the training; NULL: none */
    json_t *summary;  /* statistics of the training; NULL: none */
    char *json;       /* rf_model_json */

    rf_container file; /* it was loaded from, if any; parts stay mapped from it */

    /* An update has the encoder of the model it came from, which lends it and stays until
     * its last borrower is gone. */
    rf_model *lender;    /* NULL: the encoder is its own */
    atomic_size_t users; /* borrowers, and one for whoever frees it */
};

/* An empty model for training or loading to fill; NULL without memory. */
rf_model *rf_model_new(rf_error *err);

/* Undoes stage 2: frees what the method learnt and the class statistics. */
void rf_model_forget_open(rf_model *m);

/* Copies the labels, which must be valid in labelled data, sorted by bytes and
 * distinct. */
rf_status rf_model_set_labels(rf_model *m, const char *const *labels, size_t classes,
                              rf_error *err);

/* Loads the encoder, a name or a directory (rf_encoder_path), in half precision and
 * records its name (a directory as its absolute path) and sha256. */
rf_status rf_model_use_encoder(rf_model *m, const char *name, rf_error *err);

/* Gives m, which has none, the encoder of another model. */
void rf_model_borrow_encoder(rf_model *m, const rf_model *from);

/* A hash of all files of the encoder: weights, config.json, tokenizer. */
void rf_model_encoder_hash(const rf_model *m, char hex[RF_SHA256_HEX]);

/* Updates m->json, as if everything in memory were stored; a slim model that was loaded
 * stays one. */
rf_status rf_model_describe(rf_model *m, rf_error *err);

/* The description in a model file, as a JSON object, given what the file stores. NULL
 * on failure. */
typedef struct rf_model_extent {
    bool encoder;  /* contained, not referred to */
    bool features; /* and the class of each row */
    bool texts;
    bool map;
} rf_model_extent;
json_t *rf_model_describe_as(const rf_model *m, rf_model_extent stored, rf_error *err);

/* The text of a stored row, not NUL-terminated; NULL and length 0 if texts are not
 * stored. */
const char *rf_model_text(const rf_model *m, size_t row, size_t *len);

/* A model from an open container. Takes ownership; closes it on failure. */
rf_model *rf_model_from(rf_container *file, rf_error *err);

#endif
