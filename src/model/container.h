/*
 * container.h - sealed files: safetensors with checksums
 *
 * A model or a checkpoint is one safetensors file: tensors, and in its metadata
 *
 *   ringfence.kind       "model" or "checkpoint"
 *   ringfence.version    "1"
 *   ringfence.json       description of the content, a JSON object as text
 *   ringfence.checksums  {"name of a tensor": "sha256 of its bytes", ...} as text
 *
 * The last tensor, ringfence.seal (U8 [32]), is the sha256 of the eight length bytes and
 * the header. The seal covers the header and the checksums cover the data, so every byte
 * is covered. Each tensor begins at a multiple of the size of its elements
 * (docs/FORMAT.md).
 */
#ifndef RF_MODEL_CONTAINER_H
#define RF_MODEL_CONTAINER_H

#include "base/json.h"
#include "encoder/safetensors.h"

#define RF_CONTAINER_VERSION 1
#define RF_CONTAINER_VERSION_TEXT "1"

/* ---- Reading ---- */

typedef struct rf_container {
    rf_safetensors file;
    json_t *json; /* the object of ringfence.json */
} rf_container;

/* Opens a file of this kind and checks every byte. */
rf_status rf_container_open(rf_container *c, const char *path, const char *kind,
                            rf_error *err);

/* The same over bytes in memory (aligned to 8), which must outlive c. */
rf_status rf_container_parse(rf_container *c, const unsigned char *bytes, size_t len,
                             const char *name, const char *kind, rf_error *err);
void rf_container_close(rf_container *c); /* accepts a zeroed struct */

#define RF_ANY_SIZE SIZE_MAX

/* The tensor of this name, which must have this type and shape; RF_ANY_SIZE matches
 * any dimension. NULL on failure. Its data is aligned. */
const rf_tensor *rf_container_find(const rf_container *c, const char *name,
                                   rf_dtype dtype, size_t rank, const size_t *shape,
                                   rf_error *err);

/* ---- Writing ---- */

typedef struct rf_container_writer rf_container_writer;

/* Writes the bytes of a section with rf_container_put, in any number of pieces. */
typedef rf_status (*rf_section_source)(void *user, size_t index, rf_container_writer *w,
                                       rf_error *err);

/* A tensor to write: its bytes, or a function that writes them. */
typedef struct rf_section {
    char name[96];
    rf_dtype dtype;
    size_t rank, shape[4];
    const void *data;
    rf_section_source write; /* if data is NULL */
    void *user;
    size_t index;
} rf_section;

rf_status rf_container_put(rf_container_writer *w, const void *bytes, size_t len,
                           rf_error *err);

/* Writes a file atomically (rf_new_file). Sections are sorted by descending element
 * size, otherwise in the given order; the same input gives the same bytes. json is the
 * text of an object. */
rf_status rf_container_write(const char *path, const char *kind, const char *json,
                             const rf_section *sections, size_t n, rf_error *err);

/* The same into an initialised buffer, whose content it replaces. */
rf_status rf_container_write_memory(rf_buffer *out, const char *kind, const char *json,
                                    const rf_section *sections, size_t n, rf_error *err);

#define RF_SEAL_NAME "ringfence.seal"

#endif
