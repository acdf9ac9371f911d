#include "model/metrics.h"

#include "base/memory.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

rf_status rf_evaluation_init(rf_evaluation *e, size_t classes, rf_error *err)
{
    *e = (rf_evaluation){.classes = classes};
    size_t ids = classes + 1, cells = 0, bytes = SIZE_MAX;
    if (rf_size_mul(ids, ids, &cells) && rf_size_mul(cells, sizeof(size_t), &bytes)) {
        e->scores = calloc(ids, sizeof *e->scores);
        e->confusion = calloc(cells, sizeof *e->confusion);
    }
    if (e->scores && e->confusion)
        return RF_OK;
    rf_evaluation_release(e);
    return rf_fail_nomem(err, bytes, "a confusion matrix");
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

void rf_evaluation_add(rf_evaluation *e, size_t truth, size_t answer)
{
    e->confusion[id_of(e, truth) * (e->classes + 1) + id_of(e, answer)]++;
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
    for (size_t i = 0; i < e->classes; i++)
        accepted += e->confusion[e->classes * (e->classes + 1) + i];
    return accepted;
}

/* In per cent; nothing of nothing is 0. */
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

void rf_evaluation_finish(rf_evaluation *e)
{
    size_t ids = e->classes + 1, correct = 0;
    for (size_t i = 0; i < ids; i++)
        e->scores[i] = (rf_class_score){.correct = e->confusion[i * ids + i]};
    for (size_t i = 0; i < ids; i++)
        for (size_t j = 0; j < ids; j++) {
            e->scores[i].support += e->confusion[i * ids + j];
            e->scores[j].predicted += e->confusion[i * ids + j];
        }
    double known = 0.0;
    e->n = 0;
    for (size_t i = 0; i < ids; i++) {
        rf_class_score *s = &e->scores[i];
        s->precision = share(s->correct, s->predicted);
        s->recall = share(s->correct, s->support);
        double sum = s->precision + s->recall;
        s->f1 = sum > 0.0 ? 2.0 * s->precision * s->recall / sum : 0.0;
        e->n += s->support;
        correct += s->correct;
        if (i < e->classes)
            known += s->f1;
    }
    e->n_open = e->scores[e->classes].support;
    e->accuracy = share(correct, e->n);
    e->f1_open = e->scores[e->classes].f1;
    e->f1_known = e->classes ? known / (double)e->classes : 0.0;
    e->f1 = (known + e->f1_open) / (double)ids;
    finish_reliability(e);
}
