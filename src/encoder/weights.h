/*
 * weights.h - tensors of a weight file as floats, checked
 *
 * A model file keeps its encoder in half precision. So that a model that contains its
 * encoder and one that refers to the original files compute the same bits, an encoder can
 * be read with every number rounded to half precision and widened again.
 *
 * Weights may also be bytes (U8), as 8-bit exports have them: "X.weight" with
 * "X.weight_scale", F32 [2], stands for scale (byte - zero). They are never rounded, and
 * a model keeps them as they are.
 */
#ifndef RF_ENCODER_WEIGHTS_H
#define RF_ENCODER_WEIGHTS_H

#include "encoder/safetensors.h"

typedef struct rf_weights {
    const rf_safetensors *file;
    const char *prefix; /* of all names: "bert." or "" */
    bool half; /* round to half precision what is in another; then this is set: */
    void (*narrow)(uint16_t *y, const float *x, size_t n);
    bool only_half; /* refuse anything but F16 and bytes */
} rf_weights;

/* The weights in a file, whose names have the prefix or not. */
rf_weights rf_weights_in(const rf_safetensors *file, bool half);

/* The tensor prefix + name + "." + ending, its shape and type checked; NULL on failure.
 * `old` is the ending in older checkpoints (gamma, beta), or NULL. */
const rf_tensor *rf_weights_find(const rf_weights *w, const char *name,
                                 const char *ending, const char *old, size_t rank,
                                 size_t n0, size_t n1, rf_error *err);

/* The bytes of a tensor with its full name, without prefix; NULL if it is not stored so.
 */
const rf_tensor *rf_weights_bytes(const rf_weights *w, const char *name);

/* n elements from element `first` on. F32 data need not be aligned. */
void rf_weights_read(const rf_weights *w, float *out, const rf_tensor *t, size_t first,
                     size_t n);

/* The same, and RF_ERR_NUMERIC if one of them is not finite or is too large for the half
 * precision requested. */
rf_status rf_weights_take(const rf_weights *w, float *out, const rf_tensor *t,
                          size_t first, size_t n, rf_error *err);

/* "a NaN or an infinity near element 7" */
rf_status rf_weights_not_finite(const rf_weights *w, const rf_tensor *t, size_t at,
                                rf_error *err);

#endif
