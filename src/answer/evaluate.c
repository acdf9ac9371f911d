/* evaluate.c - measure how often a model is right about labelled texts */
#include "answer/labelled.h"
#include "answer/metrics.h"
#include "answer/session.h"

#include <stdlib.h>

typedef struct tally {
    rf_margin_row *margins; /* [rows] filled as the answers come */
    rf_evaluation *into;
} tally;

static rf_status count_decision(void *user, size_t row, size_t truth,
                                const rf_decision *decision, rf_error *err)
{
    (void)err;
    tally *t = user;
    t->margins[row] = (rf_margin_row){decision->margin, truth == RF_OPEN};
    rf_evaluation_add(t->into, truth, decision->class_index);
    rf_evaluation_add_confidence(t->into, truth == decision->class_index,
                                 decision->confidence);
    return RF_OK;
}

rf_status rf_evaluate(rf_session *session, const rf_dataset *data, rf_evaluation *out,
                      rf_error *err)
{
    size_t n = rf_dataset_rows(data);
    tally t = {.margins = calloc(n + 1, sizeof *t.margins), .into = out};
    rf_status st = rf_evaluation_init(out, rf_session_model(session)->classes, n, err);
    if (st == RF_OK && !t.margins)
        st = rf_fail_nomem(err, n * sizeof *t.margins, "the margins of the rows");
    if (st == RF_OK)
        st = rf_classify_labelled(session, data, count_decision, &t, err);
    if (st == RF_OK) {
        rf_evaluation_finish(out);
        out->auroc = rf_auroc(t.margins, n);
    } else {
        rf_evaluation_release(out);
    }
    free(t.margins);
    return st;
}

static bool is_share(double x)
{
    return x >= 0.0 && x <= 1.0;
}

static bool take_interval(const json_t *interval, double *low, double *high)
{
    const json_t *ends[2] = {json_array_get(interval, 0), json_array_get(interval, 1)};
    if (!json_is_number(ends[0]) || !json_is_number(ends[1]))
        return false;
    *low = json_number_value(ends[0]);
    *high = json_number_value(ends[1]);
    return is_share(*low) && is_share(*high) && *low <= *high;
}

static bool take_rate(const json_t *rate, double *value, double *low, double *high)
{
    const json_t *numbers[3] = {json_object_get(rate, "rate"),
                                json_object_get(rate, "low"),
                                json_object_get(rate, "high")};
    double *to[3] = {value, low, high};
    for (size_t i = 0; i < 3; i++) {
        *to[i] = json_number_value(numbers[i]);
        if (!json_is_number(numbers[i]) || !is_share(*to[i]))
            return false;
    }
    return *low <= *high;
}

/* The same from "fence": labelled rows placed the fences. */
static bool promise_of_rows(const json_t *fence, rf_promise *out)
{
    const json_t *expected = json_object_get(fence, "expected");
    rf_promise p = {
        .max_accept = json_number_value(json_object_get(fence, "max_false_accept")),
        .max_reject = json_number_value(json_object_get(fence, "max_false_reject"))};
    if (!is_share(p.max_accept) || !is_share(p.max_reject) ||
        !take_rate(json_object_get(expected, "open_let_in"), &p.expected_accept,
                   &p.accept_low, &p.accept_high))
        return false;
    p.tells_reject = take_rate(json_object_get(expected, "known_as_open"),
                               &p.expected_reject, &p.reject_low, &p.reject_high);
    *out = p;
    return true;
}

bool rf_model_promise(const rf_model *model, rf_promise *out)
{
    const json_t *fence = json_object_get(model->summary, "fence");
    if (fence)
        return promise_of_rows(fence, out);
    const json_t *budget = json_object_get(model->summary, "budget");
    const json_t *accept = json_object_get(budget, "expected_false_accept");
    const json_t *reject = json_object_get(budget, "expected_false_reject");
    rf_promise p = {
        .max_accept = json_number_value(json_object_get(budget, "max_false_accept")),
        .expected_accept = json_number_value(accept),
        .max_reject = json_number_value(json_object_get(budget, "max_false_reject")),
        .expected_reject = json_number_value(reject)};
    if (!json_is_number(accept) || !is_share(p.expected_accept) ||
        !is_share(p.max_accept) ||
        !take_interval(json_object_get(budget, "interval"), &p.accept_low,
                       &p.accept_high))
        return false;
    p.tells_reject = json_is_number(reject) && is_share(p.expected_reject) &&
                     is_share(p.max_reject) &&
                     take_interval(json_object_get(budget, "reject_interval"),
                                   &p.reject_low, &p.reject_high);
    *out = p;
    return true;
}
