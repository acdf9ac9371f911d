/*
 * test_ans_reference.c - examples/ans_reference.c computes what the product computes
 *
 * The reference is plain C with sums in another order, so floats agree to rounding and
 * everything drawn or counted agrees exactly. One step is checked against Algorithm 1 in
 * PyTorch (double precision, tests/golden/ans.safetensors) with the tolerances of
 * test_ans_step.c; settings, statistics, training and fences against the product itself.
 */
#define ANS_REFERENCE_TEST
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function" /* evaluate is called only by main */
#include "../../examples/ans_reference.c"
#pragma GCC diagnostic pop
#undef STEP
#undef POSITIVES
#undef NEGATIVES

#include "ans/ans_head.h"
#include "base/rng.h"
#include "base/streams.h"
#include "blobs.h"
#include "encoder/safetensors.h"
#include "near.h"
#include "num/panels.h"
#include "num/train.h"
#include "scratch.h"
#include "stages/fence_line.h"
#include "stages/train_settings.h"

/* ---- Random numbers ---------------------------------------------------------------- */

static void draws_are_the_same(void **state)
{
    (void)state;
    const char *const labels[] = {"", "a", "charged_twice", "\xc3\xa9"};
    for (uint64_t i = 0; i < 40; i++) {
        const char *label = labels[i % 4];
        uint64_t key = stream(label_key(label), 1 + i % 7, i * i);
        assert_true(label_key(label) == rf_label_key(label));
        assert_true(key == rf_rng_key(0, rf_label_key(label), 1 + i % 7, i * i));
        rf_rng a = rf_rng_open(key), b = a;
        for (uint64_t k = 0; k < 100; k++) {
            assert_true(draw(key, k) == rf_rng_next(&a));
            assert_true(uniform(key, k) == rf_rng_uniform(&b));
        }
        size_t mine[97], n = (size_t)i * 2 + 1;
        uint32_t theirs[97];
        for (size_t k = 0; k < n; k++)
            mine[k] = theirs[k] = (uint32_t)k;
        rf_rng r = rf_rng_open(key);
        shuffle(mine, n, key);
        rf_rng_shuffle(&r, theirs, n);
        for (size_t k = 0; k < n; k++)
            assert_int_equal(mine[k], theirs[k]);
    }
}

static void streams_have_the_same_names(void **state)
{
    (void)state;
    static const struct {
        uint64_t mine;
        rf_stream theirs;
    } pairs[] = {
        {FIRST_WEIGHTS, RF_STREAM_ANS_WEIGHTS}, {OWN_ORDER, RF_STREAM_ANS_OWN_ORDER},
        {REST_ORDER, RF_STREAM_ANS_REST_ORDER}, {NOISE, RF_STREAM_ANS_NOISE},
        {DROPOUT_1, RF_STREAM_ANS_DROP_1},      {DROPOUT_2, RF_STREAM_ANS_DROP_2},
        {MOVE, RF_STREAM_ANS_OWN_NOISE},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        assert_true(stream(5, pairs[i].mine, 6) ==
                    rf_stream_key(0, pairs[i].theirs, 5, 6));
}

/* The product's log, cos and sin are polynomials, off by 2e-7 each: of draws up to 5.8
 * (one in 2^24), 2e-6. */
static void normal_draws_agree(void **state)
{
    (void)state;
    static float mine[100000], theirs[100000];
    for (size_t i = 0; i < 100000; i++)
        mine[i] = normal(stream(1, NOISE, 2), i);
    rf_train_kernels()->normal(theirs, 100000,
                               rf_stream_key(0, RF_STREAM_ANS_NOISE, 1, 2));
    assert_near("normal", mine, theirs, 100000, 2e-6, 0);
}

/* Rows of 64, some values negative: the same units are dropped, and the others match to
 * the bit. */
static void dropout_is_the_same(void **state)
{
    (void)state;
    float x[20 * H2], want[20 * H2];
    const float p[] = {0.0f, 0.1f, 0.25f, 0.9f};
    for (size_t k = 0; k < 4; k++) {
        for (size_t i = 0; i < 20 * H2; i++) {
            x[i] = normal(7, i);
            want[i] = x[i] > 0.0f ? x[i] : 0.0f;
        }
        rf_train_kernels()->dropout(want, want, 20 * H2, p[k], 11);
        for (size_t row = 0; row < 20; row++)
            relu_forward(x + row * H2, H2, p[k], 11, row);
        assert_memory_equal(x, want, sizeof x);
    }
}

/* ---- One step, against PyTorch ----------------------------------------------------- */

#define G_WIDTH 24
#define G_OWN 5
#define G_OTHERS 7
#define G_STEPS 3
#define G_ASCENT_RATE 0.3f
#define G_RATE 1e-3f

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

/* The tensor "a.b", as the file has it. */
static const void *tensor(const char *a, const char *b, size_t want)
{
    char name[64];
    snprintf(name, sizeof name, "%s%s%s", a, *b ? "." : "", b);
    const rf_tensor *t = rf_safetensors_find(&golden, name);
    if (!t || t->count != want)
        fail_msg("%s: found %zu numbers, wanted %zu", name, t ? t->count : 0, want);
    return t->data;
}

/* The parts of a head; the file has [out, in], the reference [in, out]. */
static const struct {
    const char *name;
    size_t in, out;
} parts[] = {{"w1", G_WIDTH, H1}, {"b1", 1, H1}, {"w2", H1, H2},
             {"b2", 1, H2},       {"w3", H2, 1}, {"b3", 1, 1}};

static float *part_of(const head *h, size_t i)
{
    float *const at[] = {h->w1, h->b1, h->w2, h->b2, h->w3, h->b3};
    return at[i];
}

/* to [n, m] = from [m, n] */
static void transpose(float *to, const float *from, size_t m, size_t n)
{
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++)
            to[j * m + i] = from[i * n + j];
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

/* The rows of a step, synthetic ones included: x [5 + 7 + 5, width]. */
static size_t golden_batch(float *x, const struct variant *v, const head *h, size_t step)
{
    const float *z = tensor("z", "", 40 * G_WIDTH);
    const float *noise = tensor("noise", "", G_STEPS * G_OWN * G_WIDTH);
    const uint32_t *own = tensor("positives", "", G_STEPS * G_OWN);
    const uint32_t *others = tensor("negatives", "", G_STEPS * G_OTHERS);
    const size_t row = G_WIDTH * sizeof(float), n = G_OWN * G_WIDTH;
    for (size_t i = 0; i < G_OWN; i++)
        memcpy(x + i * G_WIDTH, z + own[step * G_OWN + i] * G_WIDTH, row);
    for (size_t i = 0; i < G_OTHERS; i++)
        memcpy(x + (G_OWN + i) * G_WIDTH, z + others[step * G_OTHERS + i] * G_WIDTH, row);
    if (v->lambda == 0.0f)
        return 0;
    float *eps = x + (G_OWN + G_OTHERS) * G_WIDTH;
    memcpy(eps, noise + step * n, n * sizeof(float));
    for (size_t k = 1; k <= v->ascent; k++) {
        for (size_t i = 0; i < G_OWN; i++)
            ascend(eps + i * G_WIDTH, x + i * G_WIDTH, h, 1, G_ASCENT_RATE);
        const float *want = tensor(v->name, "eps", (1 + v->ascent) * n);
        if (step == 0)
            assert_near("eps", eps, want + k * n, n, 2e-6, 0);
    }
    for (size_t i = 0; i < G_OWN && v->project; i++)
        project(eps + i * G_WIDTH, G_WIDTH, 4.0f, 2.0f);
    if (step == 0)
        assert_near("projected", eps, tensor(v->name, "projected", n), n, 2e-6, 0);
    for (size_t i = 0; i < n; i++)
        eps[i] += x[i];
    return G_OWN;
}

/* Parameters after Adam: a gradient that is 1e-7 off moves one by rate 1e-7 / |gradient|,
 * at most by two rates (test_ans_step.c, assert_moved). */
static void assert_moved(const char *name, const head *h, size_t steps)
{
    static float want[H1 * H2], gradient[H1 * H2];
    for (size_t i = 0; i < 6; i++) {
        char moved[32], grad[32];
        size_t in = parts[i].in, out = parts[i].out;
        snprintf(moved, sizeof moved, "%s.after%zu", name, steps);
        snprintf(grad, sizeof grad, "%s.grad", name);
        transpose(want, tensor(moved, parts[i].name, in * out), out, in);
        transpose(gradient, tensor(grad, parts[i].name, in * out), out, in);
        for (size_t j = 0; j < in * out; j++) {
            double ratio = 1e-3 + 1e-7 / fabs((double)gradient[j]);
            double most = (double)steps * (1e-7 + (double)G_RATE * fmin(2.0, ratio));
            double got = (double)part_of(h, i)[j];
            if (!(fabs(got - (double)want[j]) <= most))
                fail_msg("%s.%s[%zu]: got %.9g want %.9g", moved, parts[i].name, j, got,
                         (double)want[j]);
        }
    }
}

static void steps_follow_the_algorithm(void **state)
{
    const struct variant *v = *state;
    head h = new_head(G_WIDTH), gradient = new_head(G_WIDTH);
    head moment1 = new_head(G_WIDTH), moment2 = new_head(G_WIDTH);
    float x[(G_OWN + G_OTHERS + G_OWN) * G_WIDTH];
    static float want[H1 * H2];
    const float *losses = tensor(v->name, "loss", G_STEPS);
    for (size_t i = 0; i < 6; i++)
        transpose(part_of(&h, i), tensor(parts[i].name, "", parts[i].in * parts[i].out),
                  parts[i].out, parts[i].in);
    for (size_t step = 0; step < G_STEPS; step++) {
        size_t synthetic = golden_batch(x, v, &h, step);
        dropout drop = {v->dropout, rf_rng_key(5, 6, 1, step), rf_rng_key(5, 6, 2, step)};
        float loss = loss_and_gradient(&gradient, &h, x, G_OWN, G_OTHERS, synthetic, 1.3f,
                                       v->lambda, &drop);
        assert_near("loss", &loss, losses + step, 1, step ? 1e-5 : 2e-6, 0);
        for (size_t i = 0; i < 6 && step == 0; i++) {
            char name[32];
            size_t n = parts[i].in * parts[i].out;
            if (!v->whole && strcmp(parts[i].name, "w2") == 0)
                continue;
            snprintf(name, sizeof name, "%s.grad", v->name);
            transpose(want, tensor(name, parts[i].name, n), parts[i].out, parts[i].in);
            assert_near(parts[i].name, part_of(&gradient, i), want, n, 1e-7, 1e-5);
        }
        adam(&h, &gradient, &moment1, &moment2, step + 1, G_RATE);
        if (v->whole && (step == 0 || step + 1 == G_STEPS))
            assert_moved(v->name, &h, step + 1);
    }
    free(h.w1), free(gradient.w1), free(moment1.w1), free(moment2.w1);
}

/* ---- Settings, statistics, training, fences: against the product ------------------- */

static rf_settings product_settings(size_t n_rows, size_t classes, size_t steps)
{
    rf_train_options options = rf_train_options_default();
    rf_settings o = rf_settings_default();
    const rf_config config = {.layers = 6, .width = 384, .heads = 12, .positions = 512};
    rf_error err = {0};
    o.head_steps = steps;
    options.method = "heads";
    if (rf_train_resolve(&options, &o, &config, n_rows, classes, &err) != RF_OK)
        fail_msg("%s", err.msg);
    settings s = default_settings(n_rows, classes, steps);
    assert_near("negative weight", &s.negative_weight, &o.negative_weight, 1, 0, 0);
    assert_near("positive noise", &s.positive_noise, &o.positive_noise, 1, 0, 0);
    assert_true((float)s.fence_reject == o.fence_reject);
    return o;
}

static void settings_are_the_defaults(void **state)
{
    (void)state;
    for (size_t each = 1; each < 300; each += each < 12 ? 1 : 13)
        product_settings(each * 7 + 3, 7, 600);
    rf_settings o = product_settings(700, 7, 600);
    assert_int_equal(product_settings(700, 7, 0).head_steps, 600);
    assert_int_equal(o.head_positives, 8);
    assert_int_equal(o.head_negatives, 64);
    assert_int_equal(o.ascent_steps, ASCENT_STEPS);
    assert_int_equal(o.head_max_steps, 3 * o.head_steps);
    assert_int_equal(o.head_cool_steps, o.head_steps / 4);
    assert_true(o.head_rate == RATE && o.head_dropout == DROPOUT && o.lambda == LAMBDA);
    assert_true(o.rho == 1.0f && o.radius == 0.0f && o.gamma == GAMMA);
    assert_true(o.ascent_rate == ASCENT_RATE && o.target_recall == RECALL);
    assert_true(o.noise && o.projection);
}

static const size_t sizes[] = {40, 8, 3, 25, 60};
#define CLASSES 5

/* The blobs in the format of the reference. */
static rows rows_of(const blobs *b)
{
    rows r = {.n = b->rows, .width = WIDTH, .z = b->z};
    r.class_of = alloc(r.n, sizeof *r.class_of);
    for (size_t i = 0; i < r.n; i++)
        r.class_of[i] = b->class_of[i];
    return r;
}

/* Both sum in double; what is rounded to float may differ in the last bit. */
static void statistics_agree(void **state)
{
    (void)state;
    blobs b;
    blobs_make(&b, CLASSES, sizes, 1.0f);
    rows r = rows_of(&b);
    for (size_t m = 0; m < CLASSES; m++) {
        class_stats c = measure_class(&r, m);
        assert_near("mean", c.mean, b.stats.mean + m * WIDTH, WIDTH, 1e-12, 1.2e-7);
        assert_near("variance", c.variance, b.stats.variance + m * WIDTH, WIDTH, 1e-12,
                    1.2e-7);
        assert_near("distance", &c.distance, b.stats.distance + m, 1, 0, 1.2e-7);
        free(c.mean), free(c.variance);
    }
    free(r.class_of);
    blobs_release(&b);
}

/* Trains every head twice, by the product and by the reference; returns the largest
 * difference between margins over all rows and heads. Steps agree, extensions included.
 * heads: [CLASSES], the caller frees them. */
static double train_both(head *heads, rf_heads *theirs, const blobs *b, size_t steps)
{
    rf_settings o = product_settings(b->rows, b->classes, steps);
    settings s = default_settings(b->rows, b->classes, steps);
    rf_class_report reports[CLASSES];
    rows r = rows_of(b);
    rf_fit problem = b->problem;
    double worst = 0.0;
    problem.seed = 0;
    train_heads(theirs, &problem, &o, 1, reports);
    for (size_t m = 0; m < CLASSES; m++) {
        class_stats c = measure_class(&r, m);
        heads[m] = new_head(WIDTH);
        assert_int_equal(train_head(&heads[m], &r, m, b->key[m], &c, &s),
                         reports[m].steps);
        for (size_t i = 0; i < b->rows; i++)
            worst = fmax(worst, fabs((double)margin(&heads[m], b->z + i * WIDTH) -
                                     (double)margin_of(theirs, m, b->z + i * WIDTH)));
        free(c.mean), free(c.variance);
    }
    free(r.class_of);
    return worst;
}

static void release_both(head *heads, rf_heads *theirs)
{
    for (size_t m = 0; m < CLASSES; m++)
        free(heads[m].w1);
    rf_method_state_release(theirs);
}

/* Without learning: the initial weights, to the bit. */
static void first_weights_are_the_same(void **state)
{
    (void)state;
    static float got[H1 * H2], want[H1 * H2];
    for (uint64_t key = 1; key < 4; key++) {
        rf_settings o = rf_settings_default();
        rf_class_report report[1];
        const size_t one[] = {9};
        blobs b;
        rf_heads theirs;
        head h = new_head(WIDTH);
        blobs_make(&b, 1, one, 1.0f);
        b.key[0] = key;
        b.problem.seed = 0;
        o.head_steps = o.head_max_steps = o.head_cool_steps = 0;
        train_heads(&theirs, &b.problem, &o, 1, report);
        init_head(&h, stream(key, FIRST_WEIGHTS, 0));
        rf_head t = rf_head_at(&theirs, 0);
        rf_panels_unpack(want, t.w1, H1, WIDTH);
        transpose(got, h.w1, WIDTH, H1);
        assert_memory_equal(got, want, H1 * WIDTH * sizeof(float));
        rf_panels_unpack(want, t.w2, H2, H1);
        transpose(got, h.w2, H1, H2);
        assert_memory_equal(got, want, H2 * H1 * sizeof(float));
        assert_memory_equal(h.b1, t.b1, H1 * sizeof(float));
        assert_memory_equal(h.b2, t.b2, H2 * sizeof(float));
        assert_memory_equal(h.w3, t.w3, H2 * sizeof(float));
        assert_memory_equal(h.b3, t.b3, sizeof(float));
        free(h.w1);
        rf_method_state_release(&theirs);
        blobs_release(&b);
    }
}

/* Sums in a different order and normal draws 2e-6 apart make margins differ by about 1e-6
 * after 4 steps and 6e-6 after 200; ten times that is allowed. Soon after, a ReLU or a
 * tiny gradient changes sign, and Adam amplifies it: after 600 steps the difference is
 * 0.08, too large to test anything. */
static void training_gives_the_same_margins(void **state)
{
    (void)state;
    const struct {
        size_t steps;
        double most;
    } runs[] = {{4, 1e-5}, {30, 1e-5}, {160, 6e-5}};
    blobs b;
    blobs_make(&b, CLASSES, sizes, 1.0f);
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        head heads[CLASSES];
        rf_heads theirs;
        double worst = train_both(heads, &theirs, &b, runs[i].steps);
        if (!(worst <= runs[i].most))
            fail_msg("%zu steps: margins differ by up to %g", runs[i].steps, worst);
        release_both(heads, &theirs);
    }
    blobs_release(&b);
}

static void fences_and_decisions_are_the_same(void **state)
{
    (void)state;
    float mine[200], theirs[200];
    for (size_t n = 1; n <= 200; n += n < 20 ? 1 : 37)
        for (size_t k = 0; k < 8; k++) {
            for (size_t i = 0; i < n; i++)
                mine[i] = theirs[i] = normal(n, 8 * i + k) - 0.5f;
            assert_true(loosening(mine, n, (double)k * 0.05) ==
                        rf_fence_loosening(theirs, n, (double)k * 0.05));
        }
    blobs b;
    head heads[CLASSES];
    rf_heads theirs_heads;
    blobs_make(&b, CLASSES, sizes, 1.0f);
    train_both(heads, &theirs_heads, &b, 20);
    for (size_t i = 0; i < b.rows; i++) {
        float best;
        size_t nearest = nearest_class(heads, CLASSES, b.z + i * WIDTH, &best), want = 0;
        for (size_t m = 1; m < CLASSES; m++)
            if (margin_of(&theirs_heads, m, b.z + i * WIDTH) >
                margin_of(&theirs_heads, want, b.z + i * WIDTH))
                want = m;
        assert_int_equal(nearest, want);
        assert_true(best == margin(&heads[nearest], b.z + i * WIDTH));
    }
    release_both(heads, &theirs_heads);
    blobs_release(&b);
}

static void files_are_read(void **state)
{
    (void)state;
    char dir[RF_PATH_MAX], path[RF_PATH_MAX];
    const char text[] = "a b\t1\t-0.25\nopen\t1.17549435e-38\t3.4e2\na b\t0\t0.1\n";
    const float want[] = {1.0f, -0.25f, 1.17549435e-38f, 340.0f, 0.0f, 0.1f};
    scratch_make(dir);
    scratch_write(dir, "features", text, sizeof text - 1);
    scratch_path(path, dir, "features");
    rows r = read_rows(path);
    assert_int_equal(r.n, 3);
    assert_int_equal(r.width, 2);
    assert_memory_equal(r.z, want, sizeof want);
    assert_string_equal(r.label[0], "a b");
    assert_string_equal(r.label[1], "open");
    assert_string_equal(r.label[2], "a b");
    free(r.z), free(r.label), free(r.class_of);
    scratch_remove(dir);
}

int main(void)
{
    const struct CMUnitTest others[] = {
        cmocka_unit_test(draws_are_the_same),
        cmocka_unit_test(streams_have_the_same_names),
        cmocka_unit_test(normal_draws_agree),
        cmocka_unit_test(dropout_is_the_same),
        cmocka_unit_test(settings_are_the_defaults),
        cmocka_unit_test(statistics_agree),
        cmocka_unit_test(first_weights_are_the_same),
        cmocka_unit_test(training_gives_the_same_margins),
        cmocka_unit_test(fences_and_decisions_are_the_same),
        cmocka_unit_test(files_are_read),
    };
    struct CMUnitTest tests[VARIANTS + sizeof others / sizeof *others];
    static char names[VARIANTS][64];
    for (size_t i = 0; i < VARIANTS; i++) {
        snprintf(names[i], sizeof names[i], "steps_follow_the_algorithm: %s",
                 variants[i].name);
        tests[i] = (struct CMUnitTest){.name = names[i],
                                       .test_func = steps_follow_the_algorithm,
                                       .initial_state = (void *)(uintptr_t)&variants[i]};
    }
    memcpy(tests + VARIANTS, others, sizeof others);
    return cmocka_run_group_tests(tests, open_golden, close_golden);
}
