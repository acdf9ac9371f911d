/*
 * test_ans.c - training of the heads
 *
 * The same bits with any number of threads and any other heads in the same call; the
 * steps, streams and rates that the headers promise; errors for wrong calls. Class
 * statistics and margins against plain loops in double.
 */
#include "base/rng.h"
#include "base/streams.h"
#include "blobs.h"
#include "near.h"
#include "num/panels.h"
#include "num/train.h"
#include "ans/ans.h"
#include "ans/ans_head.h"
#include "scratch.h"

#include <stdlib.h>
#include <string.h>

static rf_team *team_of(size_t threads)
{
    rf_team *team = rf_team_new(threads, NULL);
    assert_non_null(team);
    return team;
}

/* ---- The same bits ----------------------------------------------------------------- */

static const size_t uneven[] = {40, 9, 3, 25, 60};
#define UNEVEN 5

static void assert_same_heads(const rf_heads *a, const rf_heads *b)
{
    assert_int_equal(a->classes, b->classes);
    assert_memory_equal(a->block, b->block,
                        a->classes * rf_head_floats(a->width) * sizeof(float));
}

static void threads_do_not_change_a_bit(void **state)
{
    (void)state;
    blobs b;
    blobs_make(&b, UNEVEN, uneven, 1.0f);
    rf_settings o = quick_options();
    o.head_steps = 12, o.head_max_steps = 20, o.head_cool_steps = 5,
    o.target_recall = 1.0f;
    rf_heads alone, many;
    rf_class_report want[UNEVEN], got[UNEVEN];
    memset(want, 0, sizeof want);
    memset(got, 0, sizeof got);
    train_heads(&alone, &b.problem, &o, 1, want);
    for (size_t threads = 2; threads <= 7; threads += threads < 3 ? 1 : 4) {
        train_heads(&many, &b.problem, &o, threads, got);
        assert_same_heads(&alone, &many);
        for (size_t c = 0; c < UNEVEN; c++) {
            assert_int_equal(got[c].steps, want[c].steps);
            assert_true(got[c].loss == want[c].loss && got[c].recall == want[c].recall &&
                        got[c].radius == want[c].radius);
        }
        rf_method_state_release(&many);
    }
    rf_method_state_release(&alone);
    blobs_release(&b);
}

static void parts_in_any_order_do_not_change_a_bit(void **state)
{
    (void)state;
    blobs b;
    blobs_make(&b, UNEVEN, uneven, 1.0f);
    rf_settings o = quick_options();
    o.head_steps = 12, o.head_max_steps = 20, o.head_cool_steps = 5,
    o.target_recall = 1.0f;
    rf_heads whole, parts;
    rf_class_report reports[UNEVEN];
    train_heads(&whole, &b.problem, &o, 2, reports);
    const size_t cuts[][UNEVEN + 1] = {{0, 1, 2, 3, 4, 5}, {0, 2, 2, 5}, {0, 4, 5}};
    for (size_t way = 0; way < 6; way++) {
        const size_t *cut = cuts[way / 2];
        rf_team *team = team_of(1 + way / 2);
        size_t n = way / 2 == 0 ? 5 : way / 2 == 1 ? 3 : 2;
        assert_int_equal(rf_heads_init(&parts, WIDTH, UNEVEN, NULL), RF_OK);
        for (size_t i = 0; i < n; i++) {
            size_t part = way % 2 ? n - 1 - i : i;
            assert_int_equal(train_range(&parts, &b.problem, &o, cut[part], cut[part + 1],
                                         team, reports, NULL),
                             RF_OK);
        }
        assert_same_heads(&whole, &parts);
        rf_method_state_release(&parts);
        rf_team_free(team);
    }
    rf_method_state_release(&whole);
    blobs_release(&b);
}

/* Whether some classes have a head or none: nothing was measured of the others. */
static void classes_without_a_head_have_no_figures(void **state)
{
    (void)state;
    blobs b;
    blobs_make(&b, UNEVEN, uneven, 1.0f);
    rf_settings o = quick_options();
    for (size_t trained = 0; trained <= UNEVEN; trained++) {
        bool untrained[UNEVEN];
        rf_class_report reports[UNEVEN] = {{0}};
        rf_heads heads;
        rf_team *team = team_of(2);
        for (size_t c = 0; c < UNEVEN; c++)
            untrained[c] = c >= trained;
        rf_fit with = b.problem;
        with.untrained = untrained;
        assert_int_equal(rf_heads_init(&heads, WIDTH, UNEVEN, NULL), RF_OK);
        assert_int_equal(train_range(&heads, &with, &o, 0, UNEVEN, team, reports, NULL),
                         RF_OK);
        for (size_t c = 0; c < UNEVEN; c++)
            assert_true(c < trained ? reports[c].recall >= 0.0f
                                    : reports[c].recall == -1.0f &&
                                          reports[c].dev_recall == -1.0f);
        rf_method_state_release(&heads);
        rf_team_free(team);
    }
    blobs_release(&b);
}

/* The same texts with the classes renumbered: a head depends on its label only. */
static void class_numbers_do_not_change_a_bit(void **state)
{
    (void)state;
    const uint32_t now[UNEVEN] = {3, 0, 4, 2, 1}; /* new number of old class */
    blobs b, renumbered;
    blobs_make(&b, UNEVEN, uneven, 1.0f);
    blobs_make(&renumbered, UNEVEN, uneven, 1.0f);
    for (size_t i = 0; i < renumbered.rows; i++)
        renumbered.class_of[i] = now[b.class_of[i]];
    blobs_finish(&renumbered);
    for (size_t c = 0; c < UNEVEN; c++)
        renumbered.key[now[c]] = b.key[c];
    rf_settings o = quick_options();
    o.head_steps = 12, o.head_max_steps = 12, o.head_cool_steps = 5;
    rf_heads heads, others;
    rf_class_report reports[UNEVEN];
    train_heads(&heads, &b.problem, &o, 2, reports);
    train_heads(&others, &renumbered.problem, &o, 2, reports);
    for (size_t c = 0; c < UNEVEN; c++)
        assert_memory_equal(rf_head_at(&heads, c).w1, rf_head_at(&others, now[c]).w1,
                            rf_head_floats(WIDTH) * sizeof(float));
    rf_method_state_release(&heads);
    rf_method_state_release(&others);
    blobs_release(&b);
    blobs_release(&renumbered);
}

/* Seed, label and every switch of the method have an effect. */
static void each_option_changes_the_head(void **state)
{
    (void)state;
    blobs b;
    blobs_make(&b, UNEVEN, uneven, 1.0f);
    rf_settings o[17];
    size_t n = 0;
    for (size_t i = 0; i < 17; i++) {
        o[i] = quick_options();
        o[i].head_steps = o[i].head_max_steps = 4;
        o[i].head_cool_steps = 1;
    }
    n++; /* o[0] stays as it is */
    n++; /* o[1] too, but with another seed */
    o[n].head_steps = 3, o[n++].head_max_steps = 3;
    o[n++].head_cool_steps = 2;
    o[n++].head_positives = 9;
    o[n++].head_negatives = 63;
    o[n++].head_rate = 2e-3f;
    o[n++].head_dropout = 0.2f;
    o[n++].lambda = 0.0f;
    o[n++].negative_weight = 0.7f;
    o[n++].radius = 3.0f;
    o[n++].rho = 1.5f;
    o[n++].gamma = 1.2f;
    o[n++].noise = false;
    o[n++].projection = false;
    o[n++].ascent_steps = 4;
    o[n++].ascent_rate = 0.05f;
    assert_int_equal(n, 17);
    rf_heads heads[17];
    rf_class_report report;
    rf_team *team = team_of(1);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(rf_heads_init(&heads[i], WIDTH, UNEVEN, NULL), RF_OK);
        b.problem.seed = i == 1 ? 4 : 3;
        assert_int_equal(
            train_range(&heads[i], &b.problem, &o[i], 0, 1, team, &report, NULL), RF_OK);
    }
    rf_team_free(team);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++)
            if (memcmp(heads[i].block, heads[j].block,
                       rf_head_floats(WIDTH) * sizeof(float)) == 0)
                fail_msg("options %zu and %zu give the same head", j, i);
    for (size_t i = 0; i < n; i++)
        rf_method_state_release(&heads[i]);
    blobs_release(&b);
}

/* ---- Schedule ---------------------------------------------------------------------- */

/* The k-th row that the sampler of ans_head.c draws, computed from scratch. */
static uint32_t sampled_row(const uint32_t *rows, size_t n, uint64_t key,
                            rf_stream purpose, size_t k)
{
    uint32_t order[256];
    assert_true(n <= 256);
    memcpy(order, rows, n * sizeof *order);
    for (size_t round = 0; round <= k / n; round++) {
        rf_rng r = rf_rng_open(rf_stream_key(3, purpose, key, round));
        rf_rng_shuffle(&r, order, n);
    }
    return order[k % n];
}

/* Trains class 1 (9 texts) by single steps, with the streams, row order, weights and
 * rates that ans.h and ans_head.h promise. */
static void training_takes_the_documented_steps(void **state)
{
    (void)state;
    enum { C = 1, OWN = 9, N = 8, R = 50, ALL = 5 };
    blobs b;
    blobs_make(&b, UNEVEN, uneven, 1.0f);
    rf_settings o = quick_options();
    o.head_steps = o.head_max_steps = 3, o.head_cool_steps = 2, o.head_negatives = R;
    rf_heads heads, mine;
    rf_class_report reports[UNEVEN];
    train_heads(&heads, &b.problem, &o, 1, reports);
    assert_int_equal(reports[C].steps, ALL);

    uint32_t own[OWN], rest[256], batch[N + R];
    size_t n_own = 0, n_rest = 0;
    for (size_t i = 0; i < b.rows; i++)
        if (b.class_of[i] == C)
            own[n_own++] = (uint32_t)i;
        else
            rest[n_rest++] = (uint32_t)i;
    assert_int_equal(n_own, OWN);

    assert_int_equal(rf_heads_init(&mine, WIDTH, 1, NULL), RF_OK);
    rf_head h = rf_head_at(&mine, 0);
    rf_rng r = rf_rng_open(rf_stream_key(3, RF_STREAM_ANS_WEIGHTS, b.key[C], 0));
    for (float *p = h.w1; p <= h.b3; p++) {
        size_t fan_in = p < h.w2 ? WIDTH : p < h.w3 ? RF_HEAD_1 : RF_HEAD_2;
        *p = (2.0f * rf_rng_uniform(&r) - 1.0f) * (1.0f / sqrtf((float)fan_in));
    }
    rf_ans_work w;
    assert_int_equal(rf_ans_work_init(&w, WIDTH, N, R, N, true, NULL), RF_OK);
    rf_ans_work_start(&w, R);
    float radius = o.rho * b.stats.distance[C];
    rf_ans_settings settings = {.radius = radius,
                                .gamma = o.gamma,
                                .project = true,
                                .ascent_steps = o.ascent_steps,
                                .ascent_rate = o.ascent_rate * radius,
                                .lambda = o.lambda,
                                .negative_weight =
                                    (float)n_rest / (float)OWN * (float)N / (float)R};
    const float rates[ALL] = {o.head_rate, o.head_rate, o.head_rate,
                              o.head_rate * 2.0f / 3.0f, o.head_rate * 1.0f / 3.0f};
    double sum = 0.0;
    for (size_t step = 0; step < ALL; step++) {
        for (size_t i = 0; i < N; i++)
            batch[i] =
                sampled_row(own, OWN, b.key[C], RF_STREAM_ANS_OWN_ORDER, step * N + i);
        for (size_t i = 0; i < R; i++)
            batch[N + i] = sampled_row(rest, n_rest, b.key[C], RF_STREAM_ANS_REST_ORDER,
                                       step * R + i);
        rf_ans_gather(&w, b.z, batch, batch + N);
        rf_train_kernels()->normal(w.eps, N * WIDTH,
                                   rf_stream_key(3, RF_STREAM_ANS_NOISE, b.key[C], step));
        for (size_t i = 0; i < N * WIDTH; i++)
            w.eps[i] *= 2.0f * sqrtf(b.stats.variance[C * WIDTH + i % WIDTH]);
        double t = (double)step + 1.0;
        rf_adam adam = {.rate = rates[step],
                        .beta1 = 0.9f,
                        .beta2 = 0.999f,
                        .eps = 1e-8f,
                        .fix1 = (float)(1.0 / (1.0 - pow(0.9, t))),
                        .fix2 = (float)(1.0 / (1.0 - pow(0.999, t)))};
        rf_head_dropout drop = {o.head_dropout,
                                rf_stream_key(3, RF_STREAM_ANS_DROP_1, b.key[C], step),
                                rf_stream_key(3, RF_STREAM_ANS_DROP_2, b.key[C], step)};
        sum += (double)rf_ans_step(&w, &h, &settings, &drop, &adam);
    }
    assert_memory_equal(h.w1, rf_head_at(&heads, C).w1,
                        rf_head_floats(WIDTH) * sizeof(float));
    assert_true(fabs((double)reports[C].loss - sum / ALL) < 1e-7);
    assert_true(reports[C].radius == radius);
    rf_ans_work_release(&w);
    rf_method_state_release(&heads);
    rf_method_state_release(&mine);
    blobs_release(&b);
}

/* A head that accepts too few texts is trained for another quarter of head_steps at a
 * time, up to head_max_steps. At a rate of 1e-9 nothing is learnt, and some head rejects
 * its class with its initial weights. */
static void training_continues_until_the_class_is_accepted(void **state)
{
    (void)state;
    blobs b;
    blobs_make(&b, UNEVEN, uneven, 1.0f);
    rf_settings o = quick_options();
    o.head_steps = 16, o.head_max_steps = 30, o.head_cool_steps = 3,
    o.target_recall = 1.0f;
    o.head_rate = 1e-9f;
    rf_heads heads;
    rf_class_report reports[UNEVEN];
    train_heads(&heads, &b.problem, &o, 1, reports);
    size_t rejected = 0;
    for (size_t c = 0; c < UNEVEN; c++) {
        size_t yes = 0, own = 0;
        for (size_t i = 0; i < b.rows; i++)
            if (b.class_of[i] == c) {
                own++;
                yes += margin_of(&heads, c, b.z + i * WIDTH) >= 0.0f;
            }
        assert_true(reports[c].recall == (float)yes / (float)own);
        rejected += yes < own;
        assert_int_equal(reports[c].steps, yes < own ? 30 + 3 : 16 + 3);
    }
    assert_true(rejected > 0);
    rf_method_state_release(&heads);
    o.target_recall = 0.0f;
    train_heads(&heads, &b.problem, &o, 1, reports);
    for (size_t c = 0; c < UNEVEN; c++)
        assert_int_equal(reports[c].steps, 16 + 3);
    rf_method_state_release(&heads);
    blobs_release(&b);
}

/* ---- Contracts --------------------------------------------------------------------- */

static void wrong_calls_are_rejected(void **state)
{
    (void)state;
    blobs b;
    blobs_make(&b, 2, (size_t[]){4, 4}, 1.0f);
    rf_team *team = team_of(1);
    rf_heads heads;
    rf_class_report reports[2];
    rf_error err;
    assert_int_equal(rf_heads_init(&heads, WIDTH, 2, NULL), RF_OK);
    const rf_settings good = quick_options();
    const struct {
        size_t at;
        float value;
        const char *name;
    } wrong[] = {
        {offsetof(rf_settings, head_rate), 0.0f, "rate"},
        {offsetof(rf_settings, head_rate), NAN, "rate"},
        {offsetof(rf_settings, head_dropout), 0.95f, "dropout"},
        {offsetof(rf_settings, head_dropout), -0.1f, "dropout"},
        {offsetof(rf_settings, lambda), -1.0f, "lambda"},
        {offsetof(rf_settings, lambda), INFINITY, "lambda"},
        {offsetof(rf_settings, negative_weight), NAN, "negative_weight"},
        {offsetof(rf_settings, radius), -1.0f, "radius"},
        {offsetof(rf_settings, rho), 0.0f, "rho"},
        {offsetof(rf_settings, gamma), 0.5f, "gamma"},
        {offsetof(rf_settings, ascent_rate), -0.5f, "ascent_rate"},
        {offsetof(rf_settings, target_recall), 1.5f, "target_recall"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        rf_settings o = good;
        memcpy((char *)&o + wrong[i].at, &wrong[i].value, sizeof(float));
        assert_int_equal(train_range(&heads, &b.problem, &o, 0, 2, team, reports, &err),
                         RF_ERR_ARG);
        assert_error(&err, RF_ERR_ARG, wrong[i].name);
    }
    rf_settings o = good;
    o.head_positives = 0;
    assert_int_equal(train_range(&heads, &b.problem, &o, 0, 2, team, reports, &err),
                     RF_ERR_ARG);
    assert_error(&err, RF_ERR_ARG, "positives");
    assert_int_equal(train_range(&heads, &b.problem, &good, 1, 3, team, reports, &err),
                     RF_ERR_ARG);
    assert_error(&err, RF_ERR_ARG, "classes 1 to 3", "there are 2");
    assert_int_equal(train_range(&heads, &b.problem, &good, 1, 1, team, NULL, &err),
                     RF_OK);

    rf_heads narrow = {.width = WIDTH - 1, .classes = 2};
    assert_int_equal(train_range(&narrow, &b.problem, &good, 0, 2, team, reports, &err),
                     RF_ERR_ARG);
    assert_error(&err, RF_ERR_ARG, "found 2 of width 15, wanted 2 of width 16");
    b.class_of[5] = 2;
    assert_int_equal(train_range(&heads, &b.problem, &good, 0, 2, team, reports, &err),
                     RF_ERR_ARG);
    assert_error(&err, RF_ERR_ARG, "row 5", "class 2", "below 2");
    memset(b.class_of, 0, b.rows * sizeof *b.class_of);
    assert_int_equal(train_range(&heads, &b.problem, &good, 0, 2, team, reports, &err),
                     RF_ERR_ARG);
    assert_error(&err, RF_ERR_ARG, "class 0", "8 rows", "the 4 of");
    rf_method_state_release(&heads);
    rf_team_free(team);
    blobs_release(&b);
}

static void non_finite_numbers_are_reported(void **state)
{
    (void)state;
    blobs b;
    blobs_make(&b, 2, (size_t[]){4, 4}, 1.0f);
    rf_team *team = team_of(2);
    rf_heads heads;
    rf_class_report reports[2];
    rf_error err;
    const rf_settings o = quick_options();
    assert_int_equal(rf_heads_init(&heads, WIDTH, 2, NULL), RF_OK);
    float was = b.z[20];
    b.z[20] = NAN;
    assert_int_equal(train_range(&heads, &b.problem, &o, 0, 2, team, reports, &err),
                     RF_ERR_NUMERIC);
    assert_error(&err, RF_ERR_NUMERIC, "features");
    b.z[20] = was;
    /* Finite, but too large for any product: training diverges, and the error says so. */
    for (size_t i = 0; i < b.rows * WIDTH; i++)
        b.z[i] = i % 2 ? -3e38f : 3e38f;
    assert_int_equal(train_range(&heads, &b.problem, &o, 0, 2, team, reports, &err),
                     RF_ERR_NUMERIC);
    assert_error(&err, RF_ERR_NUMERIC, "class 0", "rate");
    rf_method_state_release(&heads);
    rf_team_free(team);
    blobs_release(&b);
}

/* ---- Statistics and margins -------------------------------------------------------- */

static void statistics_match_plain_loops(void **state)
{
    (void)state;
    blobs b;
    blobs_make(&b, UNEVEN, uneven, 0.5f);
    for (size_t i = 0; i < b.rows; i++)
        b.z[i * WIDTH + 3] += 3000.0f; /* far from zero */
    blobs_finish(&b);
    for (size_t c = 0; c < UNEVEN; c++) {
        assert_int_equal(b.stats.rows[c], uneven[c]);
        double trace = 0.0;
        for (size_t j = 0; j < WIDTH; j++) {
            double mean = 0.0, variance = 0.0, n = (double)uneven[c];
            for (size_t i = 0; i < b.rows; i++)
                mean += b.class_of[i] == c ? (double)b.z[i * WIDTH + j] / n : 0.0;
            for (size_t i = 0; i < b.rows; i++) {
                double d = (double)b.z[i * WIDTH + j] - mean;
                variance += b.class_of[i] == c ? d * d / n : 0.0;
            }
            trace += variance;
            float m = (float)mean, v = (float)variance;
            assert_near("mean", b.stats.mean + c * WIDTH + j, &m, 1, 0, 2e-7);
            assert_near("variance", b.stats.variance + c * WIDTH + j, &v, 1, 0, 1e-6);
        }
        float d = (float)sqrt(2.0 * trace);
        assert_near("distance", b.stats.distance + c, &d, 1, 0, 1e-6);
    }
    blobs_release(&b);
}

static void statistics_of_bad_rows_are_rejected(void **state)
{
    (void)state;
    const float z[] = {1, 2, 3, 4, 5, 6};
    rf_class_stats s;
    rf_error err;
    assert_int_equal(rf_class_stats_init(&s, z, (uint32_t[]){0, 2, 1}, 3, 2, 2, &err),
                     RF_ERR_ARG);
    assert_error(&err, RF_ERR_ARG, "row 1", "class 2", "below 2");
    assert_null(s.mean);
    assert_int_equal(rf_class_stats_init(&s, z, (uint32_t[]){0, 2, 0}, 3, 2, 3, &err),
                     RF_ERR_ARG);
    assert_error(&err, RF_ERR_ARG, "class 1 has no rows");
    const float bad[] = {1, NAN, 3, 4};
    assert_int_equal(rf_class_stats_init(&s, bad, (uint32_t[]){1, 0}, 2, 2, 2, &err),
                     RF_ERR_NUMERIC);
    assert_error(&err, RF_ERR_NUMERIC, "class 1");
    rf_class_stats_release(&s);
    rf_class_stats_release(&s);
}

/* A dense layer in double, from panels. */
static void dense(double *y, const double *x, const float *w, const float *b, size_t out,
                  size_t in, bool relu)
{
    for (size_t o = 0; o < out; o++) {
        double sum = (double)b[o];
        for (size_t i = 0; i < in; i++)
            sum += x[i] *
                   (double)w[o / RF_PANEL * RF_PANEL * in + i * RF_PANEL + o % RF_PANEL];
        y[o] = relu && sum < 0.0 ? 0.0 : sum;
    }
}

/* Against loops in double, and the same bits for a row alone as among 200. */
static void margins_match_plain_loops(void **state)
{
    (void)state;
    enum { WIDE = 37, HEADS = 3, ROWS = 200 };
    rf_heads heads;
    assert_int_equal(rf_heads_init(&heads, WIDE, HEADS, NULL), RF_OK);
    size_t floats = HEADS * rf_head_floats(WIDE);
    rf_train_kernels()->normal(heads.block, floats, 31);
    for (size_t i = 0; i < floats; i++)
        heads.block[i] *= 0.12f;
    float *z = malloc(ROWS * WIDE * sizeof *z), *all = malloc(ROWS * HEADS * sizeof *all);
    float *one = malloc(ROWS * HEADS * sizeof *one);
    static float scratch[RF_SCORE_SCRATCH];
    rf_train_kernels()->normal(z, ROWS * WIDE, 32);
    rf_heads_score(&heads, z, ROWS, 0, HEADS, all, scratch);
    for (size_t i = 0; i < ROWS; i++) {
        rf_heads_score(&heads, z + i * WIDE, 1, 0, 1, one + i * HEADS, scratch);
        rf_heads_score(&heads, z + i * WIDE, 1, 1, HEADS, one + i * HEADS, scratch);
    }
    assert_memory_equal(all, one, ROWS * HEADS * sizeof *all);
    for (size_t i = 0; i < ROWS; i++)
        for (size_t m = 0; m < HEADS; m++) {
            rf_head h = rf_head_at(&heads, m);
            double x[WIDE], h1[RF_HEAD_1], h2[RF_HEAD_2], g = (double)*h.b3;
            for (size_t j = 0; j < WIDE; j++)
                x[j] = (double)z[i * WIDE + j];
            dense(h1, x, h.w1, h.b1, RF_HEAD_1, WIDE, true);
            dense(h2, h1, h.w2, h.b2, RF_HEAD_2, RF_HEAD_1, true);
            for (size_t j = 0; j < RF_HEAD_2; j++)
                g += h2[j] * (double)h.w3[j];
            float want = (float)g;
            assert_near("margin", all + i * HEADS + m, &want, 1, 2e-6, 1e-6);
        }
    z[5 * WIDE + 2] = NAN; /* the margin must be NaN too */
    rf_heads_score(&heads, z, ROWS, 0, HEADS, one, scratch);
    assert_true(isnan(one[5 * HEADS]) && one[6 * HEADS] == all[6 * HEADS]);
    free(z);
    free(all);
    free(one);
    rf_method_state_release(&heads);
    rf_method_state_release(&heads);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_do_not_change_a_bit),
        cmocka_unit_test(parts_in_any_order_do_not_change_a_bit),
        cmocka_unit_test(classes_without_a_head_have_no_figures),
        cmocka_unit_test(class_numbers_do_not_change_a_bit),
        cmocka_unit_test(each_option_changes_the_head),
        cmocka_unit_test(training_takes_the_documented_steps),
        cmocka_unit_test(training_continues_until_the_class_is_accepted),
        cmocka_unit_test(wrong_calls_are_rejected),
        cmocka_unit_test(non_finite_numbers_are_reported),
        cmocka_unit_test(statistics_match_plain_loops),
        cmocka_unit_test(statistics_of_bad_rows_are_rejected),
        cmocka_unit_test(margins_match_plain_loops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
