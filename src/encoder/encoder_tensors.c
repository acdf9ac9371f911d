/* encoder_tensors.c - the encoder as the tensors of a Hugging Face file, for writing */
#include "encoder/encoder.h"

#include "num/panels.h"

#include <stdio.h>
#include <string.h>

static rf_encoder_tensor vector(const float *values, size_t n)
{
    return (rf_encoder_tensor){
        .rank = 1, .shape = {n}, .rows = 1, .columns = n, .values = values};
}

/* In memory positions and token types are summed; their tables are in the file. */
static rf_encoder_tensor table(const rf_encoder *e, const char *name, size_t rows)
{
    size_t width = e->config.width;
    return (rf_encoder_tensor){.rank = 2,
                               .shape = {rows, width},
                               .rows = rows,
                               .columns = width,
                               .stored = rf_weights_find(&e->weights, name, "weight",
                                                         NULL, 2, rows, width, NULL)};
}

static rf_encoder_tensor embedding(const rf_encoder *e, size_t i)
{
    static const char *const names[RF_EMBEDDING_TENSORS] = {
        "embeddings.word_embeddings", "embeddings.position_embeddings",
        "embeddings.token_type_embeddings", "embeddings.LayerNorm",
        "embeddings.LayerNorm"};
    const size_t rows[] = {e->config.vocab_size, e->config.positions, e->config.types};
    rf_encoder_tensor t =
        i < 3 ? table(e, names[i], rows[i])
              : vector(i == 3 ? e->embed_gain : e->embed_shift, e->config.width);
    snprintf(t.name, sizeof t.name, "%s.%s", names[i], i == 4 ? "bias" : "weight");
    return t;
}

rf_encoder_tensor rf_encoder_tensor_at(const rf_encoder *e, size_t i)
{
    if (i < RF_EMBEDDING_TENSORS)
        return embedding(e, i);
    i -= RF_EMBEDDING_TENSORS;
    size_t layer = i / RF_LAYER_TENSORS, group = 0;
    i %= RF_LAYER_TENSORS;
    rf_layer_group g = rf_encoder_layer_group(e, layer, 0);
    while (i >= 2 * g.n_names) {
        i -= 2 * g.n_names;
        g = rf_encoder_layer_group(e, layer, ++group);
    }
    size_t part = i / 2;
    bool bias = i % 2;
    rf_encoder_tensor t = vector(bias ? g.bias + part * g.out : g.weight, g.out);
    if (!bias && g.in > 0)
        t = (rf_encoder_tensor){.rank = 2,
                                .shape = {g.out, g.in},
                                .rows = g.out,
                                .columns = g.in,
                                .values = g.weight,
                                .panels = true,
                                .first_row = part * g.out};
    snprintf(t.name, sizeof t.name, "encoder.layer.%zu.%s.%s", layer, g.names[part],
             bias ? "bias" : "weight");
    return t;
}

void rf_encoder_tensor_rows(const rf_encoder *e, const rf_encoder_tensor *t, size_t first,
                            size_t n, float *out)
{
    if (t->stored)
        rf_weights_read(&e->weights, out, t->stored, first * t->columns, n * t->columns);
    else if (t->panels)
        rf_panels_unpack_rows(out, t->values, t->first_row + first, n, t->columns);
    else
        memcpy(out, t->values + first * t->columns, n * t->columns * sizeof(float));
}
