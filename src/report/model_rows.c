/* model_rows.c - classifies a whole test set and samples its features */
#include "report/model_rows.h"

#include "base/memory.h"
#include "base/rng.h"
#include "base/streams.h"
#include "answer/labelled.h"
#include "answer/metrics.h"
#include "model/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROGRESS_STEP 64 /* texts */

typedef struct collector {
    rf_answers *a;
    size_t kept; /* features */
    const rf_report_options *o;
} collector;

static int by_number(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

/* The rows on the map: all, or a random draw without replacement. */
static rf_status draw_sample(rf_answers *a, size_t max, uint64_t seed, rf_error *err)
{
    a->n_sampled = a->n < max ? a->n : max;
    a->sampled = malloc((a->n + 1) * sizeof *a->sampled);
    a->features = rf_floats_new(a->n_sampled * a->width + 1);
    if (!a->sampled || !a->features)
        return rf_fail_nomem(err, a->n_sampled * a->width * sizeof(float),
                             "the features of a report");
    for (size_t i = 0; i < a->n; i++)
        a->sampled[i] = (uint32_t)i;
    if (a->n_sampled < a->n) {
        rf_rng rng = rf_rng_open(rf_stream_key(seed, RF_STREAM_REPORT_SAMPLE, 0, 0));
        rf_rng_shuffle(&rng, a->sampled, a->n);
        qsort(a->sampled, a->n_sampled, sizeof *a->sampled, by_number);
    }
    return RF_OK;
}

static rf_status collect(void *user, size_t row, size_t truth, const rf_decision *d,
                         rf_error *err)
{
    collector *c = user;
    rf_answers *a = c->a;
    rf_evaluation_add(&a->score, truth, d->class_index);
    rf_evaluation_add_confidence(&a->score, truth == d->class_index, d->confidence);
    a->rows[row] = (rf_answer){truth == RF_OPEN ? a->classes : truth,
                               d->class_index == RF_OPEN ? a->classes : d->class_index,
                               d->confidence, d->margin};
    if (c->kept < a->n_sampled && a->sampled[c->kept] == row)
        memcpy(a->features + a->width * c->kept++, d->feature,
               a->width * sizeof *a->features);
    if ((row + 1) % PROGRESS_STEP == 0 && c->o->progress) {
        char line[80];
        snprintf(line, sizeof line, "classifying: %zu of %zu texts", row + 1, a->n);
        if (c->o->progress(c->o->user, line) != 0)
            return rf_fail(err, RF_ERR_STOPPED, 0, "stopped on request");
    }
    return RF_OK;
}

static rf_status finish_score(rf_answers *a, rf_error *err)
{
    rf_margin_row *margins = calloc(a->n + 1, sizeof *margins);
    if (!margins)
        return rf_fail_nomem(err, a->n * sizeof *margins, "the margins of a report");
    for (size_t i = 0; i < a->n; i++)
        margins[i] = (rf_margin_row){a->rows[i].margin, a->rows[i].truth == a->classes};
    rf_evaluation_finish(&a->score);
    a->score.auroc = rf_auroc(margins, a->n);
    free(margins);
    return RF_OK;
}

static rf_status classify(rf_answers *a, const rf_model *model, const rf_dataset *data,
                          const rf_report_options *o, size_t threads, rf_error *err)
{
    collector c = {.a = a, .o = o};
    a->rows = calloc(a->n + 1, sizeof *a->rows);
    if (!a->rows)
        return rf_fail_nomem(err, a->n * sizeof *a->rows, "the rows of a report");
    rf_session *session = rf_session_new(model, threads, err);
    if (!session)
        return err->code;
    rf_status st = rf_classify_labelled(session, data, collect, &c, err);
    rf_session_free(session);
    return st;
}

rf_status rf_answers_init(rf_answers *a, const rf_model *model, const rf_dataset *data,
                          const rf_report_options *o, size_t threads, rf_error *err)
{
    *a = (rf_answers){.n = rf_dataset_rows(data),
                      .classes = rf_model_classes(model),
                      .width = model->known.width};
    rf_status st = rf_evaluation_init(&a->score, a->classes, a->n, err);
    if (st == RF_OK)
        st = draw_sample(a, o->max_points, o->seed, err);
    if (st == RF_OK)
        st = classify(a, model, data, o, threads, err);
    if (st == RF_OK)
        st = finish_score(a, err);
    if (st != RF_OK)
        rf_answers_release(a);
    return st;
}

void rf_answers_release(rf_answers *a)
{
    free(a->rows);
    free(a->sampled);
    free(a->features);
    rf_evaluation_release(&a->score);
    *a = (rf_answers){0};
}
