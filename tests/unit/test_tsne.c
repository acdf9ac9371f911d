/*
 * t-SNE against the definitions in numpy (tools/make_tsne_golden.py): affinities and the
 * exact gradient; the tree against the exact sum; the quality of a map beside that of
 * scikit-learn; and the odd cases.
 *
 * Tolerances: the golden numbers are rounded to float32, 6e-8 of themselves. P also holds
 * the error of bisection (1e-12) and of distances, so 1e-6 of a number of up to 0.004;
 * the gradient cancels sums of about 0.01, so 2e-8 is added there.
 */
#include "map/tsne.h"

#include "encoder/safetensors.h"
#include "near.h"
#include "num/neighbours.h"
#include "scratch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POINTS 120
#define BLOBS 600
#define BLOB_WIDTH 16
#define BLOB_CLASSES 12

static rf_safetensors golden;
static rf_team *team;

static int setup(void **state)
{
    (void)state;
    team = rf_team_new(2, NULL);
    return !team || rf_safetensors_open(&golden, GOLDEN_DIR "/tsne.safetensors", NULL);
}

static int teardown(void **state)
{
    (void)state;
    rf_team_free(team);
    rf_safetensors_close(&golden);
    return 0;
}

static const void *tensor(const char *name, size_t count)
{
    const rf_tensor *t = rf_safetensors_find(&golden, name);
    if (!t || t->count != count)
        fail_msg("%s: found %zu numbers, wanted %zu", name, t ? t->count : 0, count);
    return t->data;
}

static void narrow(float *to, const double *from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = (float)from[i];
}

static void widen(double *to, const float *from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = (double)from[i];
}

/* ---- Against numpy ----------------------------------------------------------------- */

static rf_affinities golden_affinities(void)
{
    rf_affinities p;
    assert_int_equal(
        rf_affinities_init(&p, tensor("x", POINTS * 10), POINTS, 10, 12.0, team, NULL),
        RF_OK);
    return p;
}

static void affinities_of_the_definition(void **state)
{
    (void)state;
    static float dense[POINTS * POINTS];
    double sum = 0;
    rf_affinities p = golden_affinities();
    memset(dense, 0, sizeof dense);
    for (size_t i = 0; i < POINTS; i++)
        for (size_t e = p.begin[i]; e < p.begin[i + 1]; e++) {
            assert_true(e == p.begin[i] || p.row[e] > p.row[e - 1]);
            assert_true(p.row[e] != i);
            dense[i * POINTS + p.row[e]] = (float)p.value[e];
            sum += p.value[e];
        }
    /* distances come in single precision, and stand in an exponent */
    assert_near("P", dense, tensor("p", POINTS * POINTS), POINTS * POINTS, 1e-12, 5e-6);
    assert_true(fabs(sum - 1) < 1e-12);
    rf_affinities_release(&p);
}

static void gradient_of_the_definition(void **state)
{
    (void)state;
    double map[2 * POINTS], gradient[2 * POINTS], sums[POINTS];
    float got[2 * POINTS];
    const float *want = tensor("gradient", 4 * POINTS);
    rf_affinities p = golden_affinities();
    rf_quadtree tree;
    assert_int_equal(rf_quadtree_init(&tree, POINTS, NULL), RF_OK);
    widen(map, tensor("map", 2 * POINTS), 2 * POINTS);
    for (size_t i = 0; i < 2; i++) {
        rf_tsne_gradient(gradient, map, &p, i ? 4 : 1, 0, &tree, sums, team);
        narrow(got, gradient, 2 * POINTS);
        assert_near("gradient", got, want + i * 2 * POINTS, 2 * POINTS, 2e-8, 1e-6);
        /* the tree gives nearly the same, and not by being exact */
        rf_tsne_gradient(gradient, map, &p, i ? 4 : 1, 0.5, &tree, sums, team);
        narrow(got, gradient, 2 * POINTS);
        assert_near("gradient by tree", got, want + i * 2 * POINTS, 2 * POINTS, 2e-4, 0);
        assert_memory_not_equal(got, want + i * 2 * POINTS, sizeof got);
    }
    rf_quadtree_release(&tree);
    rf_affinities_release(&p);
}

/* ---- The quality of a map ---------------------------------------------------------- */

static double squared(const double *a, const double *b)
{
    return (a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]);
}

/* The share of points most of whose five nearest in the map are of their class. */
static double agreement(const double *map, const int32_t *classes)
{
    size_t good = 0;
    for (size_t i = 0; i < BLOBS; i++) {
        bool used[BLOBS] = {false};
        size_t same = 0;
        used[i] = true;
        for (size_t k = 0; k < 5; k++) {
            size_t best = SIZE_MAX;
            for (size_t j = 0; j < BLOBS; j++)
                if (!used[j] &&
                    (best == SIZE_MAX || squared(map + 2 * i, map + 2 * j) <
                                             squared(map + 2 * i, map + 2 * best)))
                    best = j;
            used[best] = true;
            same += classes[best] == classes[i];
        }
        good += same > 2;
    }
    return (double)good / BLOBS;
}

/* All other points of each, nearest first. */
static void rank_all(uint32_t *index, const float *x, size_t width)
{
    static float d[BLOBS * (BLOBS - 1)];
    rf_neighbours among;
    assert_int_equal(rf_neighbours_init(&among, x, BLOBS, width, NULL), RF_OK);
    assert_int_equal(
        rf_neighbours_find_all(&among, x, BLOBS, BLOBS - 1, true, index, d, team, NULL),
        RF_OK);
    rf_neighbours_release(&among);
}

/* 1 - what new neighbours in the map cost by their rank in the space (Venna and Kaski).
 */
static double trustworthiness(const double *map, const float *x, size_t k)
{
    static uint32_t in_map[BLOBS * (BLOBS - 1)], in_space[BLOBS * (BLOBS - 1)];
    float flat[2 * BLOBS];
    double cost = 0, n = BLOBS, kk = (double)k;
    narrow(flat, map, 2 * BLOBS);
    rank_all(in_map, flat, 2);
    rank_all(in_space, x, BLOB_WIDTH);
    for (size_t i = 0; i < BLOBS; i++)
        for (size_t a = 0; a < k; a++)
            for (size_t rank = k; rank < BLOBS - 1; rank++)
                if (in_space[i * (BLOBS - 1) + rank] == in_map[i * (BLOBS - 1) + a])
                    cost += (double)(rank + 1) - kk;
    return 1 - cost * 2 / (n * kk * (2 * n - 3 * kk - 1));
}

static void as_good_as_another_program(void **state)
{
    (void)state;
    static double map[2 * BLOBS];
    const float *x = tensor("blobs", BLOBS * BLOB_WIDTH), *theirs = tensor("quality", 2);
    rf_tsne_options o = rf_tsne_options_default();
    assert_int_equal(rf_tsne(map, x, BLOBS, BLOB_WIDTH, &o, team, NULL), RF_OK);
    double a = agreement(map, tensor("blob_class", BLOBS));
    double t = trustworthiness(map, x, 12);
    print_message("# agreement %.4f (scikit-learn %.4f), trustworthiness %.4f (%.4f)\n",
                  a, (double)theirs[0], t, (double)theirs[1]);
    assert_true(a > (double)theirs[0] - 0.01);
    assert_true(t > (double)theirs[1] - 0.003);
}

static void same_bits_for_any_number_of_threads(void **state)
{
    (void)state;
    static double one[2 * BLOBS], other[2 * BLOBS];
    const float *x = tensor("blobs", BLOBS * BLOB_WIDTH);
    rf_tsne_options o = rf_tsne_options_default();
    o.iterations = 60;
    o.early = 30;
    for (size_t threads = 1; threads < 6; threads += 2) {
        rf_team *some = rf_team_new(threads, NULL);
        assert_int_equal(
            rf_tsne(threads == 1 ? one : other, x, BLOBS, BLOB_WIDTH, &o, some, NULL),
            RF_OK);
        rf_team_free(some);
        if (threads > 1)
            assert_memory_equal(one, other, sizeof one);
    }
}

/* ---- Odd cases --------------------------------------------------------------------- */

enum { EQUAL, TWO_PLACES, LINE, HUGE_AND_TINY };

static void fill(float *x, size_t n, size_t width, int kind)
{
    for (size_t i = 0; i < n * width; i++)
        switch (kind) {
        case EQUAL: x[i] = 0.5f; break;
        case TWO_PLACES: x[i] = i / width % 2 ? 1 : -3; break;
        case LINE: x[i] = (float)(i / width) * (float)(i % width); break;
        default: x[i] = i % 2 ? 1e18f : 1e-18f * (float)i;
        }
}

static void odd_sets(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 2, 3, 4, 5, 33, 300};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int kind = EQUAL; kind <= HUGE_AND_TINY; kind++) {
            size_t n = sizes[s], width = 1 + s;
            float *x = calloc(n * width + 1, sizeof *x);
            double *map = malloc((2 * n + 1) * sizeof *map);
            rf_tsne_options o = rf_tsne_options_default();
            fill(x, n, width, kind);
            for (size_t i = 0; i < 2 * n; i++)
                map[i] = NAN;
            assert_int_equal(rf_tsne(map, x, n, width, &o, team, NULL), RF_OK);
            for (size_t i = 0; i < 2 * n; i++)
                assert_true(isfinite(map[i]) && fabs(map[i]) < 1e5);
            free(x);
            free(map);
        }
}

/* Two clusters of equal points stay apart: each point is nearer to all of its own. */
static void duplicates_stay_together(void **state)
{
    (void)state;
    enum { N = 100 };
    float x[N * 3];
    double map[2 * N], within = 0, between = INFINITY;
    rf_tsne_options o = rf_tsne_options_default();
    fill(x, N, 3, TWO_PLACES);
    assert_int_equal(rf_tsne(map, x, N, 3, &o, team, NULL), RF_OK);
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < N; j++) {
            double d = squared(map + 2 * i, map + 2 * j);
            if (i % 2 == j % 2)
                within = fmax(within, d);
            else
                between = fmin(between, d);
        }
    assert_true(within < between);
}

static int stop_at_once(void *user, size_t done, size_t total)
{
    (void)done;
    ++*(int *)user;
    return total > 0;
}

static void wrong_calls(void **state)
{
    (void)state;
    rf_error err = {0};
    double map[8];
    float x[8] = {1, 2, 3, NAN};
    int calls = 0;
    rf_tsne_options o = rf_tsne_options_default();
    assert_int_equal(rf_tsne(map, x, 4, 2, &o, team, &err), RF_ERR_NUMERIC);
    assert_error(&err, RF_ERR_NUMERIC, "NaN");
    x[3] = 4;
    o.theta = 0.9;
    assert_int_equal(rf_tsne(map, x, 4, 2, &o, team, &err), RF_ERR_ARG);
    assert_error(&err, RF_ERR_ARG, "theta", "0.9", "0.7");
    o = rf_tsne_options_default();
    o.perplexity = NAN;
    assert_int_equal(rf_tsne(map, x, 4, 2, &o, team, &err), RF_ERR_ARG);
    o = rf_tsne_options_default();
    o.progress = stop_at_once;
    o.user = &calls;
    assert_int_equal(rf_tsne(map, x, 4, 2, &o, team, &err), RF_ERR_STOPPED);
    assert_int_equal(calls, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(affinities_of_the_definition),
        cmocka_unit_test(gradient_of_the_definition),
        cmocka_unit_test(as_good_as_another_program),
        cmocka_unit_test(same_bits_for_any_number_of_threads),
        cmocka_unit_test(odd_sets),
        cmocka_unit_test(duplicates_stay_together),
        cmocka_unit_test(wrong_calls),
    };
    return cmocka_run_group_tests_name("tsne", tests, setup, teardown);
}
