/*
 * The forward pass, layer by layer, against PyTorch in double precision on tiny random
 * encoders (tools/make_tiny_encoder.py): single, half and bfloat16 weights, with and
 * without the prefix, another epsilon, a width that is no multiple of a panel.
 * Tolerance 1e-5 absolute: a plain float32 pass differs by up to 1.2e-6 on outputs up to
 * 4.5; the smallest mistake we know of (tanh GELU) gives 5e-4.
 */
#include "encoder/forward.h"
#include "near.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static rf_safetensors expected;

static int open_expected(void **state)
{
    (void)state;
    return rf_safetensors_open(&expected, GOLDEN_DIR "/tiny/expected.safetensors",
                               NULL) != RF_OK;
}

static int close_expected(void **state)
{
    (void)state;
    rf_safetensors_close(&expected);
    return 0;
}

static const rf_tensor *want(const char *variant, int c, const char *what)
{
    char name[64];
    snprintf(name, sizeof name, "%s.%d.%s", variant, c, what);
    const rf_tensor *t = rf_safetensors_find(&expected, name);
    assert_non_null(t);
    return t;
}

static void compare(const char *variant, int c, const char *what, const float *got)
{
    const rf_tensor *t = want(variant, c, what);
    float *copy = malloc(t->count * sizeof *copy);
    memcpy(copy, t->data, t->count * sizeof *copy);
    assert_near(t->name, got, copy, t->count, 1e-5, 0);
    free(copy);
}

/* All six texts of a variant: packed into one batch, each layer compared. */
static void check_variant(const char *variant, const char *dir)
{
    enum { TEXTS = 6 };
    char path[RF_PATH_MAX];
    rf_error err = {0};
    snprintf(path, sizeof path, "%s/tiny/%s", GOLDEN_DIR, dir);
    rf_encoder *e = rf_encoder_load(path, &err);
    if (!e)
        fail_msg("%s", err.msg);
    int32_t ids[512];
    size_t offsets[TEXTS + 1] = {0}, width = e->config.width;
    for (int c = 0; c < TEXTS; c++) {
        const rf_tensor *t = want(variant, c, "ids");
        memcpy(ids + offsets[c], t->data, t->count * sizeof *ids);
        offsets[c + 1] = offsets[c] + t->count;
    }
    rf_workspace w;
    assert_int_equal(rf_workspace_init(&w, e, offsets[TEXTS], 1, RF_PRECISION_FP32, &err),
                     RF_OK);
    rf_batch batch = {ids, offsets, TEXTS};
    for (size_t layer = 0; layer <= e->config.layers; layer++) {
        char what[16];
        snprintf(what, sizeof what, "layer%zu", layer);
        rf_forward(e, &w, &batch, layer, NULL, 0, 1);
        for (int c = 0; c < TEXTS; c++)
            compare(variant, c, what, w.x + offsets[c] * width);
    }
    rf_workspace_release(&w);
    rf_encoder_free(e);
}

static void single(void **state)
{
    (void)state, check_variant("f32", "encoder");
}
static void half(void **state)
{
    (void)state, check_variant("f16", "encoder_f16");
}
static void bfloat(void **state)
{
    (void)state, check_variant("bf16", "encoder_bf16");
}
static void epsilon(void **state)
{
    (void)state, check_variant("eps", "encoder_eps");
}

static void describes_itself(void **state)
{
    (void)state;
    rf_encoder *e = rf_encoder_load(GOLDEN_DIR "/tiny/encoder", NULL);
    assert_non_null(e);
    rf_encoder_info i = rf_encoder_describe(e);
    assert_int_equal(i.layers, 2);
    assert_int_equal(i.width, 32);
    assert_int_equal(i.heads, 4);
    assert_int_equal(i.inner, 72);
    assert_int_equal(i.vocab_size, 119);
    assert_int_equal(i.max_tokens, 40);
    /* embeddings + 2 layers, counted by hand; the pooler is not ours */
    size_t layer = 4 * (32 * 32 + 32) + 2 * 32 + (72 * 32 + 72) + (32 * 72 + 32) + 2 * 32;
    assert_int_equal(i.parameters, (119 + 40 + 2) * 32 + 2 * 32 + 2 * layer);
    assert_int_equal(rf_vocab_size(rf_encoder_vocab(e)), 119);
    rf_encoder_free(e);
    rf_encoder_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(single),           cmocka_unit_test(half),
        cmocka_unit_test(bfloat),           cmocka_unit_test(epsilon),
        cmocka_unit_test(describes_itself),
    };
    return cmocka_run_group_tests_name("encoder", tests, open_expected, close_expected);
}
