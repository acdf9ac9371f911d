#include "model/settings_file.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct key {
    const char *name;
    size_t at; /* in rf_train_options */
    bool whole;
    double least, most;
} key;

/* The ranges are those of rf_train (train_settings.c). */
static const key keys[] = {
    {"blend", offsetof(rf_train_options, blend), false, 0, 1},
    {"negative_weight", offsetof(rf_train_options, negative_weight), false, 1e-7, 1e6},
    {"lambda", offsetof(rf_train_options, lambda), false, 0, 1e6},
    {"rho", offsetof(rf_train_options, rho), false, 1e-7, 1e6},
    {"positive_noise", offsetof(rf_train_options, positive_noise), false, 0, 100},
    {"ascent_steps", offsetof(rf_train_options, ascent_steps), true, 0, 10000},
    {"fence_reject", offsetof(rf_train_options, fence_reject), false, 0, 1},
    {"fence_offset", offsetof(rf_train_options, fence_offset), false, -1e6, 1e6},
};
#define N_KEYS (sizeof keys / sizeof *keys)

static const key *find(const char *name)
{
    for (size_t i = 0; i < N_KEYS; i++)
        if (strcmp(keys[i].name, name) == 0)
            return &keys[i];
    return NULL;
}

bool rf_setting_allowed(const char *name, double value)
{
    const key *k = find(name);
    return k && value >= k->least && value <= k->most;
}

static void *place(const rf_train_options *o, const key *k)
{
    return (char *)(uintptr_t)o + k->at;
}

/* The shortest decimal that is this float: 0.12 and not 0.11999999731779099. */
static double tidy(float v)
{
    for (int digits = 1; digits < 9; digits++) {
        double scale = pow(10.0, digits), rounded = round((double)v * scale) / scale;
        if ((float)rounded == v)
            return rounded;
    }
    return (double)v;
}

json_t *rf_settings_json(const rf_train_options *o)
{
    json_t *json = json_object();
    bool good = json;
    for (size_t i = 0; i < N_KEYS && good; i++) {
        void *p = place(o, &keys[i]);
        json_t *value = keys[i].whole ? json_integer((json_int_t) * (size_t *)p)
                                      : json_real(tidy(*(float *)p));
        good = json_object_set_new(json, keys[i].name, value) == 0;
    }
    if (good)
        return json;
    json_decref(json);
    return NULL;
}

static rf_status refuse_key(const char *name, const char *file, rf_error *err)
{
    char known[24 * N_KEYS] = "";
    size_t n = 0;
    for (size_t i = 0; i < N_KEYS && n < sizeof known; i++)
        n += (size_t)snprintf(known + n, sizeof known - n, "%s%s", i ? ", " : "",
                              keys[i].name);
    return rf_fail(err, RF_ERR_FORMAT, 0,
                   "%s: settings has a key \"%.40s\", wanted only %s", file, name, known);
}

static rf_status take(rf_train_options *o, const char *name, const json_t *value,
                      const char *file, rf_error *err)
{
    const key *k = find(name);
    if (!k)
        return refuse_key(name, file, err);
    if (k->whole ? !json_is_integer(value) : !json_is_number(value))
        return rf_fail(err, RF_ERR_FORMAT, 0, "%s: settings.%s is %s, wanted a %s", file,
                       name, rf_json_type(value), k->whole ? "whole number" : "number");
    double v = json_number_value(value);
    if (!(v >= k->least && v <= k->most))
        return rf_fail(err, RF_ERR_FORMAT, 0, "%s: settings.%s is %g, wanted %g to %g",
                       file, name, v, k->least, k->most);
    if (k->whole)
        *(size_t *)place(o, k) = (size_t)v;
    else
        *(float *)place(o, k) = (float)v;
    return RF_OK;
}

rf_status rf_train_options_take(rf_train_options *options, const char *json, size_t len,
                                const char *name, rf_error *err)
{
    rf_error local = {0};
    rf_train_options taken = *options;
    const char *key_name;
    json_t *value;
    err = err ? err : &local;
    name = name ? name : "the settings";
    json_t *root = rf_json_object(json, len, name, err);
    if (!root)
        return err->code;
    rf_status st = RF_OK;
    json_object_foreach(root, key_name, value)
    {
        if (st == RF_OK && strcmp(key_name, "settings") != 0 &&
            strcmp(key_name, "tuning") != 0)
            st = rf_fail(err, RF_ERR_FORMAT, 0,
                         "%s: has a key \"%.40s\", wanted only settings and tuning", name,
                         key_name);
    }
    json_t *settings = json_object_get(root, "settings");
    if (st == RF_OK && !json_is_object(settings))
        st = rf_fail(err, RF_ERR_FORMAT, 0, "%s: settings is %s, wanted an object", name,
                     rf_json_type(settings));
    json_object_foreach(settings, key_name, value)
    {
        if (st == RF_OK)
            st = take(&taken, key_name, value, name, err);
    }
    json_decref(root);
    if (st == RF_OK)
        *options = taken;
    return st;
}
