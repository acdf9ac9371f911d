/* test_self_tune.c - F1 of outcomes, the race between candidates, the choice, and
 * tuning through rf_train and rf_tune_settings */
#include "ans/heads.h"
#include "base/json.h"
#include "model/model.h"
#include "folds/self_tune.h"
#include "scratch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TINY GOLDEN_DIR "/tiny/encoder"

/* ---- F1 ---------------------------------------------------------------------------- */

static rf_outcome outcome(uint32_t truth, bool hidden, uint32_t head, float margin)
{
    return (rf_outcome){.truth = truth,
                        .hidden = hidden,
                        .head = {head},
                        .margin = {margin, -INFINITY, -INFINITY, -INFINITY}};
}

/* Classes 0 and 1 are known, 2 is hidden; by hand. */
static void f1_by_hand(void **state)
{
    (void)state;
    rf_outcome rows[] = {outcome(0, false, 0, 2.0f),  outcome(0, false, 0, -1.0f),
                         outcome(1, false, 1, 1.0f),  outcome(1, false, 0, 0.5f),
                         outcome(2, true, 1, 3.0f),   outcome(2, true, 0, -0.5f),
                         outcome(2, true, 0, -2.0f),  outcome(2, true, 1, -3.0f),
                         outcome(2, true, 1, -0.25f), outcome(2, true, 1, -4.0f),
                         outcome(2, true, 1, -5.0f),  outcome(2, true, 1, -6.0f)};
    const rf_outcomes o = {.n = 12, .n_hidden = 8, .row = rows};
    const rf_fence_position at[] = {
        {1.0f, 0.0f}, {1.0f, 1.0f}, {0.0f, 0.0f}, {0.5f, 0.0f}};
    double f1[4];
    assert_int_equal(rf_outcomes_f1(&o, 3, at, 4, f1, NULL), RF_OK);
    /* open texts weigh 4 / 8. As it stands: 0: support 2, predicted 2, right 1;
     * 1: 2, 1.5, 1; open: 4, 1 + 3.5, 3.5 */
    double want = 100.0 / 3 * (2 * 1.0 / 4 + 2 * 1.0 / 3.5 + 2 * 3.5 / 8.5);
    assert_true(fabs(f1[0] - want) < 1e-9);
    /* 1 further out: the known text at -1 comes in, and two open ones */
    want = 100.0 / 3 * (2 * 2.0 / (2 + 3.5) + 2 * 1.0 / (2 + 2.0) + 2 * 2.5 / (4 + 2.5));
    assert_true(fabs(f1[1] - want) < 1e-9);
    /* may reject none plus one, and rejects one: not moved */
    assert_true(f1[2] == f1[0] && f1[3] == f1[0]);
}

/* The known texts of a fold loosen its fences. */
static void fences_are_loosened_by_known_texts(void **state)
{
    (void)state;
    rf_outcome rows[] = {outcome(0, false, 0, -3.0f), outcome(0, false, 0, -2.0f),
                         outcome(0, false, 0, 1.0f),  outcome(0, false, 0, 1.0f),
                         outcome(1, true, 0, -1.5f),  outcome(1, true, 0, -2.5f)};
    const rf_outcomes o = {.n = 6, .n_hidden = 2, .row = rows};
    const rf_fence_position at[] = {{0.0f, 0.0f}, {0.0f, -1.0f}};
    double f1[2];
    assert_int_equal(rf_outcomes_f1(&o, 2, at, 2, f1, NULL), RF_OK);
    /* moved by 2: three of four known, one of two open ones (weight 2 each) let in */
    double want = 50.0 * (2 * 3.0 / (4 + 5) + 2 * 2.0 / (4 + 3));
    assert_true(fabs(f1[0] - want) < 1e-9);
    /* moved by 1: two of four known, no open one */
    want = 50.0 * (2 * 2.0 / (4 + 2) + 2 * 4.0 / (4 + 6));
    assert_true(fabs(f1[1] - want) < 1e-9);
}

/* ---- The race ---------------------------------------------------------------------- */

/* Adds a fold to a trial: f1 at the requested fence, `moved` at another position, much
 * less elsewhere. */
static void score(rf_tuning *u, size_t trial, double f1, double moved)
{
    rf_candidate *t = &u->trials[trial];
    for (size_t p = 0; p < RF_FENCE_POSITIONS; p++)
        t->f1[t->folds][p] = p == 0 ? f1 : p == 7 ? moved : 10.0;
    t->folds++;
}

static rf_settings resolved(void)
{
    rf_settings o = rf_settings_default();
    o.negative_weight = 0.2f;
    return o;
}

static rf_tuning race(rf_tune_effort effort)
{
    rf_tuning u;
    rf_settings o = resolved();
    assert_int_equal(rf_tuning_init(&u, effort, &o, NULL), RF_OK);
    return u;
}

static void candidates_change_one_setting(void **state)
{
    (void)state;
    const size_t n[] = {1, 3, 8};
    for (int effort = 0; effort < 3; effort++) {
        rf_tuning u = race((rf_tune_effort)effort);
        assert_int_equal(u.n, n[effort]);
        assert_string_equal(u.trials[0].name, "default");
        rf_settings o = resolved();
        for (size_t i = 0; i < u.n; i++) {
            const rf_settings *c = &u.trials[i].s;
            assert_int_equal((c->blend != o.blend) + (c->ascent_steps != o.ascent_steps) +
                                 (c->rho != o.rho) + (c->lambda != o.lambda) +
                                 (c->negative_weight != o.negative_weight),
                             i > 0);
        }
        rf_tuning_release(&u);
    }
    /* candidates that change nothing are omitted */
    rf_tuning u;
    rf_settings o = resolved();
    o.ascent_steps = 0;
    o.train_layers = 0;
    assert_int_equal(rf_tuning_init(&u, RF_TUNE_QUICK, &o, NULL), RF_OK);
    assert_int_equal(u.n, 1);
    rf_tuning_release(&u);
    o = resolved();
    o.lambda = 0.0f; /* no synthetic negatives: no ascent, no rho, no lambda */
    assert_int_equal(rf_tuning_init(&u, RF_TUNE_THOROUGH, &o, NULL), RF_OK);
    assert_int_equal(u.n, 4);
    rf_tuning_release(&u);
    o.negative_weight = 3e5f; /* four times that is out of range */
    assert_int_equal(rf_tuning_init(&u, RF_TUNE_THOROUGH, &o, NULL), RF_OK);
    assert_int_equal(u.n, 3);
    rf_tuning_release(&u);
}

static void the_worse_half_is_dropped_but_never_the_default(void **state)
{
    (void)state;
    rf_tuning u = race(RF_TUNE_THOROUGH);
    const double f1[] = {50, 60, 61, 59, 58, 70, 57, 56}; /* the default is the worst */
    for (size_t i = 0; i < 8; i++)
        score(&u, i, f1[i], 0);
    rf_tuning_halve(&u);
    const bool alive[] = {true, true, true, false, false, true, false, false};
    for (size_t i = 0; i < 8; i++)
        assert_int_equal(u.trials[i].alive, alive[i]);
    for (size_t i = 0; i < 8; i++)
        if (u.trials[i].alive)
            score(&u, i, i == 1 ? 90 : 50, 0);
    rf_tuning_halve(&u);
    assert_true(u.trials[0].alive && u.trials[1].alive && !u.trials[2].alive &&
                !u.trials[5].alive);
    rf_tuning_halve(&u); /* never fewer than two */
    assert_true(u.trials[0].alive && u.trials[1].alive);
    rf_tuning_release(&u);
}

typedef struct duel {
    double base[3], other[3];
    double moved[6]; /* with another fence: the default, then the other */
    size_t chosen;
    bool fence;
} duel;

static void only_a_clear_winner_replaces_the_default(void **state)
{
    (void)state;
    const duel duels[] = {
        {{70, 60, 80}, {71, 61, 81}, {0, 0, 0}, 1, false},
        {{70, 60, 80}, {70.4, 60.4, 80.4}, {0, 0, 0}, 0, false}, /* too little */
        {{70, 60, 80}, {75, 59, 79}, {0, 0, 0}, 0, false},       /* in only one fold */
        {{70, 60, 80}, {72, 62, 79}, {0, 0, 0}, 1, false},
        {{70, 60, 80}, {60, 50, 70}, {72, 61, 81}, 0, true},
        {{70, 60, 80}, {60, 50, 70}, {70.2, 60.2, 80.2}, 0, false},
        {{70, 60, 80}, {60, 50, 70}, {74, 59.9, 79.9}, 0, false},
        /* better only with another fence, which it does not get */
        {{70, 60, 80}, {69, 61.5, 79.5}, {0, 0, 0, 75, 61, 79}, 0, false},
        /* it gets that fence, or is better without it as well */
        {{70, 60, 80}, {69, 60.5, 78.5}, {0, 0, 0, 75, 61, 79}, 1, true},
        {{70, 60, 80}, {71, 61.5, 79.5}, {0, 0, 0, 76, 61, 79}, 1, false},
        /* withdrawn, and the default has a better fence of its own */
        {{70, 60, 80}, {68, 61.5, 80.7}, {71, 61, 81, 80, 61.2, 80.5}, 0, true},
    };
    for (size_t i = 0; i < sizeof duels / sizeof *duels; i++) {
        const duel *d = &duels[i];
        rf_tuning u = race(RF_TUNE_QUICK);
        u.folds = 3;
        for (size_t k = 0; k < 3; k++) {
            score(&u, 0, d->base[k], d->moved[k]);
            score(&u, 1, d->other[k], d->moved[3 + k]);
        }
        score(&u, 2, 99, 99); /* the best, but dropped after one fold */
        rf_tuning_decide(&u);
        assert_int_equal(u.chosen, d->chosen);
        assert_int_equal(u.fence.position, d->fence ? 7 : 0);
        rf_settings o = rf_tuning_settings(&u);
        assert_int_equal(o.ascent_steps, d->chosen ? 0 : 10);
        assert_true(o.fence_offset == u.positions[d->fence ? 7 : 0].offset);
        rf_tuning_release(&u);
    }
}

static void the_verdict_names_a_withdrawn_candidate(void **state)
{
    (void)state;
    const double base[] = {70, 60, 80}, at_0[] = {69, 61.5, 79.5}, at_7[] = {75, 61, 79};
    for (int budget = 0; budget < 2; budget++) {
        rf_tuning u = race(RF_TUNE_QUICK);
        u.folds = 3;
        u.budget = u.fence_elsewhere = budget;
        for (size_t k = 0; k < 3; k++) {
            score(&u, 0, base[k], 0);
            score(&u, 1, at_0[k], at_7[k]);
        }
        score(&u, 2, 0, 0);
        rf_tuning_decide(&u);
        json_t *json = rf_tuning_json(&u), *list = json_object_get(json, "candidates");
        assert_non_null(json);
        if (budget) { /* judged by its best fence: a budget uses none of these */
            assert_int_equal(u.chosen, 1);
            assert_non_null(strstr(u.verdict, "; the budget places the fences"));
        } else {
            assert_int_equal(u.chosen, 0);
            assert_non_null(strstr(u.verdict, "the settings stay: \"no ascent\""));
            assert_non_null(strstr(u.verdict, "differs by 0.0 +- 1.3 points, better in 1 "
                                              "of 3 folds, which is not enough; the "
                                              "fence stays"));
        }
        assert_int_equal(json_object_get(json, "fence") != NULL, !budget);
        for (size_t i = 0; i < 3; i++)
            for (size_t k = 0; k < 2; k++)
                assert_int_equal(json_object_get(json_array_get(list, i),
                                                 k ? "fence_reject" : "fence_offset") !=
                                     NULL,
                                 !budget);
        json_decref(json);
        rf_tuning_release(&u);
    }
}

static void statistics_of_a_trial(void **state)
{
    (void)state;
    rf_tuning u = race(RF_TUNE_QUICK);
    u.folds = 3;
    const double base[] = {70, 61, 80}, other[] = {71.5, 62, 81};
    for (size_t k = 0; k < 3; k++) {
        score(&u, 0, base[k], 0);
        score(&u, 1, other[k], 0);
    }
    score(&u, 2, 69, 0);
    rf_tuning_decide(&u);
    const rf_candidate *t = &u.trials[1];
    assert_int_equal(t->wins, 3);
    assert_true(fabs(t->difference - 3.5 / 3) < 1e-9);
    assert_true(fabs(t->difference_sd - sqrt(1.0 / 12)) < 1e-9);
    assert_true(fabs(t->mean - 214.5 / 3) < 1e-9);
    assert_true(fabs(t->sd - 9.5) < 1e-9); /* of 71.5, 62, 81 */
    assert_true(fabs(u.trials[2].difference + 1.0) < 1e-9);
    assert_true(fabs(u.trials[2].mean - (211.0 / 3 - 1.0)) < 1e-9); /* not 69 */
    assert_non_null(
        strstr(u.verdict, "\"no ascent\" wins in 3 of 3 folds by 1.2 +- 0.3 points"));
    json_t *json = rf_tuning_json(&u);
    assert_string_equal(json_string_value(json_object_get(json, "chosen")), "no ascent");
    assert_int_equal(json_array_size(json_object_get(json, "candidates")), 3);
    json_decref(json);
    rf_tuning_release(&u);
}

/* ---- Through the public functions -------------------------------------------------- */

static rf_dataset *make_data(size_t classes, size_t each)
{
    static const char *const words[] = {"refund", "order", "hello", "cancel", "where"};
    rf_dataset *data = rf_dataset_new(NULL);
    assert_non_null(data);
    for (size_t i = 0; i < classes * each; i++) {
        char text[64], label[8];
        int n = snprintf(text, sizeof text, "please %s my %s %zu", words[i % classes],
                         words[(i + i / classes) % classes], i);
        int m = snprintf(label, sizeof label, "c%zu", i % classes);
        assert_int_equal(rf_dataset_add(data, text, (size_t)n, label, (size_t)m, NULL),
                         RF_OK);
    }
    return data;
}

#define QUICK "epochs=3 batch=8 known_rate=0.01 head_steps=8 head_negatives=16 "

static rf_train_options quick(void)
{
    rf_train_options o = rf_train_options_default();
    o.encoder = TINY;
    o.threads = 1;
    o.settings = QUICK;
    o.dev_share = 0.25;
    o.tune = RF_TUNE_QUICK;
    return o;
}

static void settings_do_not_depend_on_threads_and_read_back(void **state)
{
    (void)state;
    rf_error err = {0};
    rf_dataset *data = make_data(4, 12);
    rf_train_options o = quick();
    char *one, *three;
    assert_int_equal(rf_tune_settings(data, NULL, &o, &one, &err), RF_OK);
    o.threads = 3;
    assert_int_equal(rf_tune_settings(data, NULL, &o, &three, &err), RF_OK);
    assert_string_equal(one, three);
    /* tuning while training gives the same model as training with these settings */
    rf_model *tuned = rf_train(data, NULL, &o, &err);
    assert_non_null(tuned);
    o.tune = RF_TUNE_OFF;
    char *text, all[1024];
    assert_int_equal(rf_settings_from_json(one, strlen(one), "one", &text, &err), RF_OK);
    snprintf(all, sizeof all, QUICK "%s", text);
    free(text);
    o.settings = all;
    rf_model *taken = rf_train(data, NULL, &o, &err);
    assert_non_null(taken);
    assert_true(json_equal(tuned->settings, taken->settings));
    assert_memory_equal(tuned->state.block, taken->state.block,
                        tuned->state.held * rf_head_floats(tuned->state.width) *
                            sizeof(float));
    json_t *root = rf_json_object(one, strlen(one), "one", &err);
    json_t *tuning = json_object_get(root, "tuning");
    assert_int_equal(json_integer_value(json_object_get(tuning, "folds")), 3);
    assert_non_null(json_object_get(tuned->summary, "tuning"));
    assert_null(json_object_get(taken->summary, "tuning"));
    json_decref(root);
    rf_model_free(tuned);
    rf_model_free(taken);
    free(one);
    free(three);
    rf_dataset_free(data);
}

static void too_little_data_to_tune(void **state)
{
    (void)state;
    rf_error err = {0};
    rf_train_options o = quick();
    for (int i = 0; i < 2; i++) {
        rf_dataset *data = make_data(i == 0 ? 2 : 3, 8);
        o.dev_share = i == 0 ? 0.25 : -1.0;
        char *json;
        assert_int_equal(rf_tune_settings(data, NULL, &o, &json, &err), RF_OK);
        assert_non_null(strstr(json, i == 0 ? "2 classes: hiding one would leave one"
                                            : "no dev texts"));
        assert_non_null(strstr(json, "\"ascent_steps\": 10"));
        free(json);
        rf_model *m = rf_train(data, NULL, &o, &err); /* trains with the defaults */
        assert_non_null(m);
        assert_non_null(
            json_object_get(json_object_get(m->summary, "tuning"), "why_not"));
        rf_model_free(m);
        rf_dataset_free(data);
    }
    rf_dataset *data = make_data(3, 8);
    o.method = "msp";
    assert_null(rf_train(data, NULL, &o, &err));
    assert_error(&err, RF_ERR_ARG, "method msp has no settings that tuning chooses");
    rf_dataset_free(data);
}

static void bad_settings_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *json, *said;
    } bad[] = {
        {"[]", "an array"},
        {"{}", "settings is missing, wanted an object"},
        {"{\"settings\": 3}", "settings is an integer, wanted an object"},
        {"{\"settings\": {}, \"more\": 1}", "has a key \"more\""},
        {"{\"settings\": {\"epochs\": 1}}",
         "settings has a key \"epochs\", wanted only blend, negative_weight, lambda, "
         "rho, "
         "positive_noise, ascent_steps, fence_reject, fence_offset"},
        {"{\"settings\": {\"rho\": 9e-8}}", "settings.rho is 9e-08, wanted 1e-07"},
        {"{\"settings\": {\"blend\": \"x\"}}",
         "settings.blend is a string, wanted a number"},
        {"{\"settings\": {\"blend\": 2}}", "settings.blend is 2, wanted 0 to 1"},
        {"{\"settings\": {\"ascent_steps\": 1.5}}",
         "settings.ascent_steps is a fraction, wanted a whole number"},
        {"{\"settings\": {\"ascent_steps\": -1}}", "settings.ascent_steps is -1"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        rf_error err = {0};
        char *text = NULL;
        assert_int_equal(rf_settings_from_json(bad[i].json, strlen(bad[i].json), "s.json",
                                               &text, &err),
                         RF_ERR_FORMAT);
        assert_error(&err, RF_ERR_FORMAT, "s.json", bad[i].said);
        assert_null(text);
    }
}

static void settings_at_their_limits_and_without_a_file_name(void **state)
{
    (void)state;
    static const char least[] =
        "{\"settings\": {\"rho\": 1e-7, \"negative_weight\": 1e-7, \"fence_reject\": 0}}";
    rf_error err = {0};
    rf_settings s = rf_settings_default(), was = s;
    char *text;
    assert_int_equal(rf_settings_from_json(least, strlen(least), NULL, &text, &err),
                     RF_OK);
    assert_int_equal(rf_settings_parse(&s, text, &err), RF_OK);
    free(text);
    assert_true(s.rho == 1e-7f && s.negative_weight == 1e-7f && s.fence_reject == 0.0f);
    assert_true(s.blend == was.blend && s.lambda == was.lambda);
    assert_int_equal(rf_settings_from_json("{}", 2, NULL, &text, &err), RF_ERR_FORMAT);
    assert_error(&err, RF_ERR_FORMAT, "the settings: settings is missing");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(f1_by_hand),
        cmocka_unit_test(fences_are_loosened_by_known_texts),
        cmocka_unit_test(candidates_change_one_setting),
        cmocka_unit_test(the_worse_half_is_dropped_but_never_the_default),
        cmocka_unit_test(only_a_clear_winner_replaces_the_default),
        cmocka_unit_test(the_verdict_names_a_withdrawn_candidate),
        cmocka_unit_test(statistics_of_a_trial),
        cmocka_unit_test(settings_do_not_depend_on_threads_and_read_back),
        cmocka_unit_test(too_little_data_to_tune),
        cmocka_unit_test(bad_settings_are_named),
        cmocka_unit_test(settings_at_their_limits_and_without_a_file_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
