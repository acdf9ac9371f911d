/*
 * test_move_fences.c - rf_model_move_fences: what it changes in a model, what it says,
 * what it refuses
 */
#include "ans/heads.h"
#include "base/streams.h"
#include "fence/fence_figures.h"
#include "fence/fence_spot.h"
#include "methods/methods.h"
#include "scratch.h"
#include "small_model.h"
#include "tiny_model.h"
#include "ringfence_improve.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TINY GOLDEN_DIR "/tiny/encoder"
#define CLASSES 4
#define KNOWN 120
#define OPEN 100
#define LEN 24

/* ---- A model and rows -------------------------------------------------------------- */

/* Random heads give any text to one class or two; moved so that both kinds of answers are
 * common. */
static rf_model *make_model(void)
{
    rf_error err = {0};
    rf_model *m = small_model(TINY, CLASSES, 1, &err);
    if (!m)
        fail_msg("%s", err.msg);
    json_t *heads =
        json_pack("[{s:f, s:f, s:i}]", "recall", 0.9, "dev_recall", 0.8, "steps", 7);
    assert_int_equal(json_object_set_new(m->summary, "heads", heads), 0);
    assert_int_equal(json_object_set_new(m->summary, "expected", json_object()), 0);
    assert_int_equal(json_object_set_new(m->summary, "budget", json_object()), 0);
    assert_int_equal(rf_model_describe(m, NULL), RF_OK);
    return m;
}

static void make_text(char text[LEN], size_t i)
{
    tiny_text(text, LEN, i);
}

/* Known rows have the label of their best head, every seventh another one; open rows have
 * one of five labels. */
static rf_dataset *make_rows(const rf_model *m, size_t known, size_t open)
{
    rf_dataset *data = rf_dataset_new(NULL);
    rf_session *s = rf_session_new(m, 1, NULL);
    assert_true(data && s);
    for (size_t i = 0; i < known + open; i++) {
        char text[LEN], label[16];
        rf_decision d;
        make_text(text, i);
        assert_int_equal(rf_classify(s, text, LEN, &d, NULL), RF_OK);
        const char *class = rf_model_label(m, (d.nearest + (i % 7 == 0)) % CLASSES);
        snprintf(label, sizeof label, "other %u", (unsigned)(i % 5));
        const char *name = i < known ? class : label;
        assert_int_equal(rf_dataset_add(data, text, LEN, name, strlen(name), NULL),
                         RF_OK);
    }
    rf_session_free(s);
    return data;
}

static float *margins_of(const rf_model *m, size_t n)
{
    float *margins = calloc(n * CLASSES, sizeof *margins);
    rf_session *s = rf_session_new(m, 1, NULL);
    assert_true(margins && s);
    for (size_t i = 0; i < n; i++) {
        char text[LEN];
        rf_decision d;
        make_text(text, i);
        assert_int_equal(rf_classify(s, text, LEN, &d, NULL), RF_OK);
        memcpy(margins + i * CLASSES, d.margins, CLASSES * sizeof *margins);
    }
    rf_session_free(s);
    return margins;
}

static void evaluate(const rf_model *m, const rf_dataset *rows, rf_evaluation *e)
{
    rf_session *s = rf_session_new(m, 2, NULL);
    assert_non_null(s);
    assert_int_equal(rf_evaluate(s, rows, e, NULL), RF_OK);
    rf_session_free(s);
}

static void assert_close(double got, double want)
{
    if (!(fabs(got - want) <= 1e-9))
        fail_msg("got %.12g, wanted %.12g", got, want);
}

/* ---- What it changes --------------------------------------------------------------- */

static void every_margin_moves_by_the_offset(void **state)
{
    (void)state;
    rf_model *m = make_model();
    rf_dataset *rows = make_rows(m, KNOWN, OPEN);
    float *before = margins_of(m, 50);
    rf_fence_result r;
    rf_error err = {0};
    if (rf_model_move_fences(m, rows, NULL, &r, &err) != RF_OK)
        fail_msg("%s", err.msg);
    float *after = margins_of(m, 50);
    assert_int_equal(r.rows, KNOWN + OPEN);
    assert_int_equal(r.open_rows, OPEN);
    assert_int_equal(r.own_offsets, 0);
    assert_true(r.offset != 0.0);
    for (size_t i = 0; i < 50 * CLASSES; i++)
        assert_true(fabs((double)after[i] - (double)before[i] - r.offset) <=
                    1e-5 * (1.0 + fabs((double)before[i])));
    free(before);
    free(after);
    rf_dataset_free(rows);
    rf_model_free(m);
}

static void the_figures_before_are_those_of_eval(void **state)
{
    (void)state;
    rf_model *m = make_model();
    rf_dataset *rows = make_rows(m, KNOWN, OPEN);
    rf_evaluation e;
    rf_fence_result r;
    evaluate(m, rows, &e);
    rf_fence_options o = rf_fence_options_default();
    o.best = RF_FENCE_BEST_ACCURACY;
    assert_int_equal(rf_model_move_fences(m, rows, &o, &r, NULL), RF_OK);
    assert_close(r.before.accuracy.value, e.accuracy);
    assert_close(r.before.f1.value, e.f1_tested);
    assert_close(r.before.open_let_in.value,
                 100.0 * (double)rf_evaluation_accepted(&e) / OPEN);
    const rf_class_score *open = &e.scores[CLASSES];
    assert_close(r.before.known_as_open.value,
                 100.0 * (double)(open->predicted - open->correct) / KNOWN);
    double was = e.accuracy;
    rf_evaluation_release(&e);
    evaluate(m, rows, &e); /* on the rows that placed it, hardly worse: it is smoothed */
    assert_true(e.accuracy >= was - 1.0);
    rf_evaluation_release(&e);
    rf_dataset_free(rows);
    rf_model_free(m);
}

/* Every fifth of the rows, answered with fences that the others place. */
static void what_to_expect_is_measured_on_rows_held_out(void **state)
{
    (void)state;
    rf_model *m = make_model();
    rf_dataset *rows = make_rows(m, KNOWN, OPEN);
    rf_fence_rows all;
    uint8_t fold[KNOWN + OPEN];
    const rf_outcome *others[KNOWN + OPEN];
    float own[CLASSES];
    size_t right = 0, let_in = 0, as_open = 0;
    assert_int_equal(rf_fence_rows_read(&all, m, rows, 1, NULL, NULL, NULL), RF_OK);
    uint64_t key = rf_stream_key(3, RF_STREAM_FENCE_ROWS, 0, 0);
    assert_int_equal(rf_fence_rows_deal(&all, 5, key, fold, NULL), RF_OK);
    for (size_t f = 0; f < 5; f++) {
        size_t n = 0;
        rf_budget b = {.classes = CLASSES, .own = own, .max_accept = 0.2};
        const rf_fence_goal goal = {0};
        for (size_t i = 0; i < KNOWN + OPEN; i++)
            if (fold[i] != f)
                others[n++] = &all.all.row[i];
        assert_int_equal(rf_fence_spot(&b, &goal, others, n, NULL), RF_OK);
        for (size_t i = 0; i < KNOWN + OPEN; i++) {
            const rf_outcome *row = &all.all.row[i];
            bool in = row->margin[0] + b.common >= 0.0f;
            if (fold[i] != f)
                continue;
            let_in += row->hidden && in;
            as_open += !row->hidden && !in;
            right += row->hidden ? !in : in && row->head[0] == row->truth;
        }
    }
    rf_fence_result r;
    rf_fence_options o = rf_fence_options_default();
    o.max_false_accept = 0.2;
    o.seed = 3;
    assert_int_equal(rf_model_move_fences(m, rows, &o, &r, NULL), RF_OK);
    assert_close(r.expected.accuracy.value, 100.0 * (double)right / (KNOWN + OPEN));
    assert_close(r.expected.open_let_in.value, 100.0 * (double)let_in / OPEN);
    assert_close(r.expected.known_as_open.value, 100.0 * (double)as_open / KNOWN);
    rf_promise p;
    assert_true(rf_model_promise(m, &p));
    assert_close(p.max_accept, 0.2);
    assert_close(p.max_reject, 0.0);
    assert_close(100.0 * p.expected_accept, r.expected.open_let_in.value);
    assert_close(100.0 * p.accept_high, r.expected.open_let_in.high);
    assert_true(p.tells_reject);
    assert_close(100.0 * p.reject_low, r.expected.known_as_open.low);
    rf_fence_rows_release(&all);
    rf_dataset_free(rows);
    rf_model_free(m);
}

static void the_description_follows(void **state)
{
    (void)state;
    rf_model *m = make_model();
    rf_dataset *rows = make_rows(m, KNOWN, OPEN);
    assert_int_equal(rf_model_move_fences(m, rows, NULL, NULL, NULL), RF_OK);
    const json_t *fence = json_object_get(m->summary, "fence");
    assert_int_equal(json_integer_value(json_object_get(fence, "rows")), KNOWN + OPEN);
    assert_string_equal(json_string_value(json_object_get(fence, "best")), "f1");
    assert_true(json_is_null(json_object_get(fence, "max_false_accept")));
    assert_null(json_object_get(m->summary, "expected"));
    assert_null(json_object_get(m->summary, "budget"));
    assert_non_null(json_object_get(m->summary, "losses"));
    const json_t *head = json_array_get(json_object_get(m->summary, "heads"), 0);
    assert_true(json_is_null(json_object_get(head, "recall")));
    assert_int_equal(json_integer_value(json_object_get(head, "steps")), 7);
    assert_int_equal(m->calibration.from, RF_CALIBRATION_FROM_LABELLED);
    assert_non_null(strstr(rf_model_json(m), "\"labelled\""));
    rf_dataset_free(rows);
    rf_model_free(m);
}

/* Saved, loaded, moved again and saved over itself; slim stays slim. */
static void moved_models_are_saved_and_loaded(void **state)
{
    (void)state;
    char dir[RF_PATH_MAX], path[RF_PATH_MAX];
    rf_error err = {0};
    scratch_make(dir);
    scratch_path(path, dir, "m.rf");
    for (int slim = 0; slim < 2; slim++) {
        rf_model *m = make_model();
        rf_dataset *rows = make_rows(m, KNOWN, OPEN);
        rf_save_options o = rf_save_options_default();
        o.slim = slim;
        assert_int_equal(rf_model_save(m, path, &o, NULL), RF_OK);
        rf_model *loaded = rf_model_load(path, NULL);
        assert_non_null(loaded);
        rf_fence_result a, b;
        assert_int_equal(rf_model_move_fences(m, rows, NULL, &a, NULL), RF_OK);
        assert_int_equal(rf_model_move_fences(loaded, rows, NULL, &b, NULL), RF_OK);
        assert_memory_equal(&a, &b, sizeof a);
        rf_model_summary s;
        rf_model_summarize(loaded, &s);
        assert_int_equal(s.encoder_contained, !slim);
        assert_non_null(strstr(rf_model_json(loaded),
                               slim ? "\"contained\":false" : "\"contained\":true"));
        assert_int_equal(rf_model_save(loaded, path, &o, NULL), RF_OK);
        rf_model *again = rf_model_load(path, &err);
        if (!again)
            fail_msg("%s", err.msg);
        float *x = margins_of(m, 20), *y = margins_of(again, 20);
        assert_memory_equal(x, y, 20 * CLASSES * sizeof *x);
        assert_memory_equal(&m->calibration, &again->calibration, sizeof m->calibration);
        free(x);
        free(y);
        rf_model_free(again);
        rf_model_free(loaded);
        rf_model_free(m);
        rf_dataset_free(rows);
    }
    scratch_remove(dir);
}

/* Without open rows confidence stays the chance that the text is known. */
static void known_rows_alone_serve_a_budget_of_rejects(void **state)
{
    (void)state;
    rf_model *m = make_model();
    rf_dataset *rows = make_rows(m, KNOWN, 0);
    rf_fence_options o = rf_fence_options_default();
    rf_fence_result r;
    rf_promise p;
    o.max_false_reject = 0.1;
    rf_calibration was = m->calibration;
    assert_int_equal(rf_model_move_fences(m, rows, &o, &r, NULL), RF_OK);
    assert_int_equal(m->calibration.from, was.from);
    assert_true(m->calibration.slope == was.slope);
    assert_true(fabs((double)m->calibration.bias + (double)was.slope * r.offset -
                     (double)was.bias) < 1e-4);
    assert_true(isnan(r.expected.open_let_in.value));
    assert_true(r.expected.known_as_open.value <= 20.0);
    assert_false(rf_model_promise(m, &p));
    rf_evaluation e;
    evaluate(m, rows, &e);
    assert_true((double)e.scores[CLASSES].predicted <= 0.1 * KNOWN);
    rf_evaluation_release(&e);
    rf_dataset_free(rows);
    rf_model_free(m);
}

/* ---- What it refuses --------------------------------------------------------------- */

static int stop(void *user, const char *line)
{
    assert_non_null(strstr(line, "classifying: "));
    return ++*(int *)user;
}

/* Each leaves the model as it was. */
/* By hand: the same with rows and without; rows measure, and a budget does not go with
 * it.
 */
static void placed_by_hand(void **state)
{
    (void)state;
    for (int with_rows = 0; with_rows <= 1; with_rows++) {
        rf_model *m = make_model();
        rf_dataset *rows = with_rows ? make_rows(m, KNOWN, OPEN) : NULL;
        float *before = margins_of(m, 50);
        rf_calibration was = m->calibration;
        rf_fence_options o = rf_fence_options_default();
        rf_fence_result r;
        rf_promise p;
        o.fixed = true;
        o.offset = -0.375;
        assert_int_equal(rf_model_move_fences(m, rows, &o, &r, NULL), RF_OK);
        float *after = margins_of(m, 50);
        for (size_t i = 0; i < 50 * CLASSES; i++)
            assert_true(fabsf(after[i] - before[i] + 0.375f) < 1e-5f);
        assert_true(r.offset == -0.375 && r.own_offsets == 0);
        assert_int_equal(r.rows, with_rows ? KNOWN + OPEN : 0);
        assert_true(isnan(r.before.f1.value) == !with_rows);
        assert_true(isnan(r.expected.open_let_in.value) == !with_rows);
        assert_int_equal(rf_model_promise(m, &p), with_rows);
        /* without rows a text keeps its chance to be known */
        if (!with_rows)
            assert_true(m->calibration.slope == was.slope &&
                        fabsf(m->calibration.bias - was.bias - 0.375f * was.slope) <
                            1e-5f);
        const json_t *fence = json_object_get(m->summary, "fence");
        assert_true(json_is_null(json_object_get(fence, "best")));
        assert_true(json_real_value(json_object_get(fence, "offset")) == -0.375);
        assert_null(json_object_get(m->summary, "expected"));
        assert_null(json_object_get(m->summary, "budget"));
        free(before);
        free(after);
        rf_dataset_free(rows);
        rf_model_free(m);
    }
}

/* Of fences placed by hand the figures are those of the answers at that fence. */
static void by_hand_the_figures_are_those_of_the_answers(void **state)
{
    (void)state;
    rf_model *m = make_model();
    rf_dataset *rows = make_rows(m, KNOWN, OPEN);
    rf_fence_options o = rf_fence_options_default();
    rf_fence_result r, again;
    o.fixed = true;
    o.offset = 0.25;
    assert_int_equal(rf_model_move_fences(m, rows, &o, &r, NULL), RF_OK);
    o.offset = 0.0;
    assert_int_equal(rf_model_move_fences(m, rows, &o, &again, NULL), RF_OK);
    assert_true(fabs(r.expected.accuracy.value - again.before.accuracy.value) < 1e-9);
    assert_true(fabs(r.expected.f1.value - again.before.f1.value) < 1e-9);
    assert_true(again.before.f1.value == again.expected.f1.value);
    rf_dataset_free(rows);
    rf_model_free(m);
}

static void refused_by_hand(void **state)
{
    (void)state;
    static const double bad[] = {NAN, INFINITY, -2e6};
    rf_error err = {0};
    rf_model *m = make_model();
    rf_fence_options o = rf_fence_options_default();
    assert_int_equal(rf_model_move_fences(m, NULL, &o, NULL, &err), RF_ERR_ARG);
    assert_non_null(strstr(err.msg, "found no rows"));
    o.fixed = true;
    for (size_t i = 0; i < 3; i++) {
        o.offset = bad[i];
        assert_int_equal(rf_model_move_fences(m, NULL, &o, NULL, &err), RF_ERR_ARG);
        assert_non_null(strstr(err.msg, "offset is"));
    }
    o.offset = 1.0;
    o.max_false_accept = 0.1;
    assert_int_equal(rf_model_move_fences(m, NULL, &o, NULL, &err), RF_ERR_ARG);
    assert_non_null(strstr(err.msg, "one or the other"));
    assert_non_null(json_object_get(m->summary, "expected")); /* as it was */
    rf_model_free(m);
}

static void refusals(void **state)
{
    (void)state;
    rf_model *m = make_model();
    rf_dataset *rows = make_rows(m, KNOWN, OPEN), *few = make_rows(m, KNOWN, 9);
    rf_dataset *known = make_rows(m, KNOWN, 0), *none = rf_dataset_new(NULL);
    char *json = strdup(rf_model_json(m));
    float *before = margins_of(m, 20);
    int calls = 0;
    const rf_method *heads = m->method;
    rf_method rigid = *heads;
    rigid.name = "rigid";
    rigid.move_fence = NULL;
    const struct {
        const rf_dataset *rows;
        rf_fence_options o;
        rf_status status;
        const char *message;
    } cases[] = {
        {few, {0}, RF_ERR_ARG, "120 rows of known classes and 9 open ones"},
        {none, {0}, RF_ERR_ARG, "0 rows of known classes and 0 open ones"},
        {rows, {.max_false_accept = 0.02}, RF_ERR_ARG, "100 open rows, wanted 150"},
        {known, {.max_false_accept = 0.1}, RF_ERR_ARG, "0 open rows, wanted 30"},
        {rows, {.max_false_reject = 0.02}, RF_ERR_ARG, "120 rows of known classes"},
        {rows, {.max_false_accept = 0.6}, RF_ERR_ARG, "max_false_accept is 0.6"},
        {rows, {.max_false_reject = NAN}, RF_ERR_ARG, "max_false_reject is nan"},
        {rows, {.best = (rf_fence_best)7}, RF_ERR_ARG, "best is 7"},
        {rows,
         {.max_false_accept = 0.05, .max_false_reject = 0.05},
         RF_ERR_ARG,
         "the two budgets cannot be kept together"},
        {rows, {.progress = stop, .user = &calls}, RF_ERR_STOPPED, "stopped"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rf_error err = {0};
        rf_fence_result r = {.rows = 12345};
        rf_fence_options o = cases[i].o;
        o.struct_size = sizeof o;
        assert_int_equal(rf_model_move_fences(m, cases[i].rows, &o, &r, &err),
                         cases[i].status);
        assert_error(&err, cases[i].status, cases[i].message);
        assert_int_equal(r.rows, 12345);
    }
    assert_int_equal(calls, 1);
    rf_error err = {0};
    m->method = &rigid;
    assert_int_equal(rf_model_move_fences(m, rows, NULL, NULL, &err), RF_ERR_ARG);
    assert_error(&err, RF_ERR_ARG, "the fences of method rigid cannot be moved");
    m->method = heads;
    float *after = margins_of(m, 20);
    assert_memory_equal(before, after, 20 * CLASSES * sizeof *after);
    assert_string_equal(json, rf_model_json(m));
    free(json);
    free(before);
    free(after);
    rf_dataset_free(rows);
    rf_dataset_free(few);
    rf_dataset_free(known);
    rf_dataset_free(none);
    rf_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_margin_moves_by_the_offset),
        cmocka_unit_test(the_figures_before_are_those_of_eval),
        cmocka_unit_test(what_to_expect_is_measured_on_rows_held_out),
        cmocka_unit_test(the_description_follows),
        cmocka_unit_test(moved_models_are_saved_and_loaded),
        cmocka_unit_test(known_rows_alone_serve_a_budget_of_rejects),
        cmocka_unit_test(placed_by_hand),
        cmocka_unit_test(by_hand_the_figures_are_those_of_the_answers),
        cmocka_unit_test(refused_by_hand),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests_name("move_fences", tests, NULL, NULL);
}
