/*
 * onnx_build.h - ONNX models written field by field
 *
 *   rf_buffer graph = new_bytes(), model = new_bytes();
 *   put_tensor(&graph, "w", 1, (size_t[]){2}, 1, floats, 2 * sizeof floats[0]);
 *   put_node(&graph, "", "Add", "x", "w", NULL, "y", NULL);
 *   put_message(&model, 7, &graph);
 *   rf_buffer_release(&graph);
 *   ... model.data, model.len ...
 *   rf_buffer_release(&model);
 *
 * The wire format of protobuf with the field numbers of onnx.proto, sharing nothing with
 * the reader in src/. Names, shapes and sizes are taken as they come, so that wrong files
 * can be made too. Whatever goes wrong here fails the running test.
 */
#ifndef RF_TEST_ONNX_BUILD_H
#define RF_TEST_ONNX_BUILD_H

#include "encoder/safetensors.h"

/* An empty message, or an empty file; to be released by the caller. */
rf_buffer new_bytes(void);

/* ---- Fields of any message --------------------------------------------------------- */

/* A number alone, in as few bytes as it needs. */
void put_varint(rf_buffer *b, uint64_t value);

/* Field `number` with a number, bytes, or text without its NUL. */
void put_int(rf_buffer *b, unsigned number, uint64_t value);
void put_bytes(rf_buffer *b, unsigned number, const void *bytes, size_t len);
void put_text(rf_buffer *b, unsigned number, const char *text);

/* Puts one message into another, and makes it empty for the next. */
void put_message(rf_buffer *b, unsigned number, rf_buffer *message);

/* ---- Parts of a graph -------------------------------------------------------------- */

/* A node with up to three inputs, the first NULL ends them, and one output.
 * int_attribute is the name of an attribute with the value 1, NULL for none. */
void put_node(rf_buffer *graph, const char *name, const char *op, const char *in0,
              const char *in1, const char *in2, const char *output,
              const char *int_attribute);

/* An initialiser with its data in raw_data; type is a TensorProto.DataType. */
void put_tensor(rf_buffer *graph, const char *name, unsigned type, const size_t *shape,
                size_t rank, const void *raw, size_t len);

/* How the dense layers of a built model are written. */
typedef enum dense_style {
    MATMUL,          /* x W + b, W an anonymous [in, out] */
    NAMED_MATMUL,    /* the same with the name of PyTorch, which says nothing */
    NAMED_TRANSPOSE, /* x Transpose(W) + b */
    NAMED_GEMM,      /* Gemm with transB */
    GEMM,            /* Gemm without, W an anonymous [in, out] */
    IDENTITY,        /* x Identity(W) + b */
    NAMED_ONLY,      /* no node tells how it is used */
} dense_style;

/* The matrix t of a dense layer, [out, in] as in safetensors, and the nodes that use it.
 * Its bias is expected under its own name, with the prefix. The index is different for
 * each layer of a graph: it makes up the names of what is anonymous. */
void put_dense(rf_buffer *graph, const rf_tensor *t, dense_style style,
               const char *prefix, size_t index);

/* ---- Whole models ------------------------------------------------------------------ */

/* The weights of a safetensors file as an ONNX model: each tensor that plain_name knows,
 * by that name behind the prefix. To be released by the caller. */
rf_buffer build(const char *weights, dense_style style, const char *prefix);

/* rf_safetensors_open; the test fails if it does. */
void open_weights(rf_safetensors *s, const char *path);

/* The name without the prefix that some checkpoints have; NULL for what is not imported:
 * the pooler, and the table of positions that is no weight. */
const char *plain_name(const rf_tensor *t);

#endif
