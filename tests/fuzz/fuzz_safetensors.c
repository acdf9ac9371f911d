/*
 * fuzz_safetensors.c - arbitrary bytes as a weight file
 *
 * What is accepted must hold what it promises: every byte of every tensor is read, and
 * the tensors cover the data without hole or overlap.
 */
#include "encoder/safetensors.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

volatile unsigned char touched; /* so that reading is not optimised away */

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    rf_safetensors st;
    rf_error err = {0};
    rf_status status = rf_safetensors_parse(&st, bytes, len, "fuzz", &err);
    if (status != RF_OK) {
        if (err.code != status || err.msg[0] == '\0')
            abort();
        return 0;
    }
    size_t at = st.n_tensors ? st.tensors[0].offset : len;
    for (size_t i = 0; i < st.n_tensors; i++) {
        const rf_tensor *t = &st.tensors[i];
        size_t size = t->count * rf_dtype_size(t->dtype);
        if (t->offset != at || t->data != bytes + at)
            abort();
        for (size_t j = 0; j < size; j++)
            touched = t->data[j];
        at += size;
        if (rf_safetensors_find(&st, t->name) != t)
            abort();
        char shape[160];
        if (strlen(rf_shape_text(shape, t->shape, t->rank)) < 2)
            abort();
    }
    if (at != len)
        abort();
    rf_safetensors_close(&st);
    return 0;
}
