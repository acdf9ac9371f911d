/*
 * safetensors.h - a strict reader and a small writer of the safetensors format
 *
 *   [8 bytes: N, little-endian] [N bytes: JSON header] [data]
 *
 * The header maps tensor names to dtype, shape and [begin, end) within the data. Checked
 * before use: header at most 100 MB and within the file, begins
 * with '{', padded with spaces only, no duplicate keys; dtype known; size of the range
 * equal to the size of the shape, computed without overflow; ranges cover the data from
 * its first to its last byte without hole, overlap or trailing bytes.
 */
#ifndef RF_ENCODER_SAFETENSORS_H
#define RF_ENCODER_SAFETENSORS_H

#include "base/file.h"

#define RF_TENSOR_MAX_RANK 8

typedef enum rf_dtype {
    RF_BOOL,
    RF_U8,
    RF_I8,
    RF_F8_E4M3,
    RF_F8_E5M2, /* 1 byte */
    RF_U16,
    RF_I16,
    RF_F16,
    RF_BF16, /* 2 */
    RF_U32,
    RF_I32,
    RF_F32, /* 4 */
    RF_U64,
    RF_I64,
    RF_F64, /* 8 */
} rf_dtype;

const char *rf_dtype_name(rf_dtype dtype);
size_t rf_dtype_size(rf_dtype dtype);

typedef struct rf_tensor {
    const char *name; /* owned by the file */
    rf_dtype dtype;
    size_t rank;
    size_t shape[RF_TENSOR_MAX_RANK];
    size_t count;              /* elements */
    const unsigned char *data; /* into the mapping; not aligned in general */
    size_t offset;             /* of data in the file */
    float quantised[2];        /* U8 weights: scale and zero; set by rf_weights_find */
} rf_tensor;

typedef struct rf_safetensors {
    char name[RF_PATH_MAX];     /* for messages */
    rf_mapping mapping;         /* empty if the bytes are the caller's */
    const unsigned char *bytes; /* the whole file */
    size_t len;
    size_t data_start;  /* bytes before that are the length and the header */
    rf_tensor *tensors; /* sorted by offset */
    size_t n_tensors;
    void *header; /* the parsed JSON, keeps the names */
} rf_safetensors;

rf_status rf_safetensors_open(rf_safetensors *st, const char *path, rf_error *err);
/* The same with a copy of the file in memory (rf_mapping_copy). */
rf_status rf_safetensors_copy(rf_safetensors *st, const char *path, rf_error *err);

/* The same over bytes in memory, which must outlive st. */
rf_status rf_safetensors_parse(rf_safetensors *st, const unsigned char *bytes, size_t len,
                               const char *name, rf_error *err);
void rf_safetensors_close(rf_safetensors *st); /* accepts a zeroed struct */

/* NULL if there is none. */
const rf_tensor *rf_safetensors_find(const rf_safetensors *st, const char *name);

/* An entry of __metadata__, NUL-terminated; NULL if there is none. */
const char *rf_safetensors_metadata(const rf_safetensors *st, const char *key);

/* "[30522, 384]" */
const char *rf_shape_text(char out[160], const size_t *shape, size_t rank);

/* One tensor to write, contiguous: F32, or U8 if there are bytes. */
typedef struct rf_tensor_out {
    const char *name;
    size_t rank;
    size_t shape[RF_TENSOR_MAX_RANK];
    const float *data;
    const unsigned char *bytes;
} rf_tensor_out;

/* Writes a new file with the tensors in the given order; the same input gives the same
 * bytes. */
rf_status rf_safetensors_write(const char *path, const rf_tensor_out *tensors, size_t n,
                               rf_error *err);

#endif
