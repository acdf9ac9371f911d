/*
 * Weight files that are nearly right: the tiny encoder's model.safetensors taken apart,
 * changed in one place, and put together again. The format of the file itself is
 * tested in test_safetensors.
 */
#include "encoder/encoder.h"

#include "spoiled.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Features of two texts by the encoder in a directory: out is [2, 32]. */
static void embed(const char *from, float out[64])
{
    const char *texts[] = {"please cancel my order", "where is the ring?"};
    const size_t lens[] = {22, 18};
    rf_error err = {0};
    rf_embed_options o = rf_embed_options_default();
    o.threads = 1;
    rf_encoder *e = rf_encoder_load(from, &err);
    rf_embedder *m = e ? rf_embedder_new(e, &o, &err) : NULL;
    if (!m || rf_embed(m, texts, lens, 2, out, &err) != RF_OK)
        fail_msg("%s", err.msg);
    rf_embedder_free(m);
    rf_encoder_free(e);
}

/* ---- Taking apart and putting together ----------------------------------------------
 */

typedef struct entry {
    char name[128];
    rf_dtype dtype;
    size_t rank, shape[2];
    unsigned char *data;
    size_t size;
} entry;

typedef struct weights {
    entry entries[64];
    size_t n;
} weights;

static void read_weights(weights *w, const char *variant)
{
    char path[RF_PATH_MAX];
    rf_safetensors st;
    snprintf(path, sizeof path, TINY "%s/model.safetensors", variant);
    assert_int_equal(rf_safetensors_open(&st, path, NULL), RF_OK);
    assert_true(st.n_tensors <= 64);
    w->n = st.n_tensors;
    for (size_t i = 0; i < w->n; i++) {
        const rf_tensor *t = &st.tensors[i];
        entry *e = &w->entries[i];
        *e = (entry){.dtype = t->dtype,
                     .rank = t->rank,
                     .shape = {t->shape[0], t->shape[1]},
                     .size = t->count * rf_dtype_size(t->dtype)};
        snprintf(e->name, sizeof e->name, "%s", t->name);
        e->data = malloc(e->size);
        assert_non_null(e->data);
        memcpy(e->data, t->data, e->size);
    }
    rf_safetensors_close(&st);
}

static void release_weights(weights *w)
{
    for (size_t i = 0; i < w->n; i++)
        free(w->entries[i].data);
}

/* Entries without a name are left out; `padding` spaces follow the header. */
static void write_weights(const weights *w, int padding)
{
    char header[16384], shape[160], path[RF_PATH_MAX];
    size_t n = 0, at = 0;
    for (size_t i = 0; i < w->n; i++) {
        const entry *e = &w->entries[i];
        if (!e->name[0])
            continue;
        n += (size_t)snprintf(header + n, sizeof header - n,
                              "%c\"%s\":{\"dtype\":\"%s\",\"shape\":%s,"
                              "\"data_offsets\":[%zu,%zu]}",
                              n ? ',' : '{', e->name, rf_dtype_name(e->dtype),
                              rf_shape_text(shape, e->shape, e->rank), at, at + e->size);
        at += e->size;
        assert_true(n < sizeof header);
    }
    n += (size_t)snprintf(header + n, sizeof header - n, "}%*s", padding, "");
    assert_true(n < sizeof header);
    scratch_path(path, dir, "model.safetensors");
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    for (size_t i = 0; i < 8; i++)
        fputc((int)(n >> 8 * i & 0xff), f);
    fwrite(header, 1, n, f);
    for (size_t i = 0; i < w->n; i++)
        if (w->entries[i].name[0])
            fwrite(w->entries[i].data, 1, w->entries[i].size, f);
    assert_int_equal(fclose(f), 0);
}

static entry *entry_of(weights *w, const char *name)
{
    for (size_t i = 0; i < w->n; i++)
        if (strcmp(w->entries[i].name, name) == 0)
            return &w->entries[i];
    fail_msg("%s: no such tensor", name);
    return NULL;
}

/* ---- Tests ------------------------------------------------------------------------- */

static void missing_tensor(void **state)
{
    (void)state;
    weights w;
    read_weights(&w, "encoder");
    for (size_t i = 0; i < w.n; i++) {
        char first = w.entries[i].name[0], quoted[160];
        snprintf(quoted, sizeof quoted, "\"%s\" is missing", w.entries[i].name);
        w.entries[i].name[0] = '\0';
        write_weights(&w, 0);
        if (first == 'p') /* pooler: not used */
            accept();
        else
            refuse(RF_ERR_FORMAT, quoted, "wanted [");
        w.entries[i].name[0] = first;
    }
    release_weights(&w);
}

static void wrong_type_or_rank(void **state)
{
    (void)state;
    weights w;
    read_weights(&w, "encoder");
    entry *e = entry_of(&w, "encoder.layer.1.output.dense.bias");
    static const rf_dtype types[] = {RF_I64, RF_I32, RF_F64, RF_F8_E4M3, RF_BOOL, RF_U16};
    unsigned char *own = e->data, room[32 * 8] = {0};
    e->data = room;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        char part[40];
        e->dtype = types[i];
        e->size = 32 * rf_dtype_size(types[i]);
        snprintf(part, sizeof part, "is %s, wanted F32", rf_dtype_name(types[i]));
        write_weights(&w, 0);
        refuse(RF_ERR_VERSION, e->name, part);
    }
    e->dtype = RF_F32;
    e->size = 32 * 4;
    e->rank = 2;
    e->shape[0] = 1;
    e->shape[1] = 32;
    write_weights(&w, 0);
    refuse(RF_ERR_FORMAT, e->name, "is [1, 32], wanted [32] by config.json");
    e->shape[0] = 32;
    e->shape[1] = 1;
    write_weights(&w, 0);
    refuse(RF_ERR_FORMAT, e->name, "is [32, 1], wanted [32] by config.json");
    e->rank = 0;
    e->size = 4;
    write_weights(&w, 0);
    refuse(RF_ERR_FORMAT, e->name, "is [], wanted [32] by config.json");
    e->rank = 1;
    e->shape[0] = 0;
    e->size = 0;
    write_weights(&w, 0);
    refuse(RF_ERR_FORMAT, e->name, "is [0], wanted [32] by config.json");
    e->data = own;
    release_weights(&w);
}

/* Put the pattern of a NaN or an infinity at both ends of a tensor's first row. */
static void refuse_number(weights *w, const char *name, uint32_t f32, uint16_t f16,
                          uint16_t bf16)
{
    entry *e = entry_of(w, name);
    size_t width = rf_dtype_size(e->dtype);
    size_t row =
        e->rank == 2 && strstr(name, "token_type") ? e->shape[1] * width : e->size;
    const void *bits = e->dtype == RF_F32   ? (const void *)&f32
                       : e->dtype == RF_F16 ? (const void *)&f16
                                            : (const void *)&bf16;
    const size_t places[] = {0, row - width};
    for (size_t i = 0; i < 2; i++) {
        unsigned char old[4];
        memcpy(old, e->data + places[i], width);
        memcpy(e->data + places[i], bits, width);
        write_weights(w, 0);
        refuse(RF_ERR_NUMERIC, name, "a NaN or an infinity");
        memcpy(e->data + places[i], old, width);
    }
}

static void not_finite(void **state)
{
    (void)state;
    static const char *const variants[][2] = {
        {"encoder", ""}, {"encoder_f16", "bert."}, {"encoder_bf16", ""}};
    static const char *const names[] = {
        "embeddings.word_embeddings.weight",
        "embeddings.position_embeddings.weight",
        "embeddings.token_type_embeddings.weight",
        "embeddings.LayerNorm.weight",
        "embeddings.LayerNorm.bias",
        "encoder.layer.0.attention.self.query.weight",
        "encoder.layer.1.attention.self.value.bias",
        "encoder.layer.1.attention.output.LayerNorm.bias",
        "encoder.layer.0.intermediate.dense.weight",
        "encoder.layer.1.output.dense.weight",
        "encoder.layer.1.output.LayerNorm.weight",
    };
    for (size_t v = 0; v < sizeof variants / sizeof variants[0]; v++) {
        weights w;
        scratch_encoder(dir, variants[v][0]);
        read_weights(&w, variants[v][0]);
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
            char name[128];
            snprintf(name, sizeof name, "%s%s", variants[v][1], names[i]);
            refuse_number(&w, name, 0x7f800000, 0x7c00, 0x7f80); /* infinity */
            refuse_number(&w, name, 0xff800000, 0xfc00, 0xff80); /* minus infinity */
            refuse_number(&w, name, 0x7fc00000, 0x7e00, 0x7fc0); /* a quiet NaN */
            refuse_number(&w, name, 0xff800001, 0xfc01, 0xff81); /* a signalling one */
        }
        write_weights(&w, 0); /* all put back */
        accept();
        release_weights(&w);
    }
}

/* Every weight is finite, but the features are not. */
static void finite_but_too_large(void **state)
{
    (void)state;
    weights w;
    rf_error err = {0};
    const char *text = "where";
    size_t len = 5, n;
    float out[8 * 32];
    read_weights(&w, "encoder");
    entry *e = entry_of(&w, "encoder.layer.1.output.LayerNorm.weight");
    for (size_t i = 0; i < e->size / sizeof(float); i++)
        ((float *)(void *)e->data)[i] = 3e38f;
    write_weights(&w, 0);
    rf_encoder *encoder = rf_encoder_load(dir, &err);
    rf_embedder *m = encoder ? rf_embedder_new(encoder, NULL, &err) : NULL;
    assert_non_null(m);
    assert_int_equal(rf_embed(m, &text, &len, 1, out, &err), RF_ERR_NUMERIC);
    assert_error(&err, RF_ERR_NUMERIC, "a NaN or an infinity");
    assert_int_equal(rf_embedder_states(m, text, len, 2, out, 8, &n, &err),
                     RF_ERR_NUMERIC);
    assert_int_equal(rf_embedder_states(m, text, len, 1, out, 8, &n, &err), RF_OK);
    rf_embedder_free(m);
    rf_encoder_free(encoder);
    release_weights(&w);
}

/* What is allowed and must not change a bit: LayerNorm's old names, and weights at odd
 * addresses. */
static void same_features(void **state)
{
    (void)state;
    static const char *const variants[] = {"encoder", "encoder_f16", "encoder_bf16"};
    for (size_t v = 0; v < sizeof variants / sizeof variants[0]; v++) {
        char original[RF_PATH_MAX];
        float want[64], got[64];
        weights w;
        snprintf(original, sizeof original, TINY "%s", variants[v]);
        embed(original, want);
        scratch_encoder(dir, variants[v]);
        read_weights(&w, variants[v]);
        for (int padding = 0; padding < 4; padding++) {
            write_weights(&w, padding);
            embed(dir, got);
            assert_memory_equal(got, want, sizeof want);
        }
        size_t renamed = 0;
        for (size_t i = 0; i < w.n; i++) {
            char *at = strstr(w.entries[i].name, "LayerNorm.");
            if (at && ++renamed)
                strcpy(at, strstr(at, "weight") ? "LayerNorm.gamma" : "LayerNorm.beta");
        }
        assert_int_equal(renamed, 10);
        write_weights(&w, 0);
        embed(dir, got);
        assert_memory_equal(got, want, sizeof want);
        release_weights(&w);
    }
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(missing_tensor),       TEST(wrong_type_or_rank), TEST(not_finite),
        TEST(finite_but_too_large), TEST(same_features),
    };
    return cmocka_run_group_tests_name("bad weights", tests, NULL, NULL);
}
