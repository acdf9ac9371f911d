/*
 * The shapes of bert-base-uncased (12 layers, width 768, 12 heads, inner 3072, 30,522
 * words, names with the prefix "bert."), with random weights, from the directory to the
 * features, against reference_bert.c. The weights of the real one are not in a package
 * registry; its shapes and names are what can go wrong.
 * Tolerance 2e-5 relative (L2): twelve layers of float32.
 */
#include "base/file.h"
#include "encoder/safetensors.h"
#include "near.h"
#include "reference_bert.h"
#include "ringfence_encoder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LAYERS = 12, WIDTH = 768, INNER = 3072, WORDS = 30522, POSITIONS = 512 };
enum { MAX_TENSORS = 5 + 16 * LAYERS };

typedef struct weights {
    rf_tensor_out tensors[MAX_TENSORS];
    char names[MAX_TENSORS][96];
    size_t n;
    uint32_t seed;
} weights;

static void add(weights *w, const char *name, size_t rank, size_t n0, size_t n1,
                float around, float spread)
{
    rf_tensor_out *t = &w->tensors[w->n];
    size_t count = rank == 2 ? n0 * n1 : n0;
    float *data = malloc(count * sizeof *data);
    for (size_t i = 0; i < count; i++) {
        w->seed = w->seed * 1664525u + 1013904223u;
        data[i] = around + spread * ((float)(w->seed >> 8) * 0x1p-23f - 1.0f);
    }
    snprintf(w->names[w->n], sizeof w->names[0], "bert.%s", name);
    *t = (rf_tensor_out){
        .name = w->names[w->n], .rank = rank, .shape = {n0, n1}, .data = data};
    w->n++;
}

static void add_pair(weights *w, const char *at, const char *name, size_t out, size_t in)
{
    char full[90];
    snprintf(full, sizeof full, "%s%s.weight", at, name);
    if (in)
        add(w, full, 2, out, in, 0.0f, 0.06f);
    else
        add(w, full, 1, out, 0, 1.0f, 0.2f); /* LayerNorm */
    snprintf(full, sizeof full, "%s%s.bias", at, name);
    add(w, full, 1, out, 0, 0.0f, 0.1f);
}

static void make_weights(weights *w)
{
    add(w, "embeddings.word_embeddings.weight", 2, WORDS, WIDTH, 0.0f, 0.1f);
    add(w, "embeddings.position_embeddings.weight", 2, POSITIONS, WIDTH, 0.0f, 0.05f);
    add(w, "embeddings.token_type_embeddings.weight", 2, 2, WIDTH, 0.0f, 0.05f);
    add_pair(w, "embeddings.", "LayerNorm", WIDTH, 0);
    for (size_t l = 0; l < LAYERS; l++) {
        char at[48];
        snprintf(at, sizeof at, "encoder.layer.%zu.", l);
        add_pair(w, at, "attention.self.query", WIDTH, WIDTH);
        add_pair(w, at, "attention.self.key", WIDTH, WIDTH);
        add_pair(w, at, "attention.self.value", WIDTH, WIDTH);
        add_pair(w, at, "attention.output.dense", WIDTH, WIDTH);
        add_pair(w, at, "attention.output.LayerNorm", WIDTH, 0);
        add_pair(w, at, "intermediate.dense", INNER, WIDTH);
        add_pair(w, at, "output.dense", WIDTH, INNER);
        add_pair(w, at, "output.LayerNorm", WIDTH, 0);
    }
}

static const float *by_name(void *user, const char *name)
{
    const weights *w = user;
    for (size_t i = 0; i < w->n; i++)
        if (strcmp(w->names[i] + strlen("bert."), name) == 0)
            return w->tensors[i].data;
    fail_msg("no weights called %s", name);
    return NULL;
}

static void write_file(const char *dir, const char *name, const char *text)
{
    char path[RF_PATH_MAX];
    assert_int_equal(rf_path_join(path, dir, name, NULL), RF_OK);
    assert_int_equal(rf_file_write(path, text, strlen(text), NULL), RF_OK);
}

static const char config[] =
    "{\"architectures\": [\"BertForMaskedLM\"], \"hidden_act\": \"gelu\","
    " \"hidden_size\": 768, \"intermediate_size\": 3072, \"layer_norm_eps\": 1e-12,"
    " \"max_position_embeddings\": 512, \"model_type\": \"bert\","
    " \"num_attention_heads\": 12, \"num_hidden_layers\": 12, \"type_vocab_size\": 2,"
    " \"vocab_size\": 30522}";

static void shapes_of_bert_base(void **state)
{
    (void)state;
    const char *tmp = getenv("TMPDIR");
    char base[RF_PATH_MAX], dir[RF_PATH_MAX], path[RF_PATH_MAX];
    snprintf(base, sizeof base, "%s/ringfence-bert-base", tmp && *tmp ? tmp : "/tmp");
    assert_int_equal(rf_dir_make_beside(base, dir, NULL), RF_OK);
    write_file(dir, "config.json", config);
    write_file(dir, "vocab.txt",
               "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nwhere\nis\nmy\nparcel\n");
    weights *w = calloc(1, sizeof *w);
    w->seed = 3;
    make_weights(w);
    rf_path_join(path, dir, "model.safetensors", NULL);
    assert_int_equal(rf_safetensors_write(path, w->tensors, w->n, NULL), RF_OK);

    rf_error err = {0};
    rf_encoder *e = rf_encoder_load(dir, &err);
    rf_dir_remove(dir); /* the mapping lives on; nothing is left if a check fails */
    if (!e)
        fail_msg("%s", err.msg);
    assert_int_equal(rf_encoder_describe(e).parameters, 108891648);
    rf_embedder *m = rf_embedder_new(e, NULL, &err);
    assert_non_null(m);
    const char *text = "Where is my parcel, where?";
    size_t len = strlen(text);
    float got[WIDTH];
    assert_int_equal(rf_embed(m, &text, &len, 1, got, &err), RF_OK);

    const int32_t ids[] = {2, 5, 6, 7, 8, 1, 5, 1, 3}; /* "," and "?" are not there */
    const reference_shape shape = {LAYERS, WIDTH, 12, INNER, 1e-12};
    double want[WIDTH], difference = 0, norm = 0;
    reference_bert(&shape, by_name, w, ids, sizeof ids / sizeof ids[0], want);
    for (size_t i = 0; i < WIDTH; i++) {
        difference += pow((double)got[i] - want[i], 2);
        norm += want[i] * want[i];
    }
    if (!(sqrt(difference / norm) <= 2e-5))
        fail_msg("relative difference %g", sqrt(difference / norm));
    printf("# relative difference %.2g\n", sqrt(difference / norm));

    rf_embedder_free(m);
    rf_encoder_free(e);
    for (size_t i = 0; i < w->n; i++)
        free((void *)(uintptr_t)w->tensors[i].data);
    free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(shapes_of_bert_base)};
    return cmocka_run_group_tests_name("bert_base", tests, NULL, NULL);
}
