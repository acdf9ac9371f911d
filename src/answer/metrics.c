/* metrics.c - sparse confusion matrix, F1, MCC, AUROC, calibration error and the ranking
 * of confusions */
#include "answer/metrics.h"

#include "base/memory.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

rf_status rf_evaluation_init(rf_evaluation *e, size_t classes, size_t rows, rf_error *err)
{
    *e = (rf_evaluation){.classes = classes, .auroc = NAN};
    size_t bytes = SIZE_MAX, more = 0;
    if (rf_size_mul(classes + 1, sizeof *e->scores, &bytes) &&
        rf_size_mul(rows + 1, sizeof *e->confusion, &more)) {
        e->scores = calloc(classes + 1, sizeof *e->scores);
        e->confusion = malloc(more);
    }
    if (e->scores && e->confusion)
        return RF_OK;
    rf_evaluation_release(e);
    return rf_fail_nomem(err, bytes > SIZE_MAX - more ? SIZE_MAX : bytes + more,
                         "the figures of an evaluation");
}

void rf_evaluation_release(rf_evaluation *e)
{
    free(e->scores);
    free(e->confusion);
    *e = (rf_evaluation){0};
}

static size_t id_of(const rf_evaluation *e, size_t class_index)
{
    assert(class_index == RF_OPEN || class_index < e->classes);
    return class_index == RF_OPEN ? e->classes : class_index;
}

/* In a cell of its own: rf_evaluation_finish puts those that are equal together. */
void rf_evaluation_add(rf_evaluation *e, size_t truth, size_t answer)
{
    e->confusion[e->n_confusion++] = (rf_confusion){id_of(e, truth), id_of(e, answer), 1};
}

static int by_place(const void *a, const void *b)
{
    const rf_confusion *x = a, *y = b;
    if (x->truth != y->truth)
        return x->truth < y->truth ? -1 : 1;
    return x->answer < y->answer ? -1 : x->answer > y->answer;
}

static void merge_cells(rf_evaluation *e)
{
    rf_confusion *c = e->confusion;
    size_t n = 0;
    qsort(c, e->n_confusion, sizeof *c, by_place);
    for (size_t i = 0; i < e->n_confusion; i++) {
        if (n > 0 && by_place(&c[n - 1], &c[i]) == 0)
            c[n - 1].count += c[i].count;
        else
            c[n++] = c[i];
    }
    e->n_confusion = n;
}

size_t rf_evaluation_count(const rf_evaluation *e, size_t truth, size_t answer)
{
    const rf_confusion place = {.truth = truth, .answer = answer};
    const rf_confusion *found =
        bsearch(&place, e->confusion, e->n_confusion, sizeof place, by_place);
    return found ? found->count : 0;
}

void rf_evaluation_add_confidence(rf_evaluation *e, bool right, float confidence)
{
    double c = confidence > 0.0f ? fmin((double)confidence, 1.0) : 0.0;
    size_t at = (size_t)(c * RF_RELIABILITY_BINS);
    rf_reliability_bin *b =
        &e->reliability[at < RF_RELIABILITY_BINS ? at : RF_RELIABILITY_BINS - 1];
    b->count++;
    b->correct += right;
    b->confidence += (100.0 * c - b->confidence) / (double)b->count;
}

size_t rf_evaluation_accepted(const rf_evaluation *e)
{
    size_t accepted = 0;
    for (size_t i = 0; i < e->n_confusion; i++)
        if (e->confusion[i].truth == e->classes && e->confusion[i].answer < e->classes)
            accepted += e->confusion[i].count;
    return accepted;
}

static int by_count(const void *a, const void *b)
{
    const rf_confusion *x = a, *y = b;
    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    return by_place(x, y);
}

rf_status rf_evaluation_confusions(const rf_evaluation *e, rf_confusion **list, size_t *n,
                                   rf_error *err)
{
    *n = 0;
    *list = malloc((e->n_confusion + 1) * sizeof **list);
    if (!*list)
        return rf_fail_nomem(err, e->n_confusion * sizeof **list, "the confusions");
    for (size_t i = 0; i < e->n_confusion; i++)
        if (e->confusion[i].truth != e->confusion[i].answer)
            (*list)[(*n)++] = e->confusion[i];
    qsort(*list, *n, sizeof **list, by_count);
    return RF_OK;
}

/* In per cent; 0 of 0 is 0. */
static double share(size_t part, size_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0.0;
}

static void finish_reliability(rf_evaluation *e)
{
    double sum = 0.0, n = 0.0;
    for (size_t i = 0; i < RF_RELIABILITY_BINS; i++) {
        rf_reliability_bin *b = &e->reliability[i];
        b->right = share(b->correct, b->count);
        sum += (double)b->count * fabs(b->right - b->confidence);
        n += (double)b->count;
    }
    e->calibration_error = n > 0.0 ? sum / n : 0.0;
}

/* Gorodkin's R_K. With n rows, c of them right, and t_k rows and p_k answers of id k:
 *   (n c - sum t_k p_k) / sqrt((n^2 - sum p_k^2) (n^2 - sum t_k^2))
 * All terms are whole numbers, exact up to 9e7 rows. A factor is 0, and the quotient
 * undefined, if all rows or all answers are of one id. */
static double matthews(const rf_evaluation *e, size_t correct)
{
    double n = (double)e->n, tp = 0.0, tt = 0.0, pp = 0.0;
    for (size_t i = 0; i <= e->classes; i++) {
        double t = (double)e->scores[i].support, p = (double)e->scores[i].predicted;
        tp += t * p;
        tt += t * t;
        pp += p * p;
    }
    double squared = (n * n - pp) * (n * n - tt);
    return squared > 0.0 ? (n * (double)correct - tp) / sqrt(squared) : 0.0;
}

static int by_margin(const void *a, const void *b)
{
    const rf_margin_row *x = a, *y = b;
    return x->margin < y->margin ? -1 : x->margin > y->margin;
}

/* The Mann-Whitney statistic over the number of pairs. Counting pairs twice keeps ties
 * whole, so the sum is exact; equal margins make one group, so their order does not
 * matter. */
double rf_auroc(rf_margin_row *rows, size_t n)
{
    uint64_t twice = 0, known = 0, open = 0;
    qsort(rows, n, sizeof *rows, by_margin);
    for (size_t i = 0; i < n;) {
        uint64_t tied_known = 0, tied_open = 0;
        float margin = rows[i].margin;
        do {
            tied_open += rows[i].open;
            tied_known += !rows[i].open;
        } while (++i < n && rows[i].margin == margin);
        twice += tied_known * (2 * open + tied_open);
        known += tied_known;
        open += tied_open;
    }
    return known && open ? 50.0 * (double)twice / ((double)known * (double)open) : NAN;
}

void rf_evaluation_finish(rf_evaluation *e)
{
    size_t ids = e->classes + 1, correct = 0, tested = 0;
    merge_cells(e);
    for (size_t i = 0; i < ids; i++)
        e->scores[i] = (rf_class_score){0};
    for (const rf_confusion *c = e->confusion; c < e->confusion + e->n_confusion; c++) {
        e->scores[c->truth].support += c->count;
        e->scores[c->answer].predicted += c->count;
        e->scores[c->truth].correct += c->truth == c->answer ? c->count : 0;
    }
    double known = 0.0, of_tested = 0.0;
    e->n = 0;
    for (size_t i = 0; i < ids; i++) {
        rf_class_score *s = &e->scores[i];
        s->precision = share(s->correct, s->predicted);
        s->recall = share(s->correct, s->support);
        double sum = s->precision + s->recall;
        s->f1 = sum > 0.0 ? 2.0 * s->precision * s->recall / sum : 0.0;
        e->n += s->support;
        correct += s->correct;
        if (s->support) {
            of_tested += s->f1;
            tested++;
        }
        if (i < e->classes)
            known += s->f1;
    }
    e->n_open = e->scores[e->classes].support;
    e->accuracy = share(correct, e->n);
    e->f1_open = e->scores[e->classes].f1;
    e->f1_known = e->classes ? known / (double)e->classes : 0.0;
    e->f1 = (known + e->f1_open) / (double)ids;
    e->f1_tested = tested ? of_tested / (double)tested : 0.0;
    e->mcc = matthews(e, correct);
    finish_reliability(e);
}
