/*
 * fuzz_onnx.c - any bytes as an ONNX file: refused with words, or read within bounds
 *
 * Seeds: tests/golden/tiny/onnx/model.onnx.
 */
#include "encoder/onnx.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* An element of what we read has at least two bytes, so the file bounds the memory. */
static void read_tensors(const rf_onnx *o)
{
    for (size_t i = 0; i < o->n_tensors; i++) {
        const rf_onnx_tensor *t = &o->tensors[i];
        bool readable =
            t->type == RF_ONNX_FLOAT || (t->type == RF_ONNX_FLOAT16 && t->raw);
        rf_error err = {0};
        if (!readable) {
            if (rf_onnx_read(o, t, NULL, &err) == RF_OK || err.msg[0] == '\0')
                abort();
            continue;
        }
        if (t->count > o->len / 2)
            abort();
        float *x = malloc((t->count + 1) * sizeof *x);
        if (x && rf_onnx_read(o, t, x, &err) != RF_OK)
            abort();
        free(x);
        if (rf_onnx_find(o, t->name) != t)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    rf_onnx o;
    rf_error err = {0};
    if (rf_onnx_parse(&o, data, size, "fuzz.onnx", &err) == RF_OK) {
        read_tensors(&o);
        rf_onnx_close(&o);
    } else if (err.code == RF_OK || err.msg[0] == '\0') {
        abort();
    }
    return 0;
}
