/* test_update.c - rf_update on the tiny encoder: what must stay to the bit, what must
 * change, and what is refused */
#include "ans/heads.h"
#include "ans/prior_parts.h"
#include "base/json.h"
#include "base/memory.h"
#include "model/model.h"
#include "num/kernels.h"
#include "scratch.h"
#include "stages/fence_line.h"
#include "ringfence_improve.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TINY GOLDEN_DIR "/tiny/encoder"
#define PRIOR (RF_HEAD_PARTS + 1) /* after the shares; see ans_method.c */
#define SHARE RF_HEAD_PARTS

/* Classes with words of their own; the first two are large enough for a head. */
static const char *const words[][3] = {{"refund", "cancel", "please"},
                                       {"where", "order", "is"},
                                       {"hello", "thank", "you"},
                                       {"x", "y", "z"},
                                       {"b", "c", "d"}};
#define CLASSES 4
static const size_t sizes[] = {60, 64, 14, 12, 14};

static void add_row(rf_dataset *data, const char *text, const char *label)
{
    assert_int_equal(rf_dataset_add(data, text, strlen(text), label, strlen(label), NULL),
                     RF_OK);
}

/* Text i of class c. */
static void text_at(char text[64], size_t c, size_t i)
{
    snprintf(text, 64, "%s %s %s %zu", words[c][i % 3], words[c][i / 3 % 3],
             words[c][i / 9 % 3], i);
}

static void add_class(rf_dataset *data, size_t c, size_t from, size_t n)
{
    for (size_t i = from; i < from + n; i++) {
        char text[64], label[8];
        text_at(text, c, i);
        snprintf(label, sizeof label, "c%zu", c);
        add_row(data, text, label);
    }
}

static rf_dataset *class_rows(size_t c, size_t from, size_t n)
{
    rf_dataset *data = rf_dataset_new(NULL);
    assert_non_null(data);
    add_class(data, c, from, n);
    return data;
}

static rf_model *train_by(const char *method)
{
    rf_error err = {0};
    rf_dataset *data = rf_dataset_new(NULL);
    for (size_t c = 0; c < CLASSES; c++)
        add_class(data, c, 0, sizes[c]);
    rf_train_options o = rf_train_options_default();
    o.encoder = TINY;
    o.threads = 1;
    o.method = method;
    o.settings = "epochs=6 patience=6 batch=16 known_rate=0.01 encoder_rate=0.001 "
                 "head_steps=30 head_negatives=16";
    rf_model *m = rf_train(data, NULL, &o, &err);
    if (!m)
        fail_msg("%s", err.msg);
    rf_dataset_free(data);
    return m;
}

static rf_model *base; /* of all tests; never changed */

static rf_model *update(const rf_model *m, const rf_dataset *rows,
                        const rf_update_options *o, json_t **report)
{
    rf_error err = {0};
    char *text = NULL;
    rf_model *next = rf_update(m, rows, o, report ? &text : NULL, &err);
    if (!next)
        fail_msg("%s", err.msg);
    if (report) {
        *report = rf_json_object(text, strlen(text), "report", &err);
        assert_non_null(*report);
    }
    free(text);
    return next;
}

static size_t count(const json_t *report, const char *key)
{
    assert_true(json_is_integer(json_object_get(report, key)));
    return (size_t)json_integer_value(json_object_get(report, key));
}

static bool listed(const json_t *report, const char *key, const char *label)
{
    size_t i;
    const json_t *item;
    json_array_foreach(json_object_get(report, key), i, item)
    {
        if (strcmp(json_string_value(item), label) == 0)
            return true;
    }
    return false;
}

/* Margins of the rows that `rows_of` keeps, [n_rows, classes]. */
static float *margins_of(const rf_model *m, const rf_model *rows_of)
{
    size_t d = m->known.width, n = rows_of->n_rows;
    float *z = rf_floats_new(n * d), *margins = rf_floats_new(n * m->classes);
    rf_team *team = rf_team_new(1, NULL);
    assert_true(z && margins && team);
    rf_kernels()->widen_f16(z, rows_of->features, n * d);
    assert_int_equal(rf_fence_all_margins(m, z, n, team, margins, NULL), RF_OK);
    rf_team_free(team);
    free(z);
    return margins;
}

static bool same_prior(const rf_model *a, size_t c, const rf_model *b, size_t k)
{
    static const size_t wide[] = {RF_PRIOR_LINEAR, RF_PRIOR_SQUARE, RF_PRIOR_MEANS};
    static const size_t flat[] = {RF_PRIOR_CONSTANT, RF_PRIOR_COUNTS,
                                  RF_PRIOR_TEXTS_WEIGHT, RF_PRIOR_FENCE};
    size_t d = a->known.width;
    bool same = true;
    for (size_t i = 0; i < 3; i++)
        same &= memcmp(rf_prior_array(&a->state, PRIOR, wide[i]) + c * d,
                       rf_prior_array(&b->state, PRIOR, wide[i]) + k * d,
                       d * sizeof(float)) == 0;
    for (size_t i = 0; i < 4; i++)
        same &= memcmp(rf_prior_array(&a->state, PRIOR, flat[i]) + c,
                       rf_prior_array(&b->state, PRIOR, flat[i]) + k, sizeof(float)) == 0;
    return same;
}

static bool same_head(const rf_model *a, size_t c, const rf_model *b, size_t k)
{
    size_t n = a->state.class_floats, i = rf_method_state_place(&a->state, c),
           j = rf_method_state_place(&b->state, k);
    if (i == RF_NOT_HELD || j == RF_NOT_HELD)
        return i == j;
    return memcmp(a->state.block + i * n, b->state.block + j * n, n * sizeof(float)) == 0;
}

/* ---- What stays -------------------------------------------------------------------- */

static void untouched_classes_keep_their_bits(void **state)
{
    (void)state;
    rf_dataset *rows = class_rows(4, 0, sizes[4]);
    add_class(rows, 1, 100, 3); /* and c1 gains rows */
    json_t *report;
    rf_model *m = update(base, rows, NULL, &report);
    assert_int_equal(m->classes, CLASSES + 1);
    assert_int_equal(count(report, "rows_added"), sizes[4] + 3);
    assert_int_equal(m->n_rows, base->n_rows + sizes[4] + 3);
    assert_true(listed(report, "added", "c4") && listed(report, "fitted", "c4"));
    assert_true(listed(report, "fitted", "c1"));
    assert_false(json_is_true(json_object_get(report, "shared_refitted")));
    size_t kept = 0;
    for (size_t c = 0; c < CLASSES; c++) {
        bool fitted = listed(report, "fitted", base->labels[c]);
        kept += !fitted;
        assert_int_equal(same_head(base, c, m, c), !fitted || sizes[c] <= 50);
        assert_int_equal(same_prior(base, c, m, c), !fitted);
        if (!fitted)
            assert_memory_equal(base->stats.mean + c * base->known.width,
                                m->stats.mean + c * base->known.width,
                                base->known.width * sizeof(float));
    }
    assert_int_equal(count(report, "classes_kept"), kept);
    assert_false(listed(report, "fitted", "c0")); /* which has a head */
    float *before = margins_of(base, base), *after = margins_of(m, base);
    for (size_t i = 0; i < base->n_rows; i++)
        assert_memory_equal(&before[i * base->classes], &after[i * m->classes],
                            sizeof *before); /* column c0 */
    free(before);
    free(after);
    json_decref(report);
    rf_model_free(m);
    rf_dataset_free(rows);
}

static void nothing_new_changes_nothing(void **state)
{
    (void)state;
    rf_dataset *rows = class_rows(0, 0, 20);
    json_t *report;
    rf_model *m = update(base, rows, NULL, &report);
    assert_int_equal(count(report, "rows_same"), 20);
    assert_int_equal(count(report, "rows_added"), 0);
    assert_int_equal(json_array_size(json_object_get(report, "fitted")), 0);
    float *before = margins_of(base, base), *after = margins_of(m, base);
    assert_memory_equal(before, after, base->n_rows * base->classes * sizeof *before);
    assert_memory_equal(base->known.block, m->known.block,
                        base->known.floats * sizeof(float));
    assert_memory_equal(&base->calibration, &m->calibration, sizeof m->calibration);
    assert_memory_equal(base->features, m->features,
                        base->n_rows * base->known.width * sizeof *m->features);
    free(before);
    free(after);
    json_decref(report);
    rf_model_free(m);
    rf_dataset_free(rows);
}

static void renaming_keeps_margins(void **state)
{
    (void)state;
    const rf_class_edit edits[] = {{.from = "c0", .to = "zebra"},
                                   {.from = "c2", .to = "c1"}, /* two swap their names */
                                   {.from = "c1", .to = "c2"}};
    rf_update_options o = rf_update_options_default();
    o.edits = edits;
    o.n_edits = 3;
    json_t *report;
    rf_model *m = update(base, NULL, &o, &report);
    assert_int_equal(json_array_size(json_object_get(report, "renamed")), 3);
    static const size_t now[CLASSES] = {3, 1, 0, 2}; /* c1 (was c2), c2, c3, zebra */
    assert_string_equal(m->labels[3], "zebra");
    float *before = margins_of(base, base), *after = margins_of(m, base);
    for (size_t i = 0; i < base->n_rows; i++)
        for (size_t c = 0; c < CLASSES; c++)
            assert_memory_equal(&before[i * CLASSES + c], &after[i * CLASSES + now[c]],
                                sizeof *before);
    float x[64], y[64], hidden[4 * 64], *z = rf_floats_new(base->known.width);
    assert_non_null(z);
    rf_kernels()->widen_f16(z, base->features, base->known.width);
    rf_known_logits(&base->known, z, 1, x, hidden);
    rf_known_logits(&m->known, z, 1, y, hidden);
    for (size_t c = 0; c < CLASSES; c++)
        assert_memory_equal(&x[c], &y[now[c]], sizeof *x);
    free(z);
    free(before);
    free(after);
    json_decref(report);
    rf_model_free(m);
}

/* ---- What changes ------------------------------------------------------------------ */

static void a_class_comes_and_goes(void **state)
{
    (void)state;
    rf_dataset *rows = class_rows(4, 0, sizes[4]);
    rf_model *more = update(base, rows, NULL, NULL);
    const rf_class_edit edit = {.from = "c4"};
    rf_update_options o = rf_update_options_default();
    o.edits = &edit;
    o.n_edits = 1;
    json_t *report;
    rf_model *m = update(more, NULL, &o, &report);
    assert_true(listed(report, "removed", "c4"));
    assert_int_equal(count(report, "rows_removed"), sizes[4]);
    assert_int_equal(m->classes, CLASSES);
    for (size_t c = 0; c < CLASSES; c++)
        assert_string_equal(m->labels[c], base->labels[c]);
    /* Classes that accepted a row of c4 were fitted again, to features that are rounded
     * to half precision: nearly the same numbers. */
    float *before = margins_of(base, base), *after = margins_of(m, base);
    for (size_t i = 0; i < base->n_rows * CLASSES; i++)
        if (sizes[i % CLASSES] <= 50)
            assert_true(fabsf(before[i] - after[i]) < 0.1f);
    free(before);
    free(after);
    json_decref(report);
    rf_model_free(m);
    rf_model_free(more);
    rf_dataset_free(rows);
}

static void corrected_labels_are_not_counted_twice(void **state)
{
    (void)state;
    rf_dataset *rows = rf_dataset_new(NULL);
    char text[64];
    for (size_t i = 0; i < 3; i++) {
        text_at(text, 2, i);
        add_row(rows, text, "c3");
        add_row(rows, text, "c3"); /* said twice */
    }
    json_t *report;
    rf_model *m = update(base, rows, NULL, &report);
    assert_int_equal(count(report, "rows_relabelled"), 3);
    assert_int_equal(count(report, "rows_added"), 0);
    assert_int_equal(m->n_rows, base->n_rows);
    assert_int_equal(m->stats.rows[2], sizes[2] - 3);
    assert_int_equal(m->stats.rows[3], sizes[3] + 3);
    assert_true(listed(report, "fitted", "c2") && listed(report, "fitted", "c3"));
    assert_false(same_prior(base, 2, m, 2));
    json_decref(report);
    rf_dataset_free(rows);
    /* A class whose rows all go elsewhere is gone. */
    rows = rf_dataset_new(NULL);
    for (size_t i = 0; i < sizes[2]; i++) {
        text_at(text, 2, i);
        add_row(rows, text, "c3");
    }
    rf_model *less = update(base, rows, NULL, &report);
    assert_true(listed(report, "removed", "c2"));
    assert_int_equal(less->classes, CLASSES - 1);
    assert_int_equal(less->n_rows, base->n_rows);
    json_decref(report);
    rf_model_free(less);
    rf_model_free(m);
    rf_dataset_free(rows);
}

static void merged_classes_are_one(void **state)
{
    (void)state;
    const rf_class_edit edits[] = {{"c2", "small", true}, {"c3", "small", true}};
    rf_update_options o = rf_update_options_default();
    o.edits = edits;
    o.n_edits = 2;
    json_t *report;
    rf_model *m = update(base, NULL, &o, &report);
    assert_int_equal(m->classes, CLASSES - 1);
    assert_int_equal(json_array_size(json_object_get(report, "merged")), 2);
    assert_string_equal(m->labels[2], "small");
    assert_int_equal(m->stats.rows[2], sizes[2] + sizes[3]);
    assert_true(same_head(base, 0, m, 0) && same_prior(base, 0, m, 0));
    json_decref(report);
    rf_model_free(m);
}

/* Enough rows: the space of the prior is fitted again, for all; the networks of classes
 * that are not touched stay. */
static void many_rows_refit_what_is_shared(void **state)
{
    (void)state;
    rf_dataset *rows = class_rows(4, 0, 90);
    json_t *report;
    rf_model *m = update(base, rows, NULL, &report);
    assert_true(json_is_true(json_object_get(report, "shared_refitted")));
    assert_true(json_is_null(json_object_get(report, "fence_moved"))); /* tuned layers */
    assert_false(listed(report, "fitted", "c0"));
    assert_true(same_head(base, 0, m, 0));
    assert_false(same_prior(base, 0, m, 0));
    json_decref(report);
    rf_model_free(m);
    rf_dataset_free(rows);
}

/* ---- Bits, memory, files ----------------------------------------------------------- */

static void threads_do_not_change_the_bits(void **state)
{
    (void)state;
    rf_dataset *rows = class_rows(4, 0, 55);
    rf_model *m[2];
    for (size_t i = 0; i < 2; i++) {
        rf_update_options o = rf_update_options_default();
        o.threads = i ? 3 : 1;
        m[i] = update(base, rows, &o, NULL);
    }
    const rf_method_state *a = &m[0]->state, *b = &m[1]->state;
    for (size_t i = 0; i < base->method->n_arrays; i++)
        for (size_t k = 0, n; k < rf_method_state_pieces(a, i); k++) {
            const float *x = rf_method_state_piece(a, i, k, &n);
            assert_memory_equal(x, rf_method_state_piece(b, i, k, &n), n * sizeof *x);
        }
    assert_memory_equal(m[0]->known.block, m[1]->known.block,
                        m[0]->known.floats * sizeof(float));
    assert_string_equal(rf_model_json(m[0]), rf_model_json(m[1]));
    rf_model_free(m[0]);
    rf_model_free(m[1]);
    rf_dataset_free(rows);
}

/* The encoder is shared: whichever model is freed first, the other one answers. */
static void either_model_may_be_freed_first(void **state)
{
    (void)state;
    rf_decision d;
    rf_model *first = train_by(NULL), *second = update(first, NULL, NULL, NULL);
    rf_model *third = update(second, NULL, NULL, NULL);
    rf_model_free(first);
    rf_model_free(third);
    rf_session *s = rf_session_new(second, 1, NULL);
    assert_non_null(s);
    assert_int_equal(rf_classify(s, "refund cancel please", 20, &d, NULL), RF_OK);
    assert_string_equal(rf_model_label(second, d.margin_class), "c0");
    rf_session_free(s);
    rf_model_free(second);
}

static void saved_updates_load(void **state)
{
    (void)state;
    char dir[RF_PATH_MAX], path[RF_PATH_MAX];
    scratch_make(dir);
    scratch_path(path, dir, "m.rf");
    const rf_save_options keep = {.struct_size = sizeof keep, .keep_examples = true};
    assert_int_equal(rf_model_save(base, path, &keep, NULL), RF_OK);
    size_t sizes_of[2] = {0};
    for (size_t i = 0; i < 60; i++) { /* c4 comes and goes, in the same file */
        rf_error err = {0};
        rf_model *m = rf_model_load(path, &err);
        if (!m)
            fail_msg("%s", err.msg);
        const rf_class_edit edit = {.from = "c4"};
        rf_update_options o = rf_update_options_default();
        o.edits = &edit;
        o.n_edits = i % 2;
        rf_dataset *rows = i % 2 ? NULL : class_rows(4, 0, sizes[4]);
        rf_model *next = update(m, rows, &o, NULL);
        rf_model_free(m);
        assert_int_equal(rf_model_save(next, path, &keep, NULL), RF_OK);
        if (i == 43 || i == 59)
            free(scratch_read(path, &sizes_of[i == 59]));
        if (i == 59)
            assert_int_equal(json_integer_value(json_object_get(
                                 json_object_get(next->summary, "updates"), "count")),
                             60);
        rf_model_free(next);
        rf_dataset_free(rows);
    }
    /* The record is full by then: nothing grows, but for digits of numbers. */
    assert_true(sizes_of[1] < sizes_of[0] + 512);
    rf_model *m = rf_model_load(path, NULL);
    assert_non_null(m);
    assert_int_equal(m->n_rows, base->n_rows);
    assert_memory_equal(m->features, base->features,
                        m->n_rows * m->known.width * sizeof *m->features);
    rf_model_free(m);
    scratch_remove(dir);
}

/* ---- What is refused --------------------------------------------------------------- */

static int stop(void *user, const rf_train_event *event)
{
    (void)user;
    (void)event;
    return 1;
}

static void refuse(const rf_model *m, const rf_class_edit *edits, size_t n,
                   const rf_dataset *rows, rf_status want, const char *part)
{
    rf_error err = {0};
    char *report = "x";
    rf_update_options o = rf_update_options_default();
    o.edits = edits;
    o.n_edits = n;
    assert_null(rf_update(m, rows, &o, &report, &err));
    assert_null(report);
    assert_error(&err, want, part);
}

static void bad_requests_are_refused(void **state)
{
    (void)state;
    const rf_class_edit unknown = {.from = "nobody"}, taken = {.from = "c0", .to = "c1"},
                        open = {.from = "c0", .to = "open"}, empty = {"c0", " ", false},
                        twice[] = {{.from = "c0"}, {.from = "c0", .to = "x"}},
                        all[] = {{"c0", NULL, 0},
                                 {"c1", NULL, 0},
                                 {"c2", NULL, 0},
                                 {"c3", NULL, 0}};
    refuse(base, &unknown, 1, NULL, RF_ERR_ARG, "no class \"nobody\"");
    refuse(base, &taken, 1, NULL, RF_ERR_ARG, "merge the two");
    refuse(base, &open, 1, NULL, RF_ERR_ARG, "\"open\"");
    refuse(base, &empty, 1, NULL, RF_ERR_ARG, "cannot be a label");
    refuse(base, twice, 2, NULL, RF_ERR_ARG, "twice");
    refuse(base, all, 4, NULL, RF_ERR_ARG, "no class would be left");
    rf_dataset *rows = rf_dataset_new(NULL);
    add_row(rows, "hello", "open");
    refuse(base, NULL, 0, rows, RF_ERR_ARG, "\"open\"");
    rf_dataset_free(rows);
    rf_model *heads = train_by("heads");
    refuse(heads, NULL, 0, NULL, RF_ERR_VERSION, "train it again");
    rf_model_free(heads);
    rf_model bare = *base;
    bare.n_rows = 0;
    refuse(&bare, NULL, 0, NULL, RF_ERR_MISSING, "--no-features");
    rf_error err = {0};
    rf_update_options o = rf_update_options_default();
    o.progress = stop;
    rows = class_rows(4, 0, 3);
    assert_null(rf_update(base, rows, &o, NULL, &err));
    assert_int_equal(err.code, RF_ERR_STOPPED);
    rf_dataset_free(rows);
}

static int set_up(void **state)
{
    (void)state;
    base = train_by(NULL);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    rf_model_free(base);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(untouched_classes_keep_their_bits),
        cmocka_unit_test(nothing_new_changes_nothing),
        cmocka_unit_test(renaming_keeps_margins),
        cmocka_unit_test(a_class_comes_and_goes),
        cmocka_unit_test(corrected_labels_are_not_counted_twice),
        cmocka_unit_test(merged_classes_are_one),
        cmocka_unit_test(many_rows_refit_what_is_shared),
        cmocka_unit_test(threads_do_not_change_the_bits),
        cmocka_unit_test(either_model_may_be_freed_first),
        cmocka_unit_test(saved_updates_load),
        cmocka_unit_test(bad_requests_are_refused),
    };
    return cmocka_run_group_tests_name("update", tests, set_up, tear_down);
}
