/*
 * test_prior.c - the prior of ANS, and its combination with heads
 *
 * Scores against NumPy in double precision (tools/make_prior_golden.py), which whitens
 * another way and leaves rows out by leaving them out. What must not change them:
 * threads, the rows around a row. Margins of the method against the prior and the heads,
 * each fitted on its own.
 */
#include "ans/ans.h"
#include "ans/prior.h"
#include "ans/prior_parts.h"

#include "blobs.h"
#include "encoder/safetensors.h"
#include "method_run.h"
#include "near.h"
#include "num/vectors.h"
#include "scratch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Problems of the golden file --------------------------------------------------- */

static rf_safetensors golden;

static int open_golden(void **state)
{
    (void)state;
    return rf_safetensors_open(&golden, GOLDEN_DIR "/prior.safetensors", NULL) != RF_OK;
}

static int close_golden(void **state)
{
    (void)state;
    rf_safetensors_close(&golden);
    return 0;
}

static const void *find(const char *name, const char *what, size_t shape[2])
{
    char full[64];
    snprintf(full, sizeof full, "%s.%s", name, what);
    const rf_tensor *t = rf_safetensors_find(&golden, full);
    if (!t || rf_dtype_size(t->dtype) != 4)
        fail_msg("%s: not in the file", full);
    shape[0] = t->shape[0];
    shape[1] = t->count / t->shape[0];
    return t->data;
}

typedef struct problem {
    rf_fit in;
    rf_class_stats stats;
    const float *other; /* rows to score, besides its own */
    size_t others;
} problem;

static void problem_finish(problem *p)
{
    assert_int_equal(rf_class_stats_init(&p->stats, p->in.z, p->in.class_of, p->in.rows,
                                         p->in.width, p->in.classes, NULL),
                     RF_OK);
    p->in.stats = &p->stats;
}

static void problem_find(problem *p, const char *name)
{
    size_t shape[2];
    *p = (problem){0};
    p->in.z = find(name, "z", shape);
    p->in.rows = shape[0];
    p->in.width = shape[1];
    p->in.class_of = find(name, "class", shape);
    assert_int_equal(shape[0], p->in.rows);
    for (size_t i = 0; i < p->in.rows; i++)
        if (p->in.class_of[i] >= p->in.classes)
            p->in.classes = p->in.class_of[i] + 1;
    p->other = find(name, "other", shape);
    p->others = shape[0];
    assert_int_equal(shape[1], p->in.width);
    problem_finish(p);
}

/* The prior alone, as arrays 0 to RF_PRIOR_ARRAYS - 1. */
static void fit_prior(rf_method_state *s, const problem *p, size_t threads)
{
    rf_error err = {0};
    rf_fit in = p->in;
    in.team = rf_team_new(threads, NULL);
    assert_non_null(in.team);
    *s = (rf_method_state){.width = in.width, .classes = in.classes};
    if (rf_prior_fit(s, 0, &in, &err) != RF_OK)
        fail_msg("%s", err.msg);
    rf_team_free(in.team);
}

/* Scores of z [n, width], at most `block` rows at a time. */
static float *score(const rf_method_state *s, const float *z, size_t n, size_t block)
{
    rf_error err = {0};
    float *scores = copy_floats(NULL, n * s->classes);
    float *scratch = copy_floats(NULL, rf_prior_scratch(s->width));
    rf_prior *prior = rf_prior_new(s, 0, &err);
    if (!prior)
        fail_msg("%s", err.msg);
    for (size_t i = 0; i < n; i += block) {
        size_t rows = n - i < block ? n - i : block;
        float *x = copy_floats(z + i * s->width, rows * s->width);
        float *out = copy_floats(NULL, rows * s->classes);
        rf_prior_score(prior, x, rows, out, scratch);
        memcpy(scores + i * s->classes, out, rows * s->classes * sizeof *out);
        free(x);
        free(out);
    }
    rf_prior_free(prior);
    free(scratch);
    return scores;
}

/* ---- Against NumPy ----------------------------------------------------------------- */

static const char *const names[] = {"even",        "uneven", "many",  "single", "one_row",
                                    "some_single", "one",    "two",   "copies", "same",
                                    "lengths",     "far",    "sample"};
#define NAMES (sizeof names / sizeof *names)

/* Tolerance: scores are sums of some hundred products of float32; parts as large as the
 * largest score cancel. 4e-7 of the largest was measured. */
static double tolerance(const float *want, size_t n)
{
    double largest = 0.0;
    for (size_t i = 0; i < n; i++)
        largest = fmax(largest, fabs((double)want[i]));
    return 1e-6 * largest;
}

static void compare(const char *name)
{
    problem p;
    rf_method_state s;
    size_t shape[2];
    char what[64];
    problem_find(&p, name);
    fit_prior(&s, &p, 2);
    const size_t k = p.in.classes;
    const float *want = find(name, "own_scores", shape);
    size_t step = (p.in.rows + shape[0] - 1) / shape[0]; /* of a large case, some rows */
    double most = tolerance(want, shape[0] * k);
    assert_int_equal(shape[1], k);
    assert_int_equal(shape[0], (p.in.rows + step - 1) / step);
    float *own = score(&s, p.in.z, p.in.rows, RF_JUDGE_ROWS);
    for (size_t i = 0; i < shape[0]; i++) {
        snprintf(what, sizeof what, "%s, row %zu", name, i * step);
        assert_near(what, own + i * step * k, want + i * k, k, most, 0);
    }
    want = find(name, "other_scores", shape);
    assert_int_equal(shape[0], p.others);
    float *other = score(&s, p.other, p.others, RF_JUDGE_ROWS);
    snprintf(what, sizeof what, "%s, other rows", name);
    assert_near(what, other, want, p.others * k, most, 0);
    free(own);
    free(other);
    rf_method_state_release(&s);
    rf_class_stats_release(&p.stats);
}

static void scores_match_numpy(void **state)
{
    (void)state;
    for (size_t i = 0; i < NAMES; i++)
        compare(names[i]);
}

/* At most 50 texts of a class, evenly spaced: where floor(i 50 / n) changes. */
static void large_classes_keep_some_texts(void **state)
{
    (void)state;
    problem p;
    rf_method_state s;
    problem_find(&p, "many");
    fit_prior(&s, &p, 1);
    const float *counts = rf_prior_array(&s, 0, RF_PRIOR_COUNTS);
    const float *texts = rf_prior_array(&s, 0, RF_PRIOR_TEXTS);
    const size_t d = p.in.width;
    size_t at = 0, all = s.arrays[RF_PRIOR_TEXTS].shape[0];
    float *unit = copy_floats(NULL, d), *rotated = copy_floats(NULL, d);
    for (size_t c = 0; c < p.in.classes; c++) {
        size_t rows = p.stats.rows[c], number = 0, most = rows < 50 ? rows : 50;
        assert_true(counts[c] == (float)most);
        for (size_t i = 0; i < p.in.rows; i++) {
            if (p.in.class_of[i] != c)
                continue;
            number++;
            if ((number - 1) * most / rows == number * most / rows)
                continue;
            rf_rows_normalise(unit, p.in.z + i * d, 1, d);
            for (size_t j = 0; j < d; j++) {
                double sum = 0.0;
                for (size_t k = 0; k < d; k++)
                    sum += (double)rf_prior_array(&s, 0, RF_PRIOR_ROTATE)[j * d + k] *
                           (double)(unit[k] - rf_prior_array(&s, 0, RF_PRIOR_CENTRE)[k]);
                rotated[j] = (float)sum;
            }
            rf_rows_normalise(rotated, rotated, 1, d);
            assert_true(at < all);
            assert_near("kept text", texts + at++ * d, rotated, d, 1e-6, 0);
        }
    }
    assert_int_equal(at, all);
    free(unit);
    free(rotated);
    rf_method_state_release(&s);
    rf_class_stats_release(&p.stats);
}

/* ---- What must not change a bit ---------------------------------------------------- */

static size_t floats_of(const rf_method_state *s, size_t i)
{
    return s->arrays[i].shape[0] * s->arrays[i].shape[1] * s->arrays[i].shape[2];
}

static void threads_change_nothing(void **state)
{
    (void)state;
    for (size_t n = 0; n < NAMES; n++) {
        problem p;
        rf_method_state one;
        problem_find(&p, names[n]);
        fit_prior(&one, &p, 1);
        for (size_t threads = 2; threads <= 5; threads++) {
            rf_method_state more;
            fit_prior(&more, &p, threads);
            for (size_t i = 0; i < RF_PRIOR_ARRAYS; i++) {
                assert_int_equal(floats_of(&one, i), floats_of(&more, i));
                assert_memory_equal(one.arrays[i].data, more.arrays[i].data,
                                    floats_of(&one, i) * sizeof(float));
            }
            rf_method_state_release(&more);
        }
        rf_method_state_release(&one);
        rf_class_stats_release(&p.stats);
    }
}

/* Nor do the rows that are scored with a row. */
static void batches_change_nothing(void **state)
{
    (void)state;
    static const size_t blocks[] = {1, 2, 7, 16, 95};
    for (size_t n = 0; n < NAMES; n++) {
        problem p;
        rf_method_state s;
        problem_find(&p, names[n]);
        fit_prior(&s, &p, 1);
        size_t rows = p.in.rows < 200 ? p.in.rows : 200;
        float *want = score(&s, p.in.z, rows, RF_JUDGE_ROWS);
        for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
            float *got = score(&s, p.in.z, rows, blocks[i]);
            assert_memory_equal(got, want, rows * s.classes * sizeof *got);
            free(got);
        }
        free(want);
        rf_method_state_release(&s);
        rf_class_stats_release(&p.stats);
    }
}

/* A scaled or moved class: its scores change, those of the others keep their bits. */
static void classes_are_scaled_and_moved_alone(void **state)
{
    (void)state;
    problem p;
    rf_method_state s;
    problem_find(&p, "uneven");
    fit_prior(&s, &p, 1);
    size_t k = p.in.classes;
    float *want = score(&s, p.other, p.others, 64);
    rf_prior_scale(&s, 0, 2, 0.35f);
    rf_prior_add(&s, 0, 2, -4.0f);
    float *got = score(&s, p.other, p.others, 64);
    for (size_t i = 0; i < p.others * k; i++) {
        float moved = 0.35f * want[i] - 4.0f;
        if (i % k == 2)
            assert_near("moved", &got[i], &moved, 1, 1e-5, 1e-6);
        else
            assert_memory_equal(&got[i], &want[i], sizeof *got);
    }
    free(want);
    free(got);
    rf_method_state_release(&s);
    rf_class_stats_release(&p.stats);
}

/* ---- Bad numbers ------------------------------------------------------------------- */

static void counts_must_add_up(void **state)
{
    (void)state;
    static const float bad[][3] = {
        {5.0f, 8.0f, 5.0f},      {5.0f, 8.0f, 3.0f},  {0.0f, 13.0f, 4.0f},
        {-5.0f, 18.0f, 4.0f},    {5.5f, 7.5f, 4.0f},  {17.0f, 0.0f, 0.0f},
        {3e9f, 8.0f, 4.0f},      {NAN, 8.0f, 4.0f},   {INFINITY, 8.0f, 4.0f},
        {-INFINITY, 8.0f, 4.0f}, {5.0f, 8.0f, 1e30f}, {18.0f, 8.0f, 4.0f}};
    problem p;
    rf_method_state s;
    rf_error err = {0};
    problem_find(&p, "lengths");
    fit_prior(&s, &p, 1);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        memcpy(rf_prior_array(&s, 0, RF_PRIOR_COUNTS), bad[i], sizeof bad[i]);
        assert_null(rf_prior_new(&s, 0, &err));
        assert_error(&err, RF_ERR_FORMAT, "prior.counts", "17 rows");
        assert_null(rf_prior_new(&s, 0, NULL));
    }
    rf_prior_free(NULL);
    rf_method_state_release(&s);
    rf_class_stats_release(&p.stats);
}

/* Not a number in, a complaint or finite arrays out; never a hang or a crash. */
static void odd_rows(void **state)
{
    (void)state;
    static const float values[] = {NAN, INFINITY, 0.0f, 3e38f, 1e-45f};
    for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
        problem p;
        rf_error err = {0};
        problem_find(&p, "two");
        float *z = copy_floats(p.in.z, p.in.rows * p.in.width);
        for (size_t j = 0; j < p.in.width; j++)
            z[3 * p.in.width + j] = values[v];
        rf_fit in = p.in;
        in.z = z;
        in.team = rf_team_new(1, NULL);
        rf_method_state s = {.width = in.width, .classes = in.classes};
        rf_status st = rf_prior_fit(&s, 0, &in, &err);
        assert_true(st == RF_OK || st == RF_ERR_NUMERIC);
        for (size_t i = 0; i < RF_PRIOR_ARRAYS && values[v] == 0.0f; i++)
            for (size_t j = 0; j < floats_of(&s, i); j++)
                assert_true(isfinite(s.arrays[i].data[j]));
        rf_team_free(in.team);
        free(z);
        rf_method_state_release(&s);
        rf_class_stats_release(&p.stats);
    }
}

/* ---- Many classes ------------------------------------------------------------------ */

#define MANY 150
#define KEPT(c) (1 + (c)*7 % 60) /* texts of a class; a few share their panels */

static void random_unit(float *x, size_t n, uint64_t what, size_t i)
{
    blobs_draw(x, i % MOST_CLASSES, 3.0f, what, i);
    rf_rows_normalise(x, x, 1, n);
}

/* ln of the mean similarity of t to the texts of class c, in double. */
static double plain_log(const float *texts, size_t from, size_t n, const float *t)
{
    double sum = 0.0;
    for (size_t i = from; i < from + n; i++) {
        double dot = 0.0;
        for (size_t j = 0; j < WIDTH; j++)
            dot += (double)texts[i * WIDTH + j] * (double)t[j];
        sum += exp((dot - 1.0) / 0.06);
    }
    return log((sum + 1e-9) / (double)n);
}

static int falling(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x < *y) - (*x > *y);
}

/* Of many classes the 64 that reach farthest without their texts are compared text by
 * text, the others have one number for all: the mean over 32 texts and 32 classes. The
 * formulas once more, in double; rotate is the unit matrix, the centre 0. */
static void only_near_classes_are_compared(void **state)
{
    (void)state;
    rf_method_state s = {.width = WIDTH, .classes = MANY};
    size_t from[MANY + 1] = {0};
    for (size_t c = 0; c < MANY; c++)
        from[c + 1] = from[c] + KEPT(c);
    const size_t shapes[RF_PRIOR_ARRAYS][2] = {
        {WIDTH, 1},    {WIDTH, WIDTH}, {MANY, WIDTH},         {MANY, WIDTH},
        {MANY, WIDTH}, {MANY, 1},      {from[MANY], WIDTH},   {MANY, 1},
        {MANY, 1},     {2, WIDTH},     {RF_PRIOR_NUMBERS, 1}, {MANY, 1}};
    for (size_t i = 0; i < RF_PRIOR_ARRAYS; i++) {
        assert_int_equal(rf_method_state_room(&s, i, shapes[i][0], shapes[i][1], NULL),
                         RF_OK);
        memset(s.arrays[i].data, 0, shapes[i][0] * shapes[i][1] * sizeof(float));
    }
    float *texts = rf_prior_array(&s, 0, RF_PRIOR_TEXTS);
    for (size_t j = 0; j < WIDTH; j++)
        rf_prior_array(&s, 0, RF_PRIOR_ROTATE)[j * WIDTH + j] = 1.0f;
    for (size_t i = 0; i < from[MANY]; i++)
        random_unit(texts + i * WIDTH, WIDTH, 21, i);
    for (size_t c = 0; c < MANY; c++) {
        random_unit(rf_prior_array(&s, 0, RF_PRIOR_LINEAR) + c * WIDTH, WIDTH, 22, c);
        rf_prior_array(&s, 0, RF_PRIOR_COUNTS)[c] = (float)KEPT(c);
        rf_prior_array(&s, 0, RF_PRIOR_TEXTS_WEIGHT)[c] = 0.1f + 0.01f * (float)(c % 9);
        rf_prior_array(&s, 0, RF_PRIOR_FENCE)[c] = -0.3f * (float)(c % 5);
        rf_prior_array(&s, 0, RF_PRIOR_CONSTANT)[c] = -0.3f * (float)(c % 5);
    }
    double far = 0.0, n_far = 0.0;
    for (size_t i = 0; i < 32; i++)
        for (size_t k = 0; k < 32; k++) {
            size_t text = i * from[MANY] / 32, c = k * MANY / 32;
            if (text >= from[c] && text < from[c + 1])
                continue;
            far += plain_log(texts, from[c], KEPT(c), texts + text * WIDTH);
            n_far += 1.0;
        }
    float z[40 * WIDTH];
    for (size_t i = 0; i < 40; i++)
        random_unit(z + i * WIDTH, WIDTH, 23, i);
    float *got = score(&s, z, 40, 96), *alone = score(&s, z, 40, 1);
    assert_memory_equal(got, alone, 40 * MANY * sizeof *got);
    size_t compared = 0;
    for (size_t i = 0; i < 40; i++) {
        double place[MANY], reach[MANY], sorted[MANY];
        for (size_t c = 0; c < MANY; c++) {
            const float *linear = rf_prior_array(&s, 0, RF_PRIOR_LINEAR) + c * WIDTH;
            double dot = 0.0, fence = -0.3 * (double)(c % 5);
            for (size_t j = 0; j < WIDTH; j++)
                dot += (double)linear[j] * (double)z[i * WIDTH + j];
            place[c] = dot + fence;
            reach[c] = sorted[c] = dot / (0.1 + 0.01 * (double)(c % 9));
        }
        qsort(sorted, MANY, sizeof *sorted, falling);
        for (size_t c = 0; c < MANY; c++) {
            bool near = reach[c] >= sorted[63];
            double add =
                near ? plain_log(texts, from[c], KEPT(c), z + i * WIDTH) : far / n_far;
            float want = (float)(place[c] + (0.1 + 0.01 * (double)(c % 9)) * add);
            compared += near;
            assert_near("score", &got[i * MANY + c], &want, 1, 1e-5, 1e-5);
        }
    }
    assert_int_equal(compared, 40 * 64);
    free(got);
    free(alone);
    rf_method_state_release(&s);
}

/* ---- With heads -------------------------------------------------------------------- */

#define FENCE 4.0f /* where it starts: 0.4 of the unit */

static float share_of(size_t rows)
{
    return rows <= 50 ? 0.0f : rows >= 100 ? 0.65f : 0.65f * (float)(rows - 50) / 50.0f;
}

typedef struct both {
    blobs b;
    rf_fit in;
    rf_settings o;
    rf_class_report reports[MOST_CLASSES];
    rf_method_state ans, heads, prior;
} both;

static void both_make(both *t, const size_t *sizes, size_t classes, size_t threads)
{
    rf_error err = {0};
    *t = (both){.o = quick_options()};
    blobs_make(&t->b, classes, sizes, 2.0f);
    t->o.head_steps = 40;
    t->o.head_max_steps = 80;
    t->in = t->b.problem;
    t->in.o = &t->o;
    t->in.reports = t->reports;
    t->in.team = rf_team_new(threads, NULL);
    assert_non_null(t->in.team);
    fit_method(&t->heads, rf_method_find("heads"), &t->in);
    memset(t->reports, 0, sizeof t->reports);
    fit_method(&t->ans, rf_method_find("ans"), &t->in);
    t->prior = (rf_method_state){.width = WIDTH, .classes = classes};
    if (rf_prior_fit(&t->prior, 0, &t->in, &err) != RF_OK)
        fail_msg("%s", err.msg);
    rf_prior_round(&t->prior, 0);
}

static void both_release(both *t)
{
    drop_state(&t->ans, rf_method_find("ans"));
    drop_state(&t->heads, rf_method_find("heads"));
    rf_method_state_release(&t->prior);
    rf_team_free(t->in.team);
    blobs_release(&t->b);
}

/* Margins of the method as an answer makes them: base, then every head. */
static float *margins_of(const rf_method_state *s, const float *z, size_t n, size_t block)
{
    const rf_method *m = rf_method_find("ans");
    float *margins = copy_floats(NULL, n * s->classes);
    float *scratch = copy_floats(NULL, m->scratch(s));
    for (size_t i = 0; i < n; i += block)
        m->base(s, z + i * s->width, n - i < block ? n - i : block,
                margins + i * s->classes, scratch);
    for (size_t c = 0; c < s->classes; c++)
        m->score(s, c, z, n, margins, scratch);
    free(scratch);
    return margins;
}

/* (1 - share) prior + share 10 (head - others) / (own - others) - fence, the levels of
 * own and other texts being means over at most 600 training rows. */
static void margins_are_weighted_means(void **state)
{
    (void)state;
    static const size_t sizes[2][4] = {{130, 110, 10, 60}, {400, 300, 51, 20}};
    for (size_t n = 0; n < 2; n++) {
        both t;
        both_make(&t, sizes[n], 4, 2);
        size_t rows = t.in.rows, some = rows < 600 ? rows : 600;
        float *g = copy_floats(NULL, rows * 4);
        float *scratch = copy_floats(NULL, RF_SCORE_SCRATCH);
        rf_heads_score(&t.heads, t.in.z, rows, 0, 4, g, scratch);
        double own = 0.0, others = 0.0, n_own = 0.0, n_others = 0.0;
        for (size_t i = 0; i < some; i++)
            for (size_t c = 0; c < 4; c++) {
                size_t row = i * rows / some;
                bool mine = t.in.class_of[row] == c;
                if (share_of(sizes[n][c]) == 0.0f)
                    continue;
                *(mine ? &own : &others) += (double)g[row * 4 + c];
                *(mine ? &n_own : &n_others) += 1.0;
            }
        own /= n_own;
        others /= n_others;
        assert_true(own - others > 1.0); /* they have learnt something */
        float *prior = score(&t.prior, t.in.z, rows, RF_JUDGE_ROWS);
        float *got = margins_of(&t.ans, t.in.z, rows, RF_JUDGE_ROWS);
        for (size_t i = 0; i < rows * 4; i++) {
            double share = (double)share_of(sizes[n][i % 4]);
            float want =
                (float)((1.0 - share) * (double)prior[i] +
                        share * 10.0 * ((double)g[i] - others) / (own - others)) -
                FENCE;
            assert_near("margin", &got[i], &want, 1, 3e-5, 3e-6);
        }
        free(g);
        free(scratch);
        free(prior);
        free(got);
        both_release(&t);
    }
}

/* Up to 50 texts a class has no head: its margins are the prior's, to the bit. */
static void small_classes_have_the_prior_alone(void **state)
{
    (void)state;
    static const size_t sizes[] = {130, 10, 50, 51};
    both t;
    both_make(&t, sizes, 4, 1);
    const float *shares = t.ans.arrays[RF_HEAD_PARTS].data;
    size_t head = rf_head_floats(WIDTH), parts = head - RF_HEAD_2 - 16; /* up to w3 */
    for (size_t c = 0; c < 4; c++) {
        rf_prior_add(&t.prior, 0, c, -FENCE);
        assert_true(shares[c] == share_of(sizes[c]));
        bool empty = rf_method_state_place(&t.ans, c) == RF_NOT_HELD;
        assert_int_equal(empty, sizes[c] <= 50);
        assert_int_equal(t.reports[c].steps == 0.0f, sizes[c] <= 50);
        if (empty)
            assert_true(t.reports[c].recall == -1.0f);
        else /* the head is the one that "heads" trains, but for its last layer */
            assert_memory_equal(rf_head_at(&t.ans, c).w1, t.heads.block + c * head,
                                parts * sizeof(float));
    }
    float *prior = score(&t.prior, t.in.z, t.in.rows, RF_JUDGE_ROWS);
    float *got = margins_of(&t.ans, t.in.z, t.in.rows, RF_JUDGE_ROWS);
    for (size_t i = 0; i < t.in.rows * 4; i++)
        if (sizes[i % 4] <= 50)
            assert_memory_equal(&got[i], &prior[i], sizeof *got);
    free(prior);
    free(got);
    both_release(&t);
}

static void threads_and_batches_do_not_change_margins(void **state)
{
    (void)state;
    static const size_t sizes[] = {60, 7, 120, 55, 3};
    both one, three;
    both_make(&one, sizes, 5, 1);
    both_make(&three, sizes, 5, 3);
    for (size_t i = 0; i < RF_HEAD_PARTS + RF_PRIOR_ARRAYS + 1; i++)
        if (i >= RF_HEAD_PARTS)
            assert_memory_equal(one.ans.arrays[i].data, three.ans.arrays[i].data,
                                floats_of(&one.ans, i) * sizeof(float));
    assert_memory_equal(one.ans.block, three.ans.block,
                        3 * rf_head_floats(WIDTH) * sizeof(float));
    float *want = margins_of(&one.ans, one.in.z, one.in.rows, RF_JUDGE_ROWS);
    for (size_t block = 1; block < 60; block += 13) {
        float *got = margins_of(&three.ans, one.in.z, one.in.rows, block);
        assert_memory_equal(got, want, one.in.rows * 5 * sizeof *got);
        free(got);
    }
    free(want);
    both_release(&one);
    both_release(&three);
}

/* A moved fence moves the margins of its class alone; a picture has the same margins. */
static void fences_move_and_are_seen(void **state)
{
    (void)state;
    static const size_t sizes[] = {60, 7, 120};
    const rf_method *m = rf_method_find("ans");
    both t;
    both_make(&t, sizes, 3, 1);
    size_t rows = 40;
    float *before = margins_of(&t.ans, t.in.z, rows, 40);
    m->move_fence(&t.ans, 0, 1.5f);
    m->move_fence(&t.ans, 1, -0.25f);
    float *after = margins_of(&t.ans, t.in.z, rows, 40);
    float *scratch = copy_floats(NULL, m->scratch(&t.ans));
    float *hidden = copy_floats(NULL, rows * m->view_width);
    float *view = copy_floats(NULL, rows);
    static const float moved[] = {1.5f, -0.25f, 0.0f};
    for (size_t c = 0; c < 3; c++) {
        m->view(&t.ans, c, t.in.z, rows, hidden, view, scratch);
        for (size_t i = 0; i < rows; i++) {
            float want = before[i * 3 + c] + moved[c];
            assert_near("moved", &after[i * 3 + c], &want, 1, 1e-5, 1e-6);
            assert_near("view", &view[i], &after[i * 3 + c], 1, 1e-5, 1e-6);
        }
    }
    free(before);
    free(after);
    free(scratch);
    free(hidden);
    free(view);
    both_release(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores_match_numpy),
        cmocka_unit_test(large_classes_keep_some_texts),
        cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(batches_change_nothing),
        cmocka_unit_test(classes_are_scaled_and_moved_alone),
        cmocka_unit_test(counts_must_add_up),
        cmocka_unit_test(odd_rows),
        cmocka_unit_test(margins_are_weighted_means),
        cmocka_unit_test(only_near_classes_are_compared),
        cmocka_unit_test(small_classes_have_the_prior_alone),
        cmocka_unit_test(threads_and_batches_do_not_change_margins),
        cmocka_unit_test(fences_move_and_are_seen),
    };
    return cmocka_run_group_tests(tests, open_golden, close_golden);
}
