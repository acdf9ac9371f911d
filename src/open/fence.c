#include "open/fence.h"

#include "base/memory.h"

#include <stdlib.h>

rf_status rf_fence_room(rf_fence *f, size_t i, size_t n0, size_t n1, rf_error *err)
{
    size_t n;
    free(f->arrays[i].data);
    f->arrays[i].data = NULL;
    if (rf_size_mul(n0, n1, &n) && n < SIZE_MAX / sizeof(float))
        f->arrays[i].data = rf_floats_new(n);
    if (!f->arrays[i].data)
        return rf_fail_nomem(err, n * sizeof(float), "what the method keeps");
    f->arrays[i].shape[0] = n0;
    f->arrays[i].shape[1] = n1;
    return RF_OK;
}

void rf_fence_release(rf_fence *f)
{
    for (size_t i = 0; i < RF_FENCE_ARRAYS; i++)
        free(f->arrays[i].data);
    *f = (rf_fence){0};
}
