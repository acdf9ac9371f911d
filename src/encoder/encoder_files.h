/*
 * encoder_files.h - the files of an encoder
 *
 * Either a directory in the Hugging Face layout, or a model file, which keeps the same
 * files under "files/" and the weights under their names. All are mapped, not copied; a
 * model is written from the very bytes that its encoder was read from.
 */
#ifndef RF_ENCODER_ENCODER_FILES_H
#define RF_ENCODER_ENCODER_FILES_H

#include "encoder/safetensors.h"
#include "ringfence_encoder.h"

/* config.json, tokenizer.json or vocab.txt, tokenizer_config.json beside the latter */
#define RF_ENCODER_PARTS 3

typedef struct rf_encoder_part {
    const char *name; /* NULL: there is none */
    const char *bytes;
    size_t len;
    rf_mapping mapping; /* empty if the bytes are in a model file */
} rf_encoder_part;

typedef struct rf_encoder_files {
    char where[RF_PATH_MAX]; /* the directory, or the model file + "/files" */
    rf_encoder_part parts[RF_ENCODER_PARTS];
    rf_safetensors own;           /* model.safetensors of the directory */
    const rf_safetensors *shared; /* the model file instead; NULL for a directory */
} rf_encoder_files;

/* The files of a directory, mapped, or copied into memory. */
rf_status rf_encoder_files_open(rf_encoder_files *f, const char *dir, bool copy,
                                rf_error *err);

/* The files in a model, which must stay open as long as f. */
rf_status rf_encoder_files_inside(rf_encoder_files *f, const rf_safetensors *model,
                                  rf_error *err);

void rf_encoder_files_close(rf_encoder_files *f); /* accepts a zeroed struct */

/* Where the weights are; f must stay where it is as long as the result is used. */
static inline const rf_safetensors *rf_encoder_files_weights(const rf_encoder_files *f)
{
    return f->shared ? f->shared : &f->own;
}

#endif
