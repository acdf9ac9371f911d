/*
 * test_ans_step.c - one training step of a head
 *
 * Against Algorithm 1 written in PyTorch in double precision
 * (tools/make_ans_golden.py): each ascent step, the projection, the loss, every gradient,
 * the parameters after one and three steps of Adam, with and without dropout, and each
 * switch of the method; gradients also against finite differences of the loss.
 *
 * Tolerances, given inputs equal to the last bit: eps 2e-6 of lengths up
 * to 16; loss 2e-6 of about 1; gradients 1e-7 + 1e-5 of themselves (they are sums of up
 * to 17 products, the largest about 0.1). Adam divides by the size of the gradient, so
 * that an error e of it becomes rate e / |gradient| of a parameter, and at most two
 * rates: see assert_moved.
 */
#include "base/rng.h"
#include "encoder/safetensors.h"
#include "near.h"
#include "num/panels.h"
#include "ans/ans_step.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH 24
#define POSITIVES 5
#define NEGATIVES 7
#define STEPS 3
#define ASCENT_RATE 0.3f
#define RATE 1e-3f
#define LARGEST (RF_HEAD_2 * RF_HEAD_1) /* floats of the largest part of a head */

static rf_safetensors golden;

static int open_golden(void **state)
{
    (void)state;
    return rf_safetensors_open(&golden, GOLDEN_DIR "/ans.safetensors", NULL) != RF_OK;
}

static int close_golden(void **state)
{
    (void)state;
    rf_safetensors_close(&golden);
    return 0;
}

/* A fresh copy of the tensor "a.b"; the caller frees it. */
static void *load(const char *a, const char *b, size_t want)
{
    char name[64];
    snprintf(name, sizeof name, "%s%s%s", a, *b ? "." : "", b);
    const rf_tensor *t = rf_safetensors_find(&golden, name);
    if (!t || t->count != want)
        fail_msg("%s: found %zu numbers, wanted %zu", name, t ? t->count : 0, want);
    assert_int_equal(rf_dtype_size(t->dtype), 4);
    void *p = malloc(t->count * 4);
    assert_non_null(p);
    memcpy(p, t->data, t->count * 4);
    return p;
}

/* The parts of a head by name, in rows. */
static const struct {
    const char *name;
    size_t out, in;
} parts[] = {{"w1", RF_HEAD_1, WIDTH},     {"b1", RF_HEAD_1, 1}, {"b2", RF_HEAD_2, 1},
             {"w2", RF_HEAD_2, RF_HEAD_1}, {"w3", 1, RF_HEAD_2}, {"b3", 1, 1}};
#define PARTS (sizeof parts / sizeof *parts)

static float *place(const rf_head *h, size_t part)
{
    float *const at[] = {h->w1, h->b1, h->b2, h->w2, h->w3, h->b3};
    return at[part];
}

static bool is_panels(size_t part)
{
    return parts[part].out > 1 && parts[part].in > 1;
}

/* One part of a head in rows, as the golden file has it. */
static void part_rows(float *rows, const rf_head *h, size_t part)
{
    if (is_panels(part))
        rf_panels_unpack(rows, place(h, part), parts[part].out, parts[part].in);
    else
        memcpy(rows, place(h, part), parts[part].out * parts[part].in * sizeof(float));
}

static void load_head(rf_heads *heads)
{
    assert_int_equal(rf_heads_init(heads, WIDTH, 1, NULL), RF_OK);
    rf_head h = rf_head_at(heads, 0);
    for (size_t i = 0; i < PARTS; i++) {
        size_t n = parts[i].out * parts[i].in;
        float *rows = load(parts[i].name, "", n);
        if (is_panels(i))
            rf_panels_pack(place(&h, i), rows, parts[i].out, parts[i].in);
        else
            memcpy(place(&h, i), rows, n * sizeof(float));
        free(rows);
    }
}

static const struct variant {
    const char *name;
    size_t ascent;
    bool project;
    float lambda, dropout;
    bool whole; /* the file holds all gradients and the parameters after Adam */
} variants[] = {
    {"full", 3, true, 0.7f, 0.0f, true},     {"dropout", 3, true, 0.7f, 0.25f, true},
    {"noise", 0, false, 0.7f, 0.0f, false},  {"projection", 0, true, 0.7f, 0.0f, false},
    {"vanilla", 0, true, 0.0f, 0.0f, false},
};
#define VARIANTS (sizeof variants / sizeof *variants)

typedef struct setup {
    const struct variant *v;
    rf_heads heads;
    rf_head head;
    rf_ans_work work;
    rf_ans_settings settings;
    float *z, *noise;
    uint32_t *positives, *negatives;
} setup;

static void set_up(setup *s, const struct variant *v)
{
    *s = (setup){.v = v};
    load_head(&s->heads);
    s->head = rf_head_at(&s->heads, 0);
    /* with more capacity than needed, as in a trainer */
    assert_int_equal(rf_ans_work_init(&s->work, WIDTH, POSITIVES, NEGATIVES + 20,
                                      v->lambda > 0.0f ? POSITIVES : 0, v->ascent > 0,
                                      NULL),
                     RF_OK);
    rf_ans_work_start(&s->work, NEGATIVES);
    s->settings = (rf_ans_settings){.radius = 4.0f,
                                    .gamma = 2.0f,
                                    .project = v->project,
                                    .ascent_steps = v->ascent,
                                    .ascent_rate = ASCENT_RATE,
                                    .lambda = v->lambda,
                                    .negative_weight = 1.3f};
    s->z = load("z", "", 40 * WIDTH);
    s->noise = load("noise", "", STEPS * POSITIVES * WIDTH);
    s->positives = load("positives", "", STEPS * POSITIVES);
    s->negatives = load("negatives", "", STEPS * NEGATIVES);
}

static void tear_down(setup *s)
{
    rf_method_state_release(&s->heads);
    rf_ans_work_release(&s->work);
    free(s->z);
    free(s->noise);
    free(s->positives);
    free(s->negatives);
}

static void take_rows(setup *s, size_t step)
{
    rf_ans_gather(&s->work, s->z, s->positives + step * POSITIVES,
                  s->negatives + step * NEGATIVES);
    if (s->work.synthetic)
        memcpy(s->work.eps, s->noise + step * POSITIVES * WIDTH,
               POSITIVES * WIDTH * sizeof(float));
}

static rf_head_dropout dropout_of(const setup *s, size_t step)
{
    return (rf_head_dropout){s->v->dropout, rf_rng_key(5, 6, 1, step),
                             rf_rng_key(5, 6, 2, step)};
}

static rf_adam adam_of(size_t step)
{
    double t = (double)step + 1.0;
    return (rf_adam){.rate = RATE,
                     .beta1 = 0.9f,
                     .beta2 = 0.999f,
                     .eps = 1e-8f,
                     .fix1 = (float)(1.0 / (1.0 - pow(0.9, t))),
                     .fix2 = (float)(1.0 / (1.0 - pow(0.999, t)))};
}

static void check_ascent(setup *s)
{
    size_t n = POSITIVES * WIDTH;
    float *eps = load(s->v->name, "eps", (1 + s->v->ascent) * n), last[POSITIVES * WIDTH];
    for (size_t k = 1; k <= s->v->ascent; k++) {
        rf_ans_ascend(&s->work, &s->head, 1, ASCENT_RATE);
        assert_near("eps", s->work.eps, eps + k * n, n, 2e-6, 0);
    }
    memcpy(last, s->work.eps, sizeof last); /* one by one and all at once */
    memcpy(s->work.eps, s->noise, sizeof last);
    rf_ans_ascend(&s->work, &s->head, s->v->ascent, ASCENT_RATE);
    assert_memory_equal(s->work.eps, last, sizeof last);
    free(eps);

    float *projected = load(s->v->name, "projected", n);
    if (s->v->project)
        rf_ans_project(&s->work, s->settings.radius, s->settings.gamma);
    assert_near("projected", s->work.eps, projected, n, 2e-6, 0);
    free(projected);
}

static void check_gradient(const setup *s)
{
    rf_heads as_head = {.width = WIDTH, .classes = 1, .block = s->work.gradient};
    rf_head gradient = rf_head_at(&as_head, 0);
    for (size_t i = 0; i < PARTS; i++) {
        if (!s->v->whole && strcmp(parts[i].name, "w2") == 0)
            continue;
        char name[32];
        size_t n = parts[i].out * parts[i].in;
        float got[LARGEST];
        snprintf(name, sizeof name, "%s.grad", s->v->name);
        float *want = load(name, parts[i].name, n);
        part_rows(got, &gradient, i);
        assert_near(parts[i].name, got, want, n, 1e-7, 1e-5);
        free(want);
    }
    for (size_t i = 1; i < RF_PANEL; i++) /* the padding of b3 */
        assert_true(gradient.b3[i] == 0.0f);
}

/* |got - want| <= steps * (1e-7 + rate min(2, 1e-3 + 1e-7 / |gradient|)): a gradient may
 * be 1e-7 off, which flips the sign of a smaller one. Nearly all must be better. */
static void assert_moved(const setup *s, size_t steps)
{
    size_t loose = 0, all = 0;
    for (size_t i = 0; i < PARTS; i++) {
        char moved[32], grad[32];
        size_t n = parts[i].out * parts[i].in;
        float got[LARGEST];
        snprintf(moved, sizeof moved, "%s.after%zu", s->v->name, steps);
        snprintf(grad, sizeof grad, "%s.grad", s->v->name);
        float *want = load(moved, parts[i].name, n);
        float *g = load(grad, parts[i].name, n);
        part_rows(got, &s->head, i);
        for (size_t j = 0; j < n; j++) {
            double e = fabs((double)got[j] - (double)want[j]);
            double ratio = 1e-3 + 1e-7 / fabs((double)g[j]);
            double tight = (double)steps * (1e-7 + 1e-3 * (double)RATE);
            double most = (double)steps * (1e-7 + (double)RATE * fmin(2.0, ratio));
            loose += !(e <= tight);
            if (!(e <= most))
                fail_msg("%s.%s[%zu]: got %.9g want %.9g, gradient %g", moved,
                         parts[i].name, j, (double)got[j], (double)want[j], (double)g[j]);
        }
        all += n;
        free(want);
        free(g);
    }
    if (loose * 200 > all)
        fail_msg("%s.after%zu: %zu of %zu are loose", s->v->name, steps, loose, all);
}

static void steps_follow_the_algorithm(void **state)
{
    const struct variant *v = *state;
    setup s;
    set_up(&s, v);
    float *losses = load(v->name, "loss", STEPS);

    take_rows(&s, 0);
    if (v->lambda > 0.0f)
        check_ascent(&s);
    rf_head_dropout drop = dropout_of(&s, 0);
    rf_adam adam = adam_of(0);
    float loss = rf_ans_gradient(&s.work, &s.head, &s.settings, &drop);
    assert_near("loss", &loss, losses, 1, 2e-6, 0);
    check_gradient(&s);
    rf_ans_update(&s.work, &s.head, &adam);
    if (v->whole)
        assert_moved(&s, 1);

    for (size_t step = 1; step < STEPS; step++) {
        take_rows(&s, step);
        drop = dropout_of(&s, step);
        adam = adam_of(step);
        loss = rf_ans_step(&s.work, &s.head, &s.settings, &drop, &adam);
        assert_near("loss", &loss, losses + step, 1, 1e-5, 0);
    }
    if (v->whole)
        assert_moved(&s, STEPS);
    free(losses);
    tear_down(&s);
}

static void a_step_equals_its_parts(void **state)
{
    (void)state;
    setup a, b;
    set_up(&a, &variants[1]);
    set_up(&b, &variants[1]);
    rf_head_dropout drop = dropout_of(&a, 0);
    rf_adam adam = adam_of(0);
    take_rows(&a, 0);
    take_rows(&b, 0);
    float loss = rf_ans_step(&a.work, &a.head, &a.settings, &drop, &adam);
    rf_ans_ascend(&b.work, &b.head, b.settings.ascent_steps, b.settings.ascent_rate);
    rf_ans_project(&b.work, b.settings.radius, b.settings.gamma);
    assert_true(loss == rf_ans_gradient(&b.work, &b.head, &b.settings, &drop));
    rf_ans_update(&b.work, &b.head, &adam);
    assert_memory_equal(a.heads.block, b.heads.block,
                        rf_head_floats(WIDTH) * sizeof(float));
    tear_down(&a);
    tear_down(&b);
}

/* ---- Finite differences ------------------------------------------------------------ */

#define FD_WIDTH 41 /* not a multiple of any block size */
#define FD_POSITIVES 3
#define FD_NEGATIVES 6
#define FD_ROWS 9

/* A head of random weights and a batch of random rows. */
static void random_setup(rf_heads *heads, rf_ans_work *w)
{
    const rf_train_table *t = rf_train_kernels();
    float z[FD_ROWS * FD_WIDTH];
    uint32_t rows[FD_ROWS] = {4, 2, 7, 0, 1, 3, 8, 5, 6};
    assert_int_equal(rf_heads_init(heads, FD_WIDTH, 1, NULL), RF_OK);
    rf_head h = rf_head_at(heads, 0);
    t->normal(h.w1, RF_HEAD_1 * FD_WIDTH + RF_HEAD_1, 11);
    t->normal(h.w2, RF_HEAD_2 * RF_HEAD_1 + RF_HEAD_2, 12);
    t->normal(h.w3, RF_HEAD_2 + 1, 13);
    for (float *p = h.w1; p < h.w2; p++)
        *p *= 0.15f;
    for (float *p = h.w2; p < h.w3; p++)
        *p *= 0.1f;
    for (float *p = h.w3; p <= h.b3; p++)
        *p *= 0.15f;
    t->normal(z, FD_ROWS * FD_WIDTH, 14);
    assert_int_equal(rf_ans_work_init(w, FD_WIDTH, FD_POSITIVES, FD_NEGATIVES,
                                      FD_POSITIVES, true, NULL),
                     RF_OK);
    rf_ans_work_start(w, FD_NEGATIVES);
    rf_ans_gather(w, z, rows, rows + FD_POSITIVES);
    t->normal(w->eps, FD_POSITIVES * FD_WIDTH, 15);
}

/* Each part of the head moved by +-h along the sign of its gradient: the loss changes by
 * 2 h times the sum of |gradient|, to 1 % (h is chosen for a change of 1/100, in which a
 * few ReLUs out of thousands switch). */
static void gradients_match_finite_differences(void **state)
{
    (void)state;
    rf_heads heads;
    rf_ans_work w;
    random_setup(&heads, &w);
    rf_head h = rf_head_at(&heads, 0);
    rf_ans_settings settings = {.lambda = 1.5f, .negative_weight = 0.5f};
    rf_head_dropout drop = {0.2f, 21, 22};
    rf_ans_gradient(&w, &h, &settings, &drop);
    size_t floats = rf_head_floats(FD_WIDTH);
    float *gradient = malloc(floats * sizeof *gradient);
    float *start = malloc(floats * sizeof *start);
    memcpy(gradient, w.gradient, floats * sizeof *gradient);
    memcpy(start, heads.block, floats * sizeof *start);
    const float *ends[] = {h.b1, h.w2, h.b2, h.w3, h.b3, h.b3 + 1};
    size_t from = 0;
    for (size_t part = 0; part < 6; part++) {
        size_t to = (size_t)(ends[part] - heads.block);
        double sum = 0.0, loss[2];
        for (size_t i = from; i < to; i++)
            sum += fabs((double)gradient[i]);
        assert_true(sum > 1e-3);
        double step = 5e-3 / sum;
        for (int side = 0; side < 2; side++) {
            for (size_t i = from; i < to; i++)
                heads.block[i] = start[i] + (float)copysign(step, (double)gradient[i]) *
                                                (gradient[i] == 0.0f ? 0.0f
                                                 : side              ? -1.0f
                                                                     : 1.0f);
            loss[side] = (double)rf_ans_gradient(&w, &h, &settings, &drop);
        }
        memcpy(heads.block, start, floats * sizeof *start);
        double slope = (loss[0] - loss[1]) / (2.0 * step);
        if (!(fabs(slope - sum) <= 0.01 * sum))
            fail_msg("part %zu: the loss rises by %g, the gradient says %g", part, slope,
                     sum);
        from = to;
    }
    free(gradient);
    free(start);
    rf_method_state_release(&heads);
    rf_ans_work_release(&w);
}

static double margin(const rf_head *h, const float *x)
{
    float h1[RF_HEAD_1], h2[RF_HEAD_2], g;
    rf_head_forward(h, FD_WIDTH, x, 1, NULL, h1, h2, &g, 1);
    return (double)g;
}

/* An ascent step of 0.01 raises g by 0.01 |dg/dz|, to 2 %, and has that length. */
static void ascent_follows_the_gradient(void **state)
{
    (void)state;
    rf_heads heads;
    rf_ans_work w;
    random_setup(&heads, &w);
    rf_head h = rf_head_at(&heads, 0);
    float before[FD_POSITIVES * FD_WIDTH], x[FD_WIDTH];
    memcpy(before, w.eps, sizeof before);
    rf_ans_ascend(&w, &h, 1, 0.01f);
    for (size_t i = 0; i < FD_POSITIVES; i++) {
        double steep = 0.0, moved = 0.0, g[2];
        for (size_t j = 0; j < FD_WIDTH; j++) {
            size_t at = i * FD_WIDTH + j;
            double d = (double)w.eps[at] - (double)before[at];
            steep += (double)w.uphill[at] * (double)w.uphill[at];
            moved += d * d;
        }
        assert_true(steep > 1e-4);
        assert_true(fabs(sqrt(moved) - 0.01) < 1e-5);
        for (int after = 0; after < 2; after++) {
            for (size_t j = 0; j < FD_WIDTH; j++)
                x[j] = w.x[i * FD_WIDTH + j] + (after ? w.eps : before)[i * FD_WIDTH + j];
            g[after] = margin(&h, x);
        }
        double want = 0.01 * sqrt(steep);
        if (!(fabs(g[1] - g[0] - want) <= 0.02 * want))
            fail_msg("point %zu rose by %g, wanted %g", i, g[1] - g[0], want);
    }
    rf_method_state_release(&heads);
    rf_ans_work_release(&w);
}

/* With no gradient and no noise nothing moves and nothing becomes NaN. */
static void points_without_a_direction_stay(void **state)
{
    (void)state;
    rf_heads heads;
    rf_ans_work w;
    random_setup(&heads, &w);
    rf_head h = rf_head_at(&heads, 0);
    memset(heads.block, 0, rf_head_floats(FD_WIDTH) * sizeof(float));
    memset(w.eps, 0, FD_POSITIVES * FD_WIDTH * sizeof(float));
    rf_ans_ascend(&w, &h, 2, 0.5f);
    rf_ans_project(&w, 3.0f, 2.0f);
    for (size_t i = 0; i < FD_POSITIVES * FD_WIDTH; i++)
        assert_true(w.eps[i] == 0.0f);
    rf_method_state_release(&heads);
    rf_ans_work_release(&w);
}

/* Moving the positives gives the same bits, in the gradient too, as gathering rows at the
 * new positions. */
static void moved_positives_match_gathered_rows(void **state)
{
    (void)state;
    rf_heads heads;
    rf_ans_work w, other;
    random_setup(&heads, &w);
    rf_method_state_release(&heads);
    random_setup(&heads, &other);
    rf_head h = rf_head_at(&heads, 0);
    rf_ans_settings settings = {.lambda = 1.0f, .negative_weight = 1.0f};
    float by[FD_POSITIVES * FD_WIDTH], z[FD_ROWS * FD_WIDTH];
    uint32_t rows[FD_ROWS];
    rf_train_kernels()->normal(by, FD_POSITIVES * FD_WIDTH, 16);
    memcpy(z, w.x, sizeof z);
    for (size_t i = 0; i < FD_POSITIVES * FD_WIDTH; i++)
        z[i] += by[i];
    for (uint32_t i = 0; i < FD_ROWS; i++)
        rows[i] = i;
    rf_ans_move_positives(&w, by);
    rf_ans_gather(&other, z, rows, rows + FD_POSITIVES);
    float a = rf_ans_gradient(&w, &h, &settings, NULL);
    float b = rf_ans_gradient(&other, &h, &settings, NULL);
    assert_true(a == b);
    assert_memory_equal(w.gradient, other.gradient,
                        rf_head_floats(FD_WIDTH) * sizeof(float));
    rf_method_state_release(&heads);
    rf_ans_work_release(&other);
    rf_ans_work_release(&w);
}

/* Large margins must not overflow: softplus(x) is x for large x, 0 for small. */
static void large_margins_stay_finite(void **state)
{
    (void)state;
    rf_heads heads;
    rf_ans_work w;
    random_setup(&heads, &w);
    rf_head h = rf_head_at(&heads, 0);
    rf_ans_settings settings = {.lambda = 1.0f, .negative_weight = 1.0f};
    memset(h.w3, 0, RF_HEAD_2 * sizeof(float));
    const double n = FD_POSITIVES, rest = FD_NEGATIVES + FD_POSITIVES;
    for (int side = 0; side < 2; side++) {
        *h.b3 = side ? -200.0f : 200.0f;
        double loss = (double)rf_ans_gradient(&w, &h, &settings, NULL);
        double want = 200.0 * (side ? n : rest) / (n + FD_NEGATIVES);
        assert_true(fabs(loss - want) < 1e-4);
        rf_heads as_head = {.width = FD_WIDTH, .classes = 1, .block = w.gradient};
        double slope = (double)*rf_head_at(&as_head, 0).b3;
        assert_true(fabs(slope - (side ? -n : rest) / (n + FD_NEGATIVES)) < 1e-6);
    }
    rf_method_state_release(&heads);
    rf_ans_work_release(&w);
}

int main(void)
{
    struct CMUnitTest tests[VARIANTS + 6];
    static char names[VARIANTS][64];
    for (size_t i = 0; i < VARIANTS; i++) {
        snprintf(names[i], sizeof names[i], "steps_follow_the_algorithm: %s",
                 variants[i].name);
        tests[i] = (struct CMUnitTest){.name = names[i],
                                       .test_func = steps_follow_the_algorithm,
                                       .initial_state = (void *)(uintptr_t)&variants[i]};
    }
    const struct CMUnitTest others[] = {
        cmocka_unit_test(a_step_equals_its_parts),
        cmocka_unit_test(gradients_match_finite_differences),
        cmocka_unit_test(ascent_follows_the_gradient),
        cmocka_unit_test(points_without_a_direction_stay),
        cmocka_unit_test(moved_positives_match_gathered_rows),
        cmocka_unit_test(large_margins_stay_finite),
    };
    memcpy(tests + VARIANTS, others, sizeof others);
    return cmocka_run_group_tests(tests, open_golden, close_golden);
}
