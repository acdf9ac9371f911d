/* method_state.c - memory of a fitted method's arrays */
#include "open/method_state.h"

#include "base/memory.h"

#include <stdlib.h>

size_t rf_dim_size(const rf_method_state *s, rf_dim dim)
{
    const size_t sizes[] = {[RF_DIM_KIND_FIXED] = dim.size,
                            [RF_DIM_KIND_CLASSES] = s->classes,
                            [RF_DIM_KIND_HELD] = s->held,
                            [RF_DIM_KIND_WIDTH] = s->width,
                            [RF_DIM_KIND_ANY] = SIZE_MAX};
    return sizes[dim.kind];
}

rf_status rf_method_state_room(rf_method_state *s, size_t i, size_t n0, size_t n1,
                               rf_error *err)
{
    size_t n;
    free(s->arrays[i].data);
    s->arrays[i].data = NULL;
    if (rf_size_mul(n0, n1, &n) && n < SIZE_MAX / sizeof(float))
        s->arrays[i].data = rf_floats_new(n);
    if (!s->arrays[i].data)
        return rf_fail_nomem(err, n * sizeof(float), "the method's arrays");
    s->arrays[i].shape[0] = n0;
    s->arrays[i].shape[1] = n1;
    s->arrays[i].shape[2] = 1;
    return RF_OK;
}

size_t rf_method_state_pieces(const rf_method_state *s, size_t i)
{
    return i < s->in_block ? s->held : 1;
}

float *rf_method_state_piece(const rf_method_state *s, size_t i, size_t piece,
                             size_t *floats)
{
    const size_t *n = s->arrays[i].shape;
    *floats = (i < s->in_block ? 1 : n[0]) * n[1] * n[2];
    return s->arrays[i].data + piece * s->class_floats;
}

void rf_method_state_release(rf_method_state *s)
{
    for (size_t i = s->in_block; i < RF_METHOD_ARRAYS; i++)
        free(s->arrays[i].data);
    free(s->block);
    free(s->place);
    *s = (rf_method_state){0};
}
