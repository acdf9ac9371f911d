/*
 * budget.c
 *
 * Fences that keep a budget of false accepts P:
 *   0. a fold knows two thirds of the classes; the model knows them all, and each fence
 *      more lets in more. So P in the model is two thirds of P in the folds: below, that
 *      is P
 *   1. one offset for all heads, the largest that keeps P on the hidden texts; no larger
 *      than all but one in a hundred of the known ones need
 *   2. in a fold that knows K of the classes, each should account for a K-th part of P.
 *      One that accounts for more, over all folds, than chance explains (Poisson, 1 %)
 *      gets a tighter fence of its own: what would bring it to its part, times
 *      a / (a + 10) for a false accepts, as few say little
 *   3. one offset for all again, the largest that keeps P with these: what some classes
 *      gave, all get. As that lets the greedy ones out again a little, 2 and 3 are done
 * up to five times, as long as there are some
 */
#include "model/budget.h"

#include "base/memory.h"
#include "base/rng.h"
#include "model/fence_line.h"
#include "open/rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STREAM_BUDGET (UINT64_C(6) << 40)
#define CHANCE 0.01
#define SHRINK 10.0
#define ROUNDS 5
/* Errors of the other kind that are not worth spending a budget on. */
#define ENOUGH 0.01
/* A little beyond the margin of a text: the sum within the head rounds. */
#define SLACK 1e-5f

/* ---- Fences ------------------------------------------------------------------------ */

/* Of n + 1 texts, n known and one new, each is as likely to be any in the order: errors
 * that n texts may show. */
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
    return -first_outside - SLACK * (1.0f + fabsf(first_outside));
}

float rf_budget_tightest(float *margins, size_t n, double most)
{
    size_t allowed = errors_allowed(n, most);
    if (n == 0 || allowed >= n)
        return 0.0f;
    rf_sort(margins, n);
    float first_inside = margins[allowed];
    return -first_inside + SLACK * (1.0f + fabsf(first_inside));
}

/* The largest margin with the own parts of the fences, and whose it is. */
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

/* Margins of all hidden, or all known texts. */
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

/* trials[m]: hidden texts of the folds that knew m; hits[m]: those let in as m; fair[m]:
 * those that would be if the budget were used up, and evenly by the heads that each fold
 * has. A class was hidden in a fold if a hidden text is of it. */
typedef struct head_counts {
    size_t *hits, *trials; /* [classes] */
    double *fair;
} head_counts;

static void head_counts_release(head_counts *h)
{
    free(h->hits);
    free(h->trials);
    free(h->fair);
}

/* On failure, too, there is something to release. */
/* False accepts that are allowed in the folds. */
static double allowed_in_folds(const rf_budget *b)
{
    return b->kept > 0.0 ? b->kept * b->max_accept : b->max_accept;
}

static rf_status count_by_head(head_counts *h, const rf_budget *b,
                               const rf_outcomes *folds, size_t n_folds, rf_error *err)
{
    *h = (head_counts){.hits = calloc(b->classes, sizeof *h->hits),
                       .trials = calloc(b->classes, sizeof *h->trials),
                       .fair = calloc(b->classes, sizeof *h->fair)};
    bool *hidden = calloc(b->classes, sizeof *hidden);
    if (!h->hits || !h->trials || !h->fair || !hidden) {
        free(hidden);
        return rf_fail_nomem(err, b->classes * sizeof *h->fair, "the classes");
    }
    for (size_t i = 0; i < n_folds; i++) {
        size_t kept = 0;
        memset(hidden, 0, b->classes * sizeof *hidden);
        for (size_t k = 0; k < folds[i].n; k++) {
            const rf_outcome *row = &folds[i].row[k];
            uint32_t answer = rf_budget_answer(b, row);
            hidden[row->truth] |= row->hidden;
            if (row->hidden && answer < b->classes)
                h->hits[answer]++;
        }
        for (size_t c = 0; c < b->classes; c++)
            kept += !hidden[c];
        for (size_t c = 0; c < b->classes; c++)
            if (!hidden[c]) {
                h->trials[c] += folds[i].n_hidden;
                h->fair[c] +=
                    allowed_in_folds(b) * (double)folds[i].n_hidden / (double)kept;
            }
    }
    free(hidden);
    return RF_OK;
}

/* The own part of class m, which lets in `hits`: room is for so many margins. */
static float own_part(const rf_budget *b, const rf_outcomes *folds, size_t n_folds,
                      uint32_t m, size_t hits, size_t allowed, float *room)
{
    size_t n = 0;
    for (size_t i = 0; i < n_folds; i++)
        for (size_t k = 0; k < folds[i].n; k++) {
            const rf_outcome *row = &folds[i].row[k];
            uint32_t head;
            float margin = best_margin(b, row, &head) + b->common;
            if (row->hidden && head == m && margin >= 0.0f)
                room[n++] = margin;
        }
    rf_sort(room, n);
    double shrink = (double)hits / ((double)hits + SHRINK);
    return -(float)shrink * room[n - 1 - allowed];
}

/* Adds to the own parts; *some: there was a class to add to. */
static rf_status own_parts(rf_budget *b, const rf_outcomes *folds, size_t n_folds,
                           float *room, bool *some, rf_error *err)
{
    *some = false;
    head_counts h = {0};
    float *own = calloc(b->classes, sizeof *own);
    rf_status st = own ? count_by_head(&h, b, folds, n_folds, err)
                       : rf_fail_nomem(err, b->classes * sizeof *own, "the fences");
    for (size_t m = 0; m < b->classes && st == RF_OK; m++) {
        if ((double)h.hits[m] > h.fair[m] &&
            rf_poisson_tail(h.hits[m], h.fair[m]) < CHANCE) {
            own[m] = own_part(b, folds, n_folds, (uint32_t)m, h.hits[m],
                              (size_t)h.fair[m], room);
            *some = true;
        }
    }
    for (size_t m = 0; m < b->classes && st == RF_OK; m++)
        b->own[m] += own[m];
    head_counts_release(&h);
    free(own);
    return st;
}

/* As far out as the budget allows, but no further than known texts need: with a wide
 * budget it would let in open texts for nothing. */
static float common_offset(const rf_budget *b, const rf_outcomes *folds, size_t n_folds,
                           float *room)
{
    size_t n = list_margins(b, folds, n_folds, true, room);
    float allowed = rf_budget_loosest(room, n, allowed_in_folds(b));
    n = list_margins(b, folds, n_folds, false, room);
    float needed = n ? rf_budget_tightest(room, n, ENOUGH) : allowed;
    return needed < allowed ? needed : allowed;
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
    rf_status st = RF_OK;
    bool some = true;
    for (int round = 0; round < ROUNDS && some && st == RF_OK; round++) {
        st = own_parts(b, folds, n_folds, room, &some, err);
        b->common = common_offset(b, folds, n_folds, room);
    }
    free(room);
    return st;
}

/* ---- Refusing ---------------------------------------------------------------------- */

static rf_status too_few(const rf_training *t, const char *name, const char *option,
                         double most, size_t rows, const char *what)
{
    size_t wanted = rf_rate_rows(most);
    /* In per cent, rounded up to a hundredth. */
    double least = ceil(rf_rate_least(rows) * 10000.0 - 1e-6) / 100.0;
    if (rows >= wanted)
        return RF_OK;
    if (least > 50.0)
        return rf_fail(t->err, RF_ERR_ARG, 0,
                       "a budget of %g %% %s cannot be shown with these data: %zu %s, "
                       "wanted %zu, %zu are missing; so few support no budget at all",
                       100.0 * most, name, rows, what, wanted, wanted - rows);
    return rf_fail(t->err, RF_ERR_ARG, 0,
                   "a budget of %g %% %s cannot be shown with these data: %zu %s, wanted "
                   "%zu, %zu are missing; the smallest that they support is %s %g%%",
                   100.0 * most, name, rows, what, wanted, wanted - rows, option, least);
}

rf_status rf_budget_check(const rf_training *t)
{
    char why[RF_WHY];
    double accept = t->o.max_false_accept, reject = t->o.max_false_reject;
    rf_status st = RF_OK;
    if (!t->model->method->heads)
        return rf_fail(t->err, RF_ERR_ARG, 0,
                       "method %s has no heads, whose fences could be moved: an error "
                       "budget needs ans or ovr",
                       t->model->method->name);
    if (rf_folds_impossible(t, why))
        return rf_fail(t->err, RF_ERR_ARG, 0,
                       "an error budget cannot be shown with these data: %s", why);
    if (accept > 0.0)
        st = too_few(t, "of false accepts", "--max-false-accept", accept,
                     t->train.n + t->dev.n, "texts of classes that can be hidden");
    if (st == RF_OK && reject > 0.0)
        st = too_few(t, "of false rejects", "--max-false-reject", reject, t->dev.n,
                     "dev texts");
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

/* Both budgets cannot be kept: says what could be. */
static rf_status refuse_both(const rf_budget *b, double found, const char *where,
                             const rf_outcomes *folds, size_t n_folds, rf_error *err)
{
    size_t n = count_rows(folds, n_folds, false);
    float *room = rf_floats_new(n + 1);
    if (!room)
        return rf_fail_nomem(err, n * sizeof *room, "the margins");
    rf_budget other = *b; /* the fence that keeps the other one */
    list_margins(b, folds, n_folds, false, room);
    other.common = rf_budget_tightest(room, n, b->max_reject);
    free(room);
    double accepted = 1.0 - share_open_in_folds(&other, folds, n_folds, true);
    return rf_fail(err, RF_ERR_ARG, 0,
                   "the two budgets cannot be kept together: fences that let in at most "
                   "%g %% of open texts reject %.1f %% of the known ones %s, wanted at "
                   "most %g %%; fences that keep that would let in about %.1f %% of open "
                   "texts",
                   100.0 * b->max_accept, 100.0 * found, where, 100.0 * b->max_reject,
                   100.0 * accepted);
}

/* ---- From the folds to the model --------------------------------------------------- */

/* Classes that the folds know, of all; every class has texts. */
static rf_status share_kept(rf_budget *b, const rf_outcomes *folds, size_t n_folds,
                            rf_error *err)
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
    b->kept = 1.0 - (double)hidden / (double)(n_folds * b->classes);
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
    rf_status st = share_kept(b, folds, n_folds, t->err);
    if (st != RF_OK || b->max_accept == 0.0)
        return st; /* the model's own dev texts decide */
    st = rf_budget_fences(b, folds, n_folds, t->err);
    if (st != RF_OK || b->max_reject == 0.0)
        return st;
    double rejected = share_open_in_folds(b, folds, n_folds, false);
    return rejected > b->max_reject
               ? refuse_both(b, rejected, "in folds", folds, n_folds, t->err)
               : RF_OK;
}

/* Counts of classes: known texts in all, answered right, called open; hidden texts in
 * all, let in. */
typedef struct counts {
    size_t *known, *right, *open, *hidden, *let_in; /* [classes] */
} counts;

static void count(const rf_budget *b, counts *c, const rf_outcome *rows, size_t n)
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

static rf_status expect(rf_budget *b, const rf_training *t, const rf_outcomes *folds,
                        size_t n_folds, const rf_outcome *dev)
{
    size_t n = b->classes;
    size_t *block = calloc(5 * n, sizeof *block), right = 0;
    head_counts h = {0};
    if (!block)
        return rf_fail_nomem(t->err, 5 * n * sizeof *block, "the classes");
    counts c = {block, block + n, block + 2 * n, block + 3 * n, block + 4 * n};
    count(b, &c, dev, t->dev.n);
    for (size_t i = 0; i < n; i++)
        right += c.right[i];
    b->dev_recall = (double)right / (double)t->dev.n;
    for (size_t i = 0; i < n_folds; i++)
        count(b, &c, folds[i].row, folds[i].n);
    uint64_t seed = t->o.seed;
    rf_status st;
    if ((st = rf_rate_of_classes(&b->accept, c.let_in, c.hidden, n,
                                 rf_rng_key(seed, STREAM_BUDGET, 0, 0), t->err)) ==
            RF_OK &&
        (st = rf_rate_of_classes(&b->recall, c.right, c.known, n,
                                 rf_rng_key(seed, STREAM_BUDGET, 1, 0), t->err)) ==
            RF_OK &&
        (st = rf_rate_of_classes(&b->reject, c.open, c.known, n,
                                 rf_rng_key(seed, STREAM_BUDGET, 2, 0), t->err)) == RF_OK)
        st = count_by_head(&h, b, folds, n_folds, t->err);
    if (st == RF_OK && b->kept > 0.0) {
        b->accept.rate = fmin(1.0, b->accept.rate / b->kept);
        b->accept.low = fmin(1.0, b->accept.low / b->kept);
        b->accept.high = fmin(1.0, b->accept.high / b->kept);
    }
    for (size_t i = 0; i < n && st == RF_OK; i++)
        b->class_accept[i] = h.trials[i] ? (double)h.hits[i] / (double)h.trials[i] : 0.0;
    head_counts_release(&h);
    free(block);
    return st;
}

/* With a budget of false rejects alone: by the model's own dev texts. As close as it
 * allows, but no closer than keeps out all but one in a hundred of the open texts. */
static rf_status fence_by_dev(rf_budget *b, const rf_training *t,
                              const rf_outcomes *folds, size_t n_folds,
                              const rf_outcome *dev)
{
    size_t n = count_rows(folds, n_folds, true);
    float *room = rf_floats_new(n + t->dev.n + 1);
    if (!room)
        return rf_fail_nomem(t->err, n * sizeof *room, "the margins");
    for (size_t i = 0; i < t->dev.n; i++)
        room[i] = dev[i].margin[0];
    float allowed = rf_budget_tightest(room, t->dev.n, b->max_reject);
    list_margins(b, folds, n_folds, true, room);
    float needed = rf_budget_loosest(room, n, ENOUGH);
    b->common = needed > allowed ? needed : allowed;
    free(room);
    return RF_OK;
}

static rf_status move(const rf_budget *b, rf_training *t)
{
    float *offsets = rf_floats_new(b->classes);
    if (!offsets)
        return rf_fail_nomem(t->err, b->classes * sizeof *offsets, "the fences");
    for (size_t i = 0; i < b->classes; i++)
        offsets[i] = b->common + b->own[i];
    rf_fence_move_each(t->model, offsets);
    free(offsets);
    return RF_OK;
}

rf_status rf_budget_settle(rf_budget *b, rf_training *t, const rf_outcomes *folds,
                           size_t n_folds)
{
    rf_outcome *dev = calloc(t->dev.n + 1, sizeof *dev);
    if (!dev)
        return rf_fail_nomem(t->err, t->dev.n * sizeof *dev, "the dev texts");
    rf_status st = rf_outcomes_judge(t->model, t->dev.z, t->dev.n, t->team, dev, t->err);
    for (size_t i = 0; i < t->dev.n; i++)
        dev[i].truth = t->dev.class_of[i];
    if (st == RF_OK && b->max_accept == 0.0)
        st = fence_by_dev(b, t, folds, n_folds, dev);
    if (st == RF_OK && b->max_reject > 0.0) {
        double rejected = share_open(b, dev, t->dev.n, false);
        if (rejected > b->max_reject)
            st = refuse_both(b, rejected, "among the dev texts", folds, n_folds, t->err);
    }
    if (st == RF_OK)
        st = expect(b, t, folds, n_folds, dev);
    if (st == RF_OK)
        st = move(b, t);
    free(dev);
    return st;
}

void rf_budget_release(rf_budget *b)
{
    free(b->own);
    free(b->class_accept);
    *b = (rf_budget){0};
}

/* ---- In words ---------------------------------------------------------------------- */

static json_t *limit(double most)
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
        "{s:o, s:o, s:f, s:[f, f], s:f, s:[f, f], s:f, s:[f, f], s:f, s:{s:f, s:f, s:f}, "
        "s:I, s:I, s:o}",
        "max_false_accept", limit(b->max_accept), "max_false_reject",
        limit(b->max_reject), "expected_false_accept", b->accept.rate, "interval",
        b->accept.low, b->accept.high, "expected_recall", b->recall.rate,
        "recall_interval", b->recall.low, b->recall.high, "expected_false_reject",
        b->reject.rate, "reject_interval", b->reject.low, b->reject.high, "dev_recall",
        b->dev_recall, "offset", "min", common + least, "mean",
        common + sum / (double)b->classes, "max", common + most, "open_rows",
        (json_int_t)b->open_rows, "hidden_classes", (json_int_t)b->hidden_classes,
        "classes", class_list(b, m));
}
