/*
 * test_objectives.c - stage 1 of DOC, (K+1)-way, SelfSup and the baselines with negatives
 *
 * Against PyTorch in double precision with the same random draws
 * (tools/make_objectives_golden.py): losses and gradients of three steps, with and
 * without dropout, the parameters afterwards, the dev score.
 *
 * Tolerances, relative to the largest number of the tensor: losses 1e-5; gradients 1e-5
 * in the first step and 1e-4 later; parameters 2e-5. Adam divides by the size of the
 * gradient: rounding of a small one has its full effect. A step moves a parameter by
 * about 1e-3, the largest are 0.6 to 0.9.
 */
#include "near.h"
#include "num/panels.h"
#include "objective_setup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[4] = {"dense.weight", "dense.bias", "out.weight",
                                     "out.bias"};

static void assert_close(const char *what, const float *got, const float *want, size_t n,
                         double part)
{
    double top = 0.0;
    for (size_t i = 0; i < n; i++)
        top = fmax(top, fabs((double)want[i]));
    assert_true(top > 0.0);
    assert_near(what, got, want, n, part * top, 0);
}

/* Floats of parameter i in rows. */
static size_t size_of(const rf_known *k, size_t i)
{
    size_t n[4] = {WIDTH * WIDTH, WIDTH, k->classes * WIDTH, k->classes};
    return n[i];
}

/* One step on batch `step`: fills dz [BATCH, WIDTH], sets *n to its number of rows. */
static double take_step(setup *s, size_t step, float *dz, size_t *n)
{
    static const size_t sizes[STEPS] = {8, 6, 7};
    char name[16];
    snprintf(name, sizeof name, "%zu", step);
    uint32_t *rows = load("batch", name, "", sizes[step]), class_of[BATCH];
    float z[BATCH * WIDTH];
    for (size_t i = 0; i < sizes[step]; i++) {
        memcpy(z + i * WIDTH, s->z + rows[i] * WIDTH, WIDTH * sizeof(float));
        class_of[i] = s->class_of[rows[i]];
    }
    double t = (double)step + 1.0;
    rf_adam adam = {.rate = 1e-3f,
                    .beta1 = 0.9f,
                    .beta2 = 0.999f,
                    .eps = 1e-6f,
                    .decay = 0.01f,
                    .fix1 = (float)(1.0 / (1.0 - pow(0.9, t))),
                    .fix2 = (float)(1.0 / (1.0 - pow(0.999, t)))};
    rf_objective_batch b = {.n = sizes[step],
                            .z = z,
                            .rows = rows,
                            .class_of = class_of,
                            .step = step,
                            .seed = SEED,
                            .dropout = s->v->dropout,
                            .adam = &adam};
    double loss = s->o->step(s->o, &b, dz);
    *n = sizes[step];
    free(rows);
    return loss;
}

/* Parameter i, or its first moment, in rows. */
static void param_rows(float *to, const setup *s, size_t i, bool moment)
{
    const rf_objective_param *p = &s->o->params[i];
    const float *from = moment ? p->m : p->value;
    size_t out = i < 2 ? WIDTH : s->known.classes;
    if (i % 2 == 0)
        rf_panels_unpack(to, from, out, WIDTH);
    else
        memcpy(to, from, out * sizeof(float));
}

/* After the first step the first moment is a tenth of the gradient. */
static void check_params(const setup *s, const char *what, bool moment, double part)
{
    for (size_t i = 0; i < 4; i++) {
        char kind[32], full[48];
        size_t n = size_of(&s->known, i);
        float got[WIDTH * WIDTH], *want;
        snprintf(kind, sizeof kind, "%s.%s", what, names[i]);
        snprintf(full, sizeof full, "known.%s", names[i]);
        assert_string_equal(s->o->params[i].name, full);
        want = load(s->v->name, kind, "", n);
        param_rows(got, s, i, moment);
        for (size_t j = 0; j < n && moment; j++)
            got[j] *= 10.0f;
        assert_close(kind, got, want, n, part);
        free(want);
    }
}

static void steps_match_pytorch(void **state)
{
    setup s;
    set_up(&s, *state);
    float dz[BATCH * WIDTH], *losses = load(s.v->name, "loss", "", STEPS);
    for (size_t step = 0; step < STEPS; step++) {
        char name[16];
        size_t n;
        float loss = (float)take_step(&s, step, dz, &n);
        assert_near("loss", &loss, losses + step, 1, 0, 1e-5);
        snprintf(name, sizeof name, "%zu", step);
        float *want = load(s.v->name, "dz", name, n * WIDTH);
        assert_close("dz", dz, want, n * WIDTH, step ? 1e-4 : 1e-5);
        free(want);
        if (step == 0)
            check_params(&s, "grad", true, 1e-5);
    }
    check_params(&s, "after", false, 2e-5);
    free(losses);
    tear_down(&s);
}

/* Computed twice: random draws of the first must not change the second. */
static void dev_scores_match_pytorch(void **state)
{
    setup s;
    set_up(&s, *state);
    float *want = load(s.v->name, "dev", "", 2);
    for (int again = 0; again < 2; again++) {
        double score, loss;
        s.o->look_at_dev(s.o, s.dev_z, s.dev_class, DEV, &score, &loss);
        float got[2] = {(float)score, (float)loss};
        assert_near("dev", got, want, 2, 0, 1e-5);
    }
    free(want);
    tear_down(&s);
}

/* After values and moments are restored, the same three steps give the same bits. */
static void a_refreshed_objective_repeats_its_steps(void **state)
{
    setup s;
    set_up(&s, *state);
    float *saved[4], dz[2][BATCH * WIDTH];
    for (size_t i = 0; i < 4; i++) {
        const rf_objective_param *p = &s.o->params[i];
        saved[i] = malloc(p->n * sizeof(float));
        memcpy(saved[i], p->value, p->n * sizeof(float));
    }
    double loss[2];
    for (size_t round = 0; round < 2; round++) {
        for (size_t i = 0; i < 4; i++) {
            const rf_objective_param *p = &s.o->params[i];
            memcpy(p->value, saved[i], p->n * sizeof(float));
            memset(p->m, 0, p->n * sizeof(float));
            memset(p->v, 0, p->n * sizeof(float));
        }
        s.o->refresh(s.o);
        for (size_t step = 0, n; step < STEPS; step++)
            loss[round] = take_step(&s, step, dz[round], &n);
    }
    assert_true(loss[0] == loss[1]);
    assert_memory_equal(dz[0], dz[1], 7 * WIDTH * sizeof(float));
    for (size_t i = 0; i < 4; i++)
        free(saved[i]);
    tear_down(&s);
}

/* If every class is a point there are no negatives, and the loss is that of the rows. */
static void classes_without_spread_get_no_negatives(void **state)
{
    (void)state;
    setup s;
    rf_error err;
    set_up(&s, &variants[6]);
    uint32_t *rows = load("batch", "0", "", BATCH), class_of[BATCH];
    float z[BATCH * WIDTH], dz[BATCH * WIDTH];
    for (size_t i = 0; i < ROWS; i++)
        memcpy(s.z + i * WIDTH, s.z + s.class_of[i] * WIDTH, WIDTH * sizeof(float));
    for (size_t i = 0; i < BATCH; i++) {
        class_of[i] = s.class_of[rows[i]];
        memcpy(z + i * WIDTH, s.z + rows[i] * WIDTH, WIDTH * sizeof(float));
    }
    assert_int_equal(s.o->before_epoch(s.o, s.z, 1, &err), RF_OK);
    double score, want;
    size_t n;
    s.o->look_at_dev(s.o, z, class_of, BATCH, &score, &want);
    double loss = take_step(&s, 0, dz, &n);
    assert_int_equal(n, BATCH);
    assert_true(fabs(loss - want) < 1e-6);
    free(rows);
    tear_down(&s);
}

int main(void)
{
    static const struct {
        const char *name;
        CMUnitTestFunction run;
    } each[] = {{"steps", steps_match_pytorch},
                {"dev", dev_scores_match_pytorch},
                {"refresh", a_refreshed_objective_repeats_its_steps}};
    enum { EACH = sizeof each / sizeof *each };
    const struct CMUnitTest others[] = {
        cmocka_unit_test(classes_without_spread_get_no_negatives),
    };
    struct CMUnitTest tests[EACH * VARIANTS + sizeof others / sizeof *others];
    static char titles[EACH * VARIANTS][64];
    for (size_t i = 0; i < EACH * VARIANTS; i++) {
        const variant *v = &variants[i / EACH];
        snprintf(titles[i], sizeof titles[i], "%s, %s: %s", v->method->name, v->name,
                 each[i % EACH].name);
        tests[i] = (struct CMUnitTest){.name = titles[i],
                                       .test_func = each[i % EACH].run,
                                       .initial_state = (void *)(uintptr_t)v};
    }
    memcpy(tests + EACH * VARIANTS, others, sizeof others);
    return cmocka_run_group_tests(tests, open_golden, close_golden);
}
