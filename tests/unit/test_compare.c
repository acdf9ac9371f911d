/*
 * Two models on the same rows: every figure, interval and p recomputed here in another
 * way, from single answers.
 */
#include "answer/compare.h"
#include "answer/metrics.h"
#include "answer/paired.h"
#include "tiny_model.h"

#include "base/rng.h"
#include "scratch.h"
#include "ringfence_improve.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 600, MOST = 9 };

/* ---- Paired statistics ------------------------------------------------------------- */

/* Bonett and Price (2012), as published: with n12 rows where only the first holds and n21
 * where only the second does, p~ = (n.. + 1) / (n + 2). */
static void interval_of_shares(void **state)
{
    (void)state;
    static const size_t cases[][3] = {{0, 0, 1},   {0, 0, 100}, {1, 0, 1},
                                      {3, 0, 20},  {6, 0, 300}, {40, 25, 300},
                                      {0, 50, 50}, {7, 9, 16}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rf_paired_rows rows = {0};
        for (size_t k = 0; k < cases[i][2]; k++)
            rf_paired_add(&rows, k < cases[i][0]                 ? -1.0
                                 : k < cases[i][0] + cases[i][1] ? 1.0
                                                                 : 0.0);
        double n = (double)cases[i][2] + 2.0, low, high;
        double p12 = ((double)cases[i][0] + 1.0) / n,
               p21 = ((double)cases[i][1] + 1.0) / n;
        double half = 1.959964 * sqrt((p12 + p21 - (p21 - p12) * (p21 - p12)) / n);
        rf_paired_interval(&rows, &low, &high);
        assert_true(fabs(low - fmax(p21 - p12 - half, -1.0)) < 1e-12);
        assert_true(fabs(high - fmin(p21 - p12 + half, 1.0)) < 1e-12);
        double raw = rows.sum / (double)rows.n;
        assert_true(low <= raw && raw <= high);
    }
}

/* Every fall of the coins, counted. */
static void p_by_counting(void **state)
{
    (void)state;
    for (size_t n = 0; n <= 14; n++)
        for (size_t a = 0; a <= n; a++) {
            size_t uneven = 0, gap = a > n - a ? 2 * a - n : n - 2 * a;
            for (unsigned fall = 0; fall < 1u << n; fall++) {
                size_t heads = (size_t)__builtin_popcount(fall);
                uneven += (heads > n - heads ? 2 * heads - n : n - 2 * heads) >= gap;
            }
            double want = (double)uneven / (double)(1u << n);
            assert_true(fabs(rf_paired_p(a, n - a) - want) < 1e-12);
        }
    assert_true(rf_paired_p(100000, 0) == 0.0);
    double p = rf_paired_p(500200, 499800); /* z = 0.4 */
    assert_true(p > 0.68 && p < 0.70);
}

/* ---- Figures ----------------------------------------------------------------------- */

typedef struct pair {
    rf_model *model[2];
    rf_session *session[2];
    rf_dataset *data;
    size_t ids[2]; /* classes + 1 */
    size_t truth[2][ROWS], answer[2][ROWS];
} pair;

static size_t named(const rf_model *m, const char *label)
{
    size_t c = rf_model_find(m, label, strlen(label));
    return c == RF_OPEN ? rf_model_classes(m) : c;
}

static void pair_init(pair *p, size_t first, size_t second, size_t rows)
{
    static const char *const strange[] = {"a-new-one", "c000", "open"};
    *p = (pair){.model = {tiny_model_new(first, -1.6f), tiny_model_new(second, -1.2f)},
                .data = rf_dataset_new(NULL),
                .ids = {first + 1, second + 1}};
    for (size_t k = 0; k < 2; k++)
        p->session[k] = rf_session_new(p->model[k], 1, NULL);
    for (size_t i = 0; i < rows; i++) {
        char text[60], label[16];
        size_t len = i % 60;
        rf_decision d;
        tiny_text(text, len, i);
        assert_int_equal(rf_classify(p->session[0], text, len, &d, NULL), RF_OK);
        if (i % 3 == 0) /* often right with the first model */
            snprintf(label, sizeof label, "%s",
                     rf_model_label(p->model[0], d.class_index));
        else if (i % 4 == 0)
            snprintf(label, sizeof label, "%s", strange[i / 4 % 3]);
        else
            snprintf(label, sizeof label, "c%04zu", i * 5 % MOST);
        assert_int_equal(rf_dataset_add(p->data, text, len, label, strlen(label), NULL),
                         RF_OK);
        for (size_t k = 0; k < 2; k++) {
            assert_int_equal(rf_classify(p->session[k], text, len, &d, NULL), RF_OK);
            p->truth[k][i] = named(p->model[k], label);
            p->answer[k][i] = d.class_index == RF_OPEN ? p->ids[k] - 1 : d.class_index;
        }
    }
}

static void pair_release(pair *p)
{
    for (size_t k = 0; k < 2; k++) {
        rf_session_free(p->session[k]);
        rf_model_free(p->model[k]);
    }
    rf_dataset_free(p->data);
}

/* Mean F1 with row `odd` counted `weight` times. */
static double f1_with(const pair *p, size_t k, size_t n, size_t odd, double weight)
{
    double sum = 0.0;
    for (size_t c = 0; c < p->ids[k]; c++) {
        double both = 0.0, either = 0.0;
        for (size_t i = 0; i < n; i++) {
            double w = i == odd ? weight : 1.0;
            bool t = p->truth[k][i] == c, a = p->answer[k][i] == c;
            both += w * (t && a);
            either += w * (t + a);
        }
        sum += either > 0.0 ? 2.0 * both / either : 0.0;
    }
    return sum / (double)p->ids[k];
}

static void same_difference(const rf_difference *got, size_t n, double first,
                            double second, double sum, double squares)
{
    double m = (double)n + 2.0, mean = sum / m;
    double half = 1.959964 * sqrt(((squares + 2.0) / m - mean * mean) / m);
    assert_int_equal(got->n, n);
    if (n == 0) {
        assert_true(isnan(got->difference) && isnan(got->low) && !got->beyond_chance);
        return;
    }
    assert_true(fabs(got->value[0] - 100.0 * first) < 1e-9);
    assert_true(fabs(got->value[1] - 100.0 * second) < 1e-9);
    assert_true(fabs(got->difference - 100.0 * (second - first)) < 1e-9);
    assert_true(fabs(got->low - 100.0 * (mean - half)) < 1e-4); /* a derivative */
    assert_true(fabs(got->high - 100.0 * (mean + half)) < 1e-4);
    assert_int_equal(got->beyond_chance, mean - half > 0.0 || mean + half < 0.0);
}

static void check_f1(const pair *p, const rf_comparison *c, size_t n)
{
    double f[2], sum = 0.0, squares = 0.0, step = 1e-4;
    for (size_t k = 0; k < 2; k++)
        f[k] = f1_with(p, k, n, SIZE_MAX, 1.0);
    for (size_t i = 0; i < n; i++) {
        double x = f[1] - f[0];
        for (size_t k = 0; k < 2; k++) {
            double slope =
                (f1_with(p, k, n, i, 1.0 + step) - f1_with(p, k, n, i, 1.0 - step)) /
                (2.0 * step);
            x += (double)n * (k ? slope : -slope);
        }
        sum += x;
        squares += x * x;
    }
    same_difference(&c->f1, n, f[0], f[1], sum, squares);
}

/* kind 0: right; 1: called open, of rows that both know; 2: let in, of rows open to both
 */
static void check_share(const pair *p, const rf_difference *got, size_t n, int kind)
{
    size_t of = 0, hits[2] = {0};
    double sum = 0.0, squares = 0.0;
    for (size_t i = 0; i < n; i++) {
        bool open[2], hit[2];
        for (size_t k = 0; k < 2; k++) {
            bool says_open = p->answer[k][i] == p->ids[k] - 1;
            open[k] = p->truth[k][i] == p->ids[k] - 1;
            hit[k] = kind == 0   ? p->truth[k][i] == p->answer[k][i]
                     : kind == 1 ? says_open
                                 : !says_open;
        }
        if ((kind == 1 && (open[0] || open[1])) || (kind == 2 && !(open[0] && open[1])))
            continue;
        of++;
        for (size_t k = 0; k < 2; k++)
            hits[k] += hit[k];
        sum += hit[1] - hit[0];
        squares += hit[1] != hit[0];
    }
    same_difference(got, of, (double)hits[0] / (double)of, (double)hits[1] / (double)of,
                    sum, squares);
}

/* Chance of |T| >= t by adding up the density; df as in the comparison. */
static double t_tails(double t, double df)
{
    double area = 0.0, steps = 20000.0,
           density =
               exp(lgamma(0.5 * (df + 1.0)) - lgamma(0.5 * df)) / sqrt(df * acos(-1.0));
    for (double i = 0.5; i < steps; i++) {
        double x = t * i / steps;
        area += density * pow(1.0 + x * x / df, -0.5 * (df + 1.0)) * t / steps;
    }
    return 1.0 - 2.0 * area;
}

static void check_classes(const pair *p, const rf_comparison *c, size_t n)
{
    double p_of[2 * MOST], gap[2 * MOST], gaps = 0.0;
    size_t tested = 0, at[2 * MOST];
    for (size_t i = 0; i < c->n_classes; i++) {
        const rf_class_difference *d = &c->classes[i];
        size_t id[2], only[2] = {0};
        for (size_t k = 0; k < 2; k++)
            id[k] = i + 1 == c->n_classes ? p->ids[k] - 1 : named(p->model[k], d->label);
        bool open = i + 1 == c->n_classes;
        for (size_t k = 0; k < 2; k++)
            assert_int_equal(d->known[k], open || id[k] < p->ids[k] - 1);
        if (!d->known[0] || !d->known[1]) {
            assert_true(d->only_right[0] + d->only_right[1] == 0 && d->p == 1.0);
            continue;
        }
        for (size_t r = 0; r < n; r++) {
            bool right[2];
            for (size_t k = 0; k < 2; k++)
                right[k] = (p->truth[k][r] == id[k]) == (p->answer[k][r] == id[k]);
            only[0] += right[0] && !right[1];
            only[1] += right[1] && !right[0];
        }
        assert_int_equal(d->only_right[0], only[0]);
        assert_int_equal(d->only_right[1], only[1]);
        if (open) {
            assert_true(d->p == 1.0 && !d->different);
            continue;
        }
        double a = (double)only[0], b = (double)only[1];
        gap[tested] = a + b > 0.0 ? pow(b - a, 2.0) / (a + b) : 0.0;
        gaps += gap[tested];
        at[tested++] = i;
    }
    assert_int_equal(c->n_tested, tested);
    for (size_t i = 0; i < tested; i++) {
        const rf_class_difference *d = &c->classes[at[i]];
        double scatter = tested > 1 ? (gaps - gap[i]) / (double)(tested - 1) : 1.0;
        p_of[i] = rf_paired_p(d->only_right[0], d->only_right[1]);
        if (tested > 1)
            p_of[i] = fmax(p_of[i], t_tails(sqrt(gap[i] / fmax(scatter, 1.0)),
                                            (double)(tested - 1)));
    }
    /* Holm without sorting: the largest of (n - rank) p over all that are no larger. */
    size_t different = 0;
    for (size_t i = 0; i < tested; i++) {
        double want = 0.0;
        for (size_t j = 0; j < tested; j++) {
            size_t not_smaller = 0;
            for (size_t k = 0; k < tested; k++)
                not_smaller += p_of[k] >= p_of[j];
            if (p_of[j] <= p_of[i])
                want = fmax(want, fmin((double)not_smaller * p_of[j], 1.0));
        }
        assert_true(fabs(c->classes[at[i]].p - want) < 1e-6);
        different += c->classes[at[i]].different;
    }
    assert_int_equal(c->n_different, different);
}

static void check_changes(const pair *p, const rf_comparison *c, size_t n)
{
    size_t at = 0;
    for (size_t kind = 0; kind < RF_CHANGE_KINDS; kind++)
        for (size_t i = 0; i < n; i++) {
            bool first = p->truth[0][i] == p->answer[0][i];
            bool second = p->truth[1][i] == p->answer[1][i];
            size_t said[2];
            for (size_t k = 0; k < 2; k++)
                said[k] = p->answer[k][i] == p->ids[k] - 1 ? RF_OPEN : p->answer[k][i];
            bool same = strcmp(rf_model_label(p->model[0], said[0]),
                               rf_model_label(p->model[1], said[1])) == 0;
            if (!(kind == RF_CHANGE_LOST     ? first && !second
                  : kind == RF_CHANGE_GAINED ? !first && second
                                             : !first && !second && !same))
                continue;
            const rf_change *x = &c->changes[at++];
            assert_true(x->kind == (rf_change_kind)kind && x->row == i);
            assert_true(x->answer[0] == said[0] && x->answer[1] == said[1]);
        }
    assert_int_equal(c->n_changes, at);
    assert_int_equal(c->n_kind[0] + c->n_kind[1] + c->n_kind[2], at);
}

static void against_plain_counting(void **state)
{
    (void)state;
    static const size_t cases[][3] = {
        {7, 7, ROWS}, {5, MOST, ROWS}, {MOST, 4, 200}, {1, 1, 50}, {2, 3, 1}};
    static pair p;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t n = cases[i][2];
        rf_comparison c;
        pair_init(&p, cases[i][0], cases[i][1], n);
        assert_int_equal(rf_compare(p.session[0], p.session[1], p.data, &c, NULL), RF_OK);
        assert_int_equal(c.n, n);
        assert_int_equal(c.n_known + c.n_open + c.n_one[0] + c.n_one[1], n);
        assert_int_equal(c.n_one[cases[i][0] < cases[i][1]] > 0,
                         cases[i][0] != cases[i][1] && n > 1);
        check_share(&p, &c.accuracy, n, 0);
        check_share(&p, &c.known_rejected, n, 1);
        check_share(&p, &c.open_accepted, n, 2);
        check_f1(&p, &c, n);
        check_classes(&p, &c, n);
        check_changes(&p, &c, n);
        for (size_t k = 0; k < 2; k++) {
            rf_evaluation e;
            assert_int_equal(rf_evaluate(p.session[k], p.data, &e, NULL), RF_OK);
            assert_true(e.f1 == c.evaluation[k].f1 && c.f1.value[k] == e.f1);
            rf_evaluation_release(&e);
        }
        rf_comparison_release(&c);
        rf_comparison_release(&c); /* twice is harmless */
        pair_release(&p);
    }
}

static void a_model_and_itself(void **state)
{
    (void)state;
    static pair p;
    rf_comparison c;
    pair_init(&p, 5, 5, 300);
    assert_int_equal(rf_compare(p.session[0], p.session[0], p.data, &c, NULL), RF_OK);
    assert_true(!c.beyond_chance && c.n_changes == 0 && c.n_different == 0);
    assert_true(c.accuracy.difference == 0.0 && c.f1.difference == 0.0);
    assert_true(c.accuracy.low < 0.0 && c.accuracy.high > 0.0);
    assert_true(c.f1.low < 0.0 && c.f1.high > 0.0);
    rf_comparison_release(&c);
    pair_release(&p);
}

static void an_empty_set(void **state)
{
    (void)state;
    static pair p;
    rf_comparison c;
    pair_init(&p, 3, 2, 0);
    assert_int_equal(rf_compare(p.session[0], p.session[1], p.data, &c, NULL), RF_OK);
    assert_true(c.n == 0 && isnan(c.accuracy.difference) && isnan(c.f1.low));
    assert_false(c.beyond_chance);
    rf_comparison_release(&c);
    pair_release(&p);
}

/* ---- Rows made up ------------------------------------------------------------------ */

/* Eight classes of 40 rows. Both models err at random, each on one row in ten; of the
 * class `broken` the second gets only every tenth row. */
static void made_up(rf_comparison *c, rf_model *m, size_t broken, uint64_t seed)
{
    enum { CLASSES = 8, EACH = 40 };
    static rf_compared_row rows[CLASSES * EACH];
    rf_rng r = rf_rng_open(rf_rng_key(seed, 0, 0, 0));
    *c = (rf_comparison){.model = {m, m}};
    for (size_t k = 0; k < 2; k++)
        assert_int_equal(
            rf_evaluation_init(&c->evaluation[k], CLASSES, CLASSES * EACH, NULL), RF_OK);
    for (size_t i = 0; i < CLASSES * EACH; i++)
        for (size_t k = 0; k < 2; k++) {
            size_t t = i / EACH;
            bool wrong = rf_rng_below(&r, 10) == 0 || (k == 1 && t == broken && i % 10);
            rows[i].truth[k] = t;
            rows[i].answer[k] = wrong ? CLASSES : t;
            rf_evaluation_add(&c->evaluation[k], t, wrong ? RF_OPEN : t);
        }
    for (size_t k = 0; k < 2; k++)
        rf_evaluation_finish(&c->evaluation[k]);
    assert_int_equal(rf_comparison_fill(c, rows, CLASSES * EACH, NULL), RF_OK);
}

/* Two models that are equally good: a class is called different in at most about 5 % of
 * cases, and the intervals contain 0 in at least about 95 %. One that lost a class: it is
 * named, and another as rarely. The bars leave five standard errors. */
static void chance_is_called_chance(void **state)
{
    (void)state;
    enum { ROUNDS = 1000 };
    rf_model *m = tiny_model_new(8, 0.0f);
    size_t called = 0, accuracy = 0, f1 = 0;
    for (uint64_t seed = 0; seed < ROUNDS; seed++) {
        rf_comparison c;
        made_up(&c, m, SIZE_MAX, seed);
        called += c.n_different > 0;
        accuracy += c.accuracy.beyond_chance;
        f1 += c.f1.beyond_chance;
        rf_comparison_release(&c);
    }
    assert_in_range(called, 0, ROUNDS * 5 / 100 + 35);
    assert_in_range(accuracy, 5, ROUNDS * 5 / 100 + 35);
    assert_in_range(f1, 5, ROUNDS * 5 / 100 + 35);
    size_t others = 0;
    for (uint64_t seed = 0; seed < 200; seed++) {
        rf_comparison c;
        made_up(&c, m, 3, seed);
        assert_true(c.classes[3].different && c.classes[3].p < 0.05 && c.beyond_chance);
        assert_true(c.accuracy.difference < 0.0);
        others += c.n_different > 1;
        rf_comparison_release(&c);
    }
    assert_in_range(others, 0, 10 + 15);
    rf_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(interval_of_shares),
        cmocka_unit_test(p_by_counting),
        cmocka_unit_test(against_plain_counting),
        cmocka_unit_test(a_model_and_itself),
        cmocka_unit_test(an_empty_set),
        cmocka_unit_test(chance_is_called_chance),
    };
    return cmocka_run_group_tests_name("compare", tests, NULL, NULL);
}
