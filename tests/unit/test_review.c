/*
 * Reviews: groups against planted ones and against brute force, the same bits for any
 * number of threads, and what rf_review_texts makes of texts: copies, kinds, order,
 * names, bad options, and groups that become classes.
 */
#include "base/memory.h"
#include "base/rng.h"
#include "num/vectors.h"
#include "review/grouping.h"
#include "review/reviewing.h"
#include "ringfence_improve.h"
#include "ringfence_review.h"
#include "scratch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TINY GOLDEN_DIR "/tiny/encoder"
#define WIDTH 48
#define LEVEL 0.5

/* ---- Planted groups ---------------------------------------------------------------- */

static void add_normal(float *x, uint64_t what, uint64_t i, float scale)
{
    rf_rng r = rf_rng_open(rf_rng_key(what, i, 0, 0));
    for (size_t j = 0; j < WIDTH; j++) {
        float sum = 0.0f;
        for (size_t k = 0; k < 12; k++)
            sum += rf_rng_uniform(&r);
        x[j] += scale * (sum - 6.0f);
    }
}

/* Topics of very different sizes; topic 0 is every point by itself. */
static size_t topic_of(size_t i)
{
    return i % 11 == 0 ? 0 : i % 3 == 0 ? 1 : i % 5 == 0 ? 2 : 3 + i % 4;
}
#define TOPICS 7

static float *planted(size_t n)
{
    float *points = rf_floats_new(n * WIDTH);
    assert_non_null(points);
    for (size_t i = 0; i < n; i++) {
        float *x = points + i * WIDTH;
        size_t t = topic_of(i);
        memset(x, 0, WIDTH * sizeof *x);
        add_normal(x, 7, t ? t : 1000 + i, 1.0f);
        add_normal(x, 8, i, 0.6f);
        rf_rows_normalise(x, x, 1, WIDTH);
    }
    return points;
}

static void group(rf_grouping *g, const float *points, size_t n, size_t least,
                  size_t threads)
{
    rf_error err = {0};
    rf_team *team = rf_team_new(threads, &err);
    assert_non_null(team);
    if (rf_grouping_make(g, points, n, WIDTH, LEVEL, least, team, &err) != RF_OK)
        fail_msg("%s", err.msg);
    rf_team_free(team);
}

/* Adjusted Rand index (Hubert and Arabie 1985), by counting all pairs. */
static double adjusted_rand(const size_t *a, const size_t *b, size_t n)
{
    double both = 0, in_a = 0, in_b = 0, all = (double)n * (double)(n - 1) / 2.0;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++) {
            both += a[i] == a[k] && b[i] == b[k];
            in_a += a[i] == a[k];
            in_b += b[i] == b[k];
        }
    double chance = in_a * in_b / all;
    return (both - chance) / ((in_a + in_b) / 2.0 - chance);
}

static void planted_groups_are_found(void **state)
{
    (void)state;
    enum { N = 900 };
    float *points = planted(N);
    rf_grouping g;
    size_t truth[N], found[N];
    group(&g, points, N, 5, 2);
    assert_int_equal(g.groups, TOPICS - 1);
    for (size_t i = 0; i < N; i++) {
        truth[i] = topic_of(i) ? topic_of(i) : 1000 + i;
        found[i] = g.group[i] == RF_NO_GROUP ? 1000 + i : g.group[i];
    }
    double rand_index = adjusted_rand(truth, found, N);
    if (!(rand_index > 0.99))
        fail_msg("adjusted Rand index %g, wanted above 0.99", rand_index);
    rf_grouping_release(&g);
    free(points);
}

static void threads_do_not_matter(void **state)
{
    (void)state;
    enum { N = 700 };
    float *points = planted(N);
    rf_grouping one, more;
    group(&one, points, N, 5, 1);
    for (size_t threads = 2; threads < 5; threads++) {
        group(&more, points, N, 5, threads);
        assert_int_equal(more.groups, one.groups);
        assert_memory_equal(more.group, one.group, N * sizeof *one.group);
        assert_memory_equal(more.fit, one.fit, N * sizeof *one.fit);
        assert_memory_equal(more.inside, one.inside, one.groups * sizeof *one.inside);
        assert_memory_equal(more.apart, one.apart, one.groups * sizeof *one.apart);
        assert_memory_equal(more.mean, one.mean, one.groups * WIDTH * sizeof *one.mean);
        rf_grouping_release(&more);
    }
    rf_grouping_release(&one);
    free(points);
}

static void assert_close(double got, double want, double most)
{
    if (!(fabs(got - want) <= most))
        fail_msg("got %.9g, wanted %.9g", got, want);
}

static double cosine(const float *points, size_t i, size_t k)
{
    double sum = 0.0;
    for (size_t j = 0; j < WIDTH; j++)
        sum += (double)points[i * WIDTH + j] * (double)points[k * WIDTH + j];
    return sum;
}

/* Average linkage one pair at a time, from all cosines. */
static void link_slowly(const float *points, size_t n, size_t *of)
{
    double *sum = calloc(n * n, sizeof *sum);
    size_t *size = calloc(n, sizeof *size);
    assert_true(sum && size);
    for (size_t i = 0; i < n; i++) {
        of[i] = i;
        size[i] = 1;
        for (size_t k = 0; k < n; k++)
            sum[i * n + k] = cosine(points, i, k);
    }
    for (;;) {
        size_t a = 0, b = 0;
        double most = LEVEL;
        for (size_t i = 0; i < n; i++)
            for (size_t k = 0; k < i; k++) {
                double s = size[i] && size[k]
                               ? sum[i * n + k] / ((double)size[i] * (double)size[k])
                               : -1.0;
                if (s >= most) {
                    most = s;
                    a = k;
                    b = i;
                }
            }
        if (a == b)
            break;
        for (size_t k = 0; k < n; k++) {
            sum[a * n + k] += sum[b * n + k];
            sum[k * n + a] = sum[a * n + k];
            of[k] = of[k] == b ? a : of[k];
        }
        size[a] += size[b];
        size[b] = 0;
    }
    free(sum);
    free(size);
}

static void linkage_is_that_of_brute_force(void **state)
{
    (void)state;
    enum { N = 120 };
    float *points = planted(N);
    size_t slow[N], fast[N];
    rf_grouping g;
    link_slowly(points, N, slow);
    group(&g, points, N, 2, 1);
    for (size_t i = 0; i < N; i++)
        fast[i] = g.group[i] == RF_NO_GROUP ? 1000 + i : g.group[i];
    double rand_index = adjusted_rand(slow, fast, N);
    if (!(rand_index > 0.98)) /* a rung is 0.02 wide, and points move afterwards */
        fail_msg("adjusted Rand index %g, wanted above 0.98", rand_index);
    rf_grouping_release(&g);
    free(points);
}

/* Cosines and neighbours by brute force. */
static void figures_are_those_of_brute_force(void **state)
{
    (void)state;
    enum { N = 150 };
    float *points = planted(N);
    rf_grouping g;
    group(&g, points, N, 3, 2);
    for (size_t k = 0; k < g.groups; k++) {
        double inside = 0.0, apart = 0.0;
        size_t reach = g.size[k] - 1 < RF_REVIEW_NEAR ? g.size[k] - 1 : RF_REVIEW_NEAR;
        for (size_t i = 0; i < N; i++) {
            double fit = 0.0, own = 0.0;
            if (g.group[i] != k)
                continue;
            for (size_t m = 0; m < N; m++) {
                size_t nearer = 0;
                if (m == i || g.group[m] != k)
                    continue;
                fit += cosine(points, i, m) / (g.size[k] - 1);
                for (size_t o = 0; o < N; o++)
                    nearer += o != i && cosine(points, i, o) > cosine(points, i, m);
                own += nearer < reach;
            }
            assert_close((double)g.fit[i], fit, 1e-5);
            inside += fit / g.size[k];
            apart += own / (double)reach / g.size[k];
        }
        assert_close(g.inside[k], inside, 1e-5);
        assert_close(g.apart[k], apart, 1e-9);
    }
    rf_grouping_release(&g);
    free(points);
}

static void few_points(void **state)
{
    (void)state;
    float *points = planted(4);
    rf_grouping g;
    for (size_t n = 1; n <= 4; n++) {
        group(&g, points, n, 2, 1);
        assert_true(g.groups <= 2);
        rf_grouping_release(&g);
    }
    for (size_t j = 0; j < WIDTH; j++) /* copies of one */
        points[WIDTH + j] = points[2 * WIDTH + j] = points[j];
    group(&g, points, 3, 3, 1);
    assert_int_equal(g.groups, 1);
    assert_close(g.inside[0], 1.0, 1e-5);
    rf_grouping_release(&g);
    points[WIDTH] = NAN;
    rf_error err = {0};
    rf_team *team = rf_team_new(1, NULL);
    assert_int_equal(rf_grouping_make(&g, points, 3, WIDTH, LEVEL, 2, team, &err),
                     RF_ERR_NUMERIC);
    rf_team_free(team);
    free(points);
}

/* ---- Texts ------------------------------------------------------------------------- */

static const char *const words[][3] = {
    {"refund", "cancel", "please"},  {"where", "order", "is"},
    {"hello", "thank", "you"},       {"b", "c", "d"},
    {"weather", "tomorrow", "rain"}, {"piano", "lesson", "music"}};
#define CLASSES 4
#define SUBJECTS 6

static void text_at(char text[96], size_t c, size_t i)
{
    snprintf(text, 96, "%s %s %s %zu", words[c][i % 3], words[c][i / 3 % 3],
             words[c][i / 9 % 3], i);
}

static rf_model *model; /* of all tests */

static int train_model(void **state)
{
    (void)state;
    rf_error err = {0};
    rf_dataset *data = rf_dataset_new(NULL);
    for (size_t c = 0; c < CLASSES; c++)
        for (size_t i = 0; i < 14; i++) {
            char text[96], label[8];
            text_at(text, c, i);
            snprintf(label, sizeof label, "c%zu", c);
            assert_int_equal(rf_dataset_add(data, text, strlen(text), label, 2, NULL),
                             RF_OK);
        }
    rf_train_options o = rf_train_options_default();
    o.encoder = TINY;
    o.threads = 1;
    o.settings = "epochs=6 patience=6 batch=16 known_rate=0.01 encoder_rate=0.001";
    model = rf_train(data, NULL, &o, &err);
    rf_dataset_free(data);
    if (!model)
        fail_msg("%s", err.msg);
    return 0;
}

static int free_model(void **state)
{
    (void)state;
    rf_model_free(model);
    return 0;
}

#define N_TEXTS 120
static char bytes[N_TEXTS][96];
static const char *texts[N_TEXTS];
static size_t lens[N_TEXTS];

/* Texts of all subjects; some are copies but for case, one is empty. */
static void make_texts(void)
{
    for (size_t i = 0; i < N_TEXTS; i++) {
        text_at(bytes[i], i % SUBJECTS, 100 + i / SUBJECTS);
        if (i == 70 || i == 71)
            strcpy(bytes[i], i == 70 ? "piano LESSON  music" : "Piano lesson music");
        if (i == 80 || i == 81)
            strcpy(bytes[i], i == 80 ? " " : "\t");
        texts[i] = bytes[i];
        lens[i] = strlen(bytes[i]);
    }
}

static rf_review *review(const rf_review_options *o)
{
    rf_error err = {0};
    make_texts();
    rf_review *r = rf_review_texts(model, texts, lens, N_TEXTS, o, &err);
    if (!r)
        fail_msg("%s", err.msg);
    return r;
}

/* Every text in question is there once, with the answer that the model gives it. */
static void everything_is_there_once(void **state)
{
    (void)state;
    rf_review_options o = rf_review_options_default();
    o.doubt = 1.0;
    o.min_texts = 3;
    rf_review *r = review(&o);
    rf_review_summary s = rf_review_summarize(r);
    bool seen[N_TEXTS] = {false};
    size_t rejected = 0, kinds[3] = {0};
    rf_session *session = rf_session_new(model, 1, NULL);
    assert_non_null(session);
    for (size_t i = 0; i < rf_review_size(r); i++) {
        const rf_review_text *t = rf_review_text_at(r, i);
        rf_decision d;
        assert_true(t->count >= 1);
        assert_string_equal(t->text, texts[t->rows[0]]);
        for (size_t k = 0; k < t->count; k++) {
            assert_true(k == 0 || t->rows[k] > t->rows[k - 1]);
            assert_false(seen[t->rows[k]]);
            seen[t->rows[k]] = true;
        }
        assert_int_equal(rf_classify(session, t->text, t->len, &d, NULL), RF_OK);
        assert_int_equal(t->rejected, d.class_index == RF_OPEN);
        assert_true(t->margin == d.margin && t->confidence == d.confidence);
        assert_int_equal(t->class_index, t->rejected ? d.margin_class : d.class_index);
        kinds[t->kind]++;
        assert_int_equal(t->group == SIZE_MAX, t->kind != RF_REVIEW_GROUP);
    }
    for (size_t i = 0; i < N_TEXTS; i++) {
        rf_decision d;
        assert_int_equal(rf_classify(session, texts[i], lens[i], &d, NULL), RF_OK);
        rejected += d.class_index == RF_OPEN;
        assert_int_equal(seen[i], d.class_index == RF_OPEN || d.confidence < 1.0f);
    }
    assert_true(rejected > 0);
    assert_int_equal(s.rejected, rejected);
    assert_int_equal(s.texts, N_TEXTS);
    assert_int_equal(s.different, rf_review_size(r));
    assert_int_equal(s.in_groups, kinds[RF_REVIEW_GROUP]);
    assert_int_equal(s.known, kinds[RF_REVIEW_KNOWN]);
    assert_int_equal(s.alone, kinds[RF_REVIEW_ALONE]);
    assert_null(rf_review_text_at(r, rf_review_size(r)));
    assert_null(rf_review_group_at(r, rf_review_groups(r)));
    rf_session_free(session);
    rf_review_free(r);
}

static void copies_count_once(void **state)
{
    (void)state;
    rf_review_options o = rf_review_options_default();
    o.doubt = 1.0;
    rf_review *r = review(&o);
    size_t piano = 0, empty = 0;
    for (size_t i = 0; i < rf_review_size(r); i++) {
        const rf_review_text *t = rf_review_text_at(r, i);
        if (t->rows[0] == 70) {
            assert_int_equal(t->count, 2);
            assert_int_equal(t->rows[1], 71);
            piano++;
        }
        if (t->rows[0] == 80) {
            assert_int_equal(t->count, 2);
            assert_int_equal(t->kind, RF_REVIEW_ALONE);
            empty++;
        }
    }
    assert_int_equal(piano, 1);
    assert_int_equal(empty, 1);
    rf_review_free(r);
}

static void groups_are_in_order(void **state)
{
    (void)state;
    rf_review_options o = rf_review_options_default();
    o.doubt = 1.0;
    o.min_texts = 3;
    rf_review *r = review(&o);
    size_t n = rf_review_groups(r), at = 0;
    assert_true(n > 0);
    for (size_t k = 0; k < n; k++) {
        const rf_review_group *g = rf_review_group_at(r, k);
        size_t count = 0, near = 0;
        assert_int_equal(g->first, at);
        assert_true(g->n_texts >= 3);
        for (; at < g->first + g->n_texts; at++) {
            const rf_review_text *t = rf_review_text_at(r, at);
            assert_int_equal(t->group, k);
            assert_true(at == g->first || t->fit <= rf_review_text_at(r, at - 1)->fit);
            count += t->count;
            near += t->class_index == g->nearest;
        }
        assert_int_equal(g->count, count);
        assert_int_equal(g->n_nearest, near);
        assert_true(g->cohesion >= 0.0 && g->cohesion <= 1.0);
        assert_true(g->worth == (double)count * g->cohesion);
        assert_true(k == 0 || g->worth <= rf_review_group_at(r, k - 1)->worth);
        assert_true(rf_model_find(model, g->name, strlen(g->name)) == RF_OPEN);
        assert_true(g->name[0] != '\0' && !strchr(g->name, ' '));
        for (size_t m = 0; m < k; m++)
            assert_string_not_equal(g->name, rf_review_group_at(r, m)->name);
    }
    rf_review_free(r);
}

static void assert_same(const rf_review *a, const rf_review *b)
{
    assert_int_equal(rf_review_size(a), rf_review_size(b));
    assert_int_equal(rf_review_groups(a), rf_review_groups(b));
    for (size_t i = 0; i < rf_review_size(a); i++) {
        const rf_review_text *x = rf_review_text_at(a, i), *y = rf_review_text_at(b, i);
        assert_string_equal(x->text, y->text);
        assert_true(x->kind == y->kind && x->group == y->group && x->count == y->count &&
                    x->margin == y->margin && x->confidence == y->confidence &&
                    x->fit == y->fit);
    }
    for (size_t k = 0; k < rf_review_groups(a); k++) {
        const rf_review_group *x = rf_review_group_at(a, k);
        const rf_review_group *y = rf_review_group_at(b, k);
        assert_string_equal(x->name, y->name);
        assert_true(x->cohesion == y->cohesion && x->worth == y->worth &&
                    x->nearest == y->nearest);
    }
}

static void a_review_is_the_same_again(void **state)
{
    (void)state;
    rf_review_options o = rf_review_options_default();
    o.doubt = 1.0;
    o.threads = 1;
    rf_review *one = review(&o);
    o.threads = 3;
    rf_review *three = review(&o);
    assert_same(one, three);
    rf_review_free(one);
    rf_review_free(three);
}

static void a_group_becomes_a_class(void **state)
{
    (void)state;
    rf_error err = {0};
    rf_review_options o = rf_review_options_default();
    o.doubt = 1.0;
    rf_review *r = review(&o);
    rf_dataset *rows = rf_dataset_new(NULL);
    assert_int_equal(rf_review_add_rows(r, rf_review_groups(r), "x", rows, &err),
                     RF_ERR_ARG);
    assert_int_equal(rf_review_add_rows(r, 0, "new topic", rows, &err), RF_OK);
    assert_int_equal(rf_dataset_rows(rows), rf_review_group_at(r, 0)->n_texts);
    rf_model *next = rf_update(model, rows, NULL, NULL, &err);
    if (!next)
        fail_msg("%s", err.msg);
    assert_true(rf_model_find(next, "new topic", 9) != RF_OPEN);
    rf_model_free(next);
    rf_dataset_free(rows);
    rf_review_free(r);
}

static int stop_at_once(void *user, const char *line)
{
    (void)line;
    ++*(size_t *)user;
    return 1;
}

static void odd_requests(void **state)
{
    (void)state;
    rf_error err = {0};
    size_t calls = 0;
    rf_review_options o = rf_review_options_default();
    rf_review *r = rf_review_texts(model, texts, lens, 0, NULL, &err);
    assert_non_null(r);
    assert_int_equal(rf_review_size(r), 0);
    assert_int_equal(rf_review_groups(r), 0);
    rf_review_free(r);
    o.min_texts = 1;
    assert_null(rf_review_texts(model, texts, lens, 3, &o, &err));
    assert_error(&err, RF_ERR_ARG, "at least 2");
    o.min_texts = 0;
    o.doubt = NAN;
    assert_null(rf_review_texts(model, texts, lens, 3, &o, &err));
    assert_error(&err, RF_ERR_ARG, "doubt");
    o.doubt = -1.0;
    r = review(&o);
    assert_int_equal(rf_review_summarize(r).doubtful, 0);
    rf_review_free(r);
    o.progress = stop_at_once;
    o.user = &calls;
    assert_null(rf_review_texts(model, texts, lens, 3, &o, &err));
    assert_error(&err, RF_ERR_STOPPED, "stopped");
    assert_int_equal(calls, 1);
    o = (rf_review_options){0};
    assert_null(rf_review_texts(model, texts, lens, 3, &o, &err));
    assert_int_equal(err.code, RF_ERR_ARG);
    rf_review_free(NULL);
    assert_string_equal(rf_review_kind_name(RF_REVIEW_KNOWN), "probably-known");
    assert_null(rf_review_kind_name(3));
}

/* ---- Names ------------------------------------------------------------------------- */

static void names_are_distinctive(void **state)
{
    (void)state;
    static const char *const lines[] = {"what is the balance of my gift card",
                                        "gift card balance please",
                                        "how much is on the gift card, the balance?",
                                        "please tell me the gift card balance",
                                        "will it rain please",
                                        "what is the weather",
                                        "is the weather good tomorrow",
                                        "the weather, please",
                                        "please stop",
                                        "12 34",
                                        "what is the time",
                                        "is it late",
                                        "56 78 !"};
    static const uint32_t of[] = {0, 0,           0, 0,           1,           1, 1,
                                  1, RF_NO_GROUP, 2, RF_NO_GROUP, RF_NO_GROUP, 2};
    char names[3][RF_REVIEW_NAME];
    rf_dataset *data = rf_dataset_new(NULL);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        assert_int_equal(
            rf_dataset_add(data, lines[i], strlen(lines[i]), "open", 4, NULL), RF_OK);
    assert_int_equal(rf_review_names(model, data, of, 3, names, NULL), RF_OK);
    assert_string_equal(names[0], "gift_card_balance");
    assert_string_equal(names[1], "weather");
    assert_string_equal(names[2], "group");
    rf_dataset_free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(planted_groups_are_found),
        cmocka_unit_test(threads_do_not_matter),
        cmocka_unit_test(linkage_is_that_of_brute_force),
        cmocka_unit_test(figures_are_those_of_brute_force),
        cmocka_unit_test(few_points),
        cmocka_unit_test(everything_is_there_once),
        cmocka_unit_test(copies_count_once),
        cmocka_unit_test(groups_are_in_order),
        cmocka_unit_test(a_review_is_the_same_again),
        cmocka_unit_test(a_group_becomes_a_class),
        cmocka_unit_test(odd_requests),
        cmocka_unit_test(names_are_distinctive),
    };
    return cmocka_run_group_tests(tests, train_model, free_model);
}
