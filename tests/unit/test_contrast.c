/*
 * test_contrast.c - the contrastive loss of KNN-contrastive and its queue against PyTorch
 * in double precision (tools/make_cosine_golden.py), and the dev score against numbers
 * computed by hand
 *
 * Tolerances: loss 2e-6 relative; gradients 2e-7 (they are about 0.1) + 1e-5 of
 * themselves.
 */
#include "encoder/safetensors.h"
#include "near.h"
#include "num/kernels.h"
#include "methods/contrast.h"
#include "methods/dev_score.h"

#include <stdio.h>

#define WIDTH 24

static rf_safetensors golden;

static int open_golden(void **state)
{
    (void)state;
    return rf_safetensors_open(&golden, GOLDEN_DIR "/cosine.safetensors", NULL) != RF_OK;
}

static int close_golden(void **state)
{
    (void)state;
    rf_safetensors_close(&golden);
    return 0;
}

/* The tensor "ab", which must have `want` numbers of 4 bytes; read in place. */
static const void *load(const char *a, const char *b, size_t want)
{
    char name[96];
    snprintf(name, sizeof name, "%s%s", a, b);
    const rf_tensor *t = rf_safetensors_find(&golden, name);
    if (!t || t->count != want || rf_dtype_size(t->dtype) != 4)
        fail_msg("%s: found %zu numbers, wanted %zu", name, t ? t->count : 0, want);
    return t->data;
}

/* Fifty keys added to a ring of 37 in two calls: the last 37 remain. */
static void the_contrastive_loss_matches_pytorch(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        size_t top;
        bool unmasked;
    } variants[] = {
        {"queue.top", 5, false}, {"queue.all", 100, false}, {"queue.unmasked", 5, true}};
    const float *keys = load("queue.", "keys", 50 * WIDTH);
    const uint32_t *key_class = load("queue.", "class_of", 50);
    const float *queries = load("queue.", "queries", 6 * WIDTH);
    for (size_t i = 0; i < 3; i++) {
        rf_contrast c;
        float dq[6 * WIDTH];
        assert_int_equal(rf_contrast_init(&c, WIDTH, 37, 9, variants[i].top, 0.5f,
                                          variants[i].unmasked, NULL),
                         RF_OK);
        rf_contrast_add(&c, keys, key_class, 21);
        rf_contrast_add(&c, keys + 21 * WIDTH, key_class + 21, 29);
        float loss =
            (float)rf_contrast_loss(&c, queries, load("queue.", "query_class", 6), 6, dq);
        assert_near("loss", &loss, load(variants[i].name, ".loss", 1), 1, 0.0, 2e-6);
        assert_near("dq", dq, load(variants[i].name, ".dq", 6 * WIDTH), 6 * WIDTH, 2e-7,
                    1e-5);
        rf_contrast_clear(&c);
        assert_true(rf_contrast_loss(&c, queries, key_class, 6, dq) == 0.0);
        assert_true(dq[0] == 0.0f && dq[6 * WIDTH - 1] == 0.0f);
        rf_contrast_release(&c);
    }
}

/* Queries without a positive, or without a negative, have no loss and no gradient. */
static void a_query_without_partners_has_no_loss(void **state)
{
    (void)state;
    const float *keys = load("queue.", "keys", 50 * WIDTH);
    const uint32_t one[8] = {0}, other[2] = {0, 3};
    float dq[2 * WIDTH];
    rf_contrast c;
    assert_int_equal(rf_contrast_init(&c, WIDTH, 20, 2, 5, 0.5f, false, NULL), RF_OK);
    rf_contrast_add(&c, keys, one, 8);
    assert_true(rf_contrast_loss(&c, keys, other, 2, dq) == 0.0);
    for (size_t i = 0; i < 2 * WIDTH; i++)
        assert_true(dq[i] == 0.0f);
    rf_contrast_release(&c);
}

/* A temperature at which every exp() of a similarity is 0 or infinite in a float. */
static void a_small_temperature_stays_finite(void **state)
{
    (void)state;
    const float *keys = load("queue.", "keys", 50 * WIDTH);
    const uint32_t *key_class = load("queue.", "class_of", 50);
    float dq[6 * WIDTH];
    rf_contrast c;
    assert_int_equal(rf_contrast_init(&c, WIDTH, 50, 6, 5, 1e-4f, false, NULL), RF_OK);
    rf_contrast_add(&c, keys, key_class, 50);
    double loss = rf_contrast_loss(&c, keys + 7 * WIDTH, key_class, 6, dq);
    assert_true(isfinite(loss) && loss > 0.0);
    assert_true(rf_kernels()->all_finite(dq, 6 * WIDTH));
    rf_contrast_release(&c);
}

/* ---- The score -----------------------------------------------------------------------
 */

/* Answers 0 0 1 3 to rows 0 1 1 1, class 2 in neither: F1 of 0 and 1 is 2/3 and 1/2, of
 * 3, which no row is of, 0. A row of no class does not count. */
static void scores_match_hand_computed_ones(void **state)
{
    (void)state;
    const float logits[5][4] = {{1}, {1}, {0, 1, 1}, {0, 0, 0, 1}, {0, 1}};
    const uint32_t class_of[5] = {0, 1, 1, 1, 4};
    rf_dev_score s;
    assert_int_equal(rf_dev_score_init(&s, 4, NULL), RF_OK);
    for (size_t again = 0; again < 2; again++) {
        rf_dev_score_clear(&s);
        rf_dev_score_add(&s, logits[0], class_of, 2);
        rf_dev_score_add(&s, logits[2], class_of + 2, 3);
        assert_true(fabs(rf_dev_score_accuracy(&s) - 50.0) < 1e-12);
        assert_true(fabs(rf_dev_score_f1(&s) - 100.0 * (2.0 / 3 + 0.5) / 3) < 1e-12);
    }
    rf_dev_score_clear(&s);
    assert_true(rf_dev_score_accuracy(&s) == 0.0 && rf_dev_score_f1(&s) == 0.0);
    rf_dev_score_release(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_contrastive_loss_matches_pytorch),
        cmocka_unit_test(a_query_without_partners_has_no_loss),
        cmocka_unit_test(a_small_temperature_stays_finite),
        cmocka_unit_test(scores_match_hand_computed_ones),
    };
    return cmocka_run_group_tests(tests, open_golden, close_golden);
}
