/*
 * Checking data by features: label errors, classes alike and two topics planted in
 * random points of known shape; the same with the tiny encoder.
 */
#include "base/rng.h"
#include "check/label_errors.h"
#include "check/two_topics.h"

#include "scratch.h"
#include "ringfence_improve.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH 16
#define PER_CLASS 30

/* Classes of points with what rf_check would know of them. */
typedef struct points {
    rf_checked c;
    rf_encoded e;
    rf_dataset *data;
    rf_outside_view *views;
} points;

static float normal(uint64_t a, uint64_t b, uint64_t i)
{
    rf_rng r = rf_rng_open(rf_rng_key(9, a, b, i));
    float sum = -6.0f;
    for (size_t k = 0; k < 12; k++)
        sum += rf_rng_uniform(&r);
    return sum;
}

/* Row i of n = classes * per_class is a point of blob blob_of[i] and has label
 * class_of[i]; centres of blobs are 4 sqrt(2 WIDTH) apart on average, the points of one
 * spread by 1. */
static void points_make(points *p, const uint32_t *blob_of, const uint32_t *class_of,
                        size_t n, size_t classes, size_t threads)
{
    char text[32], label[32];
    *p = (points){.data = rf_dataset_new(NULL)};
    p->e = (rf_encoded){.n = n,
                        .width = WIDTH,
                        .rows = calloc(n, sizeof(uint32_t)),
                        .class_of = calloc(n, sizeof(uint32_t)),
                        .text_of = calloc(n, sizeof(uint32_t)),
                        .z = calloc(n * WIDTH, sizeof(float)),
                        .classes = classes,
                        .class_at = calloc(classes, sizeof(uint32_t))};
    for (uint32_t i = 0; i < n; i++) {
        int len = snprintf(text, sizeof text, "text %u", i);
        int label_len = snprintf(label, sizeof label, "c%03u", class_of[i]);
        rf_dataset_add(p->data, text, (size_t)len, label, (size_t)label_len, NULL);
        p->e.rows[i] = p->e.text_of[i] = i;
        p->e.class_of[i] = class_of[i];
        for (size_t j = 0; j < WIDTH; j++)
            p->e.z[i * WIDTH + j] = 4.0f * normal(1, blob_of[i], j) + normal(2, i, j);
    }
    for (uint32_t k = 0; k < classes; k++)
        p->e.class_at[k] = k;
    p->c = (rf_checked){.data = p->data,
                        .rows = n,
                        .classes = classes,
                        .team = rf_team_new(threads, NULL),
                        .found = calloc(1, sizeof(rf_findings))};
    rf_buffer_init(&p->c.found->list, SIZE_MAX / 4, "findings");
    p->views = calloc(n, sizeof *p->views);
}

static void points_release(points *p)
{
    rf_team_free(p->c.team);
    rf_findings_free(p->c.found);
    rf_encoded_release(&p->e);
    rf_dataset_free(p->data);
    free(p->views);
}

static void look(points *p)
{
    rf_error err = {0};
    if (rf_out_of_fold(&p->e, NULL, p->c.team, p->views, &err) != RF_OK)
        fail_msg("%s", err.msg);
}

#define CLASSES 8
#define N (CLASSES * PER_CLASS)

/* ---- Label errors ------------------------------------------------------------------ */

/* Every 13th row has a wrong label. */
static bool is_wrong(size_t i)
{
    return i % 13 == 5;
}

static void wrong_labels(uint32_t *blob_of, uint32_t *class_of)
{
    for (uint32_t i = 0; i < N; i++) {
        blob_of[i] = i % CLASSES;
        class_of[i] =
            is_wrong(i) ? (blob_of[i] + 1 + i % (CLASSES - 1)) % CLASSES : blob_of[i];
    }
}

static void planted_label_errors(void **state)
{
    (void)state;
    uint32_t blob_of[N], class_of[N];
    size_t wrong = 0;
    points p, q;
    wrong_labels(blob_of, class_of);
    points_make(&p, blob_of, class_of, N, CLASSES, 1);
    points_make(&q, blob_of, class_of, N, CLASSES, 3);
    look(&p);
    look(&q);
    assert_memory_equal(p.views, q.views, N * sizeof *p.views);
    assert_int_equal(rf_label_errors_report(&p.c, &p.e, p.views, NULL), RF_OK);
    for (size_t i = 0; i < rf_findings_count(p.c.found); i++) {
        const rf_finding *f = rf_findings_at(p.c.found, i);
        size_t row = f->rows[0];
        assert_int_equal(f->kind, RF_FINDING_LABEL_ERROR);
        assert_true(is_wrong(row));
        assert_int_equal(f->class_index, class_of[row]);
        assert_int_equal(f->suggested, blob_of[row]);
        assert_true(i == 0 || f->score <= rf_findings_at(p.c.found, i - 1)->score);
    }
    for (size_t i = 0; i < N; i++)
        wrong += is_wrong(i);
    assert_int_equal(rf_findings_count(p.c.found), wrong);
    points_release(&p);
    points_release(&q);
}

/* A wrong label that a copy of the text shares: the copy must not vouch for it. */
static void copies_do_not_vouch(void **state)
{
    (void)state;
    uint32_t blob_of[N], class_of[N];
    points p;
    for (uint32_t i = 0; i < N; i++)
        blob_of[i] = class_of[i] = i % CLASSES;
    class_of[0] = class_of[CLASSES] = 3; /* two rows of blob 0 */
    points_make(&p, blob_of, class_of, N, CLASSES, 1);
    memcpy(p.e.z + CLASSES * WIDTH, p.e.z, WIDTH * sizeof(float));
    p.e.text_of[CLASSES] = 0;
    look(&p);
    assert_true(p.views[0].best > p.views[0].own && p.views[0].other == 0);
    assert_memory_equal(&p.views[0], &p.views[CLASSES], sizeof p.views[0]);
    points_release(&p);
}

/* What cannot be judged is not suspected. */
static void too_little_to_judge(void **state)
{
    (void)state;
    uint32_t blob_of[N], class_of[N];
    points p;
    for (uint32_t i = 0; i < N; i++)
        blob_of[i] = class_of[i] = i % (CLASSES - 1);
    class_of[0] = CLASSES - 1; /* alone in its class, though it looks like another */
    points_make(&p, blob_of, class_of, N, CLASSES, 1);
    look(&p);
    assert_true(isnan(p.views[0].own));
    assert_int_equal(rf_label_errors_report(&p.c, &p.e, p.views, NULL), RF_OK);
    assert_int_equal(rf_findings_count(p.c.found), 0);
    points_release(&p);
    for (uint32_t i = 0; i < N; i++)
        blob_of[i] = class_of[i] = 0; /* one class: there is no other */
    points_make(&p, blob_of, class_of, N, 1, 1);
    look(&p);
    assert_true(isnan(p.views[0].best));
    assert_int_equal(rf_label_errors_report(&p.c, &p.e, p.views, NULL), RF_OK);
    assert_int_equal(rf_two_topics_report(&p.c, &p.e, NULL), RF_OK);
    assert_int_equal(rf_findings_count(p.c.found), 0);
    points_release(&p);
}

/* ---- Classes ----------------------------------------------------------------------- */

static void classes_alike(void **state)
{
    (void)state;
    uint32_t blob_of[N], class_of[N];
    points p;
    for (uint32_t i = 0; i < N; i++) {
        class_of[i] = i % CLASSES;
        blob_of[i] = class_of[i] == 5 ? 2 : class_of[i]; /* 2 and 5 are one blob */
    }
    points_make(&p, blob_of, class_of, N, CLASSES, 2);
    look(&p);
    assert_int_equal(rf_classes_alike_report(&p.c, &p.e, p.views, NULL), RF_OK);
    assert_int_equal(rf_findings_count(p.c.found), 1);
    const rf_finding *f = rf_findings_at(p.c.found, 0);
    assert_int_equal(f->class_index, 2);
    assert_int_equal(f->other_class, 5);
    for (size_t i = 0; i < f->n_rows; i++)
        assert_true(class_of[f->rows[i]] == 2 || class_of[f->rows[i]] == 5);
    points_release(&p);
}

static void two_topics(void **state)
{
    (void)state;
    uint32_t blob_of[N], class_of[N];
    points p, q;
    for (uint32_t i = 0; i < N; i++) {
        class_of[i] = i % CLASSES;
        blob_of[i] = class_of[i] == 4 && i % 3 == 0 ? 20 : class_of[i];
    }
    points_make(&p, blob_of, class_of, N, CLASSES, 1);
    points_make(&q, blob_of, class_of, N, CLASSES, 3);
    assert_int_equal(rf_two_topics_report(&p.c, &p.e, NULL), RF_OK);
    assert_int_equal(rf_two_topics_report(&q.c, &q.e, NULL), RF_OK);
    assert_int_equal(rf_findings_count(p.c.found), 1);
    const rf_finding *f = rf_findings_at(p.c.found, 0), *g = rf_findings_at(q.c.found, 0);
    assert_int_equal(f->class_index, 4);
    assert_int_equal(f->n_rows, PER_CLASS);
    assert_int_equal(f->n_good, PER_CLASS - PER_CLASS / 3);
    for (size_t i = 0; i < f->n_rows; i++)
        assert_int_equal(blob_of[f->rows[i]], i < f->n_good ? 4 : 20);
    assert_memory_equal(&f->score, &g->score, sizeof f->score);
    points_release(&p);
    points_release(&q);
}

/* ---- With an encoder --------------------------------------------------------------- */

static void with_an_encoder(void **state)
{
    (void)state;
    rf_error err = {0};
    rf_dataset *d = rf_dataset_new(NULL);
    static const char *const words[][3] = {
        {"where", "is", "my"}, {"x", "y", "z"}, {"b", "c", "d"}};
    char text[64], label[8];
    for (size_t i = 0; i < 90; i++) {
        const char *const *w = words[i % 3];
        size_t class = i == 40 ? 0 : i % 3; /* row 40 has a wrong label */
        int n = snprintf(text, sizeof text, "%s %s %s %s %s", w[i % 2], w[i / 3 % 3],
                         w[i / 9 % 3], w[i / 27 % 3], w[i / 2 % 3]);
        int m = snprintf(label, sizeof label, "c%zu", class);
        assert_int_equal(rf_dataset_add(d, text, (size_t)n, label, (size_t)m, NULL),
                         RF_OK);
    }
    rf_check_options o = rf_check_options_default();
    o.encoder = GOLDEN_DIR "/tiny/encoder";
    o.ignore = (uint64_t)1 << RF_FINDING_DUPLICATE | (uint64_t)1
                                                         << RF_FINDING_NEAR_DUPLICATE;
    o.threads = 1;
    rf_findings *one = rf_check(d, &o, &err);
    if (!one)
        fail_msg("%s", err.msg);
    o.threads = 3;
    rf_findings *three = rf_check(d, &o, &err);
    assert_non_null(three);
    assert_int_equal(rf_findings_encoded(one), 90);
    assert_int_equal(rf_findings_count(one), rf_findings_count(three));
    size_t found = 0;
    for (size_t i = 0; i < rf_findings_count(one); i++) {
        const rf_finding *f = rf_findings_at(one, i), *g = rf_findings_at(three, i);
        assert_memory_equal(&f->score, &g->score, sizeof f->score);
        assert_string_equal(f->message, g->message);
        found +=
            f->kind == RF_FINDING_LABEL_ERROR && f->rows[0] == 40 && f->suggested == 1;
    }
    assert_int_equal(found, 1);
    rf_findings_free(one);
    rf_findings_free(three);

    o.max_rows = 10; /* a sample */
    one = rf_check(d, &o, &err);
    assert_non_null(one);
    assert_true(rf_findings_encoded(one) > 0 && rf_findings_encoded(one) <= 12);
    rf_findings_free(one);
    rf_dataset_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(planted_label_errors), cmocka_unit_test(copies_do_not_vouch),
        cmocka_unit_test(too_little_to_judge),  cmocka_unit_test(classes_alike),
        cmocka_unit_test(two_topics),           cmocka_unit_test(with_an_encoder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
