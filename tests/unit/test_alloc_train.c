/*
 * Memory that runs out while a model is made: data checked, models trained and updated,
 * results of the lab written and read. Every allocation is made to fail in turn
 * (failing.h).
 */
#include "lab/lab.h"
#include "lab/results.h"
#include "lab/split.h"
#include "lab/update_points.h"

#include "failing.h"
#include "orders.h"
#include "scratch.h"
#include "ringfence_improve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TINY GOLDEN_DIR "/tiny/"

static char place[RF_PATH_MAX];
static rf_dataset *asked;
static size_t threads;

static const char *method; /* NULL: ans, with a checkpoint */

static rf_status train_model(rf_error *err)
{
    char dir[RF_PATH_MAX];
    rf_train_options o = rf_train_options_default();
    o.encoder = TINY "encoder";
    o.threads = threads;
    o.settings = "epochs=2 head_steps=1 train_layers=1 neighbours=3";
    o.dev_share = 0.2;
    o.map_points = 7; /* of 12 rows: a sample */
    scratch_path(dir, place, "checkpoint");
    o.checkpoint = method ? NULL : dir;
    o.resume = !method; /* whatever a failed run left behind must do */
    o.method = method;
    o.open_texts = method && strcmp(method, "selfsup") == 0 ? asked : NULL;
    rf_model *m = rf_train(asked, NULL, &o, err);
    rf_status st = status_of(m, err);
    rf_model_free(m);
    return st;
}

static void training(void **state)
{
    (void)state;
    asked = orders_new();
    scratch_make(place);
    threads = 1; /* jansson 2.14 asserts when it runs out inside a string: left alone */
    fail_in_turn(train_model, ONE, true);
    fail_in_turn(train_model, ONE, false);
    scratch_remove(place);
    rf_dataset_free(asked);
}

static void training_by_other_methods(void **state)
{
    (void)state;
    asked = orders_new();
    threads = 1;
    for (size_t i = 0; (method = rf_method_name(i, NULL, NULL)); i++)
        fail_in_turn(train_model, ONE, true); /* jansson: see above */
    rf_dataset_free(asked);
}

static const rf_model *model;
static const rf_dataset *more_rows;

static rf_status update_model(rf_error *err)
{
    const rf_class_edit edit = {.from = "c2", .to = "other"};
    rf_update_options o = rf_update_options_default();
    o.threads = threads;
    o.edits = &edit;
    o.n_edits = 1;
    o.dev = asked;
    char *report;
    rf_model *m = rf_update(model, more_rows, &o, &report, err);
    rf_status st = status_of(m, err);
    free(report);
    rf_model_free(m);
    return st;
}

/* A row is relabelled, one is new, and one class has a new name. */
static void updating(void **state)
{
    (void)state;
    rf_train_options train = rf_train_options_default();
    train.encoder = TINY "encoder";
    train.threads = 1;
    train.settings = "epochs=1 head_steps=1 train_layers=1";
    asked = orders_new_with_head();
    rf_model *m = rf_train(asked, NULL, &train, NULL);
    assert_non_null(m);
    model = m;
    rf_dataset *few = rf_dataset_new(NULL), *many = rf_dataset_new(NULL);
    assert_int_equal(rf_dataset_add(few, "where is order 7", 16, "c0", 2, NULL), RF_OK);
    for (int i = 0; i < 40; i++) { /* half as many as there are: the space is fitted */
        char text[32];
        int n = snprintf(text, sizeof text, "is it %d", i);
        assert_int_equal(rf_dataset_add(i ? many : few, text, (size_t)n, "new", 3, NULL),
                         RF_OK);
    }
    threads = 1;
    more_rows = few;
    fail_in_turn(update_model, ONE, true); /* jansson: see training */
    fail_in_turn(update_model, ONE, false);
    more_rows = many;
    fail_in_turn(update_model, ONE, true);
    rf_dataset_free(few);
    rf_dataset_free(many);
    rf_model_free(m);
    rf_dataset_free(asked);
}

static rf_status append_run(rf_error *err)
{
    rf_run run = {.set = "banking", .ratio = 0.25, .method = "adb", .encoder = "e"};
    return rf_run_append(place, &run, err);
}

static rf_status append_point(rf_error *err)
{
    rf_update_point point = {
        .set = "banking", .from = 0.25, .method = "ans", .encoder = "e", .classes = 29};
    return rf_update_point_append(place, &point, err);
}

static rf_status write_tables(rf_error *err)
{
    char *text;
    rf_status st = rf_lab_table(place, NULL, &text, err);
    free(text);
    return st;
}

static rf_status split(rf_error *err)
{
    rf_split s;
    rf_split_options o = {.ratio = 0.5, .rows_per_class = 2};
    rf_status st = rf_split_make(&s, asked, asked, asked, &o, err);
    rf_split_release(&s);
    return st;
}

static void lab(void **state)
{
    static const char *const variants[] = {"", "ablation=noise", "radius=8", "ascent=1"};
    static const char *const methods[] = {"ans", "msp", "msp-neg", "adb"};
    (void)state;
    scratch_make(place);
    fail_in_turn(append_run, ONE, true); /* jansson left alone, see training() */
    fail_in_turn(append_run, ONE, false);
    fail_in_turn(append_point, ONE, true);
    fail_in_turn(append_point, ONE, false);
    for (size_t i = 0; i < 32; i++) {
        rf_run run = {.set = "banking", .ratio = 0.25, .seed = i / 16, .encoder = "e"};
        strcpy(run.method, methods[i % 4]);
        strcpy(run.variant, variants[i / 4 % 4]);
        assert_int_equal(rf_run_append(place, &run, NULL), RF_OK);
    }
    fail_in_turn(write_tables, ONE, true);
    fail_in_turn(write_tables, ONE, false);
    scratch_remove(place);
    asked = rf_dataset_new(NULL);
    for (int i = 0; i < 40; i++)
        assert_int_equal(rf_dataset_add(asked, "x", 1, &"abcde"[i % 5], 1, NULL), RF_OK);
    fail_each(split);
    rf_dataset_free(asked);
}

static rf_status check_data(rf_error *err)
{
    rf_check_options o = rf_check_options_default();
    o.encoder = TINY "encoder";
    o.threads = threads;
    rf_findings *found = rf_check(asked, &o, err);
    rf_status st = status_of(found, err);
    rf_findings_free(found);
    return st;
}

/* Rows with a finding of most kinds; every row is in a fold with its copies. */
static void checking(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"where is it", "a"}, {"where is it", "b"}, {"x y z", "B "},     {"x y z", "B "},
        {"", "oos"},          {"\xe9", "a"},        {"x y z x y z", "b"}};
    asked = rf_dataset_new(NULL);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(rf_dataset_add(asked, rows[i][0], strlen(rows[i][0]), rows[i][1],
                                        strlen(rows[i][1]), NULL),
                         RF_OK);
    for (int i = 0; i < 40; i++)
        assert_int_equal(rf_dataset_add(asked, i % 2 ? "x y z is" : "where is it",
                                        i % 2 ? 8 : 11, i % 2 ? "b" : "a", 1, NULL),
                         RF_OK);
    threads = 1;
    fail_each(check_data);
    threads = 2;
    fail_in_turn(check_data, ONE, true);
    rf_dataset_free(asked);
}

int main(void)
{
    failing_set_up();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(checking),
        cmocka_unit_test(training),
        cmocka_unit_test(training_by_other_methods),
        cmocka_unit_test(updating),
        cmocka_unit_test(lab),
    };
    return cmocka_run_group_tests_name("alloc_train", tests, NULL, NULL);
}
