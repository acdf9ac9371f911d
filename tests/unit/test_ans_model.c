/*
 * test_ans_model.c - models of method ans as a whole: training with and without
 * interruptions, their files, bad files, and files of version 0.1
 */
#include "ans/ans.h"
#include "ans/prior.h"

#include "methods/methods.h"
#include "model/model.h"
#include "scratch.h"
#include "sealed.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TINY GOLDEN_DIR "/tiny/encoder"
#define CLASSES 7

static char dir[RF_PATH_MAX], path[RF_PATH_MAX];

static int set_up(void **state)
{
    (void)state;
    scratch_make(dir);
    scratch_path(path, dir, "model.rf");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    scratch_remove(dir);
    return 0;
}

/* ---- A model with heads and without ------------------------------------------------ */

/* One class has a full head, four a part of it, two have none. */
static const size_t sizes[CLASSES] = {101, 60, 12, 5, 52, 53, 51};

static rf_dataset *make_data(void)
{
    static const char *const words[CLASSES] = {"refund", "order", "hello", "where",
                                               "cancel", "thank", "my"};
    rf_dataset *data = rf_dataset_new(NULL);
    assert_non_null(data);
    for (size_t i = 0; i < sizes[0]; i++)
        for (size_t c = 0; c < CLASSES; c++) {
            char text[64], label[8];
            if (i >= sizes[c])
                continue;
            int n = snprintf(text, sizeof text, "please %s %s %zu", words[c],
                             words[(c + i) % 3], i);
            int m = snprintf(label, sizeof label, "c%zu", c);
            assert_int_equal(
                rf_dataset_add(data, text, (size_t)n, label, (size_t)m, NULL), RF_OK);
        }
    return data;
}

static rf_train_options quick(const char *method)
{
    rf_train_options o = rf_train_options_default();
    o.encoder = TINY;
    o.threads = 1;
    o.method = method;
    o.map_points = -1;
    o.settings = "epochs=2 batch=16 known_rate=0.01 head_steps=6 head_negatives=16";
    return o;
}

static rf_model *train(const rf_dataset *data, const rf_train_options *o)
{
    rf_error err = {0};
    rf_model *m = rf_train(data, NULL, o, &err);
    if (!m)
        fail_msg("%s", err.msg);
    return m;
}

/* Margins [rows, classes] of all texts of the set; the caller's. */
static float *margins_of(const rf_model *m, const rf_dataset *data, size_t *n)
{
    size_t rows = rf_dataset_rows(data), k = m->classes;
    float *margins = malloc((*n = rows * k) * sizeof *margins);
    rf_session *s = rf_session_new(m, 1, NULL);
    assert_true(margins && s);
    for (size_t i = 0; i < rows; i++) {
        size_t len;
        const char *text = rf_dataset_text(data, i, &len);
        rf_decision d;
        assert_int_equal(rf_classify(s, text, len, &d, NULL), RF_OK);
        memcpy(margins + i * k, d.margins, k * sizeof *margins);
    }
    rf_session_free(s);
    return margins;
}

/* Every number of the method, and the confidence. */
static void assert_same_model(const rf_model *a, const rf_model *b)
{
    assert_ptr_equal(a->method, b->method);
    assert_int_equal(a->classes, b->classes);
    assert_memory_equal(&a->calibration, &b->calibration, sizeof a->calibration);
    for (size_t i = 0; i < a->method->n_arrays; i++) {
        assert_memory_equal(a->state.arrays[i].shape, b->state.arrays[i].shape,
                            sizeof a->state.arrays[i].shape);
        for (size_t k = 0, n; k < rf_method_state_pieces(&a->state, i); k++) {
            const float *x = rf_method_state_piece(&a->state, i, k, &n);
            const float *y = rf_method_state_piece(&b->state, i, k, &n);
            assert_memory_equal(x, y, n * sizeof *x);
        }
    }
}

static void save(const rf_model *m)
{
    rf_error err = {0};
    const rf_save_options o = {.struct_size = sizeof o, .keep_examples = true};
    if (rf_model_save(m, path, &o, &err) != RF_OK)
        fail_msg("%s", err.msg);
}

/* ---- Training ---------------------------------------------------------------------- */

static bool has_head(const rf_model *m, size_t c)
{
    return rf_method_state_place(&m->state, c) != RF_NOT_HELD;
}

static void threads_change_nothing(void **state)
{
    (void)state;
    rf_dataset *data = make_data();
    rf_train_options o = quick("ans");
    rf_model *one = train(data, &o);
    for (size_t c = 0; c < CLASSES; c++)
        assert_int_equal(has_head(one, c), sizes[c] > 50);
    assert_int_equal(one->calibration.from, RF_CALIBRATION_FROM_PSEUDO_OPEN);
    o.threads = 3;
    rf_model *three = train(data, &o);
    assert_same_model(one, three);
    rf_model_free(three);
    o.seed = 1; /* but this must matter */
    three = train(data, &o);
    assert_memory_not_equal(one->state.block, three->state.block,
                            rf_head_floats(one->state.width) * sizeof(float));
    rf_model_free(three);
    rf_model_free(one);
    rf_dataset_free(data);
}

typedef struct stop {
    size_t calls, at; /* at: the call that stops, from 1; 0: none */
    rf_stage stage[1000];
} stop;

static int stop_at(void *user, const rf_train_event *e)
{
    stop *s = user;
    assert_true(s->calls < sizeof s->stage / sizeof *s->stage);
    s->stage[s->calls++] = e->stage;
    return s->calls == s->at;
}

/* Stopped in the folds, in stage 1 or between heads, and resumed in other threads: the
 * same bits. */
static void interruptions_change_nothing(void **state)
{
    (void)state;
    char checkpoint[RF_PATH_MAX];
    rf_dataset *data = make_data();
    rf_train_options o = quick("ans");
    stop all = {0};
    size_t heads = 0, stops = 0;
    o.progress = stop_at;
    o.user = &all;
    rf_model *want = train(data, &o);
    scratch_path(checkpoint, dir, "checkpoint");
    o.checkpoint = checkpoint;
    for (size_t at = 1; at <= all.calls; at++) {
        rf_stage stage = all.stage[at - 1];
        bool first = at == 1 || stage != all.stage[at - 2];
        if (!first && at % 16 != 0 && stage != RF_STAGE_OPEN)
            continue;
        stop s = {.at = at};
        rf_error err = {0};
        o.user = &s;
        o.resume = false;
        o.threads = 1;
        assert_null(rf_train(data, NULL, &o, &err));
        assert_int_equal(err.code, RF_ERR_STOPPED);
        heads += stage == RF_STAGE_OPEN;
        s = (stop){0};
        o.resume = true;
        o.threads = 3;
        rf_model *got = train(data, &o);
        assert_same_model(want, got);
        rf_model_free(got);
        scratch_remove(checkpoint);
        stops++;
    }
    assert_true(heads >= 2 && stops > heads + 1);
    rf_model_free(want);
    rf_dataset_free(data);
}

/* Writes one number into a tensor of the checkpoint, sealed properly. */
static void poke_checkpoint(const char *file, const char *tensor, size_t at, float value)
{
    char place[RF_PATH_MAX];
    sealed s;
    size_t len, n;
    scratch_path(place, dir, file);
    unsigned char *bytes = (unsigned char *)scratch_read(place, &len);
    assert_true(sealed_take_apart(&s, bytes, len));
    free(bytes);
    unsigned char *data = sealed_tensor(&s, tensor, &n);
    assert_true(data && (at + 1) * sizeof value <= n);
    memcpy(data + at * sizeof value, &value, sizeof value);
    bytes = sealed_put_together(&s, &len);
    assert_non_null(bytes);
    scratch_write(dir, file, bytes, len);
    free(bytes);
    sealed_release(&s);
}

/* What a checkpoint says goes into the model, which could not be loaded then. */
static void bad_numbers_in_a_checkpoint(void **state)
{
    (void)state;
#define HEADS "checkpoint/heads-0.ckpt"
    static const struct {
        const char *file, *tensor;
        size_t at;
        float value;
        const char *words;
    } cases[] = {{HEADS, "reports", 0, -1.0f, "no report: steps -1"},
                 {HEADS, "reports", 0, 1e30f, "no report"},
                 {HEADS, "reports", 1, NAN, "not finite"},
                 {HEADS, "reports", 2, 1.5f, "no report"},
                 {HEADS, "reports", 4, -1.0f, "radius -1"},
                 {HEADS, "heads", 0, INFINITY, "not finite"},
                 {"checkpoint/known.ckpt", "value.0.down.weight", 3, NAN, "not finite"}};
    char checkpoint[RF_PATH_MAX];
    rf_dataset *data = make_data();
    rf_train_options o = quick("heads");
    scratch_path(checkpoint, dir, "checkpoint");
    o.checkpoint = checkpoint;
    rf_model_free(train(data, &o));
    o.resume = true;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char place[RF_PATH_MAX];
        size_t len;
        rf_error err = {0};
        scratch_path(place, dir, cases[i].file);
        char *whole = scratch_read(place, &len);
        poke_checkpoint(cases[i].file, cases[i].tensor, cases[i].at, cases[i].value);
        assert_null(rf_train(data, NULL, &o, &err));
        assert_error(&err, RF_ERR_FORMAT, cases[i].file, cases[i].words);
        scratch_write(dir, cases[i].file, whole, len);
        free(whole);
    }
    rf_model_free(train(data, &o));
    rf_dataset_free(data);
}

/* ---- Files ------------------------------------------------------------------------- */

static void a_file_gives_the_same_margins(void **state)
{
    (void)state;
    rf_error err = {0};
    rf_dataset *data = make_data();
    rf_train_options o = quick("ans");
    rf_model *m = train(data, &o);
    size_t n;
    float *want = margins_of(m, data, &n);
    save(m);
    rf_model *back = rf_model_load(path, &err);
    if (!back)
        fail_msg("%s", err.msg);
    assert_string_equal(back->method->name, "ans");
    assert_same_model(m, back);
    float *got = margins_of(back, data, &n);
    assert_memory_equal(got, want, n * sizeof *got);
    free(want);
    free(got);
    rf_model_free(back);
    rf_model_free(m);
    rf_dataset_free(data);
}

static void take_saved_apart(sealed *s)
{
    size_t len;
    unsigned char *file = (unsigned char *)scratch_read(path, &len);
    assert_true(sealed_take_apart(s, file, len));
    free(file);
}

/* What the sealed file has become, at path. */
static void put_saved_together(const sealed *s)
{
    size_t len;
    unsigned char *file = sealed_put_together(s, &len);
    assert_non_null(file);
    scratch_write(dir, "model.rf", file, len);
    free(file);
}

static void refuse_number(const char *tensor, size_t at, float value, const char *a,
                          const char *b)
{
    sealed s;
    size_t len;
    float before;
    rf_error err = {0};
    take_saved_apart(&s);
    unsigned char *bytes = sealed_tensor(&s, tensor, &len);
    assert_true(bytes && (at + 1) * sizeof value <= len);
    memcpy(&before, bytes + at * sizeof value, sizeof before);
    memcpy(bytes + at * sizeof value, &value, sizeof value);
    put_saved_together(&s);
    if (rf_model_load(path, &err))
        fail_msg("%s[%zu] = %g loaded", tensor, at, (double)value);
    assert_error(&err, isfinite(value) ? RF_ERR_FORMAT : RF_ERR_NUMERIC, path, a, b);
    assert_null(rf_model_load(path, NULL));
    memcpy(bytes + at * sizeof value, &before, sizeof before); /* for the next */
    put_saved_together(&s);
    sealed_release(&s);
}

static void bad_numbers_are_refused(void **state)
{
    (void)state;
    rf_dataset *data = make_data();
    rf_train_options o = quick("ans");
    rf_model *m = train(data, &o);
    save(m);
    rf_model_free(m);
    rf_dataset_free(data);
    static const float counts[] = {0.0f, -50.0f, 49.0f, 51.0f, 49.5f, 3e9f, 1e38f};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        for (size_t c = 0; c < 2; c++) /* both classes keep 50 texts */
            refuse_number("open.prior.counts", c, counts[i], "prior.counts", "267 rows");
    static const float shares[] = {-0.01f, 1.01f, -1e30f, 1e30f};
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++)
        refuse_number("open.share", i % CLASSES, shares[i], "share", "wanted 0 to 1");
    static const char *const names[] = {
        "open.prior.centre", "open.prior.rotate",   "open.prior.linear",
        "open.prior.square", "open.prior.means",    "open.prior.constant",
        "open.prior.texts",  "open.prior.counts",   "open.prior.texts_weight",
        "open.share",        "open.hidden1.weight", "open.out.bias"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        refuse_number(names[i], 1, NAN, names[i], "a NaN");
        refuse_number(names[i], 1, INFINITY, names[i], "infinity");
    }
    rf_model_free(m = rf_model_load(path, NULL)); /* all were put back */
    assert_non_null(m);
}

/* A tensor that is missing, or has other dimensions. */
static void bad_shapes_are_refused(void **state)
{
    (void)state;
    static const char *const names[] = {"open.prior.rotate", "open.prior.texts",
                                        "open.prior.counts", "open.share"};
    rf_dataset *data = make_data();
    rf_train_options o = quick("ans");
    rf_model *m = train(data, &o);
    save(m);
    rf_model_free(m);
    rf_dataset_free(data);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (int missing = 0; missing < 2; missing++) {
            rf_error err = {0};
            sealed s;
            size_t len, from;
            unsigned char *good = (unsigned char *)scratch_read(path, &from);
            take_saved_apart(&s);
            json_t *t = json_incref(json_object_get(s.header, names[i]));
            assert_non_null(sealed_tensor(&s, names[i], &len));
            if (missing) {
                json_object_del(s.header, names[i]);
                json_object_set_new(s.header, "other", t);
            } else {
                json_object_set_new(t, "shape",
                                    json_pack("[I, i]", (json_int_t)(len / 4), 1));
                json_decref(t);
            }
            put_saved_together(&s);
            assert_null(rf_model_load(path, &err));
            assert_error(&err, RF_ERR_FORMAT, path, names[i]);
            scratch_write(dir, "model.rf", good, from);
            free(good);
            sealed_release(&s);
        }
}

/* The tensors of the heads: a row for every class, zeroes where there is no head, and all
 * in single precision. */
static const char *const head_tensors[RF_HEAD_PARTS] = {
    "open.hidden1.weight", "open.hidden1.bias", "open.hidden2.weight",
    "open.hidden2.bias",   "open.out.weight",   "open.out.bias"};

static float half_of(const unsigned char *bytes)
{
    unsigned bits = bytes[0] | (unsigned)bytes[1] << 8, fraction = bits & 1023;
    int exponent = (int)(bits >> 10 & 31);
    double x = exponent ? ldexp(1.0 + fraction / 1024.0, exponent - 15)
                        : ldexp(fraction / 1024.0, -14);
    return (float)(bits >> 15 ? -x : x);
}

static float *as_every_class(const sealed *s, const rf_model *m, size_t part, size_t *n)
{
    size_t len, width = 1;
    const unsigned char *bytes = sealed_tensor(s, head_tensors[part], &len);
    json_t *t = json_object_get(s->header, head_tensors[part]), *shape = json_array();
    assert_non_null(bytes);
    bool half = strcmp(json_string_value(json_object_get(t, "dtype")), "F16") == 0;
    assert_int_equal(half, part % 2 == 0 && part < 4);
    json_array_append_new(shape, json_integer(CLASSES));
    for (size_t d = 1; d < json_array_size(json_object_get(t, "shape")); d++) {
        json_t *size = json_array_get(json_object_get(t, "shape"), d);
        width *= (size_t)json_integer_value(size);
        json_array_append(shape, size);
    }
    json_object_set_new(t, "shape", shape);
    json_object_set_new(t, "dtype", json_string("F32"));
    *n = CLASSES * width;
    float *all = calloc(*n, sizeof *all);
    for (size_t c = 0, at = 0; c < CLASSES; c++) {
        for (size_t i = 0; i < width && has_head(m, c); i++, at++)
            if (half)
                all[c * width + i] = half_of(bytes + 2 * at);
            else
                memcpy(&all[c * width + i], bytes + 4 * at, sizeof *all);
    }
    return all;
}

/* The tensors of half precision become larger, so they move to the start. */
static void make_older(sealed *s, const rf_model *m)
{
    size_t n[RF_HEAD_PARTS], end = 0, most = s->n_data;
    float *all[RF_HEAD_PARTS];
    for (size_t i = 0; i < RF_HEAD_PARTS; i++) {
        all[i] = as_every_class(s, m, i, &n[i]);
        most += n[i] * sizeof(float);
    }
    unsigned char *data = malloc(most);
    for (size_t at = 0, round = 0; round < 2 || at < s->n_data; round++) {
        const char *name;
        json_t *t = NULL;
        size_t part = round < 2 ? 2 * round : RF_HEAD_PARTS, len = 0;
        if (round < 2) {
            t = json_object_get(s->header, head_tensors[part]);
        } else {
            json_object_foreach(s->header, name, t)
            {
                const unsigned char *from = sealed_tensor(s, name, &len);
                if (from == s->data + at && len > 0 && strcmp(name, "__metadata__") != 0)
                    break;
            }
            assert_non_null(t);
            for (size_t i = 0; i < RF_HEAD_PARTS; i++)
                if (strcmp(name, head_tensors[i]) == 0)
                    part = i;
            at += len;
            if (part == 0 || part == 2)
                continue; /* moved; its place is still needed to find the next */
        }
        size_t bytes = part < RF_HEAD_PARTS ? n[part] * sizeof(float) : len;
        memcpy(data + end, part < RF_HEAD_PARTS ? (void *)all[part] : s->data + at - len,
               bytes);
        size_t start = end;
        end += bytes;
        json_object_set_new(t, "new_offsets",
                            json_pack("[I, I]", (json_int_t)start, (json_int_t)end));
    }
    const char *name;
    json_t *t;
    json_object_foreach(s->header, name, t)
    {
        if (!json_object_get(t, "new_offsets"))
            continue;
        json_object_set(t, "data_offsets", json_object_get(t, "new_offsets"));
        json_object_del(t, "new_offsets");
    }
    for (size_t i = 0; i < RF_HEAD_PARTS; i++)
        free(all[i]);
    free(s->data);
    s->data = data;
    s->n_data = end;
}

/* Older files have heads for all classes, in single precision. */
static void older_heads_load(void **state)
{
    (void)state;
    rf_error err = {0};
    rf_dataset *data = make_data();
    rf_train_options o = quick("ans");
    rf_model *m = train(data, &o);
    sealed s;
    size_t new_len, len;
    save(m);
    char *want = scratch_read(path, &new_len);
    take_saved_apart(&s);
    make_older(&s, m);
    put_saved_together(&s);
    sealed_release(&s);
    free(scratch_read(path, &len));
    assert_true(len > 2 * new_len);
    rf_model *old = rf_model_load(path, &err);
    if (!old)
        fail_msg("%s", err.msg);
    assert_same_model(m, old);
    save(old); /* as it would be written now */
    char *got = scratch_read(path, &len);
    assert_int_equal(len, new_len);
    assert_memory_equal(got, want, len);
    /* Weights that half precision cannot hold stay as they are. */
    rf_head_at(&old->state, 0).w1[0] += 0x1p-30f;
    save(old);
    rf_model *exact = rf_model_load(path, &err);
    assert_non_null(exact);
    assert_same_model(old, exact);
    rf_model_free(exact);
    rf_model_free(old);
    rf_model_free(m);
    free(got);
    free(want);
    rf_dataset_free(data);
}

/* Up to version 0.1 "ans" was heads alone. Such a file answers as "heads", and stays that
 * when it is saved again. */
static void files_of_version_0_1_load_as_heads(void **state)
{
    (void)state;
    rf_error err = {0};
    rf_dataset *data = make_data();
    rf_train_options o = quick("heads");
    rf_model *m = train(data, &o);
    size_t n;
    sealed s;
    float *want = margins_of(m, data, &n);
    save(m);
    take_saved_apart(&s);
    assert_string_equal(json_string_value(json_object_get(s.about, "method")), "heads");
    json_object_set_new(s.about, "method", json_string("ans"));
    json_object_set_new(s.about, "program", json_string("ringfence 0.1.0"));
    put_saved_together(&s);
    sealed_release(&s);
    for (int again = 0; again < 2; again++) {
        rf_model *old = rf_model_load(path, &err);
        if (!old)
            fail_msg("%s", err.msg);
        assert_string_equal(old->method->name, "heads");
        assert_same_model(m, old);
        float *got = margins_of(old, data, &n);
        assert_memory_equal(got, want, n * sizeof *got);
        json_t *about = json_loads(rf_model_json(old), 0, NULL);
        assert_string_equal(json_string_value(json_object_get(about, "method")), "heads");
        json_decref(about);
        free(got);
        save(old);
        rf_model_free(old);
    }
    free(want);
    rf_model_free(m);
    rf_dataset_free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(threads_change_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(interruptions_change_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(bad_numbers_in_a_checkpoint, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_file_gives_the_same_margins, set_up, tear_down),
        cmocka_unit_test_setup_teardown(bad_numbers_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(bad_shapes_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(older_heads_load, set_up, tear_down),
        cmocka_unit_test_setup_teardown(files_of_version_0_1_load_as_heads, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
