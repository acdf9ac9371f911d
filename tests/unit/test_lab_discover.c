/*
 * Discovery in the lab: accuracy, NMI and ARI against scikit-learn and SciPy, the best
 * assignment against all of them, k-means against scikit-learn, the number of classes on
 * planted ones, and the same bits for any number of threads.
 */
#include "base/memory.h"
#include "base/rng.h"
#include "encoder/safetensors.h"
#include "lab/discover.h"
#include "lab/kmeans.h"
#include "lab/ward.h"
#include "num/vectors.h"
#include "scratch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static rf_safetensors golden;

static int open_golden(void **state)
{
    (void)state;
    return rf_safetensors_open(&golden, GOLDEN_DIR "/discovery.safetensors", NULL) !=
           RF_OK;
}

static int close_golden(void **state)
{
    (void)state;
    rf_safetensors_close(&golden);
    return 0;
}

static float *numbers(const char *name, size_t *n)
{
    const rf_tensor *t = rf_safetensors_find(&golden, name);
    if (!t)
        fail_msg("no tensor %s", name);
    float *x = malloc((t->count + 1) * sizeof *x);
    assert_non_null(x);
    memcpy(x, t->data, t->count * sizeof *x);
    *n = t->count;
    return x;
}

static void assert_close(double got, double want, double most)
{
    if (!(fabs(got - want) <= most))
        fail_msg("got %.9g, wanted %.9g", got, want);
}

static uint32_t *numbers_of(const char *name, const char *part, size_t *n, size_t *most)
{
    char full[64];
    snprintf(full, sizeof full, "%s.%s", name, part);
    float *x = numbers(full, n);
    uint32_t *out = calloc(*n, sizeof *out);
    assert_non_null(out);
    *most = 0;
    for (size_t i = 0; i < *n; i++) {
        out[i] = (uint32_t)x[i];
        *most = out[i] >= *most ? out[i] + 1 : *most;
    }
    free(x);
    return out;
}

static void figures_are_those_of_the_reference(void **state)
{
    (void)state;
    static const char *const cases[] = {"random", "noisy", "more",  "fewer",
                                        "same",   "one",   "uneven"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char name[64];
        size_t n, m, classes, clusters;
        rf_agreement a;
        snprintf(name, sizeof name, "%s.figures", cases[i]);
        float *want = numbers(name, &m);
        uint32_t *truth = numbers_of(cases[i], "truth", &n, &classes);
        uint32_t *cluster = numbers_of(cases[i], "cluster", &n, &clusters);
        assert_int_equal(
            rf_agreement_make(&a, truth, classes, cluster, clusters, NULL, n, NULL),
            RF_OK);
        assert_close(a.accuracy, (double)want[0], 1e-5); /* float32 of per cents */
        assert_close(a.nmi, (double)want[1], 1e-5);
        assert_close(a.ari, (double)want[2], 1e-5);
        free(want);
        free(truth);
        free(cluster);
    }
}

/* The best of all 5! assignments. */
static size_t best_of_all(size_t count[5][5], size_t row, unsigned used)
{
    size_t best = 0;
    for (unsigned j = 0; row < 5 && j < 5; j++)
        if (!(used >> j & 1)) {
            size_t sum = count[row][j] + best_of_all(count, row + 1, used | 1u << j);
            best = sum > best ? sum : best;
        }
    return best;
}

static void assignments_are_the_best(void **state)
{
    (void)state;
    enum { N = 40 };
    for (uint64_t seed = 0; seed < 200; seed++) {
        rf_rng r = rf_rng_open(rf_rng_key(seed, 0, 0, 0));
        uint32_t truth[N], cluster[N];
        bool use[N];
        size_t count[5][5] = {{0}}, n = 0;
        rf_agreement a;
        for (size_t i = 0; i < N; i++) {
            truth[i] = (uint32_t)rf_rng_below(&r, 5);
            cluster[i] = (uint32_t)rf_rng_below(&r, 5);
            use[i] = rf_rng_below(&r, 4) > 0;
            count[truth[i]][cluster[i]] += use[i];
            n += use[i];
        }
        assert_int_equal(rf_agreement_make(&a, truth, 5, cluster, 5, use, N, NULL),
                         RF_OK);
        assert_close(a.accuracy, 100.0 * (double)best_of_all(count, 0, 0) / (double)n,
                     1e-9);
    }
}

static void of_nothing(void **state)
{
    (void)state;
    const uint32_t one[] = {0, 0};
    const bool none[] = {false, false};
    rf_agreement a;
    assert_int_equal(rf_agreement_make(&a, one, 1, one, 1, none, 2, NULL), RF_OK);
    assert_true(isnan(a.accuracy) && isnan(a.nmi) && isnan(a.ari));
    assert_int_equal(rf_agreement_make(&a, one, 1, one, 1, NULL, 2, NULL), RF_OK);
    assert_true(a.accuracy == 100.0 && a.nmi == 100.0 && a.ari == 100.0);
}

static void kmeans_is_as_good_as_the_reference(void **state)
{
    (void)state;
    size_t n, m;
    float *points = numbers("points", &n), *want = numbers("inertia", &m);
    rf_error err = {0};
    uint32_t one[240], three[240];
    double spread, again;
    const rf_kmeans_options o = {9, 20, 100, 1, NULL};
    rf_team *team = rf_team_new(1, NULL);
    assert_int_equal(rf_kmeans(points, 240, 8, &o, one, &spread, team, &err), RF_OK);
    rf_team_free(team);
    if (!(spread <= (double)want[0] * (1.0 + 1e-5)))
        fail_msg("spread %g, the reference has %g", spread, (double)want[0]);
    team = rf_team_new(3, NULL);
    assert_int_equal(rf_kmeans(points, 240, 8, &o, three, &again, team, &err), RF_OK);
    assert_memory_equal(one, three, sizeof one);
    assert_true(spread == again);
    const rf_kmeans_options odd = {241, 1, 1, 0, NULL};
    assert_int_equal(rf_kmeans(points, 240, 8, &odd, one, NULL, team, &err), RF_ERR_ARG);
    assert_error(&err, RF_ERR_ARG, "241 clusters of 240 points");
    const rf_kmeans_options all = {240, 1, 5, 0, NULL}; /* every point by itself */
    assert_int_equal(rf_kmeans(points, 240, 8, &all, one, &spread, team, &err), RF_OK);
    assert_close(spread, 0.0, 1e-6);
    rf_team_free(team);
    free(points);
    free(want);
}

/* What joining two clusters adds to the sum of squared distances, from all points. */
static double spread_of(const float *points, const uint32_t *cluster, uint32_t a,
                        uint32_t b)
{
    double sum[8] = {0}, squares = 0.0;
    size_t n = 0;
    for (size_t i = 0; i < 60; i++)
        for (size_t j = 0; j < 8 && (cluster[i] == a || cluster[i] == b); j++) {
            double x = (double)points[i * 8 + j];
            sum[j] += x;
            squares += x * x;
            n += j == 0;
        }
    for (size_t j = 0; j < 8 && n > 0; j++)
        squares -= sum[j] * sum[j] / (double)n;
    return squares;
}

/* The cheapest of all pairs is joined, one at a time, by the definition. */
static void ward_is_that_of_brute_force(void **state)
{
    (void)state;
    enum { N = 60 };
    size_t n;
    rf_ward one, three;
    float *points = numbers("points", &n);
    uint32_t want[N], got[N];
    rf_team *team = rf_team_new(1, NULL);
    assert_int_equal(rf_ward_make(&one, points, N, 8, team, NULL), RF_OK);
    rf_team_free(team);
    team = rf_team_new(3, NULL);
    assert_int_equal(rf_ward_make(&three, points, N, 8, team, NULL), RF_OK);
    for (size_t i = 0; i + 1 < N; i++)
        assert_true(one.joins[i].cost == three.joins[i].cost &&
                    one.joins[i].a == three.joins[i].a &&
                    one.joins[i].b == three.joins[i].b);
    for (uint32_t i = 0; i < N; i++)
        want[i] = i; /* a cluster is named by its first point */
    for (size_t clusters = N; clusters >= 1; clusters--) {
        rf_agreement a;
        assert_int_equal(rf_ward_cut(&one, clusters, got, NULL), RF_OK);
        assert_int_equal(rf_agreement_make(&a, want, N, got, clusters, NULL, N, NULL),
                         RF_OK);
        assert_true(a.accuracy == 100.0);
        double least = INFINITY;
        uint32_t x = 0, y = 0;
        for (uint32_t p = 0; p < N; p++)
            for (uint32_t q = p + 1; q < N && want[p] == p; q++) {
                double cost = want[q] != q ? INFINITY
                                           : spread_of(points, want, p, q) -
                                                 spread_of(points, want, p, p) -
                                                 spread_of(points, want, q, q);
                if (cost < least) {
                    least = cost;
                    x = p;
                    y = q;
                }
            }
        for (size_t i = 0; i < N; i++)
            want[i] = want[i] == y ? x : want[i];
    }
    rf_ward_release(&one);
    rf_ward_release(&three);
    rf_team_free(team);
    free(points);
}

/* From given clusters: no more spread than theirs. */
static void kmeans_from_given_clusters(void **state)
{
    (void)state;
    size_t n;
    float *points = numbers("points", &n);
    uint32_t start[240], cluster[240];
    double spread, random;
    rf_ward tree;
    rf_team *team = rf_team_new(2, NULL);
    const rf_kmeans_options o = {.clusters = 9, .most_steps = 100, .start = start},
                            one = {.clusters = 9, .most_steps = 100, .restarts = 1};
    assert_int_equal(rf_ward_make(&tree, points, 240, 8, team, NULL), RF_OK);
    assert_int_equal(rf_ward_cut(&tree, 9, start, NULL), RF_OK);
    assert_int_equal(rf_kmeans(points, 240, 8, &o, cluster, &spread, team, NULL), RF_OK);
    double before = 0.0; /* the joins that were made are all the spread there is */
    for (size_t i = 0; i < 240 - 9; i++)
        before += tree.joins[i].cost;
    assert_true(spread <= before * (1.0 + 1e-5));
    assert_int_equal(rf_kmeans(points, 240, 8, &one, cluster, &random, team, NULL),
                     RF_OK);
    assert_true(spread <= random * 1.001);
    rf_ward_release(&tree);
    rf_team_free(team);
    free(points);
}

/* Neighbours from all distances. */
static void smoothing_is_that_of_brute_force(void **state)
{
    (void)state;
    enum { N = 60, WIDTH = 8 };
    size_t n;
    float *points = numbers("points", &n), out[N * WIDTH];
    rf_team *team = rf_team_new(2, NULL);
    rf_rows_normalise(points, points, N, WIDTH);
    assert_int_equal(rf_discover_smooth(points, N, WIDTH, out, team, NULL), RF_OK);
    for (size_t i = 0; i < N; i++) {
        double want[WIDTH], square = 0.0;
        for (size_t j = 0; j < WIDTH; j++)
            want[j] = (double)points[i * WIDTH + j];
        for (size_t k = 0; k < N; k++) {
            double own = rf_distance(points + i * WIDTH, points + k * WIDTH, WIDTH);
            size_t nearer = 0;
            for (size_t m = 0; m < N; m++)
                nearer += m != i && rf_distance(points + i * WIDTH, points + m * WIDTH,
                                                WIDTH) < own;
            for (size_t j = 0; j < WIDTH && k != i && nearer < RF_DISCOVER_NEAR; j++)
                want[j] += (double)points[k * WIDTH + j] / RF_DISCOVER_NEAR;
        }
        for (size_t j = 0; j < WIDTH; j++)
            square += want[j] * want[j];
        for (size_t j = 0; j < WIDTH; j++)
            assert_close((double)out[i * WIDTH + j], want[j] / sqrt(square), 1e-6);
    }
    assert_int_equal(rf_discover_smooth(points, 1, WIDTH, out, team, NULL), RF_OK);
    assert_memory_equal(out, points, WIDTH * sizeof *out);
    rf_team_free(team);
    free(points);
}

/* Topics with 20 points each and some points of none. */
static void the_number_of_classes_is_found(void **state)
{
    (void)state;
    enum { TOPICS = 12, N = TOPICS * 20 + 15, WIDTH = 40 };
    float *points = rf_floats_new(N * WIDTH);
    assert_non_null(points);
    for (size_t i = 0; i < N; i++) {
        float *x = points + i * WIDTH;
        size_t topic = i < TOPICS * 20 ? i % TOPICS : i;
        rf_rng t = rf_rng_open(rf_rng_key(1, topic, 0, 0));
        rf_rng own = rf_rng_open(rf_rng_key(2, i, 0, 0));
        for (size_t j = 0; j < WIDTH; j++)
            x[j] = rf_rng_uniform(&t) - 0.5f + 0.6f * (rf_rng_uniform(&own) - 0.5f);
        rf_rows_normalise(x, x, 1, WIDTH);
    }
    rf_team *team = rf_team_new(2, NULL);
    size_t count;
    assert_int_equal(rf_discover_count(points, N, WIDTH, 0.5, team, &count, NULL), RF_OK);
    assert_int_equal(count, TOPICS);
    rf_team_free(team);
    free(points);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_are_those_of_the_reference),
        cmocka_unit_test(assignments_are_the_best),
        cmocka_unit_test(of_nothing),
        cmocka_unit_test(kmeans_is_as_good_as_the_reference),
        cmocka_unit_test(ward_is_that_of_brute_force),
        cmocka_unit_test(kmeans_from_given_clusters),
        cmocka_unit_test(smoothing_is_that_of_brute_force),
        cmocka_unit_test(the_number_of_classes_is_found),
    };
    return cmocka_run_group_tests(tests, open_golden, close_golden);
}
