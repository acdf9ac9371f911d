/*
 * fuzz_container.c - arbitrary bytes as a sealed file, as they come and under a proper
 * seal
 *
 * What is accepted must hold what it promises: aligned tensors, every byte readable, a
 * description that is an object.
 */
#include "model/container.h"
#include "sealed.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

volatile unsigned char touched; /* so that reading is not optimised away */

static void try(const unsigned char *bytes, size_t len)
{
    rf_container c;
    rf_error err = {0};
    rf_status st = rf_container_parse(&c, bytes, len, "fuzz", "model", &err);
    if (st != RF_OK) {
        if (err.code != st || err.msg[0] == '\0')
            abort();
        return;
    }
    if (!json_is_object(c.json))
        abort();
    for (size_t i = 0; i < c.file.n_tensors; i++) {
        const rf_tensor *t = &c.file.tensors[i];
        if (rf_container_find(&c, t->name, t->dtype, t->rank, t->shape, &err) != t ||
            (uintptr_t)t->data % rf_dtype_size(t->dtype) != 0)
            abort();
        for (size_t j = 0; j < t->count * rf_dtype_size(t->dtype); j++)
            touched = t->data[j];
    }
    rf_container_close(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    unsigned char *file = malloc(len + 1); /* aligned, as a mapping is */
    if (!file)
        return 0;
    memcpy(file, bytes, len);
    try(file, len);
    sealed s;
    if (sealed_take_apart(&s, file, len)) {
        size_t n;
        unsigned char *again = sealed_put_together(&s, &n);
        if (again)
            try(again, n);
        free(again);
        sealed_release(&s);
    }
    free(file);
    return 0;
}
