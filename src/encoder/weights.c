/* weights.c - reads tensors of a weight file as floats */
#include "encoder/weights.h"

#include "num/kernels.h"
#include "num/train.h"

#include <stdio.h>
#include <string.h>

rf_weights rf_weights_in(const rf_safetensors *file, bool half)
{
    bool prefixed = rf_safetensors_find(file, "bert.embeddings.word_embeddings.weight");
    return (rf_weights){.file = file,
                        .prefix = prefixed ? "bert." : "",
                        .half = half,
                        .narrow = half ? rf_train_kernels()->narrow_f16 : NULL};
}

/* Finds scale and zero of a tensor of bytes. */
static rf_status link_scale(const rf_safetensors *s, const rf_tensor *t, rf_error *err)
{
    char name[256];
    float pair[2];
    snprintf(name, sizeof name, "%s_scale", t->name);
    const rf_tensor *scale = rf_safetensors_find(s, name);
    if (!scale || scale->dtype != RF_F32 || scale->rank != 1 || scale->count != 2)
        return rf_fail(err, RF_ERR_VERSION, t->offset,
                       "%s: tensor \"%.100s\" is U8, wanted F32, F16 or BF16, or two F32 "
                       "in \"%.100s\" that say what its bytes mean",
                       s->name, t->name, name);
    memcpy(pair, scale->data, sizeof pair);
    /* Bytes of weights are 8 bits around a zero; so all products are finite. */
    if (!(pair[0] > 0.0f && pair[0] <= 65504.0f / 255.0f && pair[1] >= 0.0f &&
          pair[1] <= 255.0f))
        return rf_fail(err, RF_ERR_NUMERIC, scale->offset,
                       "%s: tensor \"%.100s\" has scale %g and zero %g, wanted a scale "
                       "above 0 and a zero from 0 to 255",
                       s->name, name, (double)pair[0], (double)pair[1]);
    if (t->quantised[0] != pair[0] || t->quantised[1] != pair[1])
        memcpy(s->tensors[t - s->tensors].quantised, pair, sizeof pair);
    return RF_OK;
}

const rf_tensor *rf_weights_bytes(const rf_weights *w, const char *name)
{
    char full[256];
    snprintf(full, sizeof full, "%s%s", w->prefix, name);
    const rf_tensor *t = rf_safetensors_find(w->file, full);
    return t && t->dtype == RF_U8 && link_scale(w->file, t, NULL) == RF_OK ? t : NULL;
}

const rf_tensor *rf_weights_find(const rf_weights *w, const char *name,
                                 const char *ending, const char *old, size_t rank,
                                 size_t n0, size_t n1, rf_error *err)
{
    char full[256], found_shape[160], want_shape[160];
    const rf_safetensors *s = w->file;
    const size_t shape[2] = {n0, n1};
    snprintf(full, sizeof full, "%s%s.%s", w->prefix, name, ending);
    const rf_tensor *t = rf_safetensors_find(s, full);
    if (!t && old) {
        char alt[256];
        snprintf(alt, sizeof alt, "%s%s.%s", w->prefix, name, old);
        t = rf_safetensors_find(s, alt);
    }
    if (!t) {
        rf_fail(err, RF_ERR_FORMAT, 0, "%s: tensor \"%s\" is missing, wanted %s", s->name,
                full, rf_shape_text(want_shape, shape, rank));
        return NULL;
    }
    if (t->rank != rank || t->shape[0] != n0 || (rank == 2 && t->shape[1] != n1)) {
        rf_fail(err, RF_ERR_FORMAT, t->offset,
                "%s: tensor \"%.100s\" is %s, wanted %s by config.json", s->name, t->name,
                rf_shape_text(found_shape, t->shape, t->rank),
                rf_shape_text(want_shape, shape, rank));
        return NULL;
    }
    if (t->dtype == RF_U8)
        return link_scale(s, t, err) == RF_OK ? t : NULL;
    bool known = t->dtype == RF_F32 || t->dtype == RF_F16 || t->dtype == RF_BF16;
    if (!known || (w->only_half && t->dtype != RF_F16)) {
        rf_fail(err, RF_ERR_VERSION, t->offset, "%s: tensor \"%.100s\" is %s, wanted F%s",
                s->name, t->name, rf_dtype_name(t->dtype),
                w->only_half ? "16" : "32, F16 or BF16");
        return NULL;
    }
    return t;
}

void rf_weights_read(const rf_weights *w, float *out, const rf_tensor *t, size_t first,
                     size_t n)
{
    const rf_kernel_table *k = rf_kernels();
    const unsigned char *from = t->data + first * rf_dtype_size(t->dtype);
    bool round = w->half && t->dtype != RF_F16;
    if (t->dtype == RF_F32 && !round) {
        memcpy(out, from, n * sizeof(float));
        return;
    }
    if (t->dtype == RF_U8) {
        for (size_t i = 0; i < n; i++)
            out[i] = t->quantised[0] * ((float)from[i] - t->quantised[1]);
        return;
    }
    uint16_t halves[512]; /* through a copy: data in a file need not be aligned */
    for (size_t i = 0; i < n; i += 512) {
        size_t some = n - i < 512 ? n - i : 512;
        if (t->dtype == RF_F32) {
            memcpy(out + i, from + 4 * i, 4 * some);
        } else {
            memcpy(halves, from + 2 * i, 2 * some);
            (t->dtype == RF_F16 ? k->widen_f16 : k->widen_bf16)(out + i, halves, some);
        }
        if (round) {
            w->narrow(halves, out + i, some);
            k->widen_f16(out + i, halves, some);
        }
    }
}

rf_status rf_weights_not_finite(const rf_weights *w, const rf_tensor *t, size_t at,
                                rf_error *err)
{
    return rf_fail(err, RF_ERR_NUMERIC, t->offset + at * rf_dtype_size(t->dtype),
                   "%s: tensor \"%.100s\": a NaN or an infinity near element %zu, wanted "
                   "finite weights",
                   w->file->name, t->name, at);
}

rf_status rf_weights_take(const rf_weights *w, float *out, const rf_tensor *t,
                          size_t first, size_t n, rf_error *err)
{
    rf_weights_read(w, out, t, first, n);
    if (rf_kernels()->all_finite(out, n))
        return RF_OK;
    rf_weights as_it_is = *w;
    as_it_is.half = false;
    rf_weights_read(&as_it_is, out, t, first, n);
    if (!rf_kernels()->all_finite(out, n))
        return rf_weights_not_finite(w, t, first, err);
    return rf_fail(err, RF_ERR_NUMERIC, t->offset + first * rf_dtype_size(t->dtype),
                   "%s: tensor \"%.100s\": a number near element %zu is too large for "
                   "half precision, wanted at most 65504",
                   w->file->name, t->name, first);
}
