/*
 * The published numbers built into the library: complete, and F1 fits F1-known and
 * F1-open everywhere but in the cells that the file itself names as slips.
 */
#include "lab/published.h"
#include "lab/split.h"

#include "scratch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static rf_published *all;
static size_t n_all;

static int load(void **state)
{
    rf_error err = {0};
    (void)state;
    if (rf_published_load(&all, &n_all, &err) == RF_OK)
        return 0;
    printf("%s\n", err.msg);
    return 1;
}

static int unload(void **state)
{
    (void)state;
    free(all);
    return 0;
}

static double value(const char *source, const char *set, double ratio, const char *method,
                    const char *variant, const char *metric)
{
    const rf_published *p =
        rf_published_find(all, n_all, source, set, ratio, method, variant, metric);
    return p ? p->value : -1.0;
}

/* Looked up in the papers by hand. */
static void test_samples(void **state)
{
    (void)state;
    assert_int_equal(n_all, 126 + 126 + 36 + 48 + 24 + 324);
    assert_true(value("ans-table1", "banking", .25, "msp", "", "accuracy") == 43.67);
    assert_true(value("ans-table1", "oos", .5, "deepunk", "", "f1") == 82.16);
    assert_true(value("ans-table1", "stackoverflow", .75, "ans", "", "f1") == 87.49);
    assert_true(value("ans-known-open", "oos", .25, "adb", "", "f1_open") == 91.84);
    assert_true(value("ans-known-open", "oos", .25, "adb", "", "f1_known") == 76.80);
    assert_true(value("ans-deviations", "stackoverflow", .5, "ans", "", "sd_f1") == 2.31);
    assert_true(value("ans-table2", "oos", .5, "ans", "ablation=noise", "f1_open") ==
                89.82);
    assert_true(value("ans-table3", "banking", .25, "msp-neg", "", "f1") == 58.92);
    assert_true(value("textoir", "oos", .75, "da-adb", "", "accuracy") == 87.39);
    assert_true(value("textoir", "stackoverflow", .25, "lof", "", "f1_open") == 7.14);
    assert_true(value("textoir", "oos", .75, "da-adb", "", "none") < 0);
}

/* No key twice. */
static void test_unique(void **state)
{
    (void)state;
    for (size_t i = 0; i < n_all; i++)
        assert_ptr_equal(rf_published_find(all, n_all, all[i].source, all[i].set,
                                           all[i].ratio, all[i].method, all[i].variant,
                                           all[i].metric),
                         &all[i]);
}

static const struct {
    const char *source, *set, *method;
    double ratio;
} slips[] = {
    {"ans-table1", "banking", "ans", .25}, {"ans-table1", "banking", "ans", .5},
    {"ans-table1", "banking", "ans", .75}, {"ans-table1", "oos", "ans", .75},
    {"ans-table1", "oos", "selfsup", .5},  {"ans-table1", "banking", "selfsup", .75},
    {"ans-table3", "banking", "ovr", .25}, {"ans-table3", "banking", "adb-neg", .25},
};
#define N_SLIPS (sizeof slips / sizeof slips[0])

static size_t slip_of(const rf_published *p)
{
    size_t i = 0;
    while (i < N_SLIPS &&
           (strcmp(slips[i].source, p->source) != 0 ||
            strcmp(slips[i].set, p->set) != 0 ||
            strcmp(slips[i].method, p->method) != 0 || slips[i].ratio != p->ratio))
        i++;
    return i;
}

/* F1 = (C F1-known + F1-open) / (C + 1); the main table has its parts in the appendix. */
static void test_identity(void **state)
{
    static const struct {
        const char *set;
        size_t classes;
    } sets[] = {{"banking", 77}, {"oos", 150}, {"stackoverflow", 20}};
    size_t checked = 0, slipped = 0;
    (void)state;
    for (size_t i = 0; i < n_all; i++) {
        const rf_published *p = &all[i];
        if (strcmp(p->metric, "f1") != 0)
            continue;
        const char *parts =
            strcmp(p->source, "ans-table1") == 0 ? "ans-known-open" : p->source;
        size_t k = 0;
        while (strcmp(sets[k].set, p->set) != 0)
            assert_true(++k < 3);
        double c = (double)rf_split_known(sets[k].classes, p->ratio);
        double known = value(parts, p->set, p->ratio, p->method, p->variant, "f1_known"),
               open = value(parts, p->set, p->ratio, p->method, p->variant, "f1_open");
        assert_true(known >= 0 && open >= 0);
        assert_true(
            value(p->source, p->set, p->ratio, p->method, p->variant, "accuracy") >= 0);
        bool fits = fabs((c * known + open) / (c + 1.0) - p->value) <= 0.02;
        if (fits != (slip_of(p) == N_SLIPS))
            fail_msg("%s %s %g %s: F1 %g %s", p->source, p->set, p->ratio, p->method,
                     p->value, fits ? "fits" : "does not fit");
        checked++;
        slipped += !fits;
    }
    assert_int_equal(checked, 162);
    assert_int_equal(slipped, N_SLIPS);
}

static void test_bad_text(void **state)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"# a comment\n\na\tb\t0.5\tc\t\tf1\n", "line 3: found 6 columns"},
        {"a\tb\t0.5\tc\t\tf1\t5\t6\n", "line 1: found 8 columns"},
        {"a\tb\t0.5\tc\t\tf1\t\n", "line 1: a name is too long or a number is invalid"},
        {"a\tb\t0.5\tc\t\tf1\tnan\n", "a number is invalid"},
        {"a\tb\t0.5\tc\t\tf1\t1e1\n", "a number is invalid"},
        {"a\tb\t1.5\tc\t\tf1\t1\n", "a number is invalid"},
        {"a\tb\t0.5\tc\t\tf1\t100.1\n", "a number is invalid"},
        {"a\tb\t0.5\tc\t\t0123456789abcdef\t1\n", "a name is too long"},
    };
    rf_published *list;
    size_t n;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        rf_error err = {0};
        assert_int_equal(
            rf_published_parse(cases[i].text, strlen(cases[i].text), &list, &n, &err),
            RF_ERR_FORMAT);
        assert_error(&err, RF_ERR_FORMAT, "published.tsv", cases[i].message);
        assert_null(list);
    }
    const char *good = "a\tb\t0.5\tc\t\tf1\t7"; /* without a newline */
    assert_int_equal(rf_published_parse(good, strlen(good), &list, &n, NULL), RF_OK);
    assert_int_equal(n, 1);
    assert_true(list[0].value == 7);
    free(list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_samples),
        cmocka_unit_test(test_unique),
        cmocka_unit_test(test_identity),
        cmocka_unit_test(test_bad_text),
    };
    return cmocka_run_group_tests(tests, load, unload);
}
