/* test_settings.c - the table of settings: names, defaults written out by hand, text and
 * JSON there and back, what is refused, and that the program has an option for each */
#include "settings/settings.h"
#include "scratch.h"
#include "settings_options.h"
#include "stages/train_settings.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- Defaults ---------------------------------------------------------------------- */

/* What every version so far has had. Models that people have trained depend on them. */
static const rf_settings by_hand = {.train_layers = 2,
                                    .encoder_rate = 1e-4f,
                                    .known_rate = 5e-4f,
                                    .weight_decay = 0.01f,
                                    .warmup = 0.1f,
                                    .dropout = 0.1f,
                                    .spelling = true,
                                    .blend = 0.5f,
                                    .head_positives = 8,
                                    .head_negatives = 64,
                                    .head_rate = 3e-4f,
                                    .head_dropout = 0.1f,
                                    .lambda = 1.0f,
                                    .rho = 1.0f,
                                    .gamma = 2.0f,
                                    .target_recall = 0.95f,
                                    .noise = true,
                                    .projection = true,
                                    .ascent_steps = 10,
                                    .ascent_rate = 0.02f,
                                    .positive_noise = -1.0f,
                                    .contamination = 0.05f,
                                    .quantile = 0.95f,
                                    .threshold = 0.5f,
                                    .doc_alpha = 3.0f,
                                    .open_share = 0.5f,
                                    .tail = 20,
                                    .ranks = 10,
                                    .boundary_epochs = 100,
                                    .boundary_rate = 0.05f,
                                    .cosine_scale = 30.0f,
                                    .cosine_margin = 0.35f,
                                    .queue = 7500,
                                    .top = 25,
                                    .momentum = 0.999f,
                                    .contrast_weight = 0.1f,
                                    .neg_ascent_rate = 0.02f,
                                    .neg_rho = 1.0f,
                                    .neg_gamma = 2.0f};

static void defaults_are_these(void **state)
{
    (void)state;
    size_t n;
    const rf_setting_row *rows = rf_setting_rows(&n);
    const rf_settings s = rf_settings_default();
    for (size_t i = 0; i < n; i++)
        if (rf_setting_get(&s, &rows[i]) != rf_setting_get(&by_hand, &rows[i]))
            fail_msg("%s is %g, wanted %g", rows[i].info.name,
                     rf_setting_get(&s, &rows[i]), rf_setting_get(&by_hand, &rows[i]));
    assert_int_equal(rf_settings_check(&s, NULL), RF_OK);
}

/* Left to the data: 1000 rows in 10 classes, then few rows. */
static void what_the_data_chooses(void **state)
{
    (void)state;
    const rf_config c = {.layers = 6, .positions = 512};
    rf_train_options o = {.threads = 3};
    rf_settings s = rf_settings_default();
    assert_int_equal(rf_train_resolve(&o, &s, &c, 1000, 10, NULL), RF_OK);
    assert_true(s.batch == 64 && s.epochs == 10 && s.patience == 4);
    assert_true(s.head_steps == 600 && s.head_max_steps == 1800 &&
                s.head_cool_steps == 150);
    assert_true(s.negative_weight == 1.0f && s.positive_noise == 0.0f &&
                s.fence_reject == 0.0f); /* folds place the fence */
    assert_true(o.max_tokens == 512 && o.dev_share == 0.0 && o.cache_mb == 1024 &&
                o.map_points == 4000); /* zero everywhere is a good start */
    s = rf_settings_default();
    o = (rf_train_options){.method = "heads"};
    assert_int_equal(rf_train_resolve(&o, &s, &c, 1000, 10, NULL), RF_OK);
    assert_true(s.fence_reject == 0.1f && o.dev_share == 0.1);
    s = rf_settings_default();
    o = (rf_train_options){.tune = RF_TUNE_QUICK}; /* tuning needs dev rows */
    assert_int_equal(rf_train_resolve(&o, &s, &c, 1000, 10, NULL), RF_OK);
    assert_true(s.fence_reject == 0.0f && o.dev_share == 0.1);
    s = rf_settings_default();
    o = (rf_train_options){.dev_share = -1, .cache_mb = -1, .map_points = -1};
    assert_int_equal(rf_train_resolve(&o, &s, &c, 80, 2, NULL), RF_OK);
    assert_true(s.negative_weight == 0.05f && s.positive_noise == 0.5f &&
                s.fence_reject == 0.15f);
    assert_true(o.dev_share == 0 && o.cache_mb == 0 && o.map_points == 0);
    s = rf_settings_default(); /* many rows: large batches and few epochs */
    assert_int_equal(rf_train_resolve(&o, &s, &c, 3200, 10, NULL), RF_OK);
    assert_true(s.batch == 128 && s.epochs == 6);
}

/* ---- Rows -------------------------------------------------------------------------- */

static bool same(const char *a, const char *b)
{
    return a && b && strcmp(a, b) == 0;
}

static void rows_are_sound_and_names_their_own(void **state)
{
    (void)state;
    size_t n, tuned = 0;
    const rf_setting_row *rows = rf_setting_rows(&n);
    bool place[32] = {0};
    for (size_t i = 0; i < n; i++) {
        const rf_setting *s = &rows[i].info;
        assert_ptr_equal(rf_setting_find(s->name, strlen(s->name)), &rows[i]);
        assert_ptr_equal(rf_setting_at(i), s);
        assert_true(s->help && *s->help && s->topic && rows[i].section);
        assert_true(s->help[strlen(s->help) - 1] != '.');
        assert_true(s->min <= s->max);
        assert_true(s->automatic || (s->preset >= s->min && s->preset <= s->max));
        assert_true(rf_setting_fits(&rows[i], s->preset));
        assert_false(rf_setting_fits(&rows[i], (double)NAN));
        if (rows[i].tuned) {
            assert_true(rows[i].tuned < 32 && !place[rows[i].tuned]);
            place[rows[i].tuned] = true;
            tuned++;
        }
        for (size_t k = 0; k < i; k++) {
            assert_false(same(s->name, rows[k].info.name));
            assert_false(same(s->option, rows[k].info.option));
            assert_false(rows[i].offset == rows[k].offset);
            assert_false(same(rows[i].section, rows[k].section) &&
                         same(rf_setting_key(&rows[i]), rf_setting_key(&rows[k])));
        }
    }
    for (size_t i = 1; i <= tuned; i++) /* no gap: a gap would end a settings file */
        assert_true(place[i]);
    assert_null(rf_setting_at(n));
    assert_null(rf_setting_find("rh", 2));
    assert_null(rf_setting_find("", 0));
}

/* Methods that a row names are methods. */
static void methods_exist(void **state)
{
    (void)state;
    const rf_setting *s;
    for (size_t i = 0; (s = rf_setting_at(i)); i++) {
        char list[100], *at = list, *name;
        snprintf(list, sizeof list, "%s", s->methods ? s->methods : "");
        while ((name = strtok_r(at, " ", &at))) {
            const char *known;
            size_t k = 0;
            while ((known = rf_method_name(k, NULL, NULL)) && strcmp(known, name) != 0)
                k++;
            if (!known)
                fail_msg("%s: no method \"%s\"", s->name, name);
        }
    }
}

/* ---- Text -------------------------------------------------------------------------- */

/* Another value for every setting: inside its range, not its default. */
static double another(const rf_setting *s)
{
    if (s->kind == RF_SETTING_FLAG)
        return s->preset == 0.0;
    double x = s->max >= 3.0 ? 3.0 : s->min + 0.7 * (s->max - s->min);
    x = x == s->preset ? x + 1.0 : x;
    return s->kind == RF_SETTING_COUNT ? floor(x) : (double)(float)x;
}

static void text_sets_each(void **state)
{
    (void)state;
    size_t n;
    const rf_setting_row *rows = rf_setting_rows(&n);
    for (size_t i = 0; i < n; i++) {
        const rf_setting *info = &rows[i].info;
        rf_settings s = rf_settings_default();
        char text[100];
        snprintf(text, sizeof text, " ;%s=%.9g", info->name, another(info));
        assert_int_equal(rf_settings_parse(&s, text, NULL), RF_OK);
        for (size_t k = 0; k < n; k++)
            assert_true(rf_setting_get(&s, &rows[k]) ==
                        (k == i ? another(info)
                         : rows[k].info.kind == RF_SETTING_NUMBER
                             ? (double)(float)rows[k].info.preset
                             : rows[k].info.preset));
        snprintf(text, sizeof text, "%s=auto", info->name);
        assert_int_equal(rf_settings_parse(&s, text, NULL),
                         info->automatic ? RF_OK : RF_ERR_ARG);
        if (info->automatic)
            assert_true(rf_setting_get(&s, &rows[i]) == info->preset);
    }
    rf_settings s = rf_settings_default();
    assert_int_equal(rf_settings_parse(&s, "rho=2 rho=3", NULL), RF_OK);
    assert_true(s.rho == 3.0f); /* the later counts */
    assert_int_equal(rf_settings_parse(&s, NULL, NULL), RF_OK);
    assert_int_equal(rf_settings_parse(&s, " ; ", NULL), RF_OK);
    assert_true(s.rho == 3.0f);
    /* the ends of a range, though a float is not quite 1e-7 or 0.9 */
    assert_int_equal(rf_settings_parse(&s, "rho=1e-7 dropout=0.9 head_rate=1e-9", NULL),
                     RF_OK);
    assert_int_equal(rf_settings_check(&s, NULL), RF_OK);
}

static void bad_text_is_named(void **state)
{
    (void)state;
    static const struct {
        const char *text, *said;
    } bad[] = {
        {"rho", "\"rho\": wanted NAME=VALUE"},
        {"=3", "no setting \"\""},
        {"rhoo=3", "no setting \"rhoo\""},
        {"rho=", "rho is \"\", wanted 1e-07 to 1e+06"},
        {"rho=x", "rho is \"x\""},
        {"rho=0x1", "rho is \"0x1\""},
        {"rho=0", "rho is 0, wanted 1e-07 to 1e+06"},
        {"rho=nan", "rho is nan"},
        {"rho=auto", "rho is \"auto\""},
        {"gamma=inf", "gamma is inf, wanted 1 to 1e+06"},
        {"gamma=1e40", "gamma is 1e+40"},
        {"epochs=1.5", "epochs is 1.5, wanted a whole number from 1 to 1e+06"},
        {"epochs=-1", "epochs is -1"},
        {"noise=2", "noise is 2, wanted a whole number from 0 to 1"},
        {"lambda=2 gamma=0.5 rho=1", "gamma is 0.5, wanted 1 to 1e+06"},
        {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
         "aaaaa"
         "aaaaaaaaaaaaaaaaaaaaaaaa=1",
         "wanted NAME=VALUE"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        rf_settings s = rf_settings_default(), was = s;
        rf_error err = {0};
        assert_int_equal(rf_settings_parse(&s, bad[i].text, &err), RF_ERR_ARG);
        assert_error(&err, RF_ERR_ARG, bad[i].said);
        assert_true(s.lambda == was.lambda && s.rho == was.rho); /* all or nothing */
    }
}

/* Methods read what they are given: a training refuses it before they are asked. */
static void a_training_checks_every_setting(void **state)
{
    (void)state;
    size_t n;
    const rf_setting_row *rows = rf_setting_rows(&n);
    const rf_config c = {.layers = 6, .positions = 512};
    for (size_t i = 0; i < n; i++) {
        rf_train_options o = {.threads = 1};
        rf_settings s = rf_settings_default();
        rf_error err = {0};
        char *at = (char *)&s + rows[i].offset;
        if (rows[i].info.kind == RF_SETTING_FLAG)
            continue;
        if (rows[i].info.kind == RF_SETTING_NUMBER)
            memcpy(at, &(float){NAN}, sizeof(float));
        else
            memcpy(at, &(size_t){SIZE_MAX}, sizeof(size_t));
        assert_int_equal(rf_train_resolve(&o, &s, &c, 1000, 10, &err), RF_ERR_ARG);
        assert_error(&err, RF_ERR_ARG, rows[i].info.name, "wanted");
    }
}

/* ---- JSON -------------------------------------------------------------------------- */

static void json_there_and_back(void **state)
{
    (void)state;
    static const char *const sections[] = {"known", "open", "method_options"};
    size_t n, found = 0;
    const rf_setting_row *rows = rf_setting_rows(&n);
    rf_settings from = rf_settings_default(), to = from;
    json_t *all = json_object();
    for (size_t i = 0; i < n; i++)
        assert_int_equal(
            rf_setting_set(&from, &rows[i], another(&rows[i].info), "", NULL), RF_OK);
    for (size_t i = 0; i < 3; i++) {
        json_t *part = rf_settings_json(&from, sections[i]);
        found += json_object_size(part);
        assert_int_equal(json_object_set_new(all, sections[i], part), 0);
    }
    assert_int_equal(found, n);
    rf_settings_take_json(&to, all);
    for (size_t i = 0; i < n; i++)
        assert_true(rf_setting_get(&to, &rows[i]) == another(&rows[i].info));
    json_decref(all);
    /* what is no value stays */
    all = json_pack("{s:{s:s, s:f, s:f}, s:i}", "known", "epochs", "x", "dropout", 7.0,
                    "blend", 0.25, "open", 3);
    rf_settings s = rf_settings_default();
    rf_settings_take_json(&s, all);
    assert_true(s.epochs == 0 && s.dropout == 0.1f && s.blend == 0.25f && s.rho == 1.0f);
    rf_settings_take_json(&s, NULL);
    json_decref(all);
}

/* Keys and their order as in the models that there are. */
static void files_keep_their_form(void **state)
{
    (void)state;
    const rf_settings s = rf_settings_default();
    const rf_train_options o = {.method = "ans", .seed = 7};
    json_t *json = rf_train_settings_json(&o, &s);
    char *text = json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(6));
    assert_string_equal(
        text,
        "{\"seed\":7,\"max_tokens\":0,\"dev_share\":0.0,\"known\":{\"train_layers\":2,"
        "\"epochs\":0,\"batch\":0,\"patience\":0,\"encoder_rate\":0.0001,"
        "\"known_rate\":0.0005,\"weight_decay\":0.01,\"warmup\":0.1,\"dropout\":0.1,"
        "\"spelling\":true,\"blend\":0.5},\"open\":{\"steps\":0,\"max_steps\":0,\"cool_"
        "steps\":0,"
        "\"positives\":8,\"negatives\":64,\"rate\":0.0003,\"dropout\":0.1,\"lambda\":1.0,"
        "\"negative_weight\":0.0,\"rho\":1.0,\"radius\":0.0,\"gamma\":2.0,"
        "\"target_recall\":0.95,\"noise\":true,\"projection\":true,\"ascent_steps\":10,"
        "\"ascent_rate\":0.02,\"positive_noise\":-1.0,\"open_share\":0.5,\"fence_"
        "reject\":0.0,"
        "\"fence_offset\":0.0}}");
    free(text);
    json_decref(json);
    json = rf_settings_json(&s, "method_options");
    text = json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(6));
    assert_string_equal(
        text,
        "{\"neighbours\":0,\"contamination\":0.05,\"quantile\":0.95,\"threshold\":0.5,"
        "\"doc_alpha\":3.0,\"tail\":20,\"ranks\":10,\"boundary_epochs\":100,"
        "\"boundary_rate\":0.05,\"cosine_scale\":30.0,\"cosine_margin\":0.35,"
        "\"temperature\":0.0,\"queue\":7500,\"top\":25,\"momentum\":0.999,"
        "\"contrast_weight\":0.1,\"ascent_steps\":0,\"ascent_rate\":0.02,\"rho\":1.0,"
        "\"gamma\":2.0,\"radius\":0.0,\"textoir\":false}");
    free(text);
    json_decref(json);
}

/* ---- The program ------------------------------------------------------------------- */

static void every_option_is_listed(void **state)
{
    (void)state;
    option list[SETTINGS_OPTIONS_MAX];
    settings_text text = {0};
    size_t n = settings_options_list(&text, NULL, list);
    const rf_setting *s;
    for (size_t i = 0; (s = rf_setting_at(i)); i++) {
        size_t k = 0;
        while (k < n && list[k].setting != s)
            k++;
        assert_true(s->option ? k < n && same(list[k].name, s->option) : k == n);
    }
    size_t few = settings_options_list(&text, "ans", list);
    assert_true(few < n);
    for (size_t i = 0; i < few; i++)
        assert_false(same(list[i].name, "neighbours"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_these),
        cmocka_unit_test(what_the_data_chooses),
        cmocka_unit_test(rows_are_sound_and_names_their_own),
        cmocka_unit_test(methods_exist),
        cmocka_unit_test(text_sets_each),
        cmocka_unit_test(bad_text_is_named),
        cmocka_unit_test(a_training_checks_every_setting),
        cmocka_unit_test(json_there_and_back),
        cmocka_unit_test(files_keep_their_form),
        cmocka_unit_test(every_option_is_listed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
