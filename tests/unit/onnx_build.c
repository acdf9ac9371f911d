/*
 * onnx_build.c - ONNX models for the tests of the reader and of the import
 */
#include "onnx_build.h"

#include "scratch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FILE ((size_t)64 << 20)

rf_buffer new_bytes(void)
{
    rf_buffer b;
    rf_buffer_init(&b, MAX_FILE, "a message");
    return b;
}

void put_varint(rf_buffer *b, uint64_t value)
{
    do {
        unsigned char byte = (unsigned char)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        assert_int_equal(rf_buffer_add(b, &byte, 1, NULL), RF_OK);
        value >>= 7;
    } while (value > 0);
}

void put_int(rf_buffer *b, unsigned number, uint64_t value)
{
    put_varint(b, number << 3);
    put_varint(b, value);
}

void put_bytes(rf_buffer *b, unsigned number, const void *bytes, size_t len)
{
    put_varint(b, number << 3 | 2);
    put_varint(b, len);
    assert_int_equal(rf_buffer_add(b, bytes, len, NULL), RF_OK);
}

void put_text(rf_buffer *b, unsigned number, const char *text)
{
    put_bytes(b, number, text, strlen(text));
}

void put_message(rf_buffer *b, unsigned number, rf_buffer *message)
{
    put_bytes(b, number, message->data ? message->data : "", message->len);
    rf_buffer_clear(message);
}

void put_node(rf_buffer *graph, const char *name, const char *op, const char *in0,
              const char *in1, const char *in2, const char *output,
              const char *int_attribute)
{
    const char *inputs[] = {in0, in1, in2};
    rf_buffer node = new_bytes();
    for (size_t i = 0; i < 3 && inputs[i]; i++)
        put_text(&node, 1, inputs[i]);
    put_text(&node, 2, output);
    put_text(&node, 3, name);
    put_text(&node, 4, op);
    if (int_attribute) {
        rf_buffer attribute = new_bytes();
        put_text(&attribute, 1, int_attribute);
        put_int(&attribute, 3, 1);
        put_message(&node, 5, &attribute);
        rf_buffer_release(&attribute);
    }
    put_message(graph, 1, &node);
    rf_buffer_release(&node);
}

void put_tensor(rf_buffer *graph, const char *name, unsigned type, const size_t *shape,
                size_t rank, const void *raw, size_t len)
{
    rf_buffer tensor = new_bytes();
    for (size_t i = 0; i < rank; i++)
        put_int(&tensor, 1, shape[i]);
    put_int(&tensor, 2, type);
    put_bytes(&tensor, 9, raw, len);
    put_text(&tensor, 8, name);
    put_message(graph, 5, &tensor);
    rf_buffer_release(&tensor);
}

void put_dense(rf_buffer *graph, const rf_tensor *t, dense_style style,
               const char *prefix, size_t index)
{
    char stem[200], name[256], bias[256], product[64], other[64];
    bool in_out =
        style == MATMUL || style == NAMED_MATMUL || style == GEMM || style == IDENTITY;
    bool named = style != MATMUL && style != GEMM && style != IDENTITY;
    size_t size = rf_dtype_size(t->dtype);
    unsigned char *transposed = malloc(t->count * size);
    assert_non_null(transposed);
    for (size_t r = 0; r < t->shape[0]; r++)
        for (size_t c = 0; c < t->shape[1]; c++)
            memcpy(transposed + (c * t->shape[0] + r) * size,
                   t->data + (r * t->shape[1] + c) * size, size);
    snprintf(stem, sizeof stem, "%s%s", prefix, plain_name(t));
    stem[strlen(stem) - strlen(".weight")] = '\0';
    snprintf(bias, sizeof bias, "%s.bias", stem);
    if (named)
        snprintf(name, sizeof name, "%s.weight", stem);
    else
        snprintf(name, sizeof name, "anonymous_%zu", index);
    snprintf(product, sizeof product, "product_%zu", index);
    snprintf(other, sizeof other, "other_%zu", index);
    const size_t shape[2] = {t->shape[in_out ? 1 : 0], t->shape[in_out ? 0 : 1]};
    put_tensor(graph, name, t->dtype == RF_F16 ? 10 : 1, shape, 2,
               in_out ? transposed : t->data, t->count * size);
    free(transposed);

    const char *weight = name;
    if (style == NAMED_ONLY)
        return;
    if (style == GEMM || style == NAMED_GEMM) {
        put_node(graph, "", "Gemm", "x", name, bias, product,
                 style == NAMED_GEMM ? "transB" : NULL);
        return;
    }
    if (style == NAMED_TRANSPOSE || style == IDENTITY) {
        put_node(graph, "", style == IDENTITY ? "Identity" : "Transpose", name, NULL,
                 NULL, other, NULL);
        weight = other;
    }
    put_node(graph, "", "MatMul", "x", weight, NULL, product, NULL);
    put_node(graph, "", "Add", product, bias, NULL, "y", NULL);
}

void open_weights(rf_safetensors *s, const char *path)
{
    rf_error err = {0};
    if (rf_safetensors_open(s, path, &err) != RF_OK)
        fail_msg("%s", err.msg);
}

const char *plain_name(const rf_tensor *t)
{
    const char *name = strncmp(t->name, "bert.", 5) == 0 ? t->name + 5 : t->name;
    bool weight = t->dtype == RF_F32 || t->dtype == RF_F16;
    return weight && strncmp(name, "pooler.", 7) != 0 ? name : NULL;
}

rf_buffer build(const char *weights, dense_style style, const char *prefix)
{
    rf_safetensors s;
    rf_buffer model = new_bytes(), graph = new_bytes();
    open_weights(&s, weights);
    for (size_t i = 0; i < s.n_tensors; i++) {
        const rf_tensor *t = &s.tensors[i];
        const char *plain = plain_name(t);
        char name[256];
        if (!plain)
            continue;
        snprintf(name, sizeof name, "%s%s", prefix, plain);
        if (t->rank == 2 && strncmp(plain, "encoder.", 8) == 0)
            put_dense(&graph, t, style, prefix, i);
        else
            put_tensor(&graph, name, t->dtype == RF_F16 ? 10 : 1, t->shape, t->rank,
                       t->data, t->count * rf_dtype_size(t->dtype));
    }
    put_int(&model, 1, 8);
    put_message(&model, 7, &graph);
    rf_buffer_release(&graph);
    rf_safetensors_close(&s);
    return model;
}
