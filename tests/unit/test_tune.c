/* test_tune.c - stage 1 against PyTorch: loss, every gradient, ten optimiser steps;
 * and the same bits for any number of threads and after resuming */
#include "stages/fine_tune.h"
#include "base/memory.h"
#include "near.h"
#include "num/panels.h"
#include "scratch.h"
#include "plain_objective.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static rf_safetensors golden;

static const rf_tensor *tensor(const char *fmt, const char *a, const char *b,
                               const char *c)
{
    char name[160];
    snprintf(name, sizeof name, fmt, a, b, c);
    const rf_tensor *t = rf_safetensors_find(&golden, name);
    if (!t)
        fail_msg("no %s in the golden file", name);
    return t;
}

static float *floats(const rf_tensor *t)
{
    float *x = malloc(t->count * sizeof *x + 1);
    assert_non_null(x);
    assert_int_equal(t->dtype, RF_F32);
    memcpy(x, t->data, t->count * sizeof *x);
    return x;
}

static int32_t *integers(const rf_tensor *t)
{
    int32_t *x = malloc(t->count * sizeof *x + 1);
    assert_non_null(x);
    assert_int_equal(t->dtype, RF_I32);
    memcpy(x, t->data, t->count * sizeof *x);
    return x;
}

static float scalar(const rf_tensor *t)
{
    float x;
    memcpy(&x, t->data, sizeof x);
    return x;
}

/* ---- A tiny encoder with the layers of the golden file ----------------------------- */

typedef struct fixture {
    const char *c, *d; /* configuration, dropout variant */
    rf_encoder e;
    rf_layer layers[4];
    rf_known known;
    rf_activations a, none;
    uint32_t labels[16];
    rf_team *team;
    rf_settings o;
    uint64_t seed;
    rf_objective *objective;
    rf_fine_tune *t;
    float *owned[64];
    size_t n_owned;
} fixture;

static float *keep(fixture *f, size_t n)
{
    float *x = rf_floats_new(n + 16);
    assert_non_null(x);
    memset(x, 0, (n + 16) * sizeof *x);
    f->owned[f->n_owned++] = x;
    return x;
}

/* A dense layer that the C code keeps as one may be several in the file. */
typedef struct spelling {
    const char *ours;
    const char *theirs[3];
} spelling;

static const spelling dense_names[] = {
    {"qkv", {"attention.self.query", "attention.self.key", "attention.self.value"}},
    {"attn", {"attention.output.dense"}},
    {"up", {"intermediate.dense"}},
    {"down", {"output.dense"}},
};

/* The rows of all parts stacked: weights (kind "weight") or biases. */
static float *stacked(const char *c, const char *what, const char *prefix,
                      const spelling *s, const char *kind, size_t *rows, size_t *cols)
{
    float *all = NULL;
    size_t n = 0;
    *rows = *cols = 0;
    for (size_t i = 0; i < 3 && s->theirs[i]; i++) {
        char name[128];
        snprintf(name, sizeof name, "%s%s.%s", prefix, s->theirs[i], kind);
        const rf_tensor *t = tensor("%s.%s.%s", c, what, name);
        float *part = floats(t);
        all = realloc(all, (n + t->count) * sizeof *all);
        memcpy(all + n, part, t->count * sizeof *all);
        free(part);
        n += t->count;
        *rows += t->shape[0];
        *cols = t->rank == 2 ? t->shape[1] : 1;
    }
    return all;
}

static float *packed(fixture *f, const float *rows, size_t out, size_t in)
{
    float *p = keep(f, rf_panels_floats(out, in));
    rf_panels_pack(p, rows, out, in);
    return p;
}

static void load_dense(fixture *f, const char *prefix, const spelling *s, float **w,
                       float **b)
{
    size_t out, in, one;
    float *rows = stacked(f->c, "param", prefix, s, "weight", &out, &in);
    *w = packed(f, rows, out, in);
    free(rows);
    rows = stacked(f->c, "param", prefix, s, "bias", &out, &one);
    *b = keep(f, out);
    memcpy(*b, rows, out * sizeof **b);
    free(rows);
}

static void load_vector(fixture *f, const char *prefix, const char *name, float **to)
{
    char full[128];
    snprintf(full, sizeof full, "%s%s", prefix, name);
    const rf_tensor *t = tensor("%s.%s.%s", f->c, "param", full);
    *to = keep(f, t->count);
    memcpy(*to, t->data, t->count * sizeof **to);
}

static void set_up(fixture *f, const char *c, const char *d, size_t threads)
{
    *f = (fixture){.c = c, .d = d};
    int32_t *cfg = integers(tensor("%s.%s%s", c, "config", ""));
    int32_t *offsets = integers(tensor("%s.%s%s", c, "offsets", ""));
    int32_t *labels = integers(tensor("%s.%s%s", c, "labels", ""));
    size_t texts = tensor("%s.%s%s", c, "labels", "")->count;
    size_t width = (size_t)cfg[0], live = (size_t)cfg[3];
    f->e.config = (rf_config){.layers = live,
                              .width = width,
                              .heads = (size_t)cfg[1],
                              .inner = (size_t)cfg[2],
                              .positions = 64,
                              .eps = scalar(tensor("%s.%s%s", c, "layer_norm_eps", ""))};
    f->e.layers = f->layers;
    for (size_t i = 0; i < live; i++) {
        rf_layer *y = &f->layers[i];
        char prefix[64];
        snprintf(prefix, sizeof prefix, "encoder.layer.%zu.", i);
        load_dense(f, prefix, &dense_names[0], &y->qkv_w, &y->qkv_b);
        load_dense(f, prefix, &dense_names[1], &y->attn_w, &y->attn_b);
        load_dense(f, prefix, &dense_names[2], &y->up_w, &y->up_b);
        load_dense(f, prefix, &dense_names[3], &y->down_w, &y->down_b);
        load_vector(f, prefix, "attention.output.LayerNorm.weight", &y->attn_gain);
        load_vector(f, prefix, "attention.output.LayerNorm.bias", &y->attn_shift);
        load_vector(f, prefix, "output.LayerNorm.weight", &y->out_gain);
        load_vector(f, prefix, "output.LayerNorm.bias", &y->out_shift);
    }
    rf_error err;
    assert_int_equal(rf_known_init(&f->known, width, (size_t)cfg[4], &err), RF_OK);
    float *w = floats(tensor("%s.param.%s%s", c, "known.dense.weight", ""));
    rf_panels_pack(f->known.dense_w, w, width, width);
    free(w);
    w = floats(tensor("%s.param.%s%s", c, "known.out.weight", ""));
    rf_panels_pack(f->known.out_w, w, f->known.classes, width);
    free(w);
    memcpy(f->known.dense_b, tensor("%s.param.%s%s", c, "known.dense.bias", "")->data,
           width * sizeof(float));
    memcpy(f->known.out_b, tensor("%s.param.%s%s", c, "known.out.bias", "")->data,
           f->known.classes * sizeof(float));

    f->a = (rf_activations){.n_texts = texts, .width = width};
    f->a.offsets = calloc(texts + 1, sizeof *f->a.offsets);
    for (size_t i = 0; i <= texts; i++)
        f->a.offsets[i] = (size_t)offsets[i];
    for (size_t i = 0; i < texts; i++) {
        size_t n = f->a.offsets[i + 1] - f->a.offsets[i];
        f->a.longest = n > f->a.longest ? n : f->a.longest;
        f->labels[i] = (uint32_t)labels[i];
    }
    f->a.states = floats(tensor("%s.%s%s", c, "x", ""));
    f->none = (rf_activations){.width = width};
    free(cfg);
    free(offsets);
    free(labels);

    int32_t *seed = integers(tensor("%s%s%s", "seed", "", ""));
    float *adam = floats(tensor("%s%s%s", "adam", "", ""));
    f->seed = (uint64_t)(uint32_t)seed[0] | (uint64_t)(uint32_t)seed[1] << 32;
    rf_settings o = {.epochs = 10,
                     .batch = 7, /* one step per epoch: ten in all */
                     .patience = 100,
                     .encoder_rate = adam[0],
                     .known_rate = adam[1],
                     .weight_decay = adam[5],
                     .warmup = 0.2f,
                     .dropout = scalar(tensor("%s.%s.%s", c, d, "dropout"))};
    free(seed);
    free(adam);
    f->o = o;
    f->team = rf_team_new(threads, &err);
    assert_non_null(f->team);
    f->t =
        rf_fine_tune_new(&f->e, live, &f->known, (rf_labelled){&f->a, f->labels},
                         (rf_labelled){&f->none, NULL}, NULL, &o, f->seed, f->team, &err);
    assert_non_null(f->t);
    assert_int_equal(rf_fine_tune_steps(f->t), 10);
}

/* The same, with the classifier and its loss as an external objective. */
static void set_up_objective(fixture *f, const char *c, const char *d, size_t threads)
{
    rf_error err;
    set_up(f, c, d, threads);
    rf_fine_tune_free(f->t);
    f->objective = plain_objective(&f->known, f->o.batch);
    assert_non_null(f->objective);
    f->t = rf_fine_tune_new(
        &f->e, f->e.config.layers, &f->known, (rf_labelled){&f->a, f->labels},
        (rf_labelled){&f->none, NULL}, f->objective, &f->o, f->seed, f->team, &err);
    assert_non_null(f->t);
}

static void tear_down(fixture *f)
{
    rf_fine_tune_free(f->t);
    rf_objective_free(f->objective);
    rf_team_free(f->team);
    rf_known_release(&f->known);
    free(f->a.offsets);
    free(f->a.states);
    for (size_t i = 0; i < f->n_owned; i++)
        free(f->owned[i]);
}

static size_t batch(const fixture *f, size_t step, uint32_t *rows)
{
    char number[8];
    snprintf(number, sizeof number, "%zu", step);
    const rf_tensor *t = tensor("%s.%s.%s", f->c, "batch", number);
    int32_t *x = integers(t);
    for (size_t i = 0; i < t->count; i++)
        rows[i] = (uint32_t)x[i];
    free(x);
    return t->count;
}

static const rf_fine_tune_array *array(fixture *f, const char *what, const char *name)
{
    char full[64];
    size_t n;
    const rf_fine_tune_array *a = rf_fine_tune_arrays(f->t, &n);
    snprintf(full, sizeof full, "%s.%s", what, name);
    for (size_t i = 0; i < n; i++)
        if (strcmp(a[i].name, full) == 0)
            return &a[i];
    fail_msg("no array %s", full);
    return NULL;
}

/* Largest difference between got * scale and want, relative to the largest value in
 * want. */
static double worst(const float *got, const float *want, size_t n, float scale)
{
    double d = 0.0, top = 0.0;
    for (size_t i = 0; i < n; i++) {
        double x = fabs((double)(got[i] * scale) - (double)want[i]);
        if (!(x <= d))
            d = x;
        if (fabs((double)want[i]) > top)
            top = fabs((double)want[i]);
    }
    return d / (top + 1e-30);
}

/* Compares every learnable array with "<c>.<d>.<what>.*". */
static void compare_all(fixture *f, const char *ours, const char *theirs, float scale,
                        double tolerance)
{
    char group[32], name[64], prefix[64];
    size_t live = f->e.config.layers, checked = 0;
    snprintf(group, sizeof group, "%s.%s", f->d, theirs);
    for (size_t i = 0; i <= live; i++) {
        static const spelling known[2] = {{"dense", {"dense"}}, {"out", {"out"}}};
        size_t n_dense = i < live ? 4 : 2;
        for (size_t j = 0; j < n_dense; j++) {
            const spelling *s = i < live ? &dense_names[j] : &known[j];
            size_t out, in, one;
            if (i < live)
                snprintf(prefix, sizeof prefix, "encoder.layer.%zu.", i);
            else
                snprintf(prefix, sizeof prefix, "known.");
            float *want = stacked(f->c, group, prefix, s, "weight", &out, &in);
            if (i < live)
                snprintf(name, sizeof name, "%zu.%s.weight", i, s->ours);
            else
                snprintf(name, sizeof name, "known.%s.weight", s->ours);
            float *got = malloc(out * in * sizeof *got);
            rf_panels_unpack(got, array(f, ours, name)->data, out, in);
            double d = worst(got, want, out * in, scale);
            if (!(d <= tolerance))
                fail_msg("%s %s: %s off by %g", f->c, f->d, name, d);
            free(got);
            free(want);

            want = stacked(f->c, group, prefix, s, "bias", &out, &one);
            memcpy(name + strlen(name) - 6, "bias", 5);
            const float *b = array(f, ours, name)->data;
            if (strcmp(s->ours, "qkv") ==
                0) { /* the gradient of the key's bias is only noise */
                d = fmax(worst(b, want, out / 3, scale),
                         worst(b + 2 * out / 3, want + 2 * out / 3, out / 3, scale));
            } else {
                d = worst(b, want, out, scale);
            }
            if (!(d <= tolerance))
                fail_msg("%s %s: %s off by %g", f->c, f->d, name, d);
            free(want);
            checked += 2;
        }
        static const char *const norms[4][2] = {
            {"attn_norm.weight", "attention.output.LayerNorm.weight"},
            {"attn_norm.bias", "attention.output.LayerNorm.bias"},
            {"out_norm.weight", "output.LayerNorm.weight"},
            {"out_norm.bias", "output.LayerNorm.bias"}};
        for (size_t j = 0; i < live && j < 4; j++) {
            snprintf(name, sizeof name, "%zu.%s", i, norms[j][0]);
            snprintf(prefix, sizeof prefix, "encoder.layer.%zu.%s", i, norms[j][1]);
            const rf_tensor *t = tensor("%s.%s.%s", f->c, group, prefix);
            float *want = floats(t);
            double d = worst(array(f, ours, name)->data, want, t->count, scale);
            if (!(d <= tolerance))
                fail_msg("%s %s: %s off by %g", f->c, f->d, name, d);
            free(want);
            checked++;
        }
    }
    assert_int_equal(checked, live * 12 + 4);
}

/* After the first step Adam's first moment is a tenth of the gradient. Tolerance: 2e-5 of
 * the tensor's largest value; single precision gives some 1e-6. */
static void gradients_match_pytorch(void **state)
{
    (void)state;
    static const char *const cs[] = {"A", "B"}, *const ds[] = {"d0", "d1"};
    for (size_t i = 0; i < 8; i++) {
        fixture f;
        uint32_t rows[8];
        (i < 4 ? set_up : set_up_objective)(&f, cs[i / 2 % 2], ds[i % 2], 1);
        size_t n = batch(&f, 0, rows);
        double loss = rf_fine_tune_step(f.t, rows, n, 0);
        double want = (double)scalar(tensor("%s.%s.%s", f.c, f.d, "loss"));
        if (!(fabs(loss - want) <= 2e-6 * (1.0 + want)))
            fail_msg("%s %s: loss %.8f, wanted %.8f", f.c, f.d, loss, want);
        compare_all(&f, "mean", "grad", 10.0f, 2e-5);
        tear_down(&f);
    }
}

/* Ten steps: losses to 1e-4, parameters to 2e-3 of the largest value (Adam divides by
 * the square root of a running square: rounding errors of small gradients are
 * amplified). */
static void ten_steps_match_pytorch(void **state)
{
    (void)state;
    static const char *const cs[] = {"A", "B"}, *const ds[] = {"d0", "d1"};
    for (size_t i = 0; i < 8; i++) {
        fixture f;
        uint32_t rows[8];
        (i < 4 ? set_up : set_up_objective)(&f, cs[i / 2 % 2], ds[i % 2], 2);
        float *losses = floats(tensor("%s.%s.%s", f.c, f.d, "losses"));
        for (size_t s = 0; s < 10; s++) {
            size_t n = batch(&f, s, rows);
            double loss = rf_fine_tune_step(f.t, rows, n, s);
            if (!(fabs(loss - (double)losses[s]) <= 1e-4))
                fail_msg("%s %s: loss %.7f at step %zu, wanted %.7f", f.c, f.d, loss, s,
                         (double)losses[s]);
        }
        compare_all(&f, "value", "after10", 1.0f, 2e-3);
        free(losses);
        tear_down(&f);
    }
}

static void the_schedule_is_linear(void **state)
{
    (void)state;
    float *want = floats(tensor("%s.%s%s", "A", "factors", ""));
    for (size_t s = 0; s < 10; s++)
        assert_true(fabsf(rf_fine_tune_factor(s, 10, 0.2f) - want[s]) < 1e-6f);
    free(want);
    assert_true(rf_fine_tune_factor(0, 1, 0.1f) > 0.0f); /* even a single step learns */
    assert_true(rf_fine_tune_factor(0, 1, 1.0f) > 0.0f);
}

static uint64_t fingerprint(fixture *f)
{
    size_t n;
    uint64_t h = 14695981039346656037u;
    const rf_fine_tune_array *a = rf_fine_tune_arrays(f->t, &n);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < a[i].n * sizeof(float); j++)
            h = (h ^ ((const unsigned char *)a[i].data)[j]) * 1099511628211u;
    return h;
}

static void bits_do_not_depend_on_threads(void **state)
{
    (void)state;
    uint64_t first = 0;
    for (size_t i = 0; i < 6; i++) {
        fixture f;
        rf_error err;
        size_t threads = 1 + 2 * (i % 3);
        (i < 3 ? set_up : set_up_objective)(&f, "A", "d1", threads);
        for (size_t k = 0; k < 4; k++)
            assert_int_equal(rf_fine_tune_epoch(f.t, NULL, NULL, &err), RF_OK);
        uint64_t h = fingerprint(&f);
        if (threads == 1)
            first = h;
        assert_true(h == first);
        tear_down(&f);
    }
}

/* Three epochs in one run against one epoch, a transfer of arrays and state to a new
 * trainer, and two more. */
static void a_restored_state_resumes_to_the_same_bits(void **state)
{
    (void)state;
    fixture whole, first, second;
    rf_error err;
    set_up(&whole, "A", "d1", 1);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(rf_fine_tune_epoch(whole.t, NULL, NULL, &err), RF_OK);

    set_up(&first, "A", "d1", 1);
    assert_int_equal(rf_fine_tune_epoch(first.t, NULL, NULL, &err), RF_OK);
    set_up(&second, "A", "d1", 1);
    size_t n, m;
    const rf_fine_tune_array *from = rf_fine_tune_arrays(first.t, &n);
    const rf_fine_tune_array *to = rf_fine_tune_arrays(second.t, &m);
    assert_int_equal(n, m);
    for (size_t i = 0; i < n; i++) {
        assert_string_equal(from[i].name, to[i].name);
        memcpy(to[i].data, from[i].data, to[i].n * sizeof(float));
    }
    *rf_fine_tune_where(second.t) = *rf_fine_tune_where(first.t);
    rf_fine_tune_refresh(second.t);
    tear_down(&first);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(rf_fine_tune_epoch(second.t, NULL, NULL, &err), RF_OK);
    assert_true(fingerprint(&second) == fingerprint(&whole));
    tear_down(&second);
    tear_down(&whole);
}

/* A batch too large for one part: sixty copies of seven texts, 3,000 tokens. Without
 * dropout the gradient is that of the seven. */
static void parts_add_up(void **state)
{
    (void)state;
    enum { TEXTS = 7, COPIES = 60 };
    fixture one, many;
    uint32_t rows[TEXTS * COPIES], labels[TEXTS * COPIES];
    set_up(&one, "A", "d0", 1);
    for (uint32_t i = 0; i < TEXTS; i++)
        rows[i] = i;
    double want = rf_fine_tune_step(one.t, rows, TEXTS, 0);

    set_up(&many, "A", "d0", 2);
    rf_fine_tune_free(many.t);
    size_t tokens = many.a.offsets[TEXTS], width = many.a.width;
    rf_activations all = {.n_texts = TEXTS * COPIES,
                          .width = width,
                          .longest = many.a.longest,
                          .offsets = calloc(TEXTS * COPIES + 1, sizeof(size_t)),
                          .states = malloc(COPIES * tokens * width * sizeof(float))};
    for (size_t i = 0; i < TEXTS * COPIES; i++) {
        all.offsets[i + 1] = i / TEXTS * tokens + many.a.offsets[i % TEXTS + 1];
        labels[i] = many.labels[i % TEXTS];
        rows[i] = (uint32_t)i;
    }
    for (size_t i = 0; i < COPIES; i++)
        memcpy(all.states + i * tokens * width, many.a.states,
               tokens * width * sizeof(float));
    assert_true(all.offsets[TEXTS * COPIES] > 2048);
    const rf_settings o = {.epochs = 10,
                           .batch = TEXTS * COPIES,
                           .patience = 10,
                           .encoder_rate = 1e-3f,
                           .known_rate = 1e-3f};
    rf_error err;
    many.t = rf_fine_tune_new(
        &many.e, many.e.config.layers, &many.known, (rf_labelled){&all, labels},
        (rf_labelled){&many.none, NULL}, NULL, &o, 0, many.team, &err);
    assert_non_null(many.t);
    double got = rf_fine_tune_step(many.t, rows, TEXTS * COPIES, 0);
    assert_true(fabs(got - want) < 1e-5);
    size_t n;
    const rf_fine_tune_array *a = rf_fine_tune_arrays(many.t, &n);
    for (size_t i = 0; i < n; i++) {
        if (strncmp(a[i].name, "mean.", 5) != 0 || strstr(a[i].name, "qkv.bias"))
            continue; /* the gradient of the key's bias is only noise */
        const rf_fine_tune_array *w = array(&one, "mean", a[i].name + 5);
        double d = worst(a[i].data, w->data, w->n, 1.0f);
        if (!(d < 2e-5))
            fail_msg("%s off by %g", a[i].name, d);
    }
    tear_down(&one);
    tear_down(&many);
    free(all.offsets);
    free(all.states);
}

static int stop_at_once(void *user, size_t done)
{
    (void)done;
    return ++*(int *)user;
}

static void stop_requests_are_honoured(void **state)
{
    (void)state;
    fixture f;
    rf_error err;
    int calls = 0;
    set_up(&f, "A", "d0", 2);
    assert_int_equal(rf_fine_tune_epoch(f.t, stop_at_once, &calls, &err), RF_ERR_STOPPED);
    assert_int_equal(calls, 1);
    tear_down(&f);
}

int main(void)
{
    rf_error err;
    if (rf_safetensors_open(&golden, GOLDEN_DIR "/tune.safetensors", &err) != RF_OK) {
        fprintf(stderr, "%s\n", err.msg);
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_match_pytorch),
        cmocka_unit_test(ten_steps_match_pytorch),
        cmocka_unit_test(the_schedule_is_linear),
        cmocka_unit_test(bits_do_not_depend_on_threads),
        cmocka_unit_test(a_restored_state_resumes_to_the_same_bits),
        cmocka_unit_test(parts_add_up),
        cmocka_unit_test(stop_requests_are_honoured),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    rf_safetensors_close(&golden);
    return failed;
}
