/*
 * onnx.h - the weights and nodes of an ONNX file
 *
 *   rf_onnx file;
 *   if (rf_onnx_open(&file, "model.onnx", &err) != RF_OK)
 *       return fail(err.msg);
 *   const rf_onnx_tensor *t = rf_onnx_find(&file, rf_onnx_name("encoder.bias"));
 *   st = t ? rf_onnx_read(&file, t, floats, &err) : RF_ERR_MISSING;   // t->count of them
 *   rf_onnx_close(&file);
 *
 * A strict reader of the protobuf wire format, without generated code: we need two kinds
 * of message out of onnx.proto. Checked before use: a varint has
 * at most 10 bytes and 64 bits; a length stays within its message; a field that we use
 * has its wire type and, unless it is repeated, comes once; fields that we do not know
 * are skipped, groups refused; names hold no control bytes; dimensions are not negative
 * and their product fits; the data has the size of the shape and lies in this file;
 * every initialiser has a name of its own. Nothing is recursive.
 */
#ifndef RF_ENCODER_ONNX_H
#define RF_ENCODER_ONNX_H

#include "encoder/safetensors.h"

#include <string.h>

#define RF_ONNX_MAX_TENSORS 100000
#define RF_ONNX_MAX_NODES 100000
#define RF_ONNX_INPUTS 3 /* kept of a node: as many as Gemm has */

/* Text in the file: not followed by a NUL, never NULL, free of control bytes. */
typedef struct rf_onnx_text {
    const char *at;
    size_t len;
} rf_onnx_text;

static inline rf_onnx_text rf_onnx_name(const char *s)
{
    return (rf_onnx_text){s, strlen(s)};
}

static inline bool rf_onnx_same(rf_onnx_text a, rf_onnx_text b)
{
    return a.len == b.len && memcmp(a.at, b.at, a.len) == 0;
}

/* For "%.*s": as much of a name as a message has room for. */
static inline int rf_onnx_shown(rf_onnx_text name)
{
    return name.len < 100 ? (int)name.len : 100;
}

/* TensorProto.DataType, those that we read. */
enum { RF_ONNX_FLOAT = 1, RF_ONNX_UINT8 = 2, RF_ONNX_INT8 = 3, RF_ONNX_FLOAT16 = 10 };

/* An initialiser. Its data is raw_data, or float_data in the message. */
typedef struct rf_onnx_tensor {
    rf_onnx_text name;
    uint32_t type; /* as in the file, see rf_onnx_type_name */
    size_t rank;
    size_t shape[RF_TENSOR_MAX_RANK];
    size_t count;             /* elements */
    const unsigned char *raw; /* NULL: no raw_data; not aligned in general */
    const unsigned char *message;
    size_t message_len;
    size_t offset; /* of the message in the file */
} rf_onnx_tensor;

typedef struct rf_onnx_node {
    rf_onnx_text name; /* may be empty */
    rf_onnx_text op;   /* "MatMul" */
    rf_onnx_text inputs[RF_ONNX_INPUTS];
    rf_onnx_text output; /* the first one */
    size_t n_inputs;     /* may be more than are kept */
    bool trans_b;        /* attribute transB of Gemm: the second input is [n, k] */
    bool altered;        /* transA, alpha or beta of Gemm is not at its default */
} rf_onnx_node;

typedef struct rf_onnx {
    char name[RF_PATH_MAX];  /* for messages */
    rf_mapping mapping;      /* empty if the bytes are the caller's */
    size_t len;              /* bytes of the file */
    rf_onnx_tensor *tensors; /* sorted by name */
    size_t n_tensors;
    rf_onnx_node *nodes; /* in the order of the file */
    size_t n_nodes;
} rf_onnx;

rf_status rf_onnx_open(rf_onnx *o, const char *path, rf_error *err);

/* The same over bytes in memory, which must outlive o. */
rf_status rf_onnx_parse(rf_onnx *o, const unsigned char *bytes, size_t len,
                        const char *name, rf_error *err);
void rf_onnx_close(rf_onnx *o); /* accepts a zeroed struct, twice is harmless */

/* The initialiser of a name; NULL if there is none. */
const rf_onnx_tensor *rf_onnx_find(const rf_onnx *o, rf_onnx_text name);

/* All elements, widened to single precision: out is [t->count]. RF_ERR_VERSION for data
 * that is neither FLOAT nor FLOAT16 in raw_data. */
rf_status rf_onnx_read(const rf_onnx *o, const rf_onnx_tensor *t, float *out,
                       rf_error *err);

/* The one element of a UINT8 or INT8 initialiser; false if it is not that. */
bool rf_onnx_small_integer(const rf_onnx *o, const rf_onnx_tensor *t, int *value);

/* "FLOAT16"; "of an unknown type" for a number that onnx.proto does not have. */
const char *rf_onnx_type_name(uint32_t type);

#endif
