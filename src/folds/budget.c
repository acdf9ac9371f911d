/*
 * budget.c - place the fences so that they keep an error budget
 *
 * All heads get the same offset. For a budget P of false accepts it is the largest that
 * keeps P on the hidden texts, but no larger than needed to accept 99 in 100 known texts.
 * A fold knows some of the classes and the model all of them, and every further fence
 * accepts more, so the folds may use only that share of P.
 *
 * Fences of single classes that accept many hidden texts are not tightened: that fits
 * them to the texts of the folds, and of open texts of new classes twice to three times
 * as many got in as promised (docs/RESULTS.md).
 */
#include "folds/budget.h"

#include "base/memory.h"
#include "base/streams.h"
#include "stages/fence_line.h"
#include "num/vectors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A rate of the other error that is too small to spend a budget on. */
#define NEGLIGIBLE 0.01
/* Slightly beyond the margin of a text: the sum within the head rounds. */
#define ROUNDING_SLACK 1e-5f

/* ---- Fences ------------------------------------------------------------------------ */

/* Errors that n texts may show. A new text is equally likely to take any of the n+1
 * ranks (conformal prediction). */
static size_t errors_allowed(size_t n, double most)
{
    double errors = floor(most * (double)(n + 1) + 1e-9) - 1.0;
    return errors > 0.0 ? (size_t)errors : 0;
}

float rf_budget_loosest(float *margins, size_t n, double most)
{
    size_t allowed = errors_allowed(n, most);
    if (n == 0 || allowed >= n)
        return 0.0f;
    rf_sort(margins, n);
    float first_outside = margins[n - 1 - allowed];
    return -first_outside - ROUNDING_SLACK * (1.0f + fabsf(first_outside));
}

float rf_budget_tightest(float *margins, size_t n, double most)
{
    size_t allowed = errors_allowed(n, most);
    if (n == 0 || allowed >= n)
        return 0.0f;
    rf_sort(margins, n);
    float first_inside = margins[allowed];
    return -first_inside + ROUNDING_SLACK * (1.0f + fabsf(first_inside));
}

/* The largest margin with the per-class offsets, and its class. */
static float best_margin(const rf_budget *b, const rf_outcome *row, uint32_t *head)
{
    float best = -INFINITY;
    *head = row->head[0];
    for (size_t k = 0; k < RF_OUTCOME_HEADS; k++) {
        float margin = row->margin[k] + b->own[row->head[k]];
        if (margin > best) {
            best = margin;
            *head = row->head[k];
        }
    }
    return best;
}

uint32_t rf_budget_answer(const rf_budget *b, const rf_outcome *row)
{
    uint32_t head;
    return best_margin(b, row, &head) + b->common >= 0.0f ? head : (uint32_t)b->classes;
}

static size_t count_rows(const rf_outcomes *folds, size_t n_folds, bool hidden)
{
    size_t n = 0;
    for (size_t i = 0; i < n_folds; i++)
        n += hidden ? folds[i].n_hidden : folds[i].n - folds[i].n_hidden;
    return n;
}

/* Margins of all hidden or all known texts. */
static size_t list_margins(const rf_budget *b, const rf_outcomes *folds, size_t n_folds,
                           bool hidden, float *margins)
{
    size_t n = 0;
    uint32_t head;
    for (size_t i = 0; i < n_folds; i++)
        for (size_t k = 0; k < folds[i].n; k++)
            if (folds[i].row[k].hidden == hidden)
                margins[n++] = best_margin(b, &folds[i].row[k], &head);
    return n;
}

/* False accepts allowed in the folds. */
static double allowed_in_folds(const rf_budget *b)
{
    return b->known_share > 0.0 ? b->known_share * b->max_accept : b->max_accept;
}

float rf_budget_offset(float *known, size_t n_known, float *open, size_t n_open,
                       double max_accept, double max_reject)
{
    if (max_accept > 0.0) {
        float allowed = rf_budget_loosest(open, n_open, max_accept);
        float needed = n_known ? rf_budget_tightest(known, n_known, NEGLIGIBLE) : allowed;
        return needed < allowed ? needed : allowed;
    }
    float allowed = rf_budget_tightest(known, n_known, max_reject);
    float needed = n_open ? rf_budget_loosest(open, n_open, NEGLIGIBLE) : allowed;
    return needed > allowed ? needed : allowed;
}

static float common_offset(const rf_budget *b, const rf_outcomes *folds, size_t n_folds,
                           float *room)
{
    size_t n_open = list_margins(b, folds, n_folds, true, room);
    size_t n_known = list_margins(b, folds, n_folds, false, room + n_open);
    return rf_budget_offset(room + n_open, n_known, room, n_open, allowed_in_folds(b),
                            0.0);
}

rf_status rf_budget_fences(rf_budget *b, const rf_outcomes *folds, size_t n_folds,
                           rf_error *err)
{
    size_t n = count_rows(folds, n_folds, true) + count_rows(folds, n_folds, false);
    float *room = rf_floats_new(n + 1);
    if (!room)
        return rf_fail_nomem(err, n * sizeof *room, "the margins");
    memset(b->own, 0, b->classes * sizeof *b->own);
    b->common = common_offset(b, folds, n_folds, room);
    free(room);
    return RF_OK;
}

/* ---- Refusing ---------------------------------------------------------------------- */

rf_status rf_budget_enough(double most, const char *name, const char *option, size_t rows,
                           const char *what, rf_error *err)
{
    size_t wanted = rf_rate_rows(most);
    /* In per cent, rounded up to a hundredth. */
    double least = ceil(rf_rate_smallest(rows) * 10000.0 - 1e-6) / 100.0;
    if (rows >= wanted)
        return RF_OK;
    if (least > 50.0)
        return rf_fail(err, RF_ERR_ARG, 0,
                       "a budget of %g %% %s cannot be shown with these data: %zu %s, "
                       "wanted %zu, %zu are missing; so few support no budget at all",
                       100.0 * most, name, rows, what, wanted, wanted - rows);
    return rf_fail(err, RF_ERR_ARG, 0,
                   "a budget of %g %% %s cannot be shown with these data: %zu %s, wanted "
                   "%zu, %zu are missing; the smallest that they support is %s %g%%",
                   100.0 * most, name, rows, what, wanted, wanted - rows, option, least);
}

rf_status rf_budget_check(const rf_training *t)
{
    char why[RF_WHY];
    double accept = t->o.max_false_accept, reject = t->o.max_false_reject;
    rf_status st = RF_OK;
    if (!t->model->method->move_fence)
        return rf_fail(t->err, RF_ERR_ARG, 0,
                       "the fences of method %s cannot be moved: an error budget needs "
                       "ans or ovr",
                       t->model->method->name);
    if (rf_cross_fit_impossible(t, why))
        return rf_fail(t->err, RF_ERR_ARG, 0,
                       "an error budget cannot be shown with these data: %s", why);
    if (accept > 0.0)
        st = rf_budget_enough(accept, "of false accepts", "--max-false-accept",
                              t->train.n + t->dev.n,
                              "texts of classes that can be hidden", t->err);
    if (st == RF_OK && reject > 0.0)
        st = rf_budget_enough(reject, "of false rejects", "--max-false-reject",
                              t->train.n + t->dev.n, "texts to hold out", t->err);
    return st;
}

static double share_open(const rf_budget *b, const rf_outcome *rows, size_t n,
                         bool hidden)
{
    size_t open = 0, all = 0;
    for (size_t i = 0; i < n; i++) {
        all += rows[i].hidden == hidden;
        open += rows[i].hidden == hidden && rf_budget_answer(b, &rows[i]) == b->classes;
    }
    return all ? (double)open / (double)all : 0.0;
}

static double share_open_in_folds(const rf_budget *b, const rf_outcomes *folds,
                                  size_t n_folds, bool hidden)
{
    double sum = 0.0;
    size_t n = count_rows(folds, n_folds, hidden);
    for (size_t i = 0; i < n_folds; i++)
        sum += share_open(b, folds[i].row, folds[i].n, hidden) *
               (double)(hidden ? folds[i].n_hidden : folds[i].n - folds[i].n_hidden);
    return n ? sum / (double)n : 0.0;
}

/* Fails because both budgets cannot be met; the message says what could be. */
static rf_status refuse_both(const rf_budget *b, double found, const rf_outcomes *folds,
                             size_t n_folds, rf_error *err)
{
    size_t n = count_rows(folds, n_folds, false);
    float *room = rf_floats_new(n + 1);
    if (!room)
        return rf_fail_nomem(err, n * sizeof *room, "the margins");
    rf_budget other = *b; /* fences that meet the other budget */
    list_margins(b, folds, n_folds, false, room);
    other.common = rf_budget_tightest(room, n, b->max_reject);
    free(room);
    double accepted = 1.0 - share_open_in_folds(&other, folds, n_folds, true);
    return rf_fail(
        err, RF_ERR_ARG, 0,
        "the two budgets cannot be kept together: fences that let in at most "
        "%g %% of open texts reject %.1f %% of the known ones, wanted at most "
        "%g %%; fences that keep that would let in about %.1f %% of open texts",
        100.0 * b->max_accept, 100.0 * found, 100.0 * b->max_reject, 100.0 * accepted);
}

rf_status rf_budget_check_both(const rf_budget *b, const rf_outcomes *folds,
                               size_t n_folds, rf_error *err)
{
    double rejected = share_open_in_folds(b, folds, n_folds, false);
    return rejected > b->max_reject ? refuse_both(b, rejected, folds, n_folds, err)
                                    : RF_OK;
}

/* ---- From folds to the model ------------------------------------------------------- */

/* The average share of classes that a fold knows. Every class has texts. */
static rf_status measure_known_share(rf_budget *b, const rf_outcomes *folds,
                                     size_t n_folds, rf_error *err)
{
    size_t hidden = 0;
    bool *seen = calloc(b->classes, sizeof *seen);
    if (!seen)
        return rf_fail_nomem(err, b->classes * sizeof *seen, "the classes");
    for (size_t i = 0; i < n_folds; i++) {
        memset(seen, 0, b->classes * sizeof *seen);
        for (size_t k = 0; k < folds[i].n; k++) {
            const rf_outcome *row = &folds[i].row[k];
            hidden += row->hidden && !seen[row->truth];
            seen[row->truth] |= row->hidden;
        }
    }
    free(seen);
    b->known_share = 1.0 - (double)hidden / (double)(n_folds * b->classes);
    return RF_OK;
}

/* With a budget of false rejects only. */
static rf_status fence_for_known(rf_budget *b, const rf_outcomes *folds, size_t n_folds,
                                 rf_error *err)
{
    size_t all = count_rows(folds, n_folds, true) + count_rows(folds, n_folds, false);
    float *room = rf_floats_new(all + 1);
    if (!room)
        return rf_fail_nomem(err, all * sizeof *room, "the margins");
    size_t n_open = list_margins(b, folds, n_folds, true, room);
    size_t n_known = list_margins(b, folds, n_folds, false, room + n_open);
    b->common =
        rf_budget_offset(room + n_open, n_known, room, n_open, 0.0, b->max_reject);
    free(room);
    return RF_OK;
}

rf_status rf_budget_plan(rf_budget *b, const rf_training *t, const rf_outcomes *folds,
                         size_t n_folds)
{
    *b = (rf_budget){.max_accept = t->o.max_false_accept,
                     .max_reject = t->o.max_false_reject,
                     .classes = t->model->classes,
                     .open_rows = t->train.n + t->dev.n,
                     .hidden_classes = t->model->classes};
    b->own = calloc(b->classes, sizeof *b->own);
    b->class_accept = calloc(b->classes, sizeof *b->class_accept);
    if (!b->own || !b->class_accept)
        return rf_fail_nomem(t->err, b->classes * sizeof *b->class_accept, "the fences");
    rf_status st = measure_known_share(b, folds, n_folds, t->err);
    if (st != RF_OK)
        return st;
    st = b->max_accept > 0.0 ? rf_budget_fences(b, folds, n_folds, t->err)
                             : fence_for_known(b, folds, n_folds, t->err);
    if (st != RF_OK || b->max_reject == 0.0 || b->max_accept == 0.0)
        return st;
    return rf_budget_check_both(b, folds, n_folds, t->err);
}

/* Counts by class: known texts, answered correctly, called open; hidden texts,
 * accepted. */
typedef struct counts {
    size_t *known, *right, *open, *hidden, *let_in; /* [classes] */
} counts;

static void count_answers(const rf_budget *b, counts *c, const rf_outcome *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t truth = rows[i].truth, answer = rf_budget_answer(b, &rows[i]);
        if (rows[i].hidden) {
            c->hidden[truth]++;
            c->let_in[truth] += answer < b->classes;
        } else {
            c->known[truth]++;
            c->right[truth] += answer == truth;
            c->open[truth] += answer == b->classes;
        }
    }
}

/* class_accept: of the hidden texts in the folds that knew class m, the share accepted
 * as m. A class was hidden in a fold if it has a hidden text there. */
static rf_status share_by_head(rf_budget *b, const rf_outcomes *folds, size_t n_folds,
                               rf_error *err)
{
    size_t n = b->classes, *trials = calloc(2 * n, sizeof *trials);
    bool *hidden = calloc(n, sizeof *hidden);
    if (!trials || !hidden) {
        free(trials);
        free(hidden);
        return rf_fail_nomem(err, 2 * n * sizeof *trials, "the classes");
    }
    size_t *hits = trials + n;
    for (size_t i = 0; i < n_folds; i++) {
        memset(hidden, 0, n * sizeof *hidden);
        for (size_t k = 0; k < folds[i].n; k++) {
            const rf_outcome *row = &folds[i].row[k];
            uint32_t answer = rf_budget_answer(b, row);
            hidden[row->truth] |= row->hidden;
            if (row->hidden && answer < n)
                hits[answer]++;
        }
        for (size_t c = 0; c < n; c++)
            trials[c] += hidden[c] ? 0 : folds[i].n_hidden;
    }
    for (size_t c = 0; c < n; c++)
        b->class_accept[c] = trials[c] ? (double)hits[c] / (double)trials[c] : 0.0;
    free(trials);
    free(hidden);
    return RF_OK;
}

static rf_status estimate_rates(rf_budget *b, const rf_training *t,
                                const rf_outcomes *folds, size_t n_folds)
{
    size_t n = b->classes;
    size_t *block = calloc(5 * n, sizeof *block);
    if (!block)
        return rf_fail_nomem(t->err, 5 * n * sizeof *block, "the classes");
    counts c = {block, block + n, block + 2 * n, block + 3 * n, block + 4 * n};
    for (size_t i = 0; i < n_folds; i++)
        count_answers(b, &c, folds[i].row, folds[i].n);
    uint64_t seed = t->o.seed;
    rf_status st;
    if ((st = rf_rate_of_classes(&b->accept, c.let_in, c.hidden, n,
                                 rf_stream_key(seed, RF_STREAM_BUDGET, 0, 0), t->err)) ==
            RF_OK &&
        (st = rf_rate_of_classes(&b->recall, c.right, c.known, n,
                                 rf_stream_key(seed, RF_STREAM_BUDGET, 1, 0), t->err)) ==
            RF_OK &&
        (st = rf_rate_of_classes(&b->reject, c.open, c.known, n,
                                 rf_stream_key(seed, RF_STREAM_BUDGET, 2, 0), t->err)) ==
            RF_OK)
        st = share_by_head(b, folds, n_folds, t->err);
    if (st == RF_OK && b->known_share > 0.0) {
        b->accept.rate = fmin(1.0, b->accept.rate / b->known_share);
        b->accept.low = fmin(1.0, b->accept.low / b->known_share);
        b->accept.high = fmin(1.0, b->accept.high / b->known_share);
    }
    free(block);
    return st;
}

static rf_status move_fences(const rf_budget *b, rf_training *t)
{
    float *offsets = rf_floats_new(b->classes);
    if (!offsets)
        return rf_fail_nomem(t->err, b->classes * sizeof *offsets, "the fences");
    for (size_t i = 0; i < b->classes; i++)
        offsets[i] = b->common + b->own[i];
    rf_fence_move(t->model, offsets, 0.0f);
    free(offsets);
    return RF_OK;
}

rf_status rf_budget_place(rf_budget *b, rf_training *t, const rf_outcomes *folds,
                          size_t n_folds)
{
    rf_status st = estimate_rates(b, t, folds, n_folds);
    return st == RF_OK ? move_fences(b, t) : st;
}

static void move_margins(const rf_budget *b, rf_outcome *row)
{
    for (size_t k = 0; k < RF_OUTCOME_HEADS; k++) {
        uint32_t head = row->head[k];
        float margin = row->margin[k] + b->common + b->own[head];
        size_t at = k; /* insertion sort: the largest first */
        for (; at > 0 && margin > row->margin[at - 1]; at--) {
            row->margin[at] = row->margin[at - 1];
            row->head[at] = row->head[at - 1];
        }
        row->margin[at] = margin;
        row->head[at] = head;
    }
}

void rf_budget_apply(const rf_budget *b, rf_outcomes *folds, size_t n_folds)
{
    for (size_t i = 0; i < n_folds; i++) {
        for (size_t k = 0; k < folds[i].n; k++)
            move_margins(b, &folds[i].row[k]);
        for (size_t k = 0; k < folds[i].n_given; k++)
            move_margins(b, &folds[i].given[k]);
    }
}

void rf_budget_release(rf_budget *b)
{
    free(b->own);
    free(b->class_accept);
    *b = (rf_budget){0};
}

/* ---- JSON -------------------------------------------------------------------------- */

static json_t *limit_json(double most)
{
    return most > 0.0 ? json_real(most) : json_null();
}

static json_t *class_list(const rf_budget *b, const rf_model *m)
{
    json_t *list = json_array();
    bool good = list;
    for (size_t i = 0; i < b->classes && good; i++)
        good = json_array_append_new(
                   list, json_pack("{s:s, s:f, s:f}", "label", m->labels[i], "offset",
                                   (double)(b->common + b->own[i]),
                                   "expected_false_accept", b->class_accept[i])) == 0;
    if (good)
        return list;
    json_decref(list);
    return NULL;
}

json_t *rf_budget_json(const rf_budget *b, const rf_model *m)
{
    double least = 0.0, sum = 0.0, most = -INFINITY;
    for (size_t i = 0; i < b->classes; i++) {
        double own = (double)b->own[i];
        least = own < least ? own : least;
        most = own > most ? own : most;
        sum += own;
    }
    double common = (double)b->common;
    return json_pack(
        "{s:o, s:o, s:f, s:[f, f], s:f, s:[f, f], s:f, s:[f, f], s:{s:f, s:f, s:f}, s:I, "
        "s:I, s:o}",
        "max_false_accept", limit_json(b->max_accept), "max_false_reject",
        limit_json(b->max_reject), "expected_false_accept", b->accept.rate, "interval",
        b->accept.low, b->accept.high, "expected_recall", b->recall.rate,
        "recall_interval", b->recall.low, b->recall.high, "expected_false_reject",
        b->reject.rate, "reject_interval", b->reject.low, b->reject.high, "offset", "min",
        common + least, "mean", common + sum / (double)b->classes, "max", common + most,
        "open_rows", (json_int_t)b->open_rows, "hidden_classes",
        (json_int_t)b->hidden_classes, "classes", class_list(b, m));
}
