/*
 * Learning after training, measured: the figures are those of training, updating, saving,
 * loading and evaluating by hand; stopping, resuming, measuring more often and the number
 * of threads change nothing; the file of points, its table, and what is refused.
 */
#include "base/file.h"
#include "lab/update_points.h"
#include "ringfence_improve.h"

#include "lab_toy.h"
#include "scratch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* From 2 of the 6 classes to 5. */
static rf_lab_options growing(const place *p)
{
    rf_lab_options o = quick(p);
    o.from = 0.33;
    o.to = 0.83;
    o.every = 2;
    return o;
}

static void run_lab(const rf_lab_options *o)
{
    rf_error err = {0};
    if (rf_lab_update(o, NULL, NULL, &err) != RF_OK)
        fail_msg("%s", err.msg);
}

static rf_update_point *load_points(const char *dir, size_t want)
{
    rf_error err = {0};
    rf_update_point *list;
    size_t n;
    if (rf_update_points_load(dir, &list, &n, &err) != RF_OK)
        fail_msg("%s", err.msg);
    assert_int_equal(n, want);
    return list;
}

static bool same_figures(const rf_point_figures *a, const rf_point_figures *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

/* Everything but the times. */
static bool same_point(const rf_update_point *a, const rf_update_point *b)
{
    return rf_update_point_compare(a, b) == 0 && same_figures(&a->updated, &b->updated) &&
           same_figures(&a->trained, &b->trained) && a->train_rows == b->train_rows &&
           a->first_classes == b->first_classes && a->updates.n == b->updates.n &&
           a->updates.heads == b->updates.heads &&
           a->updates.fitted == b->updates.fitted &&
           a->updates.refits == b->updates.refits &&
           strcmp(a->classes_sha256, b->classes_sha256) == 0;
}

/* ---- By hand ----------------------------------------------------------------------- */

/* By way of a file, as a user would. */
static rf_model *through_a_file(const place *p, rf_model *m)
{
    char path[RF_PATH_MAX];
    rf_error err = {0};
    scratch_path(path, p->dir, "model.rf");
    assert_non_null(m);
    assert_int_equal(rf_model_save(m, path, NULL, &err), RF_OK);
    rf_model_free(m);
    m = rf_model_load(path, &err);
    if (!m)
        fail_msg("%s", err.msg);
    return m;
}

static rf_model *train_by_hand(const place *p, size_t classes)
{
    rf_error err = {0};
    rf_split split;
    const rf_split_options so = {.n_classes = classes, .seed = 0};
    rf_dataset *train = read_part(p, "train.tsv"), *dev = read_part(p, "dev.tsv");
    assert_int_equal(rf_split_make(&split, train, dev, dev, &so, &err), RF_OK);
    rf_dataset *own = choose(train, &split.train), *own_dev = choose(dev, &split.dev);
    rf_train_options o = rf_train_options_default();
    o.settings = QUICK;
    o.encoder = TINY;
    o.threads = 2;
    rf_model *m = through_a_file(p, rf_train(own, own_dev, &o, &err));
    rf_split_release(&split);
    rf_dataset *all[] = {train, dev, own, own_dev};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        rf_dataset_free(all[i]);
    return m;
}

/* Learns the class that is drawn after `classes` others. */
static rf_model *update_by_hand(const place *p, rf_model *m, size_t classes)
{
    rf_error err = {0};
    rf_split split;
    const rf_split_options so = {.n_classes = classes + 1, .seed = 0};
    rf_dataset *train = read_part(p, "train.tsv"), *rows = rf_dataset_new(NULL);
    assert_int_equal(rf_split_make(&split, train, NULL, train, &so, &err), RF_OK);
    const char *label = split.drawn[classes];
    for (size_t i = 0; i < rf_dataset_rows(train); i++) {
        size_t len;
        const char *text = rf_dataset_text(train, i, &len);
        if (strcmp(rf_dataset_label(train, rf_dataset_class(train, i), NULL), label) == 0)
            assert_int_equal(rf_dataset_add(rows, text, len, label, strlen(label), NULL),
                             RF_OK);
    }
    rf_model *next = rf_update(m, rows, NULL, NULL, &err);
    if (!next)
        fail_msg("%s", err.msg);
    rf_model_free(m);
    rf_split_release(&split);
    rf_dataset_free(train);
    rf_dataset_free(rows);
    return through_a_file(p, next);
}

static void check_figures(const place *p, const rf_model *m, const rf_point_figures *lab)
{
    rf_error err = {0};
    rf_evaluation e;
    rf_dataset *test = read_part(p, "test.tsv");
    rf_session *s = rf_session_new(m, 2, &err);
    assert_non_null(s);
    assert_int_equal(rf_evaluate(s, test, &e, &err), RF_OK);
    if (fabs(e.accuracy - lab->accuracy) > 1e-9 || fabs(e.f1 - lab->f1) > 1e-9 ||
        fabs(e.auroc - lab->auroc) > 1e-9 || fabs(e.f1_known - lab->f1_known) > 1e-9 ||
        fabs(e.f1_open - lab->f1_open) > 1e-9)
        fail_msg("%zu classes: lab %.4f %.4f %.4f, by hand %.4f %.4f %.4f",
                 rf_model_classes(m), lab->accuracy, lab->f1, lab->auroc, e.accuracy,
                 e.f1, e.auroc);
    assert_true(lab->best_f1 >= lab->f1 - 1e-9);
    rf_evaluation_release(&e);
    rf_session_free(s);
    rf_dataset_free(test);
}

static void as_by_train_update_and_eval(void **state)
{
    (void)state;
    static const size_t classes[] = {2, 4, 5};
    place p;
    place_make(&p);
    rf_lab_options o = growing(&p);
    run_lab(&o);
    rf_update_point *points = load_points(p.out, 3);
    rf_model *m = train_by_hand(&p, 2);
    for (size_t i = 0; i < 3; i++) {
        const rf_update_point *point = &points[i];
        assert_int_equal(point->classes, classes[i]);
        assert_int_equal(point->train_rows, 14 * classes[i]);
        assert_int_equal(point->updates.n, i ? classes[i] - classes[i - 1] : 0);
        assert_true(point->updates.fitted >= point->updates.n);
        while (rf_model_classes(m) < classes[i])
            m = update_by_hand(&p, m, rf_model_classes(m));
        check_figures(&p, m, &point->updated);
        rf_model *again = train_by_hand(&p, classes[i]);
        check_figures(&p, again, &point->trained);
        rf_model_free(again);
    }
    rf_model_free(m);
    free(points);
    scratch_remove(p.dir);
}

/* ---- Interruptions ----------------------------------------------------------------- */

typedef struct stopper {
    size_t after, seen, finished, before;
} stopper;

static int stop(void *user, const rf_lab_event *e)
{
    stopper *s = user;
    s->finished += e->finished;
    s->before += e->before && !e->training;
    return s->seen++ >= s->after;
}

/* Stopped at many places, each time by its progress, also inside a training or an update,
 * and with a model that was not saved. */
static void stopped_and_resumed(void **state)
{
    (void)state;
    place p, q;
    size_t stops = 0;
    rf_error err = {0};
    place_make(&p);
    place_make(&q);
    rf_lab_options o = growing(&p), other = growing(&q);
    o.every = other.every = 1;
    o.seeds = other.seeds = "0-1";
    other.threads = 3;
    run_lab(&o);
    for (stopper s = {.after = 1};; s = (stopper){.after = s.after + 11}) {
        rf_status st = rf_lab_update(&other, stop, &s, &err);
        if (st == RF_OK)
            break;
        assert_error(&err, RF_ERR_STOPPED, "stopped");
        assert_true(++stops < 100);
    }
    assert_true(stops > 2);
    rf_update_point *a = load_points(p.out, 8), *b = load_points(q.out, 8);
    for (size_t i = 0; i < 8; i++) {
        const rf_update_point *same = rf_update_points_find(b, 8, &a[i]);
        assert_non_null(same);
        assert_true(same_point(&a[i], same));
    }
    free(a);
    free(b);

    stopper all = {.after = SIZE_MAX}; /* nothing is done again */
    assert_int_equal(rf_lab_update(&o, stop, &all, &err), RF_OK);
    assert_int_equal(all.before, 8);
    assert_int_equal(all.finished, 0);
    scratch_remove(p.dir);
    scratch_remove(q.dir);
}

/* A point does not depend on which others are measured, nor on when. */
static void more_points_later(void **state)
{
    (void)state;
    place p, q;
    place_make(&p);
    place_make(&q);
    rf_lab_options o = growing(&p), other = growing(&q);
    o.every = 1;
    run_lab(&o);
    other.every = 100;
    other.to = 0.5;
    run_lab(&other); /* 2 and 3 classes */
    other.to = 0.83;
    run_lab(&other); /* 5 */
    other.every = 1;
    run_lab(&other); /* 4 */
    rf_update_point *a = load_points(p.out, 4), *b = load_points(q.out, 4);
    for (size_t i = 0; i < 4; i++) {
        const rf_update_point *same = rf_update_points_find(b, 4, &a[i]);
        assert_non_null(same);
        assert_true(same_figures(&a[i].updated, &same->updated));
        assert_true(same_figures(&a[i].trained, &same->trained));
    }
    free(a);
    free(b);
    scratch_remove(p.dir);
    scratch_remove(q.dir);
}

static void plan_reports_and_runs_nothing(void **state)
{
    (void)state;
    place p;
    rf_error err = {0};
    place_make(&p);
    rf_lab_options o = growing(&p);
    o.seeds = "0-1";
    stopper s = {.after = SIZE_MAX};
    assert_int_equal(rf_lab_update_plan(&o, stop, &s, &err), RF_OK);
    assert_int_equal(s.seen, 6);
    assert_int_equal(s.finished + s.before, 0);
    assert_false(rf_file_exists(p.out));
    scratch_remove(p.dir);
}

/* ---- What is refused --------------------------------------------------------------- */

static void refused(void **state)
{
    (void)state;
    place p;
    rf_error err = {0};
    place_make(&p);
    rf_lab_options o = growing(&p), other = o;
    other.to = other.from;
    assert_int_equal(rf_lab_update(&other, NULL, NULL, &err), RF_ERR_ARG);
    assert_error(&err, RF_ERR_ARG, "from 0.33 to 0.33");
    other = o;
    other.to = NAN;
    assert_int_equal(rf_lab_update(&other, NULL, NULL, &err), RF_ERR_ARG);
    other = o;
    other.every = 0;
    assert_int_equal(rf_lab_update(&other, NULL, NULL, &err), RF_ERR_ARG);
    assert_error(&err, RF_ERR_ARG, "every 0");
    other = o;
    other.sets = "absent";
    assert_int_equal(rf_lab_update(&other, NULL, NULL, &err), RF_ERR_MISSING);

    o.to = 0.5; /* 2 and 3 classes */
    run_lab(&o);
    other = o;
    other.settings = QUICK "epochs=2";
    assert_int_equal(rf_lab_update(&other, NULL, NULL, &err), RF_ERR_ARG);
    assert_error(&err, RF_ERR_ARG, "updates.jsonl", "toy seed 0 ans, 2 classes",
                 "other settings");
    scratch_remove(p.dir);
}

/* An update takes a text away from the class that had it. A class that loses all its
 * texts is gone, and what is measured would not be what was asked for. */
static void classes_with_the_same_texts(void **state)
{
    (void)state;
    place p;
    char set[RF_PATH_MAX], text[2048] = "text\tlabel\n";
    rf_error err = {0};
    place_make(&p);
    scratch_path(set, p.data, "toy");
    for (int i = 0; i < 24; i++)
        sprintf(text + strlen(text), "order %d\tc%d\n", i / 4, i % 4);
    scratch_write(set, "train.tsv", text, strlen(text));
    rf_lab_options o = growing(&p);
    o.from = 0.5;
    o.to = 1.0;
    assert_int_equal(rf_lab_update(&o, NULL, NULL, &err), RF_ERR_FORMAT);
    assert_error(&err, RF_ERR_FORMAT, "toy", "leaves 1 class, wanted 3");
    scratch_remove(p.dir);
}

/* ---- The file and its table -------------------------------------------------------- */

static rf_update_point sample(uint64_t seed, size_t classes, double updated,
                              double trained)
{
    rf_update_point p = {.set = "banking",
                         .from = 0.25,
                         .seed = seed,
                         .method = "ans",
                         .encoder = "minilm",
                         .classes = classes,
                         .first_classes = 19,
                         .train_rows = 4000,
                         .updated = {.accuracy = 80, .f1 = updated, .auroc = -1},
                         .trained = {.accuracy = 81, .f1 = trained, .auroc = 93.5},
                         .updates = {.n = 10, .seconds = 20, .longest = 5, .heads = 15},
                         .train_seconds = 300,
                         .threads = 2,
                         .version = "0.1.0",
                         .kernels = "avx2"};
    return p;
}

static void append(const char *dir, const rf_update_point *p)
{
    rf_error err = {0};
    if (rf_update_point_append(dir, p, &err) != RF_OK)
        fail_msg("%s", err.msg);
}

static void file_of_points(void **state)
{
    (void)state;
    char dir[RF_PATH_MAX], path[RF_PATH_MAX];
    rf_error err = {0};
    rf_update_point *list;
    size_t n;
    scratch_make(dir);
    assert_null(load_points(dir, 0));
    rf_update_point a = sample(0, 29, 100.0 / 3, 80), b = sample(1, 29, 70, 71);
    append(dir, &a);
    append(dir, &b);
    a.updated.f1 = 65;
    append(dir, &a); /* the later one counts */
    list = load_points(dir, 2);
    assert_true(same_point(&list[0], &a) && same_point(&list[1], &b));
    assert_true(list[0].updates.seconds == 20 && list[0].train_seconds == 300);
    free(list);

    a.updated.f1 = 101;
    assert_int_equal(rf_update_point_append(dir, &a, &err), RF_ERR_FORMAT);
    assert_error(&err, RF_ERR_FORMAT, "\"f1\" is 101");
    a.updated.f1 = NAN;
    assert_int_equal(rf_update_point_append(dir, &a, &err), RF_ERR_NUMERIC);
    free(load_points(dir, 2));

    scratch_path(path, dir, RF_UPDATES_FILE); /* a crash cuts the last line */
    size_t len;
    char *text = scratch_read(path, &len);
    scratch_write(dir, RF_UPDATES_FILE, text, len - 20);
    list = load_points(dir, 2);
    assert_true(fabs(list[0].updated.f1 - 100.0 / 3) < 1e-12);
    free(list);
    text[3] = '!';
    scratch_write(dir, RF_UPDATES_FILE, text, len);
    free(text);
    assert_int_equal(rf_update_points_load(dir, &list, &n, &err), RF_ERR_FORMAT);
    assert_error(&err, RF_ERR_FORMAT, "updates.jsonl", "1");
    scratch_remove(dir);
}

static void table_of_points(void **state)
{
    (void)state;
    char dir[RF_PATH_MAX], *text;
    rf_error err = {0};
    rf_table_options o = {.which = "updates"};
    scratch_make(dir);
    rf_update_point points[] = {sample(0, 19, 80, 80), sample(0, 29, 82, 83),
                                sample(1, 29, 86, 88)};
    points[0].updates.n = 0;
    points[2].updates.n = 30;
    points[2].updates.seconds = 60;
    points[2].updates.longest = 7.25;
    points[2].updates.heads = 5;
    for (size_t i = 0; i < 3; i++)
        append(dir, &points[2 - i]);
    if (rf_lab_table(dir, &o, &text, &err) != RF_OK)
        fail_msg("%s", err.msg);
    /* means 84 and 85.5; differences -1 and -2: mean -1.5, deviation 0.71; 80 s for 40
     * updates, 20 heads */
    assert_non_null(strstr(text, "banking, trained on 19 classes (25 %)"));
    assert_non_null(strstr(text, "84.00"));
    assert_non_null(strstr(text, "85.50"));
    assert_non_null(strstr(text, "-1.50 (0.71)"));
    assert_non_null(strstr(text, "2.0      7.2"));
    assert_non_null(strstr(text, "0.5\n"));
    assert_non_null(strstr(text, "+0.00"));
    free(text);
    o.format = RF_TABLE_CSV;
    assert_int_equal(rf_lab_table(dir, &o, &text, &err), RF_OK);
    assert_non_null(strstr(text, "updates,minilm,banking,0.25,ans,classes=29,measured,"
                                 "difference_f1,2,-1.5,0.707"));
    free(text);
    o.encoder = "other";
    assert_int_equal(rf_lab_table(dir, &o, &text, &err), RF_ERR_MISSING);
    assert_error(&err, RF_ERR_MISSING, "no run with encoder other", "minilm");
    scratch_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(file_of_points),
        cmocka_unit_test(table_of_points),
        cmocka_unit_test(as_by_train_update_and_eval),
        cmocka_unit_test(stopped_and_resumed),
        cmocka_unit_test(more_points_later),
        cmocka_unit_test(plan_reports_and_runs_nothing),
        cmocka_unit_test(refused),
        cmocka_unit_test(classes_with_the_same_texts),
    };
    return cmocka_run_group_tests_name("lab_updates", tests, NULL, NULL);
}
