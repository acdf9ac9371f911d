/* compare.c - rf_compare: two models answer the same rows */
#include "answer/compare.h"

#include "answer/labelled.h"
#include "answer/metrics.h"
#include "answer/session.h"
#include "model/model.h"

#include <stdlib.h>

typedef struct collector {
    rf_evaluation *into;
    rf_compared_row *rows;
    size_t side; /* 0 or 1 */
} collector;

static rf_status collect(void *user, size_t row, size_t truth, const rf_decision *d,
                         rf_error *err)
{
    (void)err;
    collector *c = user;
    rf_compared_row *r = &c->rows[row];
    size_t open = c->into->classes;
    r->truth[c->side] = truth == RF_OPEN ? open : truth;
    r->answer[c->side] = d->class_index == RF_OPEN ? open : d->class_index;
    r->confidence[c->side] = d->confidence;
    rf_evaluation_add(c->into, truth, d->class_index);
    rf_evaluation_add_confidence(c->into, truth == d->class_index, d->confidence);
    return RF_OK;
}

static rf_status answer_rows(rf_comparison *c, rf_session *const sessions[2],
                             const rf_dataset *data, rf_compared_row *rows, rf_error *err)
{
    rf_status st = RF_OK;
    for (size_t k = 0; k < 2 && st == RF_OK; k++) {
        rf_evaluation *e = &c->evaluation[k];
        collector to = {e, rows, k};
        c->model[k] = rf_session_model(sessions[k]);
        st = rf_evaluation_init(e, c->model[k]->classes, rf_dataset_rows(data), err);
        if (st == RF_OK)
            st = rf_classify_labelled(sessions[k], data, collect, &to, err);
        if (st == RF_OK)
            rf_evaluation_finish(e);
    }
    return st;
}

rf_status rf_compare(rf_session *first, rf_session *second, const rf_dataset *data,
                     rf_comparison *out, rf_error *err)
{
    rf_session *const sessions[2] = {first, second};
    size_t n = rf_dataset_rows(data);
    rf_compared_row *rows = calloc(n + 1, sizeof *rows);
    *out = (rf_comparison){0};
    if (!rows)
        return rf_fail_nomem(err, n * sizeof *rows, "the rows to compare");
    rf_status st = answer_rows(out, sessions, data, rows, err);
    if (st == RF_OK)
        st = rf_comparison_fill(out, rows, n, err);
    if (st != RF_OK)
        rf_comparison_release(out);
    free(rows);
    return st;
}

void rf_comparison_release(rf_comparison *c)
{
    free(c->classes);
    free(c->changes);
    for (size_t k = 0; k < 2; k++)
        rf_evaluation_release(&c->evaluation[k]);
    *c = (rf_comparison){0};
}
