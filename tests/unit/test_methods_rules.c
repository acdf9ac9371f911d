/*
 * test_methods_rules.c - rules for every method fitted after training
 *
 * A row gets the same bits alone and among others, and any number of threads gives the
 * same fence. Unusual training sets (one row per class, copies, fewer rows than
 * neighbours, one class) give finite answers. Invalid arrays in a file and features that
 * are not finite are rejected.
 */
#include "method_run.h"
#include "near.h"
#include "methods/adb.h"
#include "num/covariance.h"
#include "num/neighbours.h"
#include "num/vectors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH 37 /* not a multiple of any block size */
#define QUERIES 100

static const rf_method *const methods[] = {
    &rf_method_msp,          &rf_method_lof,          &rf_method_knn,
    &rf_method_mahalanobis,  &rf_method_openmax,      &rf_method_adb,
    &rf_method_nearest_text, &rf_method_whitened_mean};
#define METHODS (sizeof methods / sizeof *methods)

static rf_settings options(void)
{
    return (rf_settings){.contamination = 0.05f,
                         .quantile = 0.95f,
                         .threshold = 0.5f,
                         .tail = 20,
                         .ranks = 10,
                         .boundary_epochs = 100,
                         .boundary_rate = 0.05f};
}

typedef struct world {
    size_t rows, classes;
    float *z, *dev_z, *test_z;
    uint32_t *class_of, *dev_class, *test_class;
    rf_known known;
    rf_settings o;
} world;

static void make_world(world *w, size_t rows, size_t classes, float spread)
{
    *w = (world){.rows = rows, .classes = classes, .o = options()};
    w->z = copy_floats(NULL, rows * WIDTH);
    w->dev_z = copy_floats(NULL, QUERIES * WIDTH);
    w->test_z = copy_floats(NULL, QUERIES * WIDTH);
    w->class_of = malloc(rows * sizeof *w->class_of);
    w->dev_class = malloc(QUERIES * sizeof *w->dev_class);
    w->test_class = malloc(QUERIES * sizeof *w->test_class);
    assert_true(w->class_of && w->dev_class && w->test_class);
    random_rows(w->z, w->class_of, rows, WIDTH, classes, spread, 1);
    random_rows(w->dev_z, w->dev_class, QUERIES, WIDTH, classes, spread, 1);
    random_rows(w->test_z, w->test_class, QUERIES, WIDTH, classes, 3.0f * spread, 1);
    random_known(&w->known, WIDTH, classes, 5);
}

static void drop_world(world *w)
{
    free(w->z);
    free(w->dev_z);
    free(w->test_z);
    free(w->class_of);
    free(w->dev_class);
    free(w->test_class);
    rf_known_release(&w->known);
}

static rf_fit problem(const world *w, bool dev, rf_team *team)
{
    return (rf_fit){.width = WIDTH,
                    .classes = w->classes,
                    .rows = w->rows,
                    .z = w->z,
                    .class_of = w->class_of,
                    .dev_rows = dev ? QUERIES : 0,
                    .dev_z = dev ? w->dev_z : NULL,
                    .dev_class = dev ? w->dev_class : NULL,
                    .known = &w->known,
                    .o = &w->o,
                    .seed = 9,
                    .team = team};
}

typedef struct answers {
    rf_verdict *verdict;
    float *margins;
} answers;

static answers judge_world(const world *w, const rf_method_state *f, const rf_method *m,
                           size_t block)
{
    answers a = {.verdict = calloc(QUERIES, sizeof *a.verdict)};
    assert_non_null(a.verdict);
    a.margins = copy_floats(NULL, QUERIES * w->classes);
    judge_rows(f, m, &w->known, w->test_z, QUERIES, block, a.verdict, a.margins);
    return a;
}

static void drop_answers(answers *a)
{
    free(a->verdict);
    free(a->margins);
}

static void assert_same(const world *w, const answers *a, const answers *b)
{
    assert_memory_equal(a->verdict, b->verdict, QUERIES * sizeof *a->verdict);
    assert_memory_equal(a->margins, b->margins,
                        QUERIES * w->classes * sizeof *a->margins);
}

/* ---- Rows and threads -------------------------------------------------------------- */

static void a_row_gets_the_same_bits_alone_and_among_others(void **state)
{
    (void)state;
    rf_team *team = rf_team_new(1, NULL);
    world w;
    make_world(&w, 1500, 7, 1.0f); /* three strips of points */
    for (size_t i = 0; i < METHODS; i++) {
        rf_method_state f;
        rf_fit in = problem(&w, true, team);
        fit_method(&f, methods[i], &in);
        answers all = judge_world(&w, &f, methods[i], RF_JUDGE_ROWS);
        answers some = judge_world(&w, &f, methods[i], 7);
        answers alone = judge_world(&w, &f, methods[i], 1);
        assert_same(&w, &all, &alone);
        assert_same(&w, &all, &some);
        drop_answers(&all);
        drop_answers(&some);
        drop_answers(&alone);
        drop_state(&f, methods[i]);
    }
    drop_world(&w);
    rf_team_free(team);
}

static void threads_change_nothing(void **state)
{
    (void)state;
    rf_team *one = rf_team_new(1, NULL), *three = rf_team_new(3, NULL);
    world w;
    make_world(&w, 400, 6, 1.0f);
    for (size_t i = 0; i < 2 * METHODS; i++) {
        const rf_method *m = methods[i / 2];
        rf_method_state a, b;
        rf_fit in = problem(&w, i % 2, one);
        fit_method(&a, m, &in);
        in.team = three;
        fit_method(&b, m, &in);
        for (size_t j = 0; j < m->n_arrays; j++) {
            assert_memory_equal(a.arrays[j].shape, b.arrays[j].shape,
                                sizeof a.arrays[j].shape);
            assert_memory_equal(a.arrays[j].data, b.arrays[j].data,
                                a.arrays[j].shape[0] * a.arrays[j].shape[1] *
                                    sizeof(float));
        }
        drop_state(&a, m);
        drop_state(&b, m);
    }
    drop_world(&w);
    rf_team_free(one);
    rf_team_free(three);
}

/* Rows like the training rows are mostly accepted, rows from elsewhere mostly not. */
static void fences_tell_near_from_far(void **state)
{
    (void)state;
    rf_team *team = rf_team_new(1, NULL);
    world w;
    make_world(&w, 300, 5, 0.7f);
    for (size_t i = 0; i < METHODS; i++) {
        const rf_method *m = methods[i];
        if (m == &rf_method_msp || m == &rf_method_openmax)
            continue; /* depends on the classifier, which is random */
        size_t in[2] = {0, 0};
        rf_method_state f;
        rf_fit fit = problem(&w, false, team);
        fit_method(&f, m, &fit);
        for (int far = 0; far < 2; far++) {
            memcpy(w.test_z, w.dev_z, QUERIES * WIDTH * sizeof(float));
            for (size_t j = 0; far && j < QUERIES * WIDTH; j++)
                w.test_z[j] = (j % 2 ? 3.0f : -3.0f) - w.test_z[j];
            answers a = judge_world(&w, &f, m, RF_JUDGE_ROWS);
            for (size_t j = 0; j < QUERIES; j++)
                in[far] += a.margins[j * w.classes + a.verdict[j].fence] >= 0.0f;
            drop_answers(&a);
        }
        if (in[0] < 25 || in[1] > 5) /* half of the rows are outside ADB's balls */
            fail_msg("%s: lets %zu near and %zu far rows of %d in", m->name, in[0], in[1],
                     QUERIES);
        drop_state(&f, m);
    }
    drop_world(&w);
    rf_team_free(team);
}

/* ---- Unusual training sets --------------------------------------------------------- */

static void check_finite(const world *w, const rf_method *m, bool dev, rf_team *team,
                         const char *what)
{
    rf_method_state f;
    rf_fit in = problem(w, dev, team);
    fit_method(&f, m, &in);
    answers a = judge_world(w, &f, m, RF_JUDGE_ROWS);
    for (size_t i = 0; i < QUERIES; i++) {
        assert_true(a.verdict[i].nearest < w->classes && a.verdict[i].fence < w->classes);
        for (size_t c = 0; c < w->classes; c++)
            if (!isfinite(a.margins[i * w->classes + c]))
                fail_msg("%s, %s: margin %g", m->name, what,
                         (double)a.margins[i * w->classes + c]);
    }
    drop_answers(&a);
    drop_state(&f, m);
}

static void unusual_training_sets_give_finite_answers(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        size_t rows, classes;
        bool copies, zero;
    } odd[] = {
        {"one row in all", 1, 1, false, false},
        {"two rows of one class", 2, 1, false, false},
        {"one row per class", 6, 6, false, false},
        {"one class", 30, 1, false, false},
        {"fewer rows than neighbours", 9, 3, false, false},
        {"copies", 60, 4, true, false},
        {"zeroes", 20, 2, false, true},
        {"fewer rows than features", 24, 3, false, false},
    };
    rf_team *team = rf_team_new(2, NULL);
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        world w;
        make_world(&w, odd[i].rows, odd[i].classes, 1.0f);
        for (size_t r = odd[i].classes; odd[i].copies && r < odd[i].rows; r++)
            memcpy(w.z + r * WIDTH, w.z + r % odd[i].classes * WIDTH,
                   WIDTH * sizeof(float));
        if (odd[i].zero)
            memset(w.z, 0, odd[i].rows * WIDTH * sizeof(float));
        memcpy(w.test_z, w.z, WIDTH * sizeof(float)); /* on a training row itself */
        for (size_t m = 0; m < 2 * METHODS; m++)
            check_finite(&w, methods[m / 2], m % 2, team, odd[i].what);
        drop_world(&w);
    }
    rf_team_free(team);
}

#define POINTS 700
#define K 6

/* Every point's neighbours among the others, against brute force. */
static void assert_search_is_exact(const float *z)
{
    rf_team *team = rf_team_new(1, NULL);
    rf_neighbours s;
    assert_int_equal(rf_neighbours_init(&s, z, POINTS, WIDTH, NULL), RF_OK);
    uint32_t *index = malloc(POINTS * K * sizeof *index);
    float *distance = copy_floats(NULL, POINTS * K);
    assert_int_equal(
        rf_neighbours_find_all(&s, z, POINTS, K, true, index, distance, team, NULL),
        RF_OK);
    for (size_t i = 0; i < POINTS; i++) {
        float d[POINTS];
        for (size_t j = 0; j < POINTS; j++)
            d[j] = (float)rf_distance(z + i * WIDTH, z + j * WIDTH, WIDTH);
        d[i] = INFINITY;
        for (size_t k = 0; k < K; k++) {
            size_t best = 0;
            for (size_t j = 0; j < POINTS; j++)
                if (d[j] < d[best])
                    best = j;
            assert_int_equal(index[i * K + k], best);
            assert_true(distance[i * K + k] == d[best]);
            d[best] = INFINITY;
        }
    }
    free(index);
    free(distance);
    rf_neighbours_release(&s);
    rf_team_free(team);
}

/* One cloud with points near its middle and far out; then clusters far from zero, tighter
 * than rounding can resolve; then copies. */
static void searches_are_exact(void **state)
{
    (void)state;
    world w;
    make_world(&w, POINTS, 1, 1.0f);
    for (size_t i = 0; i < POINTS * WIDTH; i++)
        w.z[i] *= 1.0f + 0.1f * (float)(i / WIDTH % 9);
    assert_search_is_exact(w.z);
    random_rows(w.z, w.class_of, POINTS, WIDTH, 1, 0.01f, 1);
    for (size_t i = 0; i < POINTS * WIDTH; i++)
        w.z[i] = 30.0f + w.z[i] * (float)(1 + i / WIDTH % 9);
    memcpy(w.z + 650 * WIDTH, w.z + 20 * WIDTH, WIDTH * sizeof(float));
    assert_search_is_exact(w.z);
    for (size_t i = 3; i < POINTS; i++)
        memcpy(w.z + i * WIDTH, w.z + i % 3 * WIDTH, WIDTH * sizeof(float));
    assert_search_is_exact(w.z);
    drop_world(&w);
}

/* A row that is not its own neighbour has one fewer. */
static void neighbours_are_limited_by_rows(void **state)
{
    (void)state;
    rf_team *team = rf_team_new(1, NULL);
    world w;
    make_world(&w, 9, 3, 1.0f);
    for (int i = 0; i < 4; i++) {
        const rf_method *m = i < 2 ? &rf_method_lof : &rf_method_knn;
        rf_method_state f;
        rf_fit in = problem(&w, i % 2, team);
        fit_method(&f, m, &in);
        float k = *f.arrays[i < 2 ? 4 : 2].data;
        assert_true(k == (i == 3 ? 9.0f : 8.0f));
        drop_state(&f, m);
    }
    drop_world(&w);
    rf_team_free(team);
}

static void radii_depend_on_the_seed(void **state)
{
    (void)state;
    rf_team *team = rf_team_new(1, NULL);
    world w;
    make_world(&w, 40, 4, 1.0f);
    w.o.boundary_epochs = 1;
    rf_method_state a, b;
    rf_fit in = problem(&w, false, team);
    fit_method(&a, &rf_method_adb, &in);
    in.seed++;
    fit_method(&b, &rf_method_adb, &in);
    assert_memory_not_equal(a.arrays[1].data, b.arrays[1].data, 4 * sizeof(float));
    drop_state(&a, &rf_method_adb);
    drop_state(&b, &rf_method_adb);
    drop_world(&w);
    rf_team_free(team);
}

/* Given centroids are used as they are, and distances are measured from them. */
static void adb_takes_given_centroids(void **state)
{
    (void)state;
    world w;
    make_world(&w, 40, 2, 1.0f);
    float centroids[2 * WIDTH] = {0};
    centroids[WIDTH] = 1.0f;
    rf_method_state f = {.width = WIDTH, .classes = 2};
    rf_settings o = {.boundary_epochs = 2000, .boundary_rate = 0.05f};
    rf_fit in = {.rows = 40, .z = w.z, .class_of = w.class_of, .o = &o};
    assert_int_equal(rf_adb_fit(&f, &in, centroids, NULL), RF_OK);
    assert_memory_equal(f.arrays[0].data, centroids, sizeof centroids);
    size_t inside = 0;
    for (size_t i = 0; i < 40; i++)
        inside += rf_distance(w.z + i * WIDTH, centroids + w.class_of[i] * WIDTH, WIDTH) <
                  (double)f.arrays[1].data[w.class_of[i]];
    assert_in_range(inside, 16, 24);
    rf_method_state_release(&f);
    drop_world(&w);
}

/* Dev rows at 0.1 and 5 from the centroid, training rows at 10: the radius grows by
 * about 0.05 per epoch, so that the dev score does not change for some 90 epochs.
 * Learning stops before it would rise, with the radius of the first epoch. */
static void adb_stops_when_dev_gets_no_better(void **state)
{
    (void)state;
    float rows[4] = {10, 10, 10, 10}, dev[2] = {0.1f, 5}, centroid = 0, first;
    uint32_t class_of[4] = {0};
    rf_method_state f = {.width = 1, .classes = 1};
    rf_settings o = {.boundary_epochs = 1, .boundary_rate = 0.05f};
    rf_fit in = {.rows = 4,
                 .z = rows,
                 .class_of = class_of,
                 .dev_z = dev,
                 .dev_class = class_of,
                 .o = &o};
    assert_int_equal(rf_adb_fit(&f, &in, &centroid, NULL), RF_OK);
    first = *f.arrays[1].data;
    assert_true(first > 0.1f && first < 4.0f);
    o.boundary_epochs = 400;
    assert_int_equal(rf_adb_fit(&f, &in, &centroid, NULL), RF_OK);
    assert_true(*f.arrays[1].data > 5.0f); /* no dev rows: all epochs */
    in.dev_rows = 2;
    assert_int_equal(rf_adb_fit(&f, &in, &centroid, NULL), RF_OK);
    assert_true(*f.arrays[1].data == first);
    dev[1] = first + 0.05f; /* within patience: continues until it is inside */
    assert_int_equal(rf_adb_fit(&f, &in, &centroid, NULL), RF_OK);
    assert_true(*f.arrays[1].data >= dev[1] && *f.arrays[1].data < dev[1] + 0.1f);
    rf_method_state_release(&f);
}

/* w C w^T = I for the mixed covariance C; two rows +x and -x seem to determine it
 * exactly, but it must have an inverse. */
static void whitening_undoes_the_covariance(void **state)
{
    (void)state;
    const float x[6] = {3, 4, 0, -3, -4, 0};
    float w[9];
    double share = RF_SHRINK_AS_EXPECTED;
    rf_team *team = rf_team_new(1, NULL);
    assert_int_equal(rf_whitening(w, x, 2, 3, &share, team, NULL), RF_OK);
    assert_true(share == 1e-4);
    double mu = 25.0 / 3.0, c[3][3] = {{9, 12, 0}, {12, 16, 0}, {0, 0, 0}};
    for (size_t i = 0; i < 3; i++)
        for (size_t j = 0; j < 3; j++) {
            double sum = 0.0;
            for (size_t a = 0; a < 3; a++)
                for (size_t b = 0; b < 3; b++)
                    sum += (double)w[i * 3 + a] * (double)w[j * 3 + b] *
                           ((1.0 - share) * c[a][b] + (a == b ? share * mu : 0.0));
            if (!(fabs(sum - (i == j ? 1.0 : 0.0)) < 1e-4))
                fail_msg("[%zu][%zu] is %g", i, j, sum);
        }
    rf_team_free(team);
}

/* ---- Errors ------------------------------------------------------------------------ */

static void invalid_arrays_are_rejected(void **state)
{
    (void)state;
    static const struct {
        const rf_method *m;
        size_t array, at;
        float value;
        const char *words;
    } bad[] = {
        {&rf_method_msp, 0, 0, 1.5f, "threshold 1.5"},
        {&rf_method_msp, 0, 0, -0.1f, "threshold -0.1"},
        {&rf_method_lof, 4, 0, 0.0f, "0 neighbours"},
        {&rf_method_lof, 4, 0, 41.0f, "41 neighbours"},
        {&rf_method_lof, 4, 0, 2.5f, "2.5 neighbours"},
        {&rf_method_lof, 1, 3, -1.0f, "distance -1"},
        {&rf_method_lof, 2, 3, 0.0f, "density 0"},
        {&rf_method_lof, 3, 0, 2.0f, "offset 2"},
        {&rf_method_lof, 0, 5, 3e38f, "too far out"},
        {&rf_method_knn, 2, 0, -3.0f, "-3 neighbours"},
        {&rf_method_knn, 2, 0, 41.0f, "41 neighbours"},
        {&rf_method_knn, 1, 0, -1.0f, "threshold -1"},
        {&rf_method_knn, 0, 5, 3e38f, "too far out"},
        {&rf_method_mahalanobis, 3, 0, -1.0f, "threshold -1"},
        {&rf_method_nearest_text, 1, 3, 4.0f, "class 4"},
        {&rf_method_nearest_text, 1, 3, -1.0f, "class -1"},
        {&rf_method_nearest_text, 1, 3, 0.5f, "class 0.5"},
        {&rf_method_nearest_text, 2, 0, 2.0f, "threshold 2"},
        {&rf_method_whitened_mean, 3, 0, -2.0f, "threshold -2"},
        {&rf_method_openmax, 2, 1, 0.0f, "scale 0"},
        {&rf_method_openmax, 3, 0, 0.0f, "0 ranks"},
        {&rf_method_openmax, 3, 0, 9.0f, "9 ranks"},
        {&rf_method_openmax, 3, 1, 2.0f, "threshold 2"},
        {&rf_method_openmax, 3, 2, 0.5f, "distance type 0.5"},
        {&rf_method_adb, 1, 2, -1.0f, "radius -1"},
    };
    rf_team *team = rf_team_new(1, NULL);
    world w;
    make_world(&w, 40, 4, 1.0f);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        rf_method_state f;
        rf_error err = {0};
        rf_fit in = problem(&w, false, team);
        fit_method(&f, bad[i].m, &in);
        if (bad[i].m->release)
            bad[i].m->release(&f);
        f.arrays[bad[i].array].data[bad[i].at] = bad[i].value;
        assert_int_equal(bad[i].m->prepare(&f, &err), RF_ERR_FORMAT);
        if (!strstr(err.msg, bad[i].words))
            fail_msg("%s: wanted \"%s\" in \"%s\"", bad[i].m->name, bad[i].words,
                     err.msg);
        drop_state(&f, bad[i].m);
    }
    rf_method_state f; /* arrays that do not fit each other */
    rf_error err = {0};
    rf_fit in = problem(&w, false, team);
    fit_method(&f, &rf_method_lof, &in);
    rf_method_lof.release(&f);
    f.arrays[1].shape[0] = 39;
    assert_int_equal(rf_method_lof.prepare(&f, &err), RF_ERR_FORMAT);
    assert_non_null(strstr(err.msg, "39 distances for 40 points"));
    drop_state(&f, &rf_method_lof);
    fit_method(&f, &rf_method_nearest_text, &in);
    rf_method_nearest_text.release(&f);
    f.arrays[1].shape[0] = 39;
    assert_int_equal(rf_method_nearest_text.prepare(&f, &err), RF_ERR_FORMAT);
    assert_non_null(strstr(err.msg, "39 classes for 40 points"));
    drop_state(&f, &rf_method_nearest_text);
    drop_world(&w);
    rf_team_free(team);
}

static void non_finite_features_are_rejected(void **state)
{
    (void)state;
    const float bad[] = {NAN, INFINITY, -INFINITY};
    rf_team *team = rf_team_new(1, NULL);
    world w;
    make_world(&w, 40, 4, 1.0f);
    for (size_t i = 0; i < METHODS * 3; i++) {
        const rf_method *m = methods[i / 3];
        if (m == &rf_method_msp)
            continue; /* looks at no row */
        rf_method_state f = {.width = WIDTH, .classes = 4};
        rf_error err = {0};
        rf_fit in = problem(&w, false, team);
        float saved = w.z[100];
        w.z[100] = bad[i % 3];
        rf_status status = m->fit(&f, &in, &err);
        if (status != RF_ERR_NUMERIC)
            fail_msg("%s: %g: status %d", m->name, (double)bad[i % 3], (int)status);
        w.z[100] = saved;
        rf_method_state_release(&f);
    }
    drop_world(&w);
    rf_team_free(team);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_gets_the_same_bits_alone_and_among_others),
        cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(fences_tell_near_from_far),
        cmocka_unit_test(unusual_training_sets_give_finite_answers),
        cmocka_unit_test(searches_are_exact),
        cmocka_unit_test(neighbours_are_limited_by_rows),
        cmocka_unit_test(radii_depend_on_the_seed),
        cmocka_unit_test(adb_takes_given_centroids),
        cmocka_unit_test(adb_stops_when_dev_gets_no_better),
        cmocka_unit_test(whitening_undoes_the_covariance),
        cmocka_unit_test(invalid_arrays_are_rejected),
        cmocka_unit_test(non_finite_features_are_rejected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
