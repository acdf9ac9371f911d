/*
 * The protocol of the experiments: numpy's permutation against numpy's own, the known
 * classes of all 90 published splits against their lists, and which rows of which file
 * count, with which class.
 */
#include "base/file.h"
#include "lab/numpy_draw.h"
#include "lab/split.h"

#include "scratch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- numpy ------------------------------------------------------------------------- */

/* np.random.seed(seed); np.random.permutation(n), numpy 1.24 */
static const struct {
    uint32_t seed;
    size_t n;
    uint32_t want[20];
} drawn[] = {
    {0, 20, {18, 1, 19, 8, 10, 17, 6, 13, 4, 2, 5, 14, 9, 7, 16, 11, 3, 0, 15, 12}},
    {1, 20, {3, 16, 6, 10, 2, 14, 4, 17, 7, 1, 13, 0, 19, 18, 9, 15, 8, 12, 11, 5}},
    {4294967295u, 7, {1, 5, 0, 6, 4, 2, 3}},
    {3, 2, {1, 0}},
    {12345, 1, {0}},
};

static void test_permutation(void **state)
{
    uint32_t got[20];
    (void)state;
    for (size_t i = 0; i < sizeof drawn / sizeof drawn[0]; i++) {
        rf_numpy_permutation(got, drawn[i].n, drawn[i].seed);
        assert_memory_equal(got, drawn[i].want, drawn[i].n * sizeof got[0]);
    }
    rf_numpy_permutation(got, 0, 1); /* nothing is written */
    assert_int_equal(got[0], 0);
}

/* Long enough for the generator to turn over its state several times. */
static void test_long_permutation(void **state)
{
    static const uint32_t first[] = {3406, 757, 3624, 4544, 3235, 1868},
                          last[] = {537, 1220, 4271};
    enum { N = 5000 };
    uint32_t *got = malloc(N * sizeof *got);
    uint64_t sum = 0;
    (void)state;
    assert_non_null(got);
    rf_numpy_permutation(got, N, 7);
    assert_memory_equal(got, first, sizeof first);
    assert_memory_equal(got + N - 3, last, sizeof last);
    for (size_t i = 0; i < N; i++)
        sum += i * got[i];
    assert_int_equal(sum, 31161627936u);
    free(got);
}

static void test_number_of_known(void **state)
{
    static const struct {
        size_t classes;
        double ratio;
        size_t want;
    } cases[] = {{77, .25, 19}, {77, .5, 38},    {77, .75, 58}, {150, .25, 38},
                 {150, .5, 75}, {150, .75, 112}, {20, .25, 5},  {20, .75, 15},
                 {3, .1, 1},    {1, 1, 1},       {5, .5, 2},    {7, .5, 4},
                 {10, 1, 10}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(rf_split_known(cases[i].classes, cases[i].ratio), cases[i].want);
}

/* ---- The published splits ---------------------------------------------------------- */

static const struct {
    const char *set;
    size_t test_rows;
} sets[] = {{"banking", 3080}, {"oos", 5700}, {"stackoverflow", 6000}};

static rf_dataset *read_set(const char *set, const char *part)
{
    char path[RF_PATH_MAX];
    rf_error err = {0};
    rf_data_options o = rf_data_options_default();
    o.raw_tsv = true;
    snprintf(path, sizeof path, "%s/%s/%s.tsv", SHARED_DATA_DIR, set, part);
    rf_dataset *data = rf_dataset_read(path, &o, &err);
    if (!data)
        fail_msg("%s", err.msg);
    return data;
}

/* Each row is one that belongs there, has the right class, and none was left out. */
static void check_part(const rf_split *s, const rf_split_rows *rows,
                       const rf_dataset *data, bool with_open)
{
    size_t next = 0;
    for (size_t i = 0; i < rf_dataset_rows(data); i++) {
        const char *label = rf_dataset_label(data, rf_dataset_class(data, i), NULL);
        size_t k = 0;
        while (k < s->classes && strcmp(s->label[k], label) != 0)
            k++;
        if (k == s->classes && !with_open)
            continue;
        assert_in_range(next, 0, rows->n - 1);
        assert_int_equal(rows->row[next], i);
        assert_int_equal(rows->class_index[next], k);
        next++;
    }
    assert_int_equal(next, rows->n);
}

static void check_list(const rf_split *s, const char *set, const char *ratio,
                       uint64_t seed)
{
    char path[RF_PATH_MAX], sha[RF_SHA256_HEX];
    snprintf(path, sizeof path, "%s/known_classes/%s_%s_seed%llu.txt", SHARED_DATA_DIR,
             set, ratio, (unsigned long long)seed);
    size_t len = 0, at = 0;
    char *list = scratch_read(path, &len);
    for (size_t i = 0; i < s->classes; i++) {
        size_t n = strlen(s->drawn[i]);
        if (at + n > len || memcmp(list + at, s->drawn[i], n) != 0 ||
            (at + n < len && list[at + n] != '\n'))
            fail_msg("%s: class %zu is %s", path, i, s->drawn[i]);
        at += n + 1;
    }
    assert_in_range(at, len, len + 1); /* all of it, with or without a last newline */
    rf_sha256_bytes(list, at - 1, sha);
    assert_string_equal(s->classes_sha256, sha);
    free(list);
}

static void test_published(void **state)
{
    static const char *const ratios[] = {"0.25", "0.5", "0.75"};
    (void)state;
    if (!rf_file_exists(SHARED_DATA_DIR "/known_classes")) {
        printf("SKIPPED: no benchmark data beside the repository\n");
        skip();
    }
    for (size_t i = 0; i < 3; i++) {
        rf_dataset *train = read_set(sets[i].set, "train"),
                   *dev = read_set(sets[i].set, "dev"),
                   *test = read_set(sets[i].set, "test");
        for (size_t r = 0; r < 3; r++)
            for (uint64_t seed = 0; seed < 10; seed++) {
                rf_split s;
                rf_error err = {0};
                rf_split_options o = {.ratio = strtod(ratios[r], NULL), .seed = seed};
                if (rf_split_make(&s, train, dev, test, &o, &err) != RF_OK)
                    fail_msg("%s", err.msg);
                check_list(&s, sets[i].set, ratios[r], seed);
                assert_int_equal(s.test.n, sets[i].test_rows);
                if (seed == 0) {
                    check_part(&s, &s.train, train, false);
                    check_part(&s, &s.dev, dev, false);
                    check_part(&s, &s.test, test, true);
                }
                rf_split_release(&s);
            }
        rf_dataset_free(train);
        rf_dataset_free(dev);
        rf_dataset_free(test);
    }
}

/* ---- Rows -------------------------------------------------------------------------- */

/* Rows "x" with these labels, one character each. */
static rf_dataset *make(const char *labels)
{
    rf_dataset *data = rf_dataset_new(NULL);
    assert_non_null(data);
    for (; *labels; labels++)
        assert_int_equal(rf_dataset_add(data, "x", 1, labels, 1, NULL), RF_OK);
    return data;
}

static void check_rows(const rf_split_rows *rows, const char *want)
{
    char got[256] = "";
    for (size_t i = 0; i < rows->n; i++)
        snprintf(got + strlen(got), sizeof got - strlen(got), "%u:%u ", rows->row[i],
                 rows->class_index[i]);
    assert_string_equal(got, want);
}

/* By hand. Seed 3 of four classes b, d, e, g: numpy draws 3, 1, 0, 2, so two of them are
 * g and d; by name d is 0 and g is 1. */
static void test_rows(void **state)
{
    rf_dataset *train = make("gbdegbd"), *dev = make("bagd"), *test = make("zgadbe");
    rf_split s;
    (void)state;
    rf_split_options o = {.ratio = 0.5, .seed = 3};
    assert_int_equal(rf_split_make(&s, train, dev, test, &o, NULL), RF_OK);
    assert_int_equal(s.classes, 2);
    assert_string_equal(s.drawn[0], "g");
    assert_string_equal(s.drawn[1], "d");
    assert_string_equal(s.label[0], "d");
    assert_string_equal(s.label[1], "g");
    check_rows(&s.train, "0:1 2:0 4:1 6:0 ");
    check_rows(&s.dev, "2:1 3:0 ");
    check_rows(&s.test, "0:2 1:1 2:2 3:0 4:2 5:2 ");
    char sha[RF_SHA256_HEX];
    rf_sha256_bytes("g\nd", 3, sha);
    assert_string_equal(s.classes_sha256, sha);
    rf_split_release(&s);
    rf_split_release(&s);
    /* a number instead of a share; no dev rows */
    o = (rf_split_options){.n_classes = 4, .seed = 3};
    assert_int_equal(rf_split_make(&s, train, NULL, test, &o, NULL), RF_OK);
    assert_int_equal(s.classes, 4);
    assert_int_equal(s.dev.n, 0);
    check_rows(&s.test, "0:4 1:3 2:4 3:1 4:0 5:2 ");
    rf_split_release(&s);
    rf_dataset_free(train);
    rf_dataset_free(dev);
    rf_dataset_free(test);
}

static bool holds(const rf_split_rows *rows, uint32_t row)
{
    for (size_t i = 0; i < rows->n; i++)
        if (rows->row[i] == row)
            return true;
    return false;
}

/* Few rows: so many of each class, in order, nested, others for another seed, and the
 * same for a class whatever else is known. */
static void test_few_rows(void **state)
{
    rf_dataset *train = rf_dataset_new(NULL), *test = make("ab");
    (void)state;
    for (size_t i = 0; i < 200; i++)
        assert_int_equal(rf_dataset_add(train, "x", 1, &"abcd"[i % 4], 1, NULL), RF_OK);
    assert_int_equal(rf_dataset_add(train, "x", 1, "e", 1, NULL), RF_OK);
    rf_split five, ten, other;
    rf_split_options o = {.ratio = 1.0, .rows_per_class = 5, .seed = 1};
    assert_int_equal(rf_split_make(&five, train, NULL, test, &o, NULL), RF_OK);
    o.rows_per_class = 10;
    assert_int_equal(rf_split_make(&ten, train, NULL, test, &o, NULL), RF_OK);
    assert_int_equal(five.train.n, 4 * 5 + 1);
    assert_int_equal(ten.train.n, 4 * 10 + 1);
    size_t per_class[5] = {0};
    for (size_t i = 0; i < five.train.n; i++) {
        uint32_t row = five.train.row[i];
        assert_true(i == 0 || row > five.train.row[i - 1]);
        assert_int_equal(five.train.class_index[i], rf_dataset_class(train, row));
        assert_true(holds(&ten.train, row));
        per_class[five.train.class_index[i]]++;
    }
    for (size_t k = 0; k < 4; k++)
        assert_int_equal(per_class[k], 5);
    assert_false(ten.train.row[9] == 9); /* not just the first */
    o = (rf_split_options){.n_classes = 2, .rows_per_class = 5, .seed = 1};
    assert_int_equal(rf_split_make(&other, train, NULL, test, &o, NULL), RF_OK);
    for (size_t i = 0; i < other.train.n; i++)
        assert_true(holds(&five.train, other.train.row[i]));
    rf_split_release(&other);
    o = (rf_split_options){.ratio = 1.0, .rows_per_class = 5, .seed = 2};
    assert_int_equal(rf_split_make(&other, train, NULL, test, &o, NULL), RF_OK);
    assert_memory_not_equal(other.train.row, five.train.row,
                            five.train.n * sizeof(uint32_t));
    rf_split_release(&other);
    rf_split_release(&five);
    rf_split_release(&ten);
    rf_dataset_free(train);
    rf_dataset_free(test);
}

/* Uneven rows: a class has the number drawn for it, whatever else is known, or all its
 * rows; they are a subset of the rows of a larger even draw; dev rows are dropped. */
static void test_uneven_rows(void **state)
{
    rf_dataset *train = rf_dataset_new(NULL), *dev = make("aabb"), *test = make("abz");
    (void)state;
    for (size_t i = 0; i < 800; i++)
        assert_int_equal(rf_dataset_add(train, "x", 1, &"abcdefgh"[i % 8], 1, NULL),
                         RF_OK);
    for (size_t i = 0; i < 3; i++) /* a class smaller than any likely draw */
        assert_int_equal(rf_dataset_add(train, "x", 1, "i", 1, NULL), RF_OK);
    rf_split_options o = {.ratio = 1.0, .rows_median = 20, .rows_spread = 0.9, .seed = 5};
    rf_split s, even, half;
    assert_int_equal(rf_split_make(&s, train, dev, test, &o, NULL), RF_OK);
    assert_int_equal(s.dev.n, 0);
    assert_int_equal(s.test.n, 3);
    assert_non_null(strstr(s.draw, "lognormal:20:0.9"));
    size_t count[9] = {0}, different = 0;
    rf_split_options e = {.ratio = 1.0, .rows_per_class = 90, .seed = 5};
    assert_int_equal(rf_split_make(&even, train, dev, test, &e, NULL), RF_OK);
    assert_string_equal(even.draw, "");
    for (size_t i = 0; i < s.train.n; i++) {
        assert_true(holds(&even.train, s.train.row[i]));
        assert_true(i == 0 || s.train.row[i] > s.train.row[i - 1]);
        count[s.train.class_index[i]]++;
    }
    for (size_t k = 0; k < 8; k++) {
        assert_int_equal(count[k], rf_split_uneven_rows(&o, k));
        different += count[k] != count[0];
    }
    assert_int_equal(count[8], 3);
    assert_true(different > 4);
    o.ratio = 0.5;
    assert_int_equal(rf_split_make(&half, train, dev, test, &o, NULL), RF_OK);
    for (size_t i = 0; i < half.train.n; i++)
        assert_true(holds(&s.train, half.train.row[i]));
    rf_split_release(&s);
    rf_split_release(&even);
    rf_split_release(&half);
    rf_dataset_free(train);
    rf_dataset_free(dev);
    rf_dataset_free(test);
}

/* Median and spread of many draws, and the limits. 4000 draws: the standard error of the
 * mean of logarithms is 0.5 / 63. */
static void test_uneven_rows_are_lognormal(void **state)
{
    enum { DRAWS = 4000 };
    rf_split_options o = {.rows_median = 20, .rows_spread = 0.5};
    double sum = 0.0, square = 0.0;
    size_t least = SIZE_MAX, most = 0;
    (void)state;
    for (size_t i = 0; i < DRAWS; i++) {
        o.seed = i / 40;
        double x = log((double)rf_split_uneven_rows(&o, i % 40));
        sum += x;
        square += x * x;
    }
    double mean = sum / DRAWS, sd = sqrt(square / DRAWS - mean * mean);
    if (!(fabs(mean - log(20)) < 0.03 && fabs(sd - 0.5) < 0.03))
        fail_msg("mean of logarithms %g, standard deviation %g", mean, sd);
    o.rows_spread = 3;
    for (size_t i = 0; i < DRAWS; i++) {
        size_t n = rf_split_uneven_rows(&o, i);
        least = n < least ? n : least;
        most = n > most ? n : most;
    }
    assert_int_equal(least, 2);
    assert_int_equal(most, 90);
    o.rows_spread = 0;
    assert_int_equal(rf_split_uneven_rows(&o, 7), 20);
}

static void test_refused(void **state)
{
    static const struct {
        rf_split_options o;
        const char *part;
    } cases[] = {
        {{.ratio = 0.0}, "share of known classes 0"},
        {{.ratio = 1.01}, "share of known classes 1.01"},
        {{.ratio = -1}, "wanted above 0"},
        {{.ratio = NAN}, "share of known classes"},
        {{.n_classes = 4}, "4 known classes wanted, but the training data has 3"},
        {{.ratio = 1, .rows_median = 0.5}, "median 0.5"},
        {{.ratio = 1, .rows_median = 5, .rows_spread = -1}, "spread -1"},
        {{.ratio = 1, .rows_median = 5, .rows_spread = NAN}, "at least 0"},
        {{.ratio = 1, .seed = (uint64_t)UINT32_MAX + 1}, "seed 4294967296"}};
    rf_dataset *train = make("abc"), *none = rf_dataset_new(NULL);
    rf_split s;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        rf_error err = {0};
        assert_int_equal(rf_split_make(&s, train, train, train, &cases[i].o, &err),
                         RF_ERR_ARG);
        assert_error(&err, RF_ERR_ARG, cases[i].part);
        assert_null(s.drawn);
    }
    assert_int_equal(
        rf_split_make(&s, none, none, train, &(rf_split_options){.ratio = 1}, NULL),
        RF_ERR_ARG);
    rf_split_options all = {.ratio = 1};
    assert_int_equal(rf_split_make(&s, train, none, none, &all, NULL), RF_OK);
    assert_int_equal(s.dev.n + s.test.n, 0);
    rf_split_release(&s);
    rf_dataset_free(train);
    rf_dataset_free(none);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_permutation),
        cmocka_unit_test(test_long_permutation),
        cmocka_unit_test(test_number_of_known),
        cmocka_unit_test(test_published),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_few_rows),
        cmocka_unit_test(test_uneven_rows),
        cmocka_unit_test(test_uneven_rows_are_lognormal),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
