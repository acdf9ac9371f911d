/* settings_file.c - write the settings that tuning chooses as JSON, and read such JSON
 * as settings text */
#include "folds/settings_file.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX 1024 /* bytes of settings text */

/* The setting at a position in the file, from 1; NULL past the end. */
static const rf_setting_row *tuned_setting(int place)
{
    size_t n;
    const rf_setting_row *rows = rf_setting_rows(&n);
    for (size_t i = 0; i < n; i++)
        if (rows[i].tuned == place)
            return &rows[i];
    return NULL;
}

/* The shortest decimal that rounds to this float: 0.12, not 0.11999999731779099. */
static double shortest_decimal(float v)
{
    for (int digits = 1; digits < 9; digits++) {
        double scale = pow(10.0, digits), rounded = round((double)v * scale) / scale;
        if ((float)rounded == v)
            return rounded;
    }
    return (double)v;
}

json_t *rf_tuned_settings_json(const rf_settings *s)
{
    json_t *json = json_object();
    bool good = json;
    const rf_setting_row *row;
    for (int place = 1; good && (row = tuned_setting(place)); place++) {
        json_t *value = row->info.kind == RF_SETTING_NUMBER
                            ? json_real(shortest_decimal((float)rf_setting_get(s, row)))
                            : rf_setting_json(s, row);
        good = json_object_set_new(json, row->info.name, value) == 0;
    }
    if (good)
        return json;
    json_decref(json);
    return NULL;
}

static rf_status fail_unknown_key(const char *name, const char *file, rf_error *err)
{
    char known[256] = "";
    size_t n = 0;
    const rf_setting_row *row;
    for (int place = 1; (row = tuned_setting(place)) && n < sizeof known; place++)
        n += (size_t)snprintf(known + n, sizeof known - n, "%s%s", n ? ", " : "",
                              row->info.name);
    return rf_fail(err, RF_ERR_FORMAT, 0,
                   "%s: settings has a key \"%.40s\", wanted only %s", file, name, known);
}

/* Adds "name=value " to the text. */
static rf_status append_setting(char text[TEXT_MAX], const char *name,
                                const json_t *value, const char *file, rf_error *err)
{
    const rf_setting_row *row = rf_setting_find(name, strlen(name));
    rf_settings unused;
    rf_error why = {0};
    char as[64];
    if (!row || !row->tuned)
        return fail_unknown_key(name, file, err);
    bool whole = row->info.kind == RF_SETTING_COUNT;
    if (whole ? !json_is_integer(value) : !json_is_number(value))
        return rf_fail(err, RF_ERR_FORMAT, 0, "%s: settings.%s is %s, wanted a %s", file,
                       name, rf_json_type(value), whole ? "whole number" : "number");
    snprintf(as, sizeof as, "settings.%s", name);
    if (rf_setting_set(&unused, row, json_number_value(value), as, &why) != RF_OK)
        return rf_fail(err, RF_ERR_FORMAT, 0, "%s: %s", file, why.msg);
    size_t n = strlen(text);
    assert(n + 64 < TEXT_MAX);
    snprintf(text + n, TEXT_MAX - n, "%s=%.17g ", name, json_number_value(value));
    return RF_OK;
}

static rf_status append_settings(char text[TEXT_MAX], json_t *root, const char *file,
                                 rf_error *err)
{
    const char *key;
    json_t *settings = json_object_get(root, "settings");
    json_t *value;
    rf_status st = RF_OK;
    json_object_foreach(root, key, value)
    {
        if (strcmp(key, "settings") != 0 && strcmp(key, "tuning") != 0)
            return rf_fail(err, RF_ERR_FORMAT, 0,
                           "%s: has a key \"%.40s\", wanted only settings and tuning",
                           file, key);
    }
    if (!json_is_object(settings))
        return rf_fail(err, RF_ERR_FORMAT, 0, "%s: settings is %s, wanted an object",
                       file, rf_json_type(settings));
    json_object_foreach(settings, key, value)
    {
        if (st == RF_OK)
            st = append_setting(text, key, value, file, err);
    }
    return st;
}

rf_status rf_settings_from_json(const char *json, size_t len, const char *name,
                                char **settings, rf_error *err)
{
    rf_error local = {0};
    char text[TEXT_MAX] = "";
    err = err ? err : &local;
    *settings = NULL;
    name = name ? name : "the settings";
    json_t *root = rf_json_object(json, len, name, err);
    if (!root)
        return err->code;
    rf_status st = append_settings(text, root, name, err);
    json_decref(root);
    if (st == RF_OK && !(*settings = strdup(text)))
        st = rf_fail_nomem(err, strlen(text) + 1, "the settings");
    return st;
}
