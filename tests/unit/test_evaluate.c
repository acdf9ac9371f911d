/*
 * Evaluation of a data set: the confusion matrix counted from single answers, what counts
 * as open, the bins of confidence, and what a model promised.
 */
#include "tiny_model.h"

#include "scratch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CLASSES = 7, ROWS = 900 };

typedef struct fixture {
    rf_model *model;
    rf_session *session;
} fixture;

static int setup(void **state)
{
    static fixture f;
    f.model = tiny_model_new(CLASSES, -1.6f);
    f.session = rf_session_new(f.model, 2, NULL);
    *state = &f;
    return f.session ? 0 : 1;
}

static int teardown(void **state)
{
    fixture *f = *state;
    rf_session_free(f->session);
    rf_model_free(f->model);
    return 0;
}

static void add(rf_dataset *data, const char *text, size_t len, const char *label)
{
    assert_int_equal(rf_dataset_add(data, text, len, label, strlen(label), NULL), RF_OK);
}

/* Labels that no model of ours has; they sort before, among and after its own. */
static const char *const strange[] = {"a-new-one", "c0002x", "c000", "oos", "open"};

/* Row by row: the truth by comparing names, the answer by rf_classify. */
static void a_set_with_everything(void **state)
{
    const fixture *f = *state;
    size_t want[CLASSES + 1][CLASSES + 1] = {0}, n_open = 0, bins[10] = {0},
                                       good[10] = {0};
    static float margin[ROWS]; /* known rows from the front, open ones from the back */
    size_t known = 0;
    rf_dataset *data = rf_dataset_new(NULL);
    for (size_t i = 0; i < ROWS; i++) {
        char text[60], label[16];
        size_t truth = i % 4 == 0 ? CLASSES : i * 5 % CLASSES, len = i % 60;
        tiny_text(text, len, i);
        if (truth == CLASSES)
            snprintf(label, sizeof label, "%s", strange[i / 4 % 5]);
        else
            snprintf(label, sizeof label, "c%04zu", truth);
        add(data, text, len, label);
        rf_decision d;
        assert_int_equal(rf_classify(f->session, text, len, &d, NULL), RF_OK);
        want[truth][d.class_index == RF_OPEN ? CLASSES : d.class_index]++;
        n_open += truth == CLASSES;
        margin[truth == CLASSES ? ROWS - n_open : known++] = d.margin;
        size_t bin = d.confidence < 1.0f ? (size_t)(10.0 * (double)d.confidence) : 9;
        bins[bin]++;
        good[bin] += truth == (d.class_index == RF_OPEN ? CLASSES : d.class_index);
    }
    rf_evaluation e;
    assert_int_equal(rf_evaluate(f->session, data, &e, NULL), RF_OK);
    assert_int_equal(e.classes, CLASSES);
    assert_int_equal(e.n, ROWS);
    assert_int_equal(e.n_open, n_open);
    for (size_t i = 0; i <= CLASSES; i++)
        for (size_t k = 0; k <= CLASSES; k++)
            assert_int_equal(rf_evaluation_count(&e, i, k), want[i][k]);
    size_t answers_open = 0, right = 0;
    for (size_t i = 0; i <= CLASSES; i++) {
        answers_open += want[i][CLASSES];
        right += want[i][i];
    }
    assert_in_range(answers_open, ROWS / 10, ROWS * 9 / 10);
    assert_int_equal(e.scores[CLASSES].predicted, answers_open);
    assert_true(e.accuracy == 100.0 * (double)right / ROWS);
    for (size_t i = 0; i < 10; i++) {
        assert_int_equal(e.reliability[i].count, bins[i]);
        assert_int_equal(e.reliability[i].correct, good[i]);
        assert_true(!bins[i] || (e.reliability[i].confidence >= 10.0 * (double)i &&
                                 e.reliability[i].confidence <= 10.0 * (double)(i + 1)));
    }
    assert_true(e.calibration_error > 0.0 && e.calibration_error < 100.0);
    assert_int_equal(rf_evaluation_accepted(&e), n_open - want[CLASSES][CLASSES]);
    double won = 0.0;
    for (size_t i = 0; i < known; i++)
        for (size_t j = known; j < ROWS; j++)
            won += margin[i] > margin[j] ? 1.0 : margin[i] == margin[j] ? 0.5 : 0.0;
    assert_true(fabs(e.auroc - 100.0 * won / ((double)known * (double)n_open)) <= 1e-9);
    assert_true(e.auroc > 30.0 && e.auroc < 70.0); /* labels are random */
    assert_true(fabs(e.mcc) < 0.2);
    assert_true(e.f1_tested == e.f1); /* every class has rows */
    rf_evaluation_release(&e);
    rf_dataset_free(data);
}

/* Labels that are the model's own answers: everything is right. */
static void sets_of_one_kind(void **state)
{
    const fixture *f = *state;
    rf_dataset *known = rf_dataset_new(NULL), *open = rf_dataset_new(NULL);
    for (size_t i = 0; i < 200; i++) {
        char text[50];
        rf_decision d;
        tiny_text(text, sizeof text, i);
        assert_int_equal(rf_classify(f->session, text, sizeof text, &d, NULL), RF_OK);
        if (d.class_index == RF_OPEN)
            add(open, text, sizeof text, "never seen");
        else
            add(known, text, sizeof text, rf_model_label(f->model, d.class_index));
    }
    rf_evaluation e;
    assert_true(rf_dataset_rows(known) > 20 && rf_dataset_rows(open) > 20);
    assert_int_equal(rf_evaluate(f->session, known, &e, NULL), RF_OK);
    assert_true(e.accuracy == 100.0 && e.n_open == 0 && e.f1_open == 0.0);
    assert_true(e.f1_tested == 100.0 && e.f1 < 100.0);
    /* All of these texts fall into one class, so MCC is undefined. */
    assert_true(e.mcc == 0.0 && isnan(e.auroc));
    assert_true(e.scores[CLASSES].support == 0 && e.scores[CLASSES].predicted == 0);
    rf_evaluation_release(&e);
    assert_int_equal(rf_evaluate(f->session, open, &e, NULL), RF_OK);
    assert_true(e.accuracy == 100.0 && e.f1_open == 100.0 && e.f1_known == 0.0);
    assert_true(e.f1_tested == 100.0 && e.mcc == 0.0 && isnan(e.auroc));
    assert_int_equal(e.n_open, rf_dataset_rows(open));
    rf_evaluation_release(&e);
    rf_dataset_free(known);
    rf_dataset_free(open);
}

static void an_empty_set(void **state)
{
    const fixture *f = *state;
    rf_dataset *data = rf_dataset_new(NULL);
    rf_evaluation e;
    assert_int_equal(rf_evaluate(f->session, data, &e, NULL), RF_OK);
    assert_int_equal(e.n, 0);
    assert_true(e.accuracy == 0.0 && e.f1 == 0.0);
    assert_true(e.f1_tested == 0.0 && e.mcc == 0.0 && isnan(e.auroc));
    rf_evaluation_release(&e);
    rf_dataset_free(data);
}

static void promises(void **state)
{
    const fixture *f = *state;
    static const struct {
        const char *summary; /* NULL: none at all */
        double want[8];      /* most, expected, low, high; 9: no promise; the same of
                              * false rejects, 0: not told */
    } cases[] = {
        {NULL, {9}},
        {"{}", {9}},
        {"{\"budget\": {\"max_false_accept\": 0.01}}", {9}},
        {"{\"budget\": {\"expected_false_accept\": 0.1, \"interval\": [0.2]}}", {9}},
        {"{\"budget\": {\"expected_false_accept\": \"1\", \"interval\": [0, 1]}}", {9}},
        {"{\"budget\": [0.1]}", {9}},
        {"{\"budget\": {\"expected_false_accept\": -5, \"interval\": [0, 1]}}", {9}},
        {"{\"budget\": {\"expected_false_accept\": 0.1, \"interval\": [0.3, 0.2]}}", {9}},
        {"{\"budget\": {\"expected_false_accept\": 0.1, \"interval\": [0, 9]}}", {9}},
        {"{\"budget\": {\"max_false_accept\": 1e308, \"expected_false_accept\": 0.1, "
         "\"interval\": [0, 1]}}",
         {9}},
        {"{\"budget\": {\"expected_false_accept\": 0.1, \"interval\": [0, 0.25]}}",
         {0, 0.1, 0, 0.25}},
        {"{\"budget\": {\"max_false_accept\": 0.02, \"expected_false_accept\": 0.01, "
         "\"interval\": [0.005, 0.03], \"open_rows\": 300}}",
         {0.02, 0.01, 0.005, 0.03}},
        {"{\"budget\": {\"max_false_accept\": null, \"expected_false_accept\": 0.01, "
         "\"interval\": [0.005, 0.03], \"max_false_reject\": 0.2, "
         "\"expected_false_reject\": 0.1, \"reject_interval\": [0.05, 0.15]}}",
         {0, 0.01, 0.005, 0.03, 0.2, 0.1, 0.05, 0.15}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rf_promise p = {.max_accept = 8, .accept_high = 8};
        f->model->summary =
            cases[i].summary ? json_loads(cases[i].summary, 0, NULL) : NULL;
        bool made = rf_model_promise(f->model, &p);
        json_decref(f->model->summary);
        f->model->summary = NULL;
        assert_int_equal(made, cases[i].want[0] < 9);
        if (!made) {
            assert_true(p.max_accept == 8 && p.accept_high == 8);
            continue;
        }
        const double *want = cases[i].want, *reject = want + 4;
        assert_true(p.max_accept == want[0] && p.expected_accept == want[1] &&
                    p.accept_low == want[2] && p.accept_high == want[3]);
        assert_int_equal(p.tells_reject, reject[1] > 0.0);
        assert_true(p.max_reject == reject[0] && p.expected_reject == reject[1] &&
                    p.reject_low == reject[2] && p.reject_high == reject[3]);
    }
}

static void not_while_a_text_is_half_fed(void **state)
{
    const fixture *f = *state;
    rf_dataset *data = rf_dataset_new(NULL);
    add(data, "where", 5, "c0001");
    rf_error err = {0};
    rf_evaluation e;
    assert_int_equal(rf_session_feed(f->session, "half", 4, NULL), RF_OK);
    assert_int_equal(rf_evaluate(f->session, data, &e, &err), RF_ERR_ARG);
    assert_error(&err, RF_ERR_ARG, "a text is being fed");
    assert_null(e.scores); /* nothing to release */
    assert_null(e.confusion);
    assert_int_equal(rf_session_end_text(f->session, NULL), RF_OK);
    assert_int_equal(rf_evaluate(f->session, data, &e, &err), RF_OK);
    assert_int_equal(e.n, 1);
    rf_evaluation_release(&e);
    rf_dataset_free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_set_with_everything),
        cmocka_unit_test(sets_of_one_kind),
        cmocka_unit_test(an_empty_set),
        cmocka_unit_test(promises),
        cmocka_unit_test(not_while_a_text_is_half_fed),
    };
    return cmocka_run_group_tests_name("evaluate", tests, setup, teardown);
}
