/*
 * test_cosine_objectives.c - stage 1 of DeepUnk, DA-ADB and KNN-contrastive against
 * PyTorch in double precision (tools/make_cosine_golden.py): loss and dloss / dz of three
 * steps, the parameters after them, the dev score; and without a reference: one class,
 * features far out, the key encoder, the fences.
 *
 * Tolerances: losses 2e-6 relative; dloss / dz 1e-5 of the largest of the step;
 * parameters (0.1 to 0.5) 2e-6 + 1e-5 of themselves: Adam's eps of 1e-3 keeps it from
 * magnifying rounding of small gradients.
 */
#include "base/memory.h"
#include "base/rng.h"
#include "encoder/safetensors.h"
#include "near.h"
#include "num/panels.h"
#include "methods/methods.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH 24
#define CLASSES 5
#define ROWS 30
#define BATCH 8
#define STEPS 3
#define SEED 77
#define DROPOUT 0.2f

static rf_safetensors golden;

static int open_golden(void **state)
{
    (void)state;
    return rf_safetensors_open(&golden, GOLDEN_DIR "/cosine.safetensors", NULL) != RF_OK;
}

static int close_golden(void **state)
{
    (void)state;
    rf_safetensors_close(&golden);
    return 0;
}

/* The tensor "ab", which must have `want` numbers of 4 bytes; read in place. */
static const void *load(const char *a, const char *b, size_t want)
{
    char name[96];
    snprintf(name, sizeof name, "%s%s", a, b);
    const rf_tensor *t = rf_safetensors_find(&golden, name);
    if (!t || t->count != want || rf_dtype_size(t->dtype) != 4)
        fail_msg("%s: found %zu numbers, wanted %zu", name, t ? t->count : 0, want);
    return t->data;
}

static rf_adam adam_at(size_t step)
{
    return (rf_adam){.rate = 1e-2f,
                     .beta1 = 0.9f,
                     .beta2 = 0.999f,
                     .eps = 1e-3f,
                     .decay = 0.01f,
                     .fix1 = (float)(1.0 / (1.0 - pow(0.9, (double)step + 1.0))),
                     .fix2 = (float)(1.0 / (1.0 - pow(0.999, (double)step + 1.0)))};
}

/* ---- An objective on given features: no layer is trained --------------------------- */

typedef struct fixture {
    const rf_method *method;
    rf_known known;
    rf_encoder e; /* sizes only: no layer is run */
    rf_activations texts;
    const float *z;
    uint32_t class_of[ROWS];
    rf_team *team;
    rf_settings options;
    rf_objective_setting setting;
    rf_objective *o;
} fixture;

/* z [rows, width] as the pooled vectors of texts. */
static void pooled_texts(rf_activations *a, const float *z, size_t rows, size_t width)
{
    *a = (rf_activations){
        .n_texts = rows, .width = width, .layer = 1, .n_tokens = rows, .longest = 1};
    a->offsets = calloc(rows + 1, sizeof *a->offsets);
    a->bytes = rows * width * sizeof(float);
    a->states = rf_floats_new(rows * width);
    assert_true(a->offsets && a->states);
    for (size_t i = 0; i <= rows; i++)
        a->offsets[i] = i;
    memcpy(a->states, z, a->bytes);
}

/* A parameter as rows, from panels or as it is. */
static void param_rows(float *rows, const rf_objective_param *p, size_t out)
{
    if (strstr(p->name, "weight"))
        rf_panels_unpack(rows, p->value, out, WIDTH);
    else
        memcpy(rows, p->value, out * sizeof *rows);
}

static size_t outputs(const rf_objective_param *p)
{
    return strcmp(p->name, "known.out.weight") == 0 ||
                   strcmp(p->name, "known.out.bias") == 0
               ? CLASSES
               : WIDTH;
}

static void set_up(fixture *f, const rf_method *method, bool textoir, size_t threads)
{
    rf_error err = {0};
    *f = (fixture){.method = method, .z = load("z", "", ROWS * WIDTH)};
    memcpy(f->class_of, load("class_of", "", ROWS), sizeof f->class_of);
    assert_int_equal(rf_known_init(&f->known, WIDTH, CLASSES, &err), RF_OK);
    f->known.form = method->form;
    f->e.config =
        (rf_config){.layers = 1, .width = WIDTH, .heads = 2, .inner = 32, .positions = 8};
    pooled_texts(&f->texts, f->z, ROWS, WIDTH);
    f->team = rf_team_new(threads, &err);
    assert_non_null(f->team);
    f->options = (rf_settings){.cosine_scale = 30.0f,
                               .cosine_margin = 0.35f,
                               .queue = 28,
                               .top = 4,
                               .momentum = 0.9f,
                               .contrast_weight = 0.3f,
                               .contamination = 0.05f,
                               .textoir = textoir};
    f->setting = (rf_objective_setting){.known = &f->known,
                                        .width = WIDTH,
                                        .classes = CLASSES,
                                        .batch = BATCH,
                                        .texts = &f->texts,
                                        .class_of = f->class_of,
                                        .encoder = &f->e,
                                        .team = f->team,
                                        .seed = SEED,
                                        .o = &f->options};
    f->o = method->objective(&f->setting, &err);
    if (!f->o)
        fail_msg("%s", err.msg);
    for (size_t i = 0; i < f->o->n_params; i++) {
        rf_objective_param *p = &f->o->params[i];
        size_t out = outputs(p);
        bool matrix = strstr(p->name, "weight") != NULL;
        assert_int_equal(p->n, matrix ? rf_panels_floats(out, WIDTH) : out);
        const float *rows = load(p->name, "", matrix ? out * WIDTH : out);
        if (matrix)
            rf_panels_pack(p->value, rows, out, WIDTH);
        else
            memcpy(p->value, rows, out * sizeof *rows);
    }
    f->o->refresh(f->o);
}

static void tear_down(fixture *f)
{
    rf_objective_free(f->o);
    rf_known_release(&f->known);
    rf_activations_release(&f->texts);
    rf_team_free(f->team);
}

/* Step number `step` on its rows of the golden file. */
static double take_step(fixture *f, size_t step, float dropout, float *dz)
{
    const uint32_t *rows = (const uint32_t *)load("batches", "", STEPS * BATCH);
    float z[BATCH * WIDTH];
    uint32_t mine[BATCH], class_of[BATCH];
    rf_error err = {0};
    for (size_t i = 0; i < BATCH; i++) {
        mine[i] = rows[step * BATCH + i];
        class_of[i] = f->class_of[mine[i]];
        memcpy(z + i * WIDTH, f->z + mine[i] * WIDTH, WIDTH * sizeof *z);
    }
    if (f->o->before_epoch && step % 2 == 0)
        assert_int_equal(f->o->before_epoch(f->o, f->z, step / 2, &err), RF_OK);
    rf_adam adam = adam_at(step);
    const rf_objective_batch batch = {.n = BATCH,
                                      .z = z,
                                      .rows = mine,
                                      .class_of = class_of,
                                      .step = step,
                                      .seed = SEED,
                                      .dropout = dropout,
                                      .adam = &adam};
    return f->o->step(f->o, &batch, dz);
}

static void check_params(const fixture *f, const char *name)
{
    float rows[WIDTH * WIDTH];
    for (size_t i = 0; i < f->o->n_params; i++) {
        const rf_objective_param *p = &f->o->params[i];
        char what[96];
        size_t out = outputs(p), n = strstr(p->name, "weight") ? out * WIDTH : out;
        snprintf(what, sizeof what, "%s.after3.%s", name, p->name);
        param_rows(rows, p, out);
        assert_near(what, rows, load(what, "", n), n, 2e-6, 1e-5);
    }
}

static void check_dev(fixture *f, const char *name)
{
    const float *want = load(name, ".dev", 2);
    double score, loss;
    f->o->look_at_dev(f->o, f->z, f->class_of, ROWS, &score, &loss);
    const float got[2] = {(float)score, (float)loss};
    assert_near("dev", got, want, 2, 0.0, 1e-5);
}

static void follow_pytorch(const char *name, const rf_method *method, bool textoir,
                           float dropout)
{
    fixture f;
    float dz[BATCH * WIDTH];
    const float *losses = load(name, ".loss", STEPS);
    const float *want = load(name, ".dz", STEPS * BATCH * WIDTH);
    set_up(&f, method, textoir, 1);
    for (size_t step = 0; step < STEPS; step++, want += BATCH * WIDTH) {
        float loss = (float)take_step(&f, step, dropout, dz), largest = 0.0f;
        assert_near(name, &loss, losses + step, 1, 0.0, 2e-6);
        for (size_t i = 0; i < BATCH * WIDTH; i++)
            largest = fmaxf(largest, fabsf(want[i]));
        assert_true(largest > 0.0f);
        assert_near(name, dz, want, BATCH * WIDTH, 1e-5 * (double)largest, 0.0);
    }
    check_params(&f, name);
    check_dev(&f, name);
    tear_down(&f);
}

static void deepunk_matches_pytorch(void **state)
{
    (void)state;
    follow_pytorch("deepunk", &rf_method_deepunk, false, 0.0f);
    follow_pytorch("deepunk.drop", &rf_method_deepunk, false, DROPOUT);
    follow_pytorch("deepunk.textoir", &rf_method_deepunk, true, 0.0f);
}

static void da_adb_matches_pytorch(void **state)
{
    (void)state;
    follow_pytorch("da_adb", &rf_method_da_adb, false, 0.0f);
    follow_pytorch("da_adb.drop", &rf_method_da_adb, false, DROPOUT);
}

static void knncl_matches_pytorch(void **state)
{
    (void)state;
    follow_pytorch("knncl", &rf_method_knncl, false, 0.0f);
    follow_pytorch("knncl.drop", &rf_method_knncl, false, DROPOUT);
    follow_pytorch("knncl.textoir", &rf_method_knncl, true, 0.0f);
}

/* Parameter names must differ: they name the arrays of a checkpoint. */
static void parameters_are_listed(void **state)
{
    (void)state;
    const rf_method *const methods[] = {&rf_method_deepunk, &rf_method_da_adb,
                                        &rf_method_knncl};
    for (size_t m = 0; m < 3; m++) {
        fixture f;
        set_up(&f, methods[m], false, 1);
        assert_int_equal(f.o->n_params, m == 2 ? 8 : 4);
        for (size_t i = 0; i < f.o->n_params; i++) {
            assert_true(f.o->params[i].m && f.o->params[i].v);
            for (size_t j = 0; j < i; j++)
                assert_string_not_equal(f.o->params[i].name, f.o->params[j].name);
        }
        tear_down(&f);
    }
}

/* ---- DA-ADB at its limits ---------------------------------------------------------- */

/* Centroids thousands apart: exp() of that overflows a float. */
static void far_features_stay_finite(void **state)
{
    (void)state;
    fixture f;
    float dz[BATCH * WIDTH], *far = malloc(ROWS * WIDTH * sizeof *far);
    assert_non_null(far);
    set_up(&f, &rf_method_da_adb, false, 1);
    for (size_t i = 0; i < ROWS * WIDTH; i++)
        far[i] = 3e3f * f.z[i];
    f.z = far;
    double loss = take_step(&f, 0, 0.0f, dz);
    assert_true(isfinite(loss));
    assert_true(rf_kernels()->all_finite(dz, BATCH * WIDTH));
    assert_true(rf_kernels()->all_finite(f.known.block, f.known.floats));
    far[3] = INFINITY;
    rf_error err = {0};
    assert_int_equal(f.o->before_epoch(f.o, far, 1, &err), RF_ERR_NUMERIC);
    free(far);
    tear_down(&f);
}

/* One class: cross entropy over one logit is 0, and so is every gradient. */
static void one_class_is_enough(void **state)
{
    (void)state;
    fixture f;
    rf_error err = {0};
    float dz[BATCH * WIDTH];
    set_up(&f, &rf_method_da_adb, false, 1);
    rf_objective_free(f.o);
    rf_known_release(&f.known);
    assert_int_equal(rf_known_init(&f.known, WIDTH, 1, &err), RF_OK);
    rf_known_reset(&f.known, 5);
    f.known.form = RF_KNOWN_COSINE;
    memset(f.class_of, 0, sizeof f.class_of);
    f.setting.classes = 1;
    f.o = f.method->objective(&f.setting, &err);
    assert_non_null(f.o);
    assert_true(fabs(take_step(&f, 0, 0.0f, dz)) < 1e-6);
    for (size_t i = 0; i < BATCH * WIDTH; i++)
        assert_true(fabsf(dz[i]) < 1e-6f);
    tear_down(&f);
}

/* ---- KNN-contrastive with an encoder ----------------------------------------------- */

#define TEXTS 12

static const char *const words[TEXTS] = {"cancel my order",    "please cancel the order",
                                         "order cancel",       "cancel it",
                                         "where is my refund", "refund when",
                                         "when is the refund", "where is it",
                                         "hello you",          "hello and thank you",
                                         "thank you",          "hello hello"};

typedef struct knncl_run {
    rf_encoder *e;
    rf_known known;
    rf_activations texts;
    rf_team *team;
    rf_settings options;
    rf_objective *o;
    uint32_t class_of[TEXTS], rows[TEXTS];
    float *z, *dz;
} knncl_run;

static void knncl_start(knncl_run *r, size_t threads, float momentum)
{
    rf_error err = {0};
    size_t lens[TEXTS];
    *r = (knncl_run){.team = rf_team_new(threads, &err)};
    r->e = rf_encoder_load_half(GOLDEN_DIR "/tiny/encoder", &err);
    assert_true(r->team && r->e);
    size_t width = r->e->config.width, layers = r->e->config.layers;
    for (size_t i = 0; i < TEXTS; i++) {
        lens[i] = strlen(words[i]);
        r->class_of[i] = (uint32_t)i / 4;
        r->rows[i] = (uint32_t)i;
    }
    const rf_activation_options a = {
        .layer = layers - 1, .max_tokens = 16, .cache_bytes = SIZE_MAX};
    assert_int_equal(
        rf_activations_init(&r->texts, r->e, words, lens, TEXTS, &a, r->team, &err),
        RF_OK);
    assert_int_equal(rf_known_init(&r->known, width, 3, &err), RF_OK);
    rf_known_reset(&r->known, SEED);
    r->options = (rf_settings){.queue = 7500,
                               .top = 25,
                               .momentum = momentum,
                               .contrast_weight = 0.5f,
                               .contamination = 0.05f};
    const rf_objective_setting s = {.known = &r->known,
                                    .width = width,
                                    .classes = 3,
                                    .batch = TEXTS,
                                    .texts = &r->texts,
                                    .class_of = r->class_of,
                                    .encoder = r->e,
                                    .encoder_dir = GOLDEN_DIR "/tiny/encoder",
                                    .live = 1,
                                    .team = r->team,
                                    .seed = SEED,
                                    .o = &r->options};
    r->o = rf_method_knncl.objective(&s, &err);
    if (!r->o)
        fail_msg("%s", err.msg);
    r->z = rf_floats_new(2 * TEXTS * width);
    assert_non_null(r->z);
    r->dz = r->z + TEXTS * width;
    assert_int_equal(
        rf_activations_features(&r->texts, r->e, r->z, r->team, NULL, NULL, &err), RF_OK);
}

static double knncl_step(knncl_run *r, size_t step, float dropout)
{
    rf_adam adam = adam_at(step);
    const rf_objective_batch batch = {.n = TEXTS,
                                      .z = r->z,
                                      .rows = r->rows,
                                      .class_of = r->class_of,
                                      .step = step,
                                      .seed = SEED,
                                      .dropout = dropout,
                                      .adam = &adam};
    return r->o->step(r->o, &batch, r->dz);
}

static void knncl_finish(knncl_run *r)
{
    rf_objective_free(r->o);
    rf_known_release(&r->known);
    rf_activations_release(&r->texts);
    rf_encoder_free(r->e);
    rf_team_free(r->team);
    free(r->z);
}

static void knncl_learns_the_same_with_any_threads(void **state)
{
    (void)state;
    double first = 0.0, last[3], score, loss;
    for (size_t threads = 1; threads <= 3; threads++) {
        knncl_run r;
        knncl_start(&r, threads, 0.99f);
        for (size_t step = 0; step < 60; step++) {
            last[threads - 1] = knncl_step(&r, step, 0.1f);
            if (step == 0)
                first = last[threads - 1];
        }
        assert_true(last[threads - 1] == last[0]);
        r.o->look_at_dev(r.o, r.z, r.class_of, TEXTS, &score, &loss);
        assert_true(score == 100.0);
        knncl_finish(&r);
    }
    assert_true(last[0] < 0.6 * first);
}

/* The loss of a second step after the trained encoder changed but the features did not:
 * only the keys can change it. */
static double second_loss(float momentum, bool change)
{
    knncl_run r;
    knncl_start(&r, 2, momentum);
    knncl_step(&r, 0, 0.0f);
    rf_layer_group g = rf_encoder_layer_group(r.e, r.e->config.layers - 1, 4);
    for (size_t i = 0; change && i < g.out; i++)
        g.bias[i] += 2.0f * (float)(i % 3);
    double loss = knncl_step(&r, 1, 0.0f);
    knncl_finish(&r);
    return loss;
}

static void the_key_encoder_follows(void **state)
{
    (void)state;
    assert_true(second_loss(1.0f, true) == second_loss(1.0f, false));
    assert_true(second_loss(0.5f, false) == second_loss(0.5f, false));
    assert_true(fabs(second_loss(0.5f, true) - second_loss(0.5f, false)) > 1e-5);
}

/* ---- Fences ------------------------------------------------------------------------ */

/* Fitted to the training rows: most of them are inside (of ADB's, half), points far from
 * all are not. */
static void check_fence(const rf_method *m)
{
    fixture f;
    rf_error err = {0};
    set_up(&f, m, false, 2);
    float dz[BATCH * WIDTH], hidden[ROWS * WIDTH], logits[ROWS * CLASSES];
    float margins[ROWS * CLASSES];
    rf_verdict v[ROWS];
    for (size_t i = 0; i < 60; i++)
        take_step(&f, i % STEPS, 0.0f, dz);
    rf_method_state fence = {.width = WIDTH, .classes = CLASSES};
    f.options.neighbours = 5;
    f.options.boundary_epochs = 1000;
    f.options.boundary_rate = 0.05f;
    const rf_fit in = {.width = WIDTH,
                       .classes = CLASSES,
                       .rows = ROWS,
                       .z = f.z,
                       .class_of = f.class_of,
                       .known = &f.known,
                       .o = &f.options,
                       .seed = SEED,
                       .team = f.team};
    assert_int_equal(m->fit(&fence, &in, &err), RF_OK);
    assert_int_equal(m->prepare(&fence, &err), RF_OK);
    float *scratch = rf_floats_new(m->scratch ? m->scratch(&fence) + 1 : 1);
    assert_non_null(scratch);
    for (size_t far = 0; far < 2; far++) {
        float z[ROWS * WIDTH];
        size_t inside = 0, right = 0;
        for (size_t i = 0; i < ROWS * WIDTH; i++)
            z[i] = far ? (i / WIDTH + i) % 2 ? 9.0f : -9.0f : f.z[i];
        rf_known_logits(&f.known, z, ROWS, logits, hidden);
        const rf_signals s = {.n = ROWS, .z = z, .hidden = hidden, .logits = logits};
        m->judge(&fence, &s, v, margins, scratch);
        for (size_t i = 0; i < ROWS; i++) {
            inside += margins[i * CLASSES + v[i].fence] >= 0.0f;
            right += v[i].nearest == f.class_of[i];
        }
        if (far)
            assert_true(inside == 0);
        else
            assert_true(inside >= ROWS * 2 / 5 && right >= ROWS * 9 / 10);
        /* DeepUnk's depends on directions only. */
        float first = margins[0];
        for (size_t i = 0; i < ROWS * WIDTH; i++)
            hidden[i] *= 4.0f;
        m->judge(&fence, &s, v, margins, scratch);
        assert_true(m != &rf_method_deepunk || margins[0] == first);
    }
    free(scratch);
    if (m->release)
        m->release(&fence);
    rf_method_state_release(&fence);
    tear_down(&f);
}

static void fences_hold(void **state)
{
    (void)state;
    check_fence(&rf_method_deepunk);
    check_fence(&rf_method_knncl);
    check_fence(&rf_method_da_adb);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deepunk_matches_pytorch),
        cmocka_unit_test(da_adb_matches_pytorch),
        cmocka_unit_test(knncl_matches_pytorch),
        cmocka_unit_test(parameters_are_listed),
        cmocka_unit_test(far_features_stay_finite),
        cmocka_unit_test(one_class_is_enough),
        cmocka_unit_test(knncl_learns_the_same_with_any_threads),
        cmocka_unit_test(the_key_encoder_follows),
        cmocka_unit_test(fences_hold),
    };
    return cmocka_run_group_tests(tests, open_golden, close_golden);
}
