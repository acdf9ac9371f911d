/*
 * test_shortlist.c - with many heads only some are asked: which, and what the margins are
 *
 * The reference sorts all classes by what they might reach, adds head by head, row by
 * row, and looks for the largest margin after each. Heads are spoiled so that they
 * disagree with the prior: then the first eight are not enough for many rows.
 */
#include "answer/judge.h"
#include "methods/methods.h"

#include "blobs.h"
#include "method_run.h"
#include "near.h"
#include "num/vectors.h"

#include <stdlib.h>
#include <string.h>

#define CLASSES 20
#define ROWS 300
#define FIRST_FENCE 4.0f

static blobs b;
static rf_settings settings;
static rf_class_report reports[MOST_CLASSES];
static rf_model model; /* as much of one as judging needs */
static float z[ROWS * WIDTH];

static int make_model(void **state)
{
    (void)state;
    size_t sizes[CLASSES];
    for (size_t c = 0; c < CLASSES; c++)
        sizes[c] = c == 4 ? 30 : 60 + 7 * (c % 8); /* 19 heads, of several shares */
    blobs_make(&b, CLASSES, sizes, 6.0f);
    settings = quick_options();
    settings.head_steps = 20;
    settings.head_max_steps = 20;
    rf_fit in = b.problem;
    in.o = &settings;
    in.reports = reports;
    in.team = rf_team_new(1, NULL);
    assert_non_null(in.team);
    model.method = rf_method_find("ans");
    model.classes = CLASSES;
    model.known.width = WIDTH;
    model.known.classes = CLASSES;
    model.calibration.temperature = 0.7f;
    fit_method(&model.state, model.method, &in);
    rf_team_free(in.team);
    for (size_t c = 0; c < CLASSES; c++)
        if (rf_method_state_place(&model.state, c) != RF_NOT_HELD)
            *rf_head_at(&model.state, c).b3 += c % 7 == 0 ? 2.0f : -40.0f;
    for (size_t i = 0; i < ROWS; i++) { /* between two classes */
        float other[WIDTH];
        blobs_draw(z + i * WIDTH, i % CLASSES, 6.0f, 7, i);
        blobs_draw(other, i * 7 % CLASSES, 6.0f, 8, i);
        for (size_t j = 0; j < WIDTH; j++)
            z[i * WIDTH + j] = 0.6f * z[i * WIDTH + j] + 0.4f * other[j];
    }
    return 0;
}

static int free_model(void **state)
{
    (void)state;
    drop_state(&model.state, model.method);
    blobs_release(&b);
    return 0;
}

/* Judged `block` rows at a time. */
static void judge(float *margins, rf_verdict *verdicts, bool all, size_t block,
                  size_t threads)
{
    rf_judge j;
    rf_team *team = rf_team_new(threads, NULL);
    assert_non_null(team);
    assert_int_equal(rf_judge_init(&j, &model, ROWS, threads, NULL), RF_OK);
    j.all_fences = all;
    for (size_t from = 0; from < ROWS; from += block) {
        size_t n = ROWS - from < block ? ROWS - from : block;
        rf_judge_rows(&j, &model, z + from * WIDTH, n, team);
        memcpy(margins + from * CLASSES, j.margins, n * CLASSES * sizeof *margins);
        memcpy(verdicts + from, j.verdicts, n * sizeof *verdicts);
    }
    rf_judge_release(&j);
    rf_team_free(team);
}

/* ---- The reference ------------------------------------------------------------------
 */

typedef struct candidate {
    size_t class_index;
    double hope;
} candidate;

static int by_hope(const void *x, const void *y)
{
    const candidate *p = x, *q = y;
    return p->hope != q->hope
               ? (p->hope < q->hope) - (p->hope > q->hope)
               : (p->class_index > q->class_index) - (p->class_index < q->class_index);
}

/* Margins of one row; returns how many heads were asked. */
static size_t ask(const float *x, float *margins, float *scratch)
{
    const float *share = model.state.arrays[RF_HEAD_PARTS].data;
    candidate list[CLASSES];
    bool done[CLASSES] = {false};
    size_t n = 0, asked = 0;
    model.method->base(&model.state, x, 1, margins, scratch);
    for (size_t c = 0; c < CLASSES; c++) {
        double prior =
            ((double)margins[c] + (double)FIRST_FENCE) / (1.0 - (double)share[c]);
        done[c] = share[c] == 0.0f; /* there is nothing to ask */
        if (!done[c])
            list[n++] = (candidate){c, prior};
    }
    qsort(list, n, sizeof *list, by_hope);
    for (size_t i = 0;; i++) {
        size_t c = i < 8 ? list[i].class_index : rf_largest(margins, CLASSES);
        if (done[c])
            return asked;
        model.method->score(&model.state, c, x, 1, margins, scratch);
        done[c] = true;
        asked++;
    }
}

static void only_what_matters_is_asked(void **state)
{
    (void)state;
    static float want[ROWS * CLASSES], got[ROWS * CLASSES];
    rf_verdict verdicts[ROWS];
    size_t more = 0;
    float *scratch = malloc(model.method->scratch(&model.state) * sizeof *scratch);
    assert_non_null(scratch);
    for (size_t i = 0; i < ROWS; i++)
        more += ask(z + i * WIDTH, want + i * CLASSES, scratch) > 8;
    assert_true(more > 10 && more < ROWS); /* the first eight did not always do */
    free(scratch);
    static const size_t blocks[] = {1, 7, 96, ROWS};
    for (size_t k = 0; k < sizeof blocks / sizeof *blocks; k++)
        for (size_t threads = 1; threads <= 3; threads += 2) {
            judge(got, verdicts, false, blocks[k], threads);
            assert_memory_equal(got, want, sizeof want);
            for (size_t i = 0; i < ROWS; i++)
                assert_int_equal(verdicts[i].nearest,
                                 rf_largest(want + i * CLASSES, CLASSES));
        }
}

/* A margin is that of all heads, or the base; the answer's is always the former. */
static void answers_have_their_whole_margin(void **state)
{
    (void)state;
    static float all[ROWS * CLASSES], some[ROWS * CLASSES];
    rf_verdict with_all[ROWS], with_some[ROWS];
    size_t differ = 0;
    judge(all, with_all, true, 96, 2);
    judge(some, with_some, false, 96, 2);
    for (size_t i = 0; i < ROWS; i++) {
        size_t at = i * CLASSES + with_some[i].fence;
        assert_memory_equal(&all[at], &some[at], sizeof all[at]);
        for (size_t c = 0; c < CLASSES; c++)
            differ +=
                memcmp(&all[i * CLASSES + c], &some[i * CLASSES + c], sizeof(float)) != 0;
    }
    assert_true(differ > ROWS); /* heads were left out */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_matters_is_asked),
        cmocka_unit_test(answers_have_their_whole_margin),
    };
    return cmocka_run_group_tests(tests, make_model, free_model);
}
