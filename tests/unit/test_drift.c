/*
 * The statistics of the drift watch against scipy (tools/make_drift_golden.py), and the
 * report of tables whose answer is known
 */
#include "drift.h"
#include "tails.h"

#include "scratch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Golden cases ------------------------------------------------------------------ */

/* Relative, and absolute for figures that are 0 up to rounding; a NaN fails. */
static void check(const char *what, int line, double got, double want, double tolerance)
{
    if (!(fabs(got - want) <= tolerance * fabs(want) + 1e-13))
        fail_msg("drift.txt: line %d: %s: got %.17g, want %.17g", line, what, got, want);
}

static double *numbers(char *at, size_t *n)
{
    double *out = NULL;
    *n = 0;
    for (char *end;; at = end) {
        double v = strtod(at, &end);
        if (end == at)
            return out;
        out = realloc(out, (*n + 1) * sizeof *out);
        assert_non_null(out);
        out[(*n)++] = v;
    }
}

/* Eight digits are what differences of logs of large factorials leave. */
static void check_tail(const char *kind, const double *v, size_t n, int line)
{
    if (strcmp(kind, "f") == 0)
        check("p", line, tail_f(v[0], v[1], v[2]), v[n - 1], 1e-8);
    else if (strcmp(kind, "t") == 0)
        check("p", line, tail_t(v[0], v[1]), v[n - 1], 1e-8);
    else
        check("p", line, tail_fisher(v[0], v[1], v[2], v[3]), v[n - 1], 1e-8);
}

static void check_shares(const double *v, size_t n, int line)
{
    size_t h = (size_t)v[0], k = (size_t)v[1];
    double work[32];
    const double *want = v + 2 + (h + 1) * k;
    assert_int_equal(n, 2 + (h + 1) * k + 5);
    drift_test t = drift_shares(v + 2, h, k, work);
    check("rho", line, t.spread, want[0], 1e-9);
    check("F", line, t.statistic, want[1], 1e-9);
    check("df1", line, t.df1, want[2], 0);
    check("df2", line, t.df2, want[3], 0);
    check("p", line, t.p, want[4], 1e-7);
}

static void check_mean(const double *v, size_t n, int line)
{
    size_t h = (size_t)v[0], rows = h + 1;
    const double *want = v + 1 + 3 * rows;
    assert_int_equal(n, 1 + 3 * rows + 4);
    drift_test t = drift_mean(v + 1, v + 1 + rows, v + 1 + 2 * rows, h);
    /* sums of squares lose digits that the deviations from a mean keep */
    check("tau", line, t.spread, want[0], 1e-8);
    check("t", line, t.statistic, want[1], 1e-8);
    check("df", line, t.df2, want[2], 1e-9);
    check("p", line, t.p, want[3], 1e-7);
}

static void test_golden(void **state)
{
    (void)state;
    char *text = scratch_read(GOLDEN_DIR "/drift.txt", NULL), *rest = NULL;
    int line = 0;
    for (char *row = strtok_r(text, "\n", &rest); row;
         row = strtok_r(NULL, "\n", &rest)) {
        size_t n;
        char *at = strchr(row, ' '), *kind = row;
        line++;
        assert_non_null(at);
        *at = '\0';
        double *v = numbers(at + 1, &n);
        assert_true(n > 2);
        if (strcmp(kind, "shares") == 0)
            check_shares(v, n, line);
        else if (strcmp(kind, "mean") == 0)
            check_mean(v, n, line);
        else
            check_tail(kind, v, n, line);
        free(v);
    }
    assert_true(line > 350);
    free(text);
}

/* ---- Reports ----------------------------------------------------------------------- */

#define BLOCKS 24
#define CLASSES 4

/* A table with the same numbers in every block: known classes 40, 30, 20, 1, open 9, and
 * margins of mean 2 and variance 1 that alternate a little. */
static drift_report steady(void)
{
    drift_report r = {.alpha = 0.01};
    drift_table *t = &r.table;
    static const double row[CLASSES + 1] = {40, 30, 20, 1, 9};
    t->n_classes = CLASSES;
    t->n_blocks = BLOCKS;
    t->labels = calloc(CLASSES, sizeof *t->labels);
    t->counts = calloc((BLOCKS + 1) * (CLASSES + 1), sizeof *t->counts);
    t->margin_sum = calloc(BLOCKS + 1, sizeof *t->margin_sum);
    t->margin_squares = calloc(BLOCKS + 1, sizeof *t->margin_squares);
    assert_true(t->labels && t->counts && t->margin_sum && t->margin_squares);
    for (size_t i = 0; i < CLASSES; i++)
        t->labels[i] = strdup((const char *[]){"a", "b", "c", "rare"}[i]);
    for (size_t i = 0; i <= BLOCKS; i++) {
        double mean = 2.0 + (i % 2 ? 0.1 : -0.1);
        memcpy(t->counts + i * (CLASSES + 1), row, sizeof row);
        t->margin_sum[i] = 91 * mean;
        t->margin_squares[i] = 91 * (mean * mean + 1.0);
    }
    return r;
}

static double *recent(drift_report *r)
{
    return r->table.counts + BLOCKS * (CLASSES + 1);
}

static void test_steady(void **state)
{
    (void)state;
    drift_report r = steady();
    assert_int_equal(drift_judge(&r, NULL), RF_OK);
    assert_false(r.drifted);
    assert_null(r.open.why_not);
    assert_true(r.open.p > 0.99 && r.classes.p > 0.99 && r.margin.p > 0.1);
    assert_true(r.answers == 100 && r.answers_before == 2400 && r.blocks == BLOCKS);
    assert_true(fabs(r.open.before - 0.09) < 1e-12);
    assert_true(r.classes.df1 == 2); /* rare is counted with c */
    drift_report_release(&r);
}

static void test_each_drift_is_found_and_named(void **state)
{
    (void)state;
    drift_report r = steady();
    recent(&r)[CLASSES] = 45; /* open: 9 % -> 33 % */
    assert_int_equal(drift_judge(&r, NULL), RF_OK);
    assert_true(r.drifted && r.open.drifted && !r.margin.drifted && !r.classes.drifted);
    assert_true(fabs(r.open.after - 45.0 / 136) < 1e-12);
    drift_report_release(&r);

    r = steady();
    recent(&r)[0] = 10; /* a: 44 % -> 11 %, b the other way */
    recent(&r)[1] = 60;
    assert_int_equal(drift_judge(&r, NULL), RF_OK);
    assert_true(r.drifted && r.classes.drifted && !r.margin.drifted && !r.open.drifted);
    assert_true(r.n_top == 3);
    assert_string_equal(r.top[0].label, "b"); /* (d^2 / p: b 0.36, a 0.25) */
    assert_string_equal(r.top[1].label, "a");
    assert_null(r.top[2].label); /* the small ones together */
    assert_true(fabs(r.top[0].before - 30.0 / 91) < 1e-12);
    assert_true(fabs(r.top[0].after - 60.0 / 91) < 1e-12);
    assert_true(fabs(r.top[0].part + r.top[1].part + r.top[2].part - 1) < 1e-12);
    drift_report_release(&r);

    r = steady();
    r.table.margin_sum[BLOCKS] = 91 * 1.2;
    r.table.margin_squares[BLOCKS] = 91 * (1.2 * 1.2 + 1.0);
    assert_int_equal(drift_judge(&r, NULL), RF_OK);
    assert_true(r.drifted && r.margin.drifted && !r.classes.drifted && !r.open.drifted);
    /* Holm: the smallest of three times three, the others at least as large */
    assert_true(fabs(r.margin.p_holm - 3 * r.margin.p) < 1e-15);
    assert_true(r.open.p_holm >= r.margin.p_holm && r.classes.p_holm <= 1.0);
    drift_report_release(&r);
}

/* What varies anyway is no drift: the same recent block after steady blocks, and after
 * blocks that swing as far. */
static void test_usual_swings_are_no_drift(void **state)
{
    (void)state;
    drift_report r = steady();
    for (size_t i = 0; i < BLOCKS; i++)
        r.table.counts[i * (CLASSES + 1) + CLASSES] = i % 3 ? 1 : 50;
    recent(&r)[CLASSES] = 45;
    assert_int_equal(drift_judge(&r, NULL), RF_OK);
    assert_false(r.drifted);
    assert_true(r.open.spread > 0.02);
    drift_report_release(&r);
}

static void test_too_little_is_not_judged(void **state)
{
    (void)state;
    drift_report r = steady();
    for (size_t i = 0; i <= CLASSES; i++)
        recent(&r)[i] = i == CLASSES ? 25 : 1;
    assert_int_equal(drift_judge(&r, NULL), RF_OK);
    assert_false(r.drifted);
    assert_non_null(strstr(r.open.why_not, "fewer than 30 answers"));
    assert_non_null(r.margin.why_not);
    assert_non_null(r.classes.why_not);
    drift_report_release(&r);

    r = steady(); /* only four blocks with answers */
    memset(r.table.counts, 0, (BLOCKS - 4) * (CLASSES + 1) * sizeof(double));
    memset(r.table.margin_sum, 0, (BLOCKS - 4) * sizeof(double));
    memset(r.table.margin_squares, 0, (BLOCKS - 4) * sizeof(double));
    recent(&r)[CLASSES] = 1000;
    assert_int_equal(drift_judge(&r, NULL), RF_OK);
    assert_false(r.drifted);
    assert_non_null(strstr(r.open.why_not, "fewer than 5 earlier periods"));
    drift_report_release(&r);

    r = steady(); /* nothing at all */
    memset(r.table.counts, 0, (BLOCKS + 1) * (CLASSES + 1) * sizeof(double));
    assert_int_equal(drift_judge(&r, NULL), RF_OK);
    assert_false(r.drifted);
    rf_text t;
    rf_text_init(&t, 10000, "a report");
    drift_write_json(&r, &t);
    assert_int_equal(t.status, RF_OK);
    assert_null(strstr(t.buffer.data, "nan")); /* no NaN in JSON */
    rf_text_release(&t);
    drift_report_release(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden),
        cmocka_unit_test(test_steady),
        cmocka_unit_test(test_each_drift_is_found_and_named),
        cmocka_unit_test(test_usual_swings_are_no_drift),
        cmocka_unit_test(test_too_little_is_not_judged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
