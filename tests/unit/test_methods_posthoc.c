/*
 * test_methods_posthoc.c - methods fitted after training
 *
 * Against scikit-learn, SciPy, PyTorch and
 * NumPy in double precision (tools/make_posthoc_golden.py, tools/make_nearest_golden.py).
 *
 * Tolerances: our features are float32; the reference computes with the same numbers in
 * float64, so that hidden layer and logits differ by about 1e-6 relative, and ratios of
 * distances and densities by a few times that. 2e-5 relative unless stated otherwise. No
 * row of the file lies within 1e-4 of LOF's fence.
 */
#include "encoder/safetensors.h"
#include "method_run.h"
#include "near.h"
#include "num/panels.h"
#include "methods/adb.h"
#include "methods/dev_score.h"
#include "methods/gumbel.h"
#include "num/neighbours.h"
#include "num/vectors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH 20
#define CLASSES 5
#define ROWS 96
#define DEV 30
#define TEST 44
#define LOF_K 7
#define KNN_K 4

static rf_safetensors golden, cosines; /* cosines: of nearest-text and whitened-mean */
static rf_team *team;
static rf_known known;

/* The tensor's numbers, owned by the file. */
static const void *find(const char *name, size_t want)
{
    const rf_tensor *t = rf_safetensors_find(&golden, name);
    t = t ? t : rf_safetensors_find(&cosines, name);
    if (!t || t->count != want)
        fail_msg("%s: found %zu numbers, wanted %zu", name, t ? t->count : 0, want);
    assert_int_equal(rf_dtype_size(t->dtype), 4);
    assert_true((uintptr_t)t->data % 4 == 0);
    return t->data;
}

static int open_golden(void **state)
{
    (void)state;
    if (rf_safetensors_open(&golden, GOLDEN_DIR "/posthoc.safetensors", NULL) != RF_OK ||
        rf_safetensors_open(&cosines, GOLDEN_DIR "/nearest.safetensors", NULL) != RF_OK)
        return 1;
    team = rf_team_new(2, NULL);
    if (!team || rf_known_init(&known, WIDTH, CLASSES, NULL) != RF_OK)
        return 1;
    rf_panels_pack(known.dense_w, find("dense_w", WIDTH * WIDTH), WIDTH, WIDTH);
    rf_panels_pack(known.out_w, find("out_w", CLASSES * WIDTH), CLASSES, WIDTH);
    memcpy(known.dense_b, find("dense_b", WIDTH), WIDTH * sizeof(float));
    memcpy(known.out_b, find("out_b", CLASSES), CLASSES * sizeof(float));
    return 0;
}

static int close_golden(void **state)
{
    (void)state;
    rf_known_release(&known);
    rf_team_free(team);
    rf_safetensors_close(&golden);
    rf_safetensors_close(&cosines);
    return 0;
}

static rf_settings options(void)
{
    return (rf_settings){.contamination = 0.1f,
                         .quantile = 0.95f,
                         .threshold = 0.5f,
                         .tail = 12,
                         .ranks = 3,
                         .boundary_epochs = 100,
                         .boundary_rate = 0.05f};
}

static rf_fit problem(const rf_settings *o, bool dev)
{
    return (rf_fit){.width = WIDTH,
                    .classes = CLASSES,
                    .rows = ROWS,
                    .z = find("z", ROWS * WIDTH),
                    .class_of = find("class", ROWS),
                    .dev_rows = dev ? DEV : 0,
                    .dev_z = dev ? find("dev_z", DEV * WIDTH) : NULL,
                    .dev_class = dev ? find("dev_class", DEV) : NULL,
                    .known = &known,
                    .o = o,
                    .seed = 3,
                    .team = team};
}

/* Fence and answers of a method for the test rows. */
typedef struct outcome {
    rf_method_state f;
    rf_verdict verdict[TEST];
    float margins[TEST * CLASSES];
} outcome;

static void fit_and_judge(outcome *r, const rf_method *m, const rf_settings *o, bool dev)
{
    rf_fit in = problem(o, dev);
    fit_method(&r->f, m, &in);
    judge_rows(&r->f, m, &known, find("test_z", TEST * WIDTH), TEST, RF_JUDGE_ROWS,
               r->verdict, r->margins);
}

static void assert_classes_are_the_largest_logits(const outcome *r)
{
    const float *logits = find("logits", TEST * CLASSES);
    for (size_t i = 0; i < TEST; i++)
        assert_int_equal(r->verdict[i].nearest,
                         rf_largest(logits + i * CLASSES, CLASSES));
}

/* ---- LOF and neighbours ------------------------------------------------------------ */

static void lof_matches_scikit_learn(void **state)
{
    (void)state;
    rf_settings o = options();
    o.neighbours = LOF_K;
    outcome r;
    fit_and_judge(&r, &rf_method_lof, &o, true);
    assert_true(*r.f.arrays[4].data == LOF_K);
    assert_near("kdist", r.f.arrays[1].data, find("lof.kdist", ROWS), ROWS, 0, 2e-5);
    assert_near("lrd", r.f.arrays[2].data, find("lof.lrd", ROWS), ROWS, 0, 2e-5);
    assert_near("offset", r.f.arrays[3].data, find("lof.offset", 1), 1, 0, 2e-5);
    const float *want = find("lof.score", TEST);
    for (size_t i = 0; i < TEST; i++) {
        assert_int_equal(r.verdict[i].fence, r.verdict[i].nearest);
        for (size_t c = 0; c < CLASSES; c++)
            assert_near("score", &r.margins[i * CLASSES + c], &want[i], 1, 3e-5, 2e-5);
        assert_int_equal(r.margins[i * CLASSES] >= 0.0f, want[i] >= 0.0f);
    }
    assert_classes_are_the_largest_logits(&r);
    drop_state(&r.f, &rf_method_lof);
}

static void neighbours_match_scikit_learn(void **state)
{
    (void)state;
    float *z = copy_floats(NULL, ROWS * WIDTH), *x = copy_floats(NULL, TEST * WIDTH);
    rf_rows_normalise(z, find("z", ROWS * WIDTH), ROWS, WIDTH);
    rf_rows_normalise(x, find("test_z", TEST * WIDTH), TEST, WIDTH);
    rf_neighbours s;
    assert_int_equal(rf_neighbours_init(&s, z, ROWS, WIDTH, NULL), RF_OK);
    uint32_t index[TEST * KNN_K];
    float distance[TEST * KNN_K];
    assert_int_equal(
        rf_neighbours_find_all(&s, x, TEST, KNN_K, false, index, distance, team, NULL),
        RF_OK);
    assert_memory_equal(index, find("knn.index", TEST * KNN_K), sizeof index);
    assert_near("distance", distance, find("knn.distance", TEST * KNN_K), TEST * KNN_K, 0,
                2e-6);
    rf_neighbours_release(&s);
    free(z);
    free(x);
}

static void knn_threshold_is_a_quantile_of_dev_or_training_rows(void **state)
{
    (void)state;
    rf_settings o = options();
    o.neighbours = KNN_K;
    const float *distance = find("knn.distance", TEST * KNN_K);
    for (int dev = 0; dev < 2; dev++) {
        outcome r;
        fit_and_judge(&r, &rf_method_knn, &o, dev);
        const float *threshold = find(dev ? "knn.dev" : "knn.own", 1);
        assert_near("threshold", r.f.arrays[1].data, threshold, 1, 0, 5e-6);
        for (size_t i = 0; i < TEST * CLASSES; i++) {
            float want = *threshold - distance[i / CLASSES * KNN_K + KNN_K - 1];
            assert_near("margin", &r.margins[i], &want, 1, 5e-6, 0);
        }
        assert_classes_are_the_largest_logits(&r);
        drop_state(&r.f, &rf_method_knn);
    }
}

/* ---- Mahalanobis ------------------------------------------------------------------- */

static void mahalanobis_uses_the_ledoit_wolf_covariance(void **state)
{
    (void)state;
    rf_settings o = options();
    const float *distance = find("mahalanobis.distance", TEST * CLASSES);
    for (int dev = 0; dev < 2; dev++) {
        outcome r;
        fit_and_judge(&r, &rf_method_mahalanobis, &o, dev);
        const float *threshold = find(dev ? "mahalanobis.dev" : "mahalanobis.own", 1);
        assert_near("threshold", r.f.arrays[3].data, threshold, 1, 0, 2e-5);
        for (size_t i = 0; i < TEST; i++) {
            size_t nearest = 0;
            for (size_t c = 0; c < CLASSES; c++) {
                float want = *threshold - distance[i * CLASSES + c];
                assert_near("margin", &r.margins[i * CLASSES + c], &want, 1, 3e-4, 2e-5);
                if (distance[i * CLASSES + c] < distance[i * CLASSES + nearest])
                    nearest = c;
            }
            assert_int_equal(r.verdict[i].fence, nearest);
        }
        assert_classes_are_the_largest_logits(&r);
        drop_state(&r.f, &rf_method_mahalanobis);
    }
}

/* ---- Cosines ----------------------------------------------------------------------- */

/* Margins, classes and the threshold of a method that answers with the largest cosine.
 * name: of its tensors; threshold: its array. */
static void check_cosines(const rf_method *m, const char *name, size_t threshold)
{
    rf_settings o = options();
    char tensor[32];
    snprintf(tensor, sizeof tensor, "%s.cosine", name);
    const float *cosine = find(tensor, TEST * CLASSES);
    for (int dev = 0; dev < 2; dev++) {
        outcome r;
        size_t open = 0;
        fit_and_judge(&r, m, &o, dev);
        snprintf(tensor, sizeof tensor, "%s.%s", name, dev ? "dev" : "own");
        const float *want = find(tensor, 1);
        assert_near("threshold", r.f.arrays[threshold].data, want, 1, 2e-6, 0);
        for (size_t i = 0; i < TEST; i++) {
            size_t best = rf_largest(cosine + i * CLASSES, CLASSES);
            for (size_t c = 0; c < CLASSES; c++) {
                float margin = cosine[i * CLASSES + c] - *want;
                assert_near("margin", &r.margins[i * CLASSES + c], &margin, 1, 4e-6, 0);
            }
            assert_int_equal(r.verdict[i].nearest, best);
            assert_int_equal(r.verdict[i].fence, best);
            open += r.margins[i * CLASSES + best] < 0.0f;
        }
        assert_true(open > 3 && open < TEST - 3);
        drop_state(&r.f, m);
    }
}

static void nearest_text_matches_numpy(void **state)
{
    (void)state;
    check_cosines(&rf_method_nearest_text, "text", 2);
}

static void whitened_mean_matches_numpy(void **state)
{
    (void)state;
    check_cosines(&rf_method_whitened_mean, "mean", 3);
}

/* ---- MSP and OpenMax --------------------------------------------------------------- */

static void msp_is_the_softmax_minus_the_threshold(void **state)
{
    (void)state;
    rf_settings o = options();
    o.threshold = 0.75f;
    outcome r;
    fit_and_judge(&r, &rf_method_msp, &o, false);
    const float *p = find("msp.prob", TEST * CLASSES);
    for (size_t i = 0; i < TEST * CLASSES; i++) {
        float want = p[i] - 0.75f;
        assert_near("margin", &r.margins[i], &want, 1, 3e-6, 0);
        assert_int_equal(r.verdict[i / CLASSES].fence, r.verdict[i / CLASSES].nearest);
    }
    assert_classes_are_the_largest_logits(&r);
    drop_state(&r.f, &rf_method_msp);
}

static void gumbel_fits_match_scipy(void **state)
{
    (void)state;
    const float *data = find("gumbel.data", 60), *a = find("gumbel.location", 3);
    const float *b = find("gumbel.scale", 3);
    for (size_t i = 0; i < 3; i++) {
        double x[20], location, scale;
        for (size_t j = 0; j < 20; j++)
            x[j] = (double)data[i * 20 + j];
        assert_true(rf_gumbel_fit(x, 20, &location, &scale));
        float got[2] = {(float)location, (float)scale}, want[2] = {a[i], b[i]};
        assert_near("fit", got, want, 2, 0, 1e-6);
        assert_true(fabs(rf_gumbel_cdf(location, location, scale) - (1 - exp(-1))) <
                    1e-12);
    }
    double same[3] = {0.25, 0.25, 0.25}, location, scale;
    assert_false(rf_gumbel_fit(same, 3, &location, &scale));
    assert_false(rf_gumbel_fit(same, 1, &location, &scale));
    assert_false(rf_gumbel_fit(same, 0, &location, &scale));
}

static void openmax_follows_the_formulas(void **state)
{
    (void)state;
    for (int textoir = 0; textoir < 2; textoir++) {
        rf_settings o = options();
        o.textoir = textoir;
        outcome r;
        fit_and_judge(&r, &rf_method_openmax, &o, false);
        /* cosine distances are small differences of rounded logits: 1e-7 / 1e-2 */
        assert_near("location", r.f.arrays[1].data, find("openmax.location", CLASSES),
                    CLASSES, 1e-6, 1e-5);
        assert_near("scale", r.f.arrays[2].data, find("openmax.scale", CLASSES), CLASSES,
                    1e-6, 1e-5);
        const float *p =
            find(textoir ? "openmax.textoir" : "openmax.prob", TEST * (CLASSES + 1));
        for (size_t i = 0; i < TEST; i++, p += CLASSES + 1) {
            float least = fmaxf(0.5f, p[CLASSES]);
            assert_int_equal(r.verdict[i].nearest, rf_largest(p, CLASSES));
            assert_int_equal(r.verdict[i].fence, r.verdict[i].nearest);
            for (size_t c = 0; c < CLASSES; c++) {
                float want = p[c] - least;
                assert_near("margin", &r.margins[i * CLASSES + c], &want, 1, 3e-5, 0);
            }
        }
        drop_state(&r.f, &rf_method_openmax);
    }
}

/* ---- ADB --------------------------------------------------------------------------- */

#define STEPS 4
#define BATCH 16

static void boundaries_move_as_in_torch(void **state)
{
    (void)state;
    rf_adb_boundary b;
    assert_int_equal(rf_adb_boundary_init(&b, CLASSES, NULL), RF_OK);
    memcpy(b.raw, find("adb.raw", CLASSES), CLASSES * sizeof(float));
    const float *distance = find("adb.distance", STEPS * BATCH);
    const uint32_t *class_of = find("adb.class", STEPS * BATCH);
    const float *losses = find("adb.loss", STEPS);
    const float *after = find("adb.after", STEPS * CLASSES);
    uint32_t rows[BATCH];
    for (size_t step = 0; step < STEPS; step++) {
        for (size_t i = 0; i < BATCH; i++)
            rows[i] = (uint32_t)(step * BATCH + i);
        float loss = (float)rf_adb_step(&b, distance, class_of, rows, BATCH, 0.05f);
        assert_near("loss", &loss, &losses[step], 1, 0, 1e-6);
        assert_near("raw", b.raw, after + step * CLASSES, CLASSES, 1e-6, 1e-6);
    }
    assert_true(b.raw[CLASSES - 1] == *((const float *)find("adb.raw", CLASSES) + 4));
    rf_adb_boundary_release(&b);
}

/* sigma(raw) (rows inside - rows outside) / rows */
static void gradients_count_rows_inside_and_outside(void **state)
{
    (void)state;
    rf_adb_boundary b;
    assert_int_equal(rf_adb_boundary_init(&b, 2, NULL), RF_OK);
    b.raw[0] = 0.5f;  /* radius 0.974 */
    b.raw[1] = -1.0f; /* radius 0.313 */
    const float distance[5] = {0.9f, 1.0f, 2.0f, 0.1f, 3.0f};
    const uint32_t class_of[5] = {0, 0, 0, 1, 0}, rows[5] = {4, 3, 2, 1, 0};
    float loss = (float)rf_adb_step(&b, distance, class_of, rows, 5, 0.05f);
    float want = (float)((0.074077 + 0.025923 + 1.025923 + 0.213262 + 2.025923) / 5);
    assert_near("loss", &loss, &want, 1, 1e-6, 0);
    const float gradient[2] = {(float)(-2.0 / 5 / (1 + exp(-0.5))),
                               (float)(1.0 / 5 / (1 + exp(1.0)))};
    assert_near("gradient", b.gradient, gradient, 2, 1e-7, 0);
    rf_adb_boundary_release(&b);
}

static void macro_f1_counts_the_classes_that_occur(void **state)
{
    (void)state;
    const uint32_t *truth = find("adb.truth", 48), *answers = find("adb.answers", 48);
    const float *want = find("adb.score", 4);
    rf_dev_score score;
    assert_int_equal(rf_dev_score_init(&score, CLASSES + 1, NULL), RF_OK);
    for (size_t i = 0; i < 4; i++) {
        rf_dev_score_clear(&score);
        for (size_t k = i * 12; k < i * 12 + 12; k++)
            rf_dev_score_count(&score, truth[k], answers[k]);
        float got = (float)rf_dev_score_f1(&score);
        assert_near("macro-F1", &got, &want[i], 1, 1e-4, 0);
    }
    rf_dev_score_release(&score);
}

/* With dropout p, a feature vector is farther from its centroid:
 * E d^2 = |x - c|^2 + p / (1 - p) |x|^2. A class that is one point gets about that
 * radius. */
static void adb_learns_with_dropout(void **state)
{
    (void)state;
    enum { W = 64, N = 40 };
    float x[N * W];
    uint32_t class_of[N] = {0};
    for (size_t i = 0; i < N * W; i++)
        x[i] = 1.0f + (float)(i % W % 3);
    double square = 0.0;
    for (size_t j = 0; j < W; j++)
        square += (double)x[j] * (double)x[j];
    rf_error err = {0};
    for (int drop = 0; drop < 2; drop++) {
        rf_method_state f = {.width = W, .classes = 1};
        const rf_settings o = {.boundary_epochs = 400, .boundary_rate = 0.05f};
        const rf_fit in = {.rows = N,
                           .z = x,
                           .class_of = class_of,
                           .o = &o,
                           .dropout = drop ? 0.2f : 0.0f};
        assert_int_equal(rf_adb_fit(&f, &in, NULL, &err), RF_OK);
        double radius = (double)f.arrays[1].data[0];
        double want = drop ? sqrt(0.2 / 0.8 * square) : 0.0;
        if (!(fabs(radius - want) < 0.1 * sqrt(square) * (drop ? 0.5 : 0.1)))
            fail_msg("dropout %d: radius %g, wanted about %g", drop, radius, want);
        rf_method_state_release(&f);
    }
}

static int by_size(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* With enough steps a radius is a median: about half of the class's rows lie inside. */
static void radii_converge_to_the_median_distance(void **state)
{
    (void)state;
    rf_settings o = options();
    o.boundary_epochs = 3000;
    o.boundary_rate = 0.01f;
    rf_fit in = problem(&o, false);
    rf_method_state f;
    fit_method(&f, &rf_method_adb, &in);
    float *hidden = copy_floats(NULL, ROWS * WIDTH),
          *logits = copy_floats(NULL, ROWS * CLASSES);
    rf_known_logits(&known, in.z, ROWS, logits, hidden);
    for (size_t c = 0; c < CLASSES; c++) {
        float d[ROWS];
        size_t n = 0;
        for (size_t i = 0; i < ROWS; i++)
            if (in.class_of[i] == c)
                d[n++] = (float)rf_distance(hidden + i * WIDTH,
                                            f.arrays[0].data + c * WIDTH, WIDTH);
        qsort(d, n, sizeof *d, by_size);
        float low = d[(n - 1) / 2], high = d[n / 2], radius = f.arrays[1].data[c];
        if (!(radius > low - 0.03f && radius < high + 0.03f))
            fail_msg("class %zu: radius %g, median %g to %g", c, (double)radius,
                     (double)low, (double)high);
    }
    free(hidden);
    free(logits);
    drop_state(&f, &rf_method_adb);
}

/* Margins are radius minus distance to the centroid of the class's rows; with dev rows
 * learning stops early, at different radii. */
static void adb_measures_from_the_centroids(void **state)
{
    (void)state;
    rf_settings o = options();
    outcome r, early;
    fit_and_judge(&r, &rf_method_adb, &o, false);
    fit_and_judge(&early, &rf_method_adb, &o, true);
    assert_memory_equal(r.f.arrays[0].data, early.f.arrays[0].data,
                        CLASSES * WIDTH * sizeof(float));
    assert_memory_not_equal(r.f.arrays[1].data, early.f.arrays[1].data,
                            CLASSES * sizeof(float));
    const float *hidden = find("hidden", TEST * WIDTH);
    for (size_t i = 0; i < TEST; i++) {
        float d[CLASSES], least = INFINITY;
        for (size_t c = 0; c < CLASSES; c++) {
            d[c] = 0.0f;
            for (size_t j = 0; j < WIDTH; j++) {
                float e = hidden[i * WIDTH + j] - r.f.arrays[0].data[c * WIDTH + j];
                d[c] += e * e;
            }
            d[c] = sqrtf(d[c]);
            least = fminf(least, d[c]);
            float want = r.f.arrays[1].data[c] - d[c];
            assert_near("margin", &r.margins[i * CLASSES + c], &want, 1, 2e-5, 0);
        }
        assert_true(d[r.verdict[i].nearest] == least);
        assert_int_equal(r.verdict[i].fence, r.verdict[i].nearest);
    }
    drop_state(&r.f, &rf_method_adb);
    drop_state(&early.f, &rf_method_adb);
}

/* ---- Quantiles --------------------------------------------------------------------- */

static void quantiles_interpolate(void **state)
{
    (void)state;
    double x[] = {5, 1, 4, 2, 3}, two[] = {7, 3}, one[] = {9};
    assert_true(rf_quantile(x, 5, 0.0) == 1.0 && rf_quantile(x, 5, 1.0) == 5.0);
    assert_true(fabs(rf_quantile(x, 5, 0.05) - 1.2) < 1e-12);
    assert_true(fabs(rf_quantile(x, 5, 0.9) - 4.6) < 1e-12);
    assert_true(fabs(rf_quantile(two, 2, 0.25) - 4.0) < 1e-12);
    assert_true(rf_quantile(one, 1, 0.95) == 9.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lof_matches_scikit_learn),
        cmocka_unit_test(neighbours_match_scikit_learn),
        cmocka_unit_test(knn_threshold_is_a_quantile_of_dev_or_training_rows),
        cmocka_unit_test(mahalanobis_uses_the_ledoit_wolf_covariance),
        cmocka_unit_test(nearest_text_matches_numpy),
        cmocka_unit_test(whitened_mean_matches_numpy),
        cmocka_unit_test(msp_is_the_softmax_minus_the_threshold),
        cmocka_unit_test(gumbel_fits_match_scipy),
        cmocka_unit_test(openmax_follows_the_formulas),
        cmocka_unit_test(boundaries_move_as_in_torch),
        cmocka_unit_test(gradients_count_rows_inside_and_outside),
        cmocka_unit_test(adb_learns_with_dropout),
        cmocka_unit_test(macro_f1_counts_the_classes_that_occur),
        cmocka_unit_test(radii_converge_to_the_median_distance),
        cmocka_unit_test(adb_measures_from_the_centroids),
        cmocka_unit_test(quantiles_interpolate),
    };
    return cmocka_run_group_tests(tests, open_golden, close_golden);
}
