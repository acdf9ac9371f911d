/*
 * Review, label, learn, again and again: what the oracle reads and names in groups made
 * by hand; the traffic; the first model's figures by training and evaluating by hand; a
 * loop stopped anywhere ends with the same lines, for any number of threads; the file,
 * its table, and what is refused.
 */
#include "base/file.h"
#include "base/rng.h"
#include "lab/loop.h"
#include "lab/numpy_draw.h"
#include "lab/oracle.h"
#include "lab/traffic.h"
#include "review/reviewing.h"
#include "ringfence_improve.h"

#include "lab_toy.h"
#include "scratch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- The oracle -------------------------------------------------------------------- */

enum { TEXTS = 64 };

/* A review of one group per word of truth: a letter is a text's label. */
typedef struct made {
    rf_review review;
    rf_review_text texts[TEXTS];
    rf_review_group groups[8];
    size_t rows[TEXTS];
    uint32_t number[TEXTS], truth[TEXTS];
    rf_oracle oracle;
} made;

static void make_review(made *m, const char *words, size_t budget)
{
    *m = (made){.review = {.texts = m->texts, .groups = m->groups}};
    rf_review *r = &m->review;
    for (const char *at = words; *at;) {
        size_t len = strcspn(at, " ");
        m->groups[r->n_groups++] = (rf_review_group){
            .first = r->n, .n_texts = len, .count = len, .cohesion = 1.0, .worth = 1e9};
        for (size_t i = 0; i < len; i++, r->n++) {
            m->rows[r->n] = r->n;
            m->number[r->n] = (uint32_t)(TEXTS - 1 - r->n); /* not in order */
            m->truth[m->number[r->n]] = (uint32_t)(at[i] - 'a');
            m->texts[r->n] = (rf_review_text){.rows = &m->rows[r->n], .count = 1};
        }
        at += len + (at[len] == ' ');
    }
    assert_int_equal(rf_oracle_init(&m->oracle, m->truth, TEXTS, budget, NULL), RF_OK);
}

/* The labels as words again: '.' is none. */
static const char *labels(const made *m)
{
    static char out[2 * TEXTS];
    size_t n = 0;
    for (size_t k = 0; k < m->review.n_groups; k++) {
        const rf_review_group *g = &m->groups[k];
        n += (size_t)sprintf(out + n, k ? " " : "");
        for (size_t i = g->first; i < g->first + g->n_texts; i++) {
            uint32_t label = m->oracle.label[m->number[i]];
            out[n++] = label == RF_NO_LABEL ? '.' : (char)('a' + label);
        }
    }
    out[n] = '\0';
    return out;
}

static const struct look {
    const char *truth, *want;
    size_t budget, labels, named, skipped;
    bool enough;
} looks[] = {
    /* five central and three different ones agree: all twelve, the two b unread */
    {"aaaaabbaaaaa", "aaaaaaaaaaaa", SIZE_MAX, 8, 1, 0, true},
    /* all but one: it keeps its own label */
    {"aaaaaaaaaaab", "aaaaaaaaaaab", SIZE_MAX, 8, 1, 0, true},
    {"baaaaaaaa", "baaaaaaaa", SIZE_MAX, 8, 1, 0, true},
    /* two differ: the half that fits best is looked at again, with one more text read */
    {"aaaaaaaacccbb", "aaaaaa....cbb", SIZE_MAX, 9, 1, 0, true},
    {"aaaaaaaaaaabb", "aaaaaa....abb", SIZE_MAX, 9, 1, 0, true},
    /* halved until too few are left; what was read is labelled */
    {"abababababab", "ababab...bab", SIZE_MAX, 9, 0, 1, true},
    {"abcde", "abcde", SIZE_MAX, 5, 0, 1, true},
    /* several groups; one too small to be read */
    {"aaaaaa bbbb cccccccccc", "aaaaaa .... cccccccccc", SIZE_MAX, 14, 2, 1, true},
    /* the budget does not suffice for the second, and nothing of it is read */
    {"aaaaaaaa bbbbbbbb cccccccc", "aaaaaaaa ........ ........", 15, 8, 1, 0, false},
    {"aaaaaaaa bbbbbbbb", "aaaaaaaa bbbbbbbb", 16, 16, 2, 0, true},
};

static void groups_are_named_by_a_few_texts(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof looks / sizeof *looks; i++) {
        const struct look *l = &looks[i];
        made m;
        make_review(&m, l->truth, l->budget);
        bool enough = rf_oracle_look(&m.oracle, &m.review, m.number);
        if (enough != l->enough || strcmp(labels(&m), l->want) != 0 ||
            m.oracle.labels != l->labels || m.oracle.named != l->named ||
            m.oracle.skipped != l->skipped)
            fail_msg("\"%s\" became \"%s\" with %zu labels, %zu named, %zu skipped",
                     l->truth, labels(&m), m.oracle.labels, m.oracle.named,
                     m.oracle.skipped);
        rf_oracle_release(&m.oracle);
    }
}

/* Copies get the label of their text; a group that is not worth reading is left alone. */
static void copies_and_worth(void **state)
{
    (void)state;
    made m;
    make_review(&m, "aaaaaaaa bbbbbbbb", SIZE_MAX);
    const size_t copies[] = {0, 40, 41}; /* of the first text, none of them shown */
    m.texts[0].rows = copies;
    m.texts[0].count = 3;
    m.number[40] = 7;
    m.number[41] = 8;
    m.groups[1].worth = 7.9;
    assert_true(rf_oracle_look(&m.oracle, &m.review, m.number));
    assert_string_equal(labels(&m), "aaaaaaaa ........");
    assert_int_equal(m.oracle.label[7], 0);
    assert_int_equal(m.oracle.label[8], 0);
    assert_int_equal(m.oracle.labels, 8);
    rf_oracle_release(&m.oracle);
}

/* ---- The traffic ------------------------------------------------------------------- */

static void traffic_is_the_rest(void **state)
{
    (void)state;
    place p;
    rf_error err = {0};
    rf_split split;
    rf_traffic t;
    const rf_split_options so = {.ratio = 0.5, .seed = 3};
    place_make(&p);
    rf_dataset *train = read_part(&p, "train.tsv");
    size_t n = rf_dataset_rows(train), known[CLASSES] = {0}, at = 0;
    uint32_t *order = calloc(n, sizeof *order);
    assert_non_null(order);
    assert_int_equal(rf_split_make(&split, train, NULL, train, &so, &err), RF_OK);
    assert_int_equal(rf_traffic_make(&t, train, &split, 3, &err), RF_OK);
    rf_numpy_permutation(order, n, 3);
    for (size_t i = 0; i < n; i++) { /* in this order, but for four of five known rows */
        size_t class = rf_dataset_class(train, order[i]);
        bool is_known = false;
        for (size_t c = 0; c < split.classes; c++)
            is_known |= strcmp(split.label[c], rf_dataset_label(train, class, NULL)) == 0;
        if (is_known && known[class]++ % 5 != 0)
            continue;
        assert_true(at < t.n);
        assert_int_equal(t.row[at], order[i]);
        assert_int_equal(t.truth[at++], class);
    }
    assert_int_equal(at, t.n);
    assert_int_equal(t.n, 3 * 14 + 3 * 3);
    assert_int_equal(rf_dataset_rows(t.first), 3 * 11);
    assert_int_equal(rf_dataset_classes(t.first), 3);
    rf_traffic_release(&t);
    rf_split_release(&split);
    rf_dataset_free(train);
    free(order);
    scratch_remove(p.dir);
}

/* ---- Loops ------------------------------------------------------------------------- */

/* Six classes that differ in their words, in the order of a wheel. */
static void write_topics(const place *p, const char *name, size_t each, uint64_t part)
{
    static const char *const own[CLASSES][3] = {
        {"refund", "please", "my"}, {"where", "order", "is"}, {"hello", "thank", "you"},
        {"ring", "fence", "text"},  {"when", "how", "able"},  {"cancel", "token", "un"}};
    static const char *const any[] = {"the", "and", "of",   "to",
                                      "in",  "it",  "that", "for"};
    char set[RF_PATH_MAX], text[16384] = "text\tlabel\n", *at = text + strlen(text);
    for (size_t i = 0; i < each * CLASSES; i++) {
        rf_rng r = rf_rng_open(rf_rng_key(part, i, 0, 0));
        size_t c = i % CLASSES;
        for (size_t k = 0; k < 6; k++)
            at += sprintf(at, "%s ",
                          k % 2 ? any[rf_rng_below(&r, 8)] : own[c][rf_rng_below(&r, 3)]);
        at += sprintf(at, "%zu\tc%zu\n", rf_rng_below(&r, 1000), c);
    }
    scratch_path(set, p->data, "toy");
    scratch_write(set, name, text, (size_t)(at - text));
}

static void place_topics(place *p)
{
    place_make(p);
    write_topics(p, "train.tsv", 40, 1);
    write_topics(p, "test.tsv", 10, 2);
}

static rf_lab_options looping(const place *p)
{
    rf_lab_options o = quick(p);
    o.batch = 60;
    return o;
}

static void run_loop(const rf_lab_options *o)
{
    rf_error err = {0};
    if (rf_lab_loop(o, NULL, NULL, NULL, &err) != RF_OK)
        fail_msg("%s", err.msg);
}

static rf_loop_point *load(const char *dir, size_t *n)
{
    rf_error err = {0};
    rf_loop_point *list;
    if (rf_loop_points_load(dir, &list, n, &err) != RF_OK)
        fail_msg("%s", err.msg);
    return list;
}

/* Everything but the times. */
static void assert_same(const rf_loop_point *a, const rf_loop_point *b)
{
    rf_loop_point x = *a, y = *b;
    x.review_seconds = x.update_seconds = x.train_seconds = 0.0;
    y.review_seconds = y.update_seconds = y.train_seconds = 0.0;
    x.threads = y.threads = 0;
    assert_memory_equal(&x, &y, sizeof x);
}

/* ---- By hand ----------------------------------------------------------------------- */

typedef struct by_hand {
    rf_dataset *train, *test;
    rf_split split;
    rf_traffic traffic;
    rf_oracle oracle;
    bool learnt[40 * CLASSES];
    size_t came;
    rf_model *model;
} by_hand;

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

static rf_model *train_by_hand(const place *p, const rf_dataset *rows)
{
    rf_error err = {0};
    rf_train_options o = rf_train_options_default();
    o.settings = QUICK;
    o.encoder = TINY;
    o.threads = 2;
    return through_a_file(p, rf_train(rows, NULL, &o, &err));
}

static void begin_by_hand(by_hand *h, const place *p)
{
    rf_error err = {0};
    const rf_split_options so = {.ratio = 0.5, .seed = 0};
    *h = (by_hand){.train = read_part(p, "train.tsv"), .test = read_part(p, "test.tsv")};
    assert_int_equal(rf_split_make(&h->split, h->train, NULL, h->test, &so, &err), RF_OK);
    assert_int_equal(rf_traffic_make(&h->traffic, h->train, &h->split, 0, &err), RF_OK);
    assert_int_equal(
        rf_oracle_init(&h->oracle, h->traffic.truth, h->traffic.n, SIZE_MAX, &err),
        RF_OK);
    h->model = train_by_hand(p, h->traffic.first);
}

static void review_by_hand(by_hand *h)
{
    const char *texts[40 * CLASSES];
    size_t lens[40 * CLASSES], n = 0;
    uint32_t number[40 * CLASSES];
    rf_error err = {0};
    for (uint32_t i = 0; i < h->came; i++)
        if (h->oracle.label[i] == RF_NO_LABEL) {
            texts[n] = rf_dataset_text(h->train, h->traffic.row[i], &lens[n]);
            number[n++] = i;
        }
    rf_review *r = rf_review_texts(h->model, texts, lens, n, NULL, &err);
    assert_non_null(r);
    assert_true(rf_oracle_look(&h->oracle, r, number));
    rf_review_free(r);
}

static const char *label_of(const by_hand *h, size_t i)
{
    return rf_dataset_label(h->train, h->oracle.label[i], NULL);
}

static bool add_labelled(const by_hand *h, size_t i, rf_dataset *rows)
{
    size_t len, same = 0;
    const char *text = rf_dataset_text(h->train, h->traffic.row[i], &len);
    for (size_t j = 0; j < h->came; j++)
        same += h->oracle.label[j] == h->oracle.label[i];
    const char *label = label_of(h, i);
    if (same < 5 && rf_model_find(h->model, label, strlen(label)) == RF_OPEN)
        return false;
    assert_int_equal(rf_dataset_add(rows, text, len, label, strlen(label), NULL), RF_OK);
    return true;
}

static void update_by_hand(by_hand *h, const place *p)
{
    rf_error err = {0};
    rf_dataset *rows = rf_dataset_new(NULL);
    for (size_t i = 0; i < h->came; i++)
        if (h->oracle.label[i] != RF_NO_LABEL && !h->learnt[i])
            h->learnt[i] = add_labelled(h, i, rows);
    if (rf_dataset_rows(rows) > 0) {
        rf_model *next = rf_update(h->model, rows, NULL, NULL, &err);
        if (!next)
            fail_msg("%s", err.msg);
        rf_model_free(h->model);
        h->model = through_a_file(p, next);
    }
    rf_dataset_free(rows);
}

/* F1 and accuracy over all six classes, from counts of each answer. */
static void check_figures(const by_hand *h, const rf_model *m, const rf_loop_figures *lab)
{
    size_t n = rf_dataset_rows(h->test), right = 0;
    double sum = 0.0;
    rf_error err = {0};
    size_t own[CLASSES] = {0}, said[CLASSES] = {0}, both[CLASSES] = {0};
    rf_session *s = rf_session_new(m, 1, &err);
    assert_non_null(s);
    for (size_t i = 0; i < n; i++) {
        rf_decision d;
        size_t len;
        const char *text = rf_dataset_text(h->test, i, &len);
        const char *label = rf_dataset_label(h->test, rf_dataset_class(h->test, i), NULL);
        assert_int_equal(rf_classify(s, text, len, &d, &err), RF_OK);
        const char *answer = rf_model_label(m, d.class_index);
        own[label[1] - '0']++; /* "c3" */
        if (d.class_index != RF_OPEN)
            said[answer[1] - '0']++;
        both[label[1] - '0'] += strcmp(answer, label) == 0;
    }
    for (size_t c = 0; c < CLASSES; c++) {
        right += both[c];
        sum += 200.0 * (double)both[c] / (double)(own[c] + said[c]);
    }
    assert_true(fabs(lab->f1 - sum / CLASSES) < 1e-9);
    assert_true(fabs(lab->accuracy - 100.0 * (double)right / (double)n) < 1e-9);
    rf_session_free(s);
}

static void end_by_hand(by_hand *h)
{
    rf_model_free(h->model);
    rf_oracle_release(&h->oracle);
    rf_traffic_release(&h->traffic);
    rf_split_release(&h->split);
    rf_dataset_free(h->train);
    rf_dataset_free(h->test);
}

static size_t rows_of(const by_hand *h)
{
    size_t n = 0;
    for (size_t i = 0; i < h->traffic.n; i++)
        n += h->learnt[i];
    return n;
}

/* All rounds: train, review, label, update, save, load, evaluate; then trained again. */
static void as_by_train_review_update_and_eval(void **state)
{
    (void)state;
    place p;
    by_hand h;
    size_t n;
    place_topics(&p);
    rf_lab_options o = looping(&p);
    run_loop(&o);
    rf_loop_point *points = load(p.out, &n);
    assert_true(n >= 4); /* the first model and three batches */
    begin_by_hand(&h, &p);
    for (size_t i = 0; i < n; i++) {
        const rf_loop_point *point = &points[i];
        assert_int_equal(point->round, i);
        assert_int_equal(point->last, i == n - 1);
        if (i > 0) {
            h.came = 60 * i < h.traffic.n ? 60 * i : h.traffic.n;
            review_by_hand(&h);
            update_by_hand(&h, &p);
        }
        assert_int_equal(point->texts, h.came);
        assert_int_equal(point->labels, h.oracle.labels);
        assert_int_equal(point->named, h.oracle.named);
        assert_int_equal(point->rows, rows_of(&h));
        assert_int_equal(point->classes, rf_model_classes(h.model));
        check_figures(&h, h.model, &point->updated);
    }
    assert_int_equal(points[0].first_classes, 3);
    assert_true(points[n - 1].classes > 3); /* something was found and learnt */
    assert_true(points[n - 1].updated.f1 > points[0].updated.f1);
    for (size_t i = 0; i < h.traffic.n; i++)
        if (h.learnt[i])
            add_labelled(&h, i, h.traffic.first);
    rf_model *again = train_by_hand(&p, h.traffic.first);
    check_figures(&h, again, &points[n - 1].trained);
    rf_model_free(again);
    end_by_hand(&h);
    free(points);
    scratch_remove(p.dir);
}

/* ---- Interruptions ----------------------------------------------------------------- */

typedef struct stopper {
    size_t after, seen;
} stopper;

static int stop_training(void *user, const rf_train_event *e)
{
    (void)e;
    stopper *s = user;
    return s->seen++ >= s->after;
}

static int stop_round(void *user, const rf_loop_point *p)
{
    (void)p;
    return stop_training(user, NULL);
}

/* Stopped at many places, also inside trainings and updates. */
static void stopped_and_resumed(void **state)
{
    (void)state;
    place p, q;
    size_t n, m, stops = 0;
    rf_error err = {0};
    place_topics(&p);
    place_topics(&q);
    rf_lab_options o = looping(&p), other = looping(&q);
    other.threads = 3;
    run_loop(&o);
    for (stopper s = {.after = 1};; s = (stopper){.after = s.after + 29}) {
        rf_status st = rf_lab_loop(&other, stop_training, stop_round, &s, &err);
        if (st == RF_OK)
            break;
        assert_error(&err, RF_ERR_STOPPED, "stopped");
        assert_true(++stops < 100);
    }
    assert_true(stops > 2);
    rf_loop_point *a = load(p.out, &n), *b = load(q.out, &m);
    assert_int_equal(n, m);
    for (size_t i = 0; i < n; i++)
        assert_same(&a[i], &b[i]);
    free(a);
    free(b);

    stopper all = {.after = SIZE_MAX}; /* nothing is done again, all is told */
    assert_int_equal(rf_lab_loop(&o, stop_training, stop_round, &all, &err), RF_OK);
    assert_int_equal(all.seen, n);
    free(load(p.out, &m));
    assert_int_equal(n, m);
    scratch_remove(p.dir);
    scratch_remove(q.dir);
}

/* A budget is another loop; it ends when the labels are gone. */
static void with_a_budget(void **state)
{
    (void)state;
    place p;
    size_t n, m;
    place_topics(&p);
    rf_lab_options o = looping(&p);
    run_loop(&o);
    free(load(p.out, &n));
    o.labels = 16;
    run_loop(&o);
    rf_loop_point *list = load(p.out, &m);
    assert_true(m > n);
    const rf_loop_point *last = &list[m - 1];
    assert_true(last->last && last->budget == 16 && last->labels <= 16);
    assert_true(last->labels > 0 && last->trained.f1 > 0.0);
    free(list);
    scratch_remove(p.dir);
}

static void refused(void **state)
{
    (void)state;
    place p;
    rf_error err = {0};
    place_topics(&p);
    rf_lab_options o = looping(&p), other = o;
    other.batch = 0;
    assert_int_equal(rf_lab_loop(&other, NULL, NULL, NULL, &err), RF_ERR_ARG);
    assert_error(&err, RF_ERR_ARG, "batches of 0 texts");
    other = o;
    other.sets = "absent";
    assert_int_equal(rf_lab_loop(&other, NULL, NULL, NULL, &err), RF_ERR_MISSING);
    run_loop(&o);
    other = o;
    other.settings = QUICK "epochs=2";
    assert_int_equal(rf_lab_loop(&other, NULL, NULL, NULL, &err), RF_ERR_ARG);
    assert_error(&err, RF_ERR_ARG, "loop.jsonl", "toy 0.5 seed 0", "other settings");
    scratch_remove(p.dir);
}

/* ---- The file and its table -------------------------------------------------------- */

static void append(const char *dir, size_t round, size_t spent, double f1, double trained)
{
    rf_error err = {0};
    rf_loop_point p = {.set = "banking",
                       .ratio = 0.5,
                       .seed = 7,
                       .method = "ans",
                       .encoder = "minilm",
                       .batch = 1000,
                       .round = round,
                       .last = trained >= 0.0,
                       .all_classes = 77,
                       .first_classes = 38,
                       .classes = 38 + round,
                       .labels = spent,
                       .first_f1 = 40,
                       .updated = {50, f1},
                       .trained = {trained, trained},
                       .review_seconds = 1.5,
                       .update_seconds = 2};
    if (rf_loop_point_append(dir, &p, &err) != RF_OK)
        fail_msg("%s", err.msg);
}

static void table_of_rounds(void **state)
{
    (void)state;
    char dir[RF_PATH_MAX], *text;
    rf_error err = {0};
    rf_table_options o = {.which = "loop"};
    size_t n;
    scratch_make(dir);
    append(dir, 1, 100, 60, -1.0);
    append(dir, 0, 0, 40, -1.0);
    append(dir, 2, 180, 63, -1.0);
    append(dir, 2, 190, 65, 66.25); /* the later one counts */
    rf_loop_point *list = load(dir, &n);
    assert_int_equal(n, 3);
    assert_true(list[0].trained.f1 < 0.0 && list[2].trained.f1 == 66.25);
    free(list);
    if (rf_lab_table(dir, &o, &text, &err) != RF_OK)
        fail_msg("%s", err.msg);
    /* 100 labels for 20 points, 190 for 25 */
    assert_non_null(
        strstr(text, "banking, trained on 38 of 77 classes (50 %), seed 7 ("));
    assert_non_null(strstr(text, "60.00  50.00           5.0      3.5"));
    assert_non_null(strstr(text, "65.00  50.00           7.6      3.5          66.25"));
    free(text);
    o.format = RF_TABLE_CSV;
    assert_int_equal(rf_lab_table(dir, &o, &text, &err), RF_OK);
    assert_non_null(strstr(text, "loop,minilm,banking,0.5,ans,seed=7 round=2,measured,"
                                 "labels_per_point,1,7.6,"));
    assert_null(strstr(text, "round=1,measured,trained_f1"));
    free(text);
    scratch_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_are_named_by_a_few_texts),
        cmocka_unit_test(copies_and_worth),
        cmocka_unit_test(traffic_is_the_rest),
        cmocka_unit_test(as_by_train_review_update_and_eval),
        cmocka_unit_test(stopped_and_resumed),
        cmocka_unit_test(with_a_budget),
        cmocka_unit_test(refused),
        cmocka_unit_test(table_of_rounds),
    };
    return cmocka_run_group_tests_name("lab_loop", tests, NULL, NULL);
}
