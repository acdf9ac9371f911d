/* compare_figures.c - from the rows of two models to differences, classes and changes */
#include "answer/compare.h"
#include "answer/paired.h"
#include "num/student_t.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEVEL 0.05 /* of the test of a class, after correction */

typedef struct filling {
    rf_comparison *c;
    const rf_compared_row *rows;
    size_t n;
    size_t *place[2]; /* [classes + 1] of that model: which of c->classes */
} filling;

static size_t open_id(const rf_comparison *c, size_t side)
{
    return c->evaluation[side].classes;
}

static bool is_open(const rf_comparison *c, const rf_compared_row *r, size_t side)
{
    return r->truth[side] == open_id(c, side);
}

static bool says_open(const rf_comparison *c, const rf_compared_row *r, size_t side)
{
    return r->answer[side] == open_id(c, side);
}

static bool is_right(const rf_compared_row *r, size_t side)
{
    return r->truth[side] == r->answer[side];
}

/* ---- Figures ----------------------------------------------------------------------- */

/* first and second: in per cent */
static rf_difference difference_of(const rf_paired_rows *rows, double first,
                                   double second)
{
    rf_difference d = {
        .n = rows->n, .value = {NAN, NAN}, .difference = NAN, .low = NAN, .high = NAN};
    if (rows->n == 0)
        return d;
    rf_paired_interval(rows, &d.low, &d.high);
    d.beyond_chance = d.low > 0.0 || d.high < 0.0;
    d.low *= 100.0;
    d.high *= 100.0;
    d.value[0] = first;
    d.value[1] = second;
    d.difference = second - first;
    return d;
}

/* The share of rows for which something holds. */
typedef struct share {
    rf_paired_rows rows;
    size_t hits[2];
} share;

static void add_to_share(share *s, bool first, bool second)
{
    s->hits[0] += first;
    s->hits[1] += second;
    rf_paired_add(&s->rows, (double)second - (double)first);
}

static rf_difference difference_of_share(const share *s)
{
    double n = (double)s->rows.n;
    return difference_of(&s->rows, 100.0 * (double)s->hits[0] / n,
                         100.0 * (double)s->hits[1] / n);
}

/* What a little more of one row adds to the mean F1, per row of n. With f = 2 TP / (T +
 * P) of an id, where T rows are of it and P answers name it:
 *   df = (2 dTP - f (dT + dP)) / (T + P) */
static double effect_on_f1(const rf_evaluation *e, size_t truth, size_t answer, size_t n)
{
    const rf_class_score *t = &e->scores[truth], *a = &e->scores[answer];
    double sum =
        (2.0 * (truth == answer) - t->f1 / 100.0) / (double)(t->support + t->predicted) -
        a->f1 / 100.0 / (double)(a->support + a->predicted);
    return (double)n * sum / (double)(e->classes + 1);
}

static rf_difference difference_of_f1(const filling *f)
{
    const rf_evaluation *e = f->c->evaluation;
    double difference = (e[1].f1 - e[0].f1) / 100.0;
    rf_paired_rows rows = {0};
    for (size_t i = 0; i < f->n; i++) {
        const rf_compared_row *r = &f->rows[i];
        rf_paired_add(&rows, difference +
                                 effect_on_f1(&e[1], r->truth[1], r->answer[1], f->n) -
                                 effect_on_f1(&e[0], r->truth[0], r->answer[0], f->n));
    }
    return difference_of(&rows, e[0].f1, e[1].f1);
}

static void fill_figures(const filling *f)
{
    rf_comparison *c = f->c;
    share right = {0}, rejected = {0}, accepted = {0};
    for (size_t i = 0; i < f->n; i++) {
        const rf_compared_row *r = &f->rows[i];
        bool open[2] = {is_open(c, r, 0), is_open(c, r, 1)};
        add_to_share(&right, is_right(r, 0), is_right(r, 1));
        c->both_right += is_right(r, 0) && is_right(r, 1);
        if (open[0] != open[1])
            c->n_one[open[0]]++; /* open for the first: the second alone knows it */
        else if (open[0])
            add_to_share(&accepted, !says_open(c, r, 0), !says_open(c, r, 1));
        else
            add_to_share(&rejected, says_open(c, r, 0), says_open(c, r, 1));
    }
    c->n = f->n;
    c->n_known = rejected.rows.n;
    c->n_open = accepted.rows.n;
    c->accuracy = difference_of_share(&right);
    c->known_rejected = difference_of_share(&rejected);
    c->open_accepted = difference_of_share(&accepted);
    c->f1 = difference_of_f1(f);
}

/* ---- Classes ----------------------------------------------------------------------- */

static void add_class(rf_comparison *c, const char *label, size_t first, size_t second)
{
    rf_class_difference *d = &c->classes[c->n_classes++];
    *d = (rf_class_difference){.label = label,
                               .class_index = {first, second},
                               .known = {first != RF_OPEN, second != RF_OPEN},
                               .p = 1.0};
    if (!d->known[0] && !d->known[1]) /* open itself */
        d->known[0] = d->known[1] = true;
    for (size_t k = 0; k < 2; k++)
        if (d->known[k])
            d->score[k] =
                c->evaluation[k].scores[d->class_index[k] == RF_OPEN ? open_id(c, k)
                                                                     : d->class_index[k]];
}

static size_t find_in(const rf_model *model, const char *label)
{
    return rf_model_find(model, label, strlen(label));
}

/* Lists the classes of both models, and where each model's ids are in the list. */
static void list_classes(const filling *f)
{
    rf_comparison *c = f->c;
    for (size_t i = 0; i < open_id(c, 0); i++) {
        const char *label = rf_model_label(c->model[0], i);
        size_t other = find_in(c->model[1], label);
        f->place[0][i] = c->n_classes;
        if (other != RF_OPEN)
            f->place[1][other] = c->n_classes;
        add_class(c, label, i, other);
    }
    for (size_t i = 0; i < open_id(c, 1); i++) {
        const char *label = rf_model_label(c->model[1], i);
        if (find_in(c->model[0], label) != RF_OPEN)
            continue;
        f->place[1][i] = c->n_classes;
        add_class(c, label, RF_OPEN, i);
    }
    for (size_t k = 0; k < 2; k++)
        f->place[k][open_id(c, k)] = c->n_classes;
    add_class(c, rf_model_label(c->model[0], RF_OPEN), RF_OPEN, RF_OPEN);
}

/* Which model is right about whether the row is of the class at `place`. */
static void judge_class(const filling *f, const rf_compared_row *r, size_t place)
{
    rf_class_difference *d = &f->c->classes[place];
    bool right[2];
    if (!d->known[0] || !d->known[1])
        return;
    for (size_t k = 0; k < 2; k++)
        right[k] =
            (f->place[k][r->truth[k]] == place) == (f->place[k][r->answer[k]] == place);
    if (right[0] != right[1])
        d->only_right[right[1]]++;
}

/* Of all classes, a row can tell the models apart on those that it names. */
static void judge_row(const filling *f, const rf_compared_row *r)
{
    const size_t named[4] = {f->place[0][r->truth[0]], f->place[0][r->answer[0]],
                             f->place[1][r->truth[1]], f->place[1][r->answer[1]]};
    for (size_t i = 0; i < 4; i++) {
        bool seen = false;
        for (size_t j = 0; j < i; j++)
            seen = seen || named[j] == named[i];
        if (!seen)
            judge_class(f, r, named[i]);
    }
}

typedef struct ranked {
    double p;
    size_t at;
} ranked;

static int by_p(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->p != y->p)
        return x->p < y->p ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

/* Open is no class: the shares of known and open texts say how the models differ there.
 */
static bool is_tested(const rf_class_difference *d)
{
    return d->known[0] && d->known[1] && d->class_index[0] != RF_OPEN;
}

/* The square of how far the two counts are apart, in standard deviations. */
static double squared_gap(const rf_class_difference *d)
{
    double a = (double)d->only_right[0], b = (double)d->only_right[1];
    return a + b > 0.0 ? (b - a) * (b - a) / (a + b) : 0.0;
}

/* Beyond chance means two things: with other texts, and beside the other classes. The
 * same training with another seed or other rows moves whole classes, so that texts of a
 * class change together and gaps scatter by more than the 1 that chance in the texts
 * accounts for. The other classes show by how much; the class must stand out from them.
 */
static double p_of_class(const rf_class_difference *d, double sum_gaps, size_t tested)
{
    double p = rf_paired_p(d->only_right[0], d->only_right[1]), gap = squared_gap(d);
    if (tested < 2)
        return p;
    double others = (double)(tested - 1), scatter = fmax((sum_gaps - gap) / others, 1.0);
    return fmax(p, rf_t_tails(sqrt(gap / scatter), others));
}

static void correct_by_holm(rf_comparison *c, ranked *all, size_t n)
{
    double least = 0.0;
    qsort(all, n, sizeof *all, by_p);
    for (size_t i = 0; i < n; i++) {
        rf_class_difference *d = &c->classes[all[i].at];
        least = fmax(least, fmin(all[i].p * (double)(n - i), 1.0));
        d->p = least;
        d->different = least <= LEVEL;
        c->n_different += d->different;
    }
}

static rf_status test_classes(rf_comparison *c, rf_error *err)
{
    ranked *all = calloc(c->n_classes, sizeof *all);
    size_t n = 0;
    double sum_gaps = 0.0;
    if (!all)
        return rf_fail_nomem(err, c->n_classes * sizeof *all, "the tests of classes");
    for (size_t i = 0; i < c->n_classes; i++)
        if (is_tested(&c->classes[i])) {
            sum_gaps += squared_gap(&c->classes[i]);
            all[n++].at = i;
        }
    for (size_t i = 0; i < n; i++)
        all[i].p = p_of_class(&c->classes[all[i].at], sum_gaps, n);
    c->n_tested = n;
    c->scatter = n ? sum_gaps / (double)n : NAN;
    correct_by_holm(c, all, n);
    free(all);
    return RF_OK;
}

static rf_status fill_classes(filling *f, rf_error *err)
{
    rf_comparison *c = f->c;
    size_t most = open_id(c, 0) + open_id(c, 1) + 1;
    c->classes = calloc(most, sizeof *c->classes);
    for (size_t k = 0; k < 2; k++)
        f->place[k] = calloc(open_id(c, k) + 1, sizeof *f->place[k]);
    if (!c->classes || !f->place[0] || !f->place[1])
        return rf_fail_nomem(err, most * sizeof *c->classes, "the classes to compare");
    list_classes(f);
    for (size_t i = 0; i < f->n; i++)
        judge_row(f, &f->rows[i]);
    return test_classes(c, err);
}

/* ---- Changes ----------------------------------------------------------------------- */

/* False if the row did not change, or if both models are right about it. */
static bool change_of(const filling *f, const rf_compared_row *r, rf_change_kind *kind)
{
    bool right[2] = {is_right(r, 0), is_right(r, 1)};
    *kind = right[0] ? RF_CHANGE_LOST : right[1] ? RF_CHANGE_GAINED : RF_CHANGE_WRONG;
    return right[0] != right[1] ||
           (!right[0] && f->place[0][r->answer[0]] != f->place[1][r->answer[1]]);
}

static rf_status fill_changes(const filling *f, rf_error *err)
{
    rf_comparison *c = f->c;
    rf_change_kind kind;
    for (size_t i = 0; i < f->n; i++)
        if (change_of(f, &f->rows[i], &kind)) {
            c->n_kind[kind]++;
            c->n_changes++;
        }
    c->changes = calloc(c->n_changes + 1, sizeof *c->changes);
    if (!c->changes)
        return rf_fail_nomem(err, c->n_changes * sizeof *c->changes, "the changes");
    size_t next[RF_CHANGE_KINDS] = {0, c->n_kind[0], c->n_kind[0] + c->n_kind[1]};
    for (size_t i = 0; i < f->n; i++) {
        const rf_compared_row *r = &f->rows[i];
        if (!change_of(f, r, &kind))
            continue;
        rf_change *to = &c->changes[next[kind]++];
        *to = (rf_change){.kind = kind, .row = i};
        for (size_t k = 0; k < 2; k++) {
            to->answer[k] = says_open(c, r, k) ? RF_OPEN : r->answer[k];
            to->confidence[k] = r->confidence[k];
        }
    }
    return RF_OK;
}

rf_status rf_comparison_fill(rf_comparison *c, const rf_compared_row *rows, size_t n,
                             rf_error *err)
{
    filling f = {.c = c, .rows = rows, .n = n};
    fill_figures(&f);
    rf_status st = fill_classes(&f, err);
    if (st == RF_OK)
        st = fill_changes(&f, err);
    c->beyond_chance = c->n_different > 0 || c->accuracy.beyond_chance ||
                       c->f1.beyond_chance || c->known_rejected.beyond_chance ||
                       c->open_accepted.beyond_chance;
    free(f.place[0]);
    free(f.place[1]);
    return st;
}
