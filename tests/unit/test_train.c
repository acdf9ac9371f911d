/* test_train.c - rf_train as a whole on the tiny encoder: what must not change the
 * bits, what must, and invalid input */
#include "ans/heads.h"
#include "base/file.h"
#include "stages/checkpoint.h"
#include "model/model.h"
#include "scratch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define TINY GOLDEN_DIR "/tiny/encoder"

/* Three classes that share some words; `each` texts of a class. */
static rf_dataset *make_data(size_t each)
{
    static const char *const words[3][2] = {
        {"refund", "cancel"}, {"where", "order"}, {"hello", "thank"}};
    rf_dataset *data = rf_dataset_new(NULL);
    assert_non_null(data);
    for (size_t i = 0; i < 3 * each; i++) {
        char text[64], label[8];
        int n = snprintf(text, sizeof text, "please %s my %s %zu",
                         words[i % 3][i / 3 % 2], words[i % 3][1], i);
        int m = snprintf(label, sizeof label, "c%zu", i % 3);
        assert_int_equal(rf_dataset_add(data, text, (size_t)n, label, (size_t)m, NULL),
                         RF_OK);
    }
    return data;
}

#define QUICK                                                                            \
    "epochs=4 patience=4 batch=8 known_rate=0.01 head_steps=8 head_negatives=16 "

static rf_train_options quick(void)
{
    rf_train_options o = rf_train_options_default();
    o.encoder = TINY;
    o.threads = 1;
    o.settings = QUICK;
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

static bool same_numbers(const rf_model *a, const rf_model *b)
{
    size_t heads = a->state.held * rf_head_floats(a->state.width);
    return a->known.floats == b->known.floats &&
           memcmp(a->known.block, b->known.block, a->known.floats * sizeof(float)) == 0 &&
           memcmp(a->state.block, b->state.block, heads * sizeof(float)) == 0 &&
           a->n_rows == b->n_rows &&
           memcmp(a->features, b->features,
                  a->n_rows * a->state.width * sizeof *a->features) == 0;
}

static void threads_and_cache_change_nothing(void **state)
{
    (void)state;
    rf_dataset *data = make_data(12);
    rf_train_options o = quick();
    rf_model *want = train(data, &o);
    o.threads = 3;
    o.cache_mb = -1; /* activations in a file */
    rf_model *got = train(data, &o);
    assert_true(same_numbers(want, got));
    rf_model_free(got);
    o.seed = 1; /* but this must matter */
    got = train(data, &o);
    assert_false(same_numbers(want, got));
    rf_model_free(got);
    rf_model_free(want);
    rf_dataset_free(data);
}

/* Frozen layers are the encoder's own, rounded; tuned ones are not. */
static void train_layers_sets_what_is_tuned(void **state)
{
    (void)state;
    rf_dataset *data = make_data(12);
    rf_encoder *e = rf_encoder_load_half(TINY, NULL);
    assert_non_null(e);
    for (size_t live = 0; live <= e->config.layers; live++) {
        rf_train_options o = quick();
        char settings[200];
        snprintf(settings, sizeof settings, QUICK "fence_reject=0.1 train_layers=%zu",
                 live); /* no folds, which may prefer the encoder as it came */
        o.settings = settings;
        rf_model *m = train(data, &o);
        assert_int_equal(m->tuned, live);
        for (size_t i = 0; i < e->config.layers; i++) {
            size_t n = e->config.width * e->config.width;
            bool same = memcmp(m->encoder->layers[i].attn_w, e->layers[i].attn_w,
                               n * sizeof(float)) == 0;
            assert_int_equal(same, i < e->config.layers - live);
        }
        rf_model_free(m);
    }
    rf_encoder_free(e);
    rf_dataset_free(data);
}

/* Layers that go back to where they came from are not tuned at all. */
static void no_blend_is_no_tuning(void **state)
{
    (void)state;
    rf_dataset *data = make_data(12);
    rf_train_options o = quick();
    o.settings = QUICK "train_layers=2 blend=0";
    rf_model *m = train(data, &o);
    o.settings = QUICK "train_layers=0 blend=0";
    rf_model *want = train(data, &o);
    assert_int_equal(m->tuned, 0);
    assert_true(same_numbers(m, want));
    rf_model_free(m);
    rf_model_free(want);
    rf_dataset_free(data);
}

static json_t *summary_of(const rf_model *m)
{
    return json_object_get(m->summary, "known");
}

/* Patience ends training early; without a dev set it runs all epochs. */
static void patience_ends_training(void **state)
{
    (void)state;
    rf_dataset *data = make_data(12);
    rf_train_options o = quick();
    o.settings = QUICK "epochs=60 patience=2";
    o.dev_share = 0.1;
    rf_model *m = train(data, &o);
    json_int_t epochs = json_integer_value(json_object_get(summary_of(m), "epochs"));
    json_int_t best = json_integer_value(json_object_get(summary_of(m), "best_epoch"));
    assert_true(epochs < 60 && epochs == best + 2);
    rf_model_free(m);
    o.settings = QUICK "epochs=5 patience=2";
    o.dev_share = -1.0;
    m = train(data, &o);
    assert_int_equal(json_integer_value(json_object_get(summary_of(m), "epochs")), 5);
    assert_int_equal(json_integer_value(json_object_get(summary_of(m), "best_epoch")), 5);
    assert_int_equal(m->n_rows, 36);
    rf_model_free(m);
    rf_dataset_free(data);
}

typedef struct stop_counter {
    size_t calls, stop_at;
} stop_counter;

static int stop_once(void *user, const rf_train_event *e)
{
    (void)e;
    stop_counter *p = user;
    return ++p->calls == p->stop_at;
}

/* A single stop request is honoured, whichever progress call makes it. */
static void stop_requests_are_honoured(void **state)
{
    (void)state;
    rf_dataset *data = make_data(12);
    rf_train_options o = quick();
    o.map_points = -1;
    o.progress = stop_once;
    for (int tune = 0; tune < 2; tune++) {
        stop_counter all = {0};
        o.user = &all;
        o.tune = tune ? RF_TUNE_QUICK : RF_TUNE_OFF;
        rf_model_free(train(data, &o));
        assert_true(all.calls > 5);
        for (size_t i = 1; i <= all.calls; i += tune ? 3 : 1) {
            stop_counter p = {.stop_at = i};
            rf_error err = {0};
            o.user = &p;
            rf_model *m = rf_train(data, NULL, &o, &err);
            if (m)
                fail_msg("call %zu of %zu was not heard", i, all.calls);
            assert_int_equal(err.code, RF_ERR_STOPPED);
            assert_int_equal(p.calls, i);
        }
    }
    rf_dataset_free(data);
}

static void each_switch_changes_the_heads_only(void **state)
{
    (void)state;
    rf_dataset *data = make_data(12);
    rf_train_options base = quick();
    base.method = "heads";
    rf_model *want = train(data, &base);
    static const char *const switches[] = {
        QUICK "lambda=0",       QUICK "noise=0",           QUICK "radius=100",
        QUICK "ascent_steps=3", QUICK "negative_weight=2", QUICK "positive_noise=0.25"};
    for (size_t i = 0; i < sizeof switches / sizeof *switches; i++) {
        rf_train_options o = base;
        o.settings = switches[i];
        rf_model *m = train(data, &o);
        size_t heads = m->state.held * rf_head_floats(m->state.width) * sizeof(float);
        assert_memory_equal(m->known.block, want->known.block,
                            m->known.floats * sizeof(float));
        assert_memory_not_equal(m->state.block, want->state.block, heads);
        rf_model_free(m);
    }
    rf_model_free(want);
    rf_train_options o = base; /* without projection the radius has no effect */
    o.settings = QUICK "projection=0 ascent_steps=0";
    want = train(data, &o);
    o.settings = QUICK "projection=0 ascent_steps=0 radius=100";
    rf_model *m = train(data, &o);
    assert_true(same_numbers(m, want));
    rf_model_free(m);
    rf_model_free(want);
    rf_dataset_free(data);
}

/* One class, or one text per class: training works and accepts its own texts. */
static void tiny_data_trains(void **state)
{
    (void)state;
    rf_train_options o = quick();
    for (size_t classes = 1; classes <= 3; classes += 2) {
        rf_dataset *data = rf_dataset_new(NULL);
        for (size_t i = 0; i < classes; i++) {
            char label[8];
            int m = snprintf(label, sizeof label, "c%zu", i);
            assert_int_equal(rf_dataset_add(data, "the order", 9, label, (size_t)m, NULL),
                             RF_OK);
        }
        rf_model *m = train(data, &o);
        rf_session *s = rf_session_new(m, 1, NULL);
        rf_decision d;
        assert_non_null(s);
        assert_int_equal(rf_classify(s, "the order", 9, &d, NULL), RF_OK);
        assert_true(d.confidence >= 0.0f && d.confidence <= 1.0f);
        rf_session_free(s);
        rf_model_free(m);
        rf_dataset_free(data);
    }
}

static void invalid_input_is_refused(void **state)
{
    (void)state;
    rf_error err;
    rf_train_options o = quick();
    rf_dataset *data = rf_dataset_new(NULL);
    assert_null(rf_train(data, NULL, &o, &err));
    assert_error(&err, RF_ERR_ARG, "no rows");
    assert_int_equal(rf_dataset_add(data, "a", 1, "open", 4, NULL), RF_OK);
    assert_null(rf_train(data, NULL, &o, &err));
    assert_error(&err, RF_ERR_FORMAT, "\"open\"");
    rf_dataset_free(data);
    data = make_data(4);
    o.settings = "train_layers=99";
    assert_null(rf_train(data, NULL, &o, &err));
    assert_error(&err, RF_ERR_ARG, "train_layers is 99");
    o = quick();
    o.settings = "lambda=nan";
    assert_null(rf_train(data, NULL, &o, &err));
    assert_error(&err, RF_ERR_ARG, "lambda is nan, wanted 0 to 1e+06");
    o.struct_size = 0;
    assert_null(rf_train(data, NULL, &o, &err));
    assert_error(&err, RF_ERR_ARG, "start from rf_train_options_default()");
    o = quick();
    o.settings = "epochs=3 rhoo=2";
    assert_null(rf_train(data, NULL, &o, &err));
    assert_error(&err, RF_ERR_ARG, "no setting \"rhoo\"");
    o = quick();
    o.encoder = "/nowhere/at/all";
    assert_null(rf_train(data, NULL, &o, &err));
    assert_int_equal(err.code, RF_ERR_MISSING);
    o = quick();
    /* diverges or stays finite, but never garbage */
    o.settings = QUICK "encoder_rate=1 known_rate=1 epochs=30";
    rf_model *m = rf_train(data, NULL, &o, &err);
    if (!m)
        assert_int_equal(err.code, RF_ERR_NUMERIC);
    rf_model_free(m);
    rf_dataset_free(data);
}

static void a_checkpoint_belongs_to_one_process_and_training(void **state)
{
    (void)state;
    char dir[RF_PATH_MAX], inside[RF_PATH_MAX];
    rf_error err;
    rf_checkpoint mine;
    scratch_make(dir);
    scratch_path(inside, dir, "ck");
    json_t *identity = json_pack("{s:s}", "seed", "1");
    assert_int_equal(rf_checkpoint_open(&mine, inside, false, identity, &err), RF_OK);
    pid_t child = fork(); /* locks belong to a process */
    if (child == 0) {
        rf_checkpoint other;
        _exit(rf_checkpoint_open(&other, inside, true, identity, NULL) == RF_ERR_ARG ? 0
                                                                                     : 1);
    }
    int code;
    assert_int_equal(waitpid(child, &code, 0), child);
    assert_int_equal(code, 0);
    rf_checkpoint_close(&mine);
    json_decref(identity);

    rf_dataset *data = make_data(6);
    rf_train_options o = quick();
    o.checkpoint = inside;
    rf_model *m = train(data, &o);
    rf_model_free(m);
    assert_null(
        rf_train(data, NULL, &o, &err)); /* an older checkpoint is not overwritten */
    assert_error(&err, RF_ERR_ARG, "holds the checkpoint", "resume");
    o.resume = true;
    o.settings = QUICK "epochs=5";
    assert_null(rf_train(data, NULL, &o, &err));
    assert_error(&err, RF_ERR_ARG, "another training", "known.epochs was 4, is now 5");
    rf_dataset_free(data);
    scratch_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_and_cache_change_nothing),
        cmocka_unit_test(train_layers_sets_what_is_tuned),
        cmocka_unit_test(no_blend_is_no_tuning),
        cmocka_unit_test(patience_ends_training),
        cmocka_unit_test(stop_requests_are_honoured),
        cmocka_unit_test(each_switch_changes_the_heads_only),
        cmocka_unit_test(tiny_data_trains),
        cmocka_unit_test(invalid_input_is_refused),
        cmocka_unit_test(a_checkpoint_belongs_to_one_process_and_training),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
