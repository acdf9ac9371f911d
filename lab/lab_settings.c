/* lab_settings.c - the table of settings as the lab sees it: a variant sets every row
 * that answers to its name; rows, classes and ablation are the lab's own */
#include "lab/lab_settings.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ASCENT_STEPS 10 /* where a variant asks for ascent */

/* ---- Names ------------------------------------------------------------------------- */

/* No settings: about the split, or several at once. */
static const rf_lab_sweep others[] = {
    {"rows", "5,10,20,50,100", "Training texts per class", "texts per class"},
    {"classes", "5,10,20,40,80", "Number of known classes", "known classes"},
    {"ablation", "baseline,noise,projection,ascent", NULL, NULL},
};
#define N_OTHERS (sizeof others / sizeof *others)

bool rf_lab_entry_at(size_t i, rf_lab_entry *out)
{
    size_t n;
    const rf_setting_row *rows = rf_setting_rows(&n);
    *out = (rf_lab_entry){0};
    if (i >= n + N_OTHERS)
        return false;
    if (i >= n) {
        out->sweep = others[i - n];
        return true;
    }
    out->row = &rows[i];
    out->sweep.values = rows[i].values;
    out->sweep.title = rows[i].title;
    out->sweep.axis = rows[i].axis;
    /* the short name, if it is this row that it means first */
    bool first = rows[i].title || rows[i].values;
    const char *name = first && rows[i].sweep ? rows[i].sweep : rows[i].info.name;
    snprintf(out->sweep.name, sizeof out->sweep.name, "%.*s", (int)strcspn(name, " "),
             name);
    return true;
}

bool rf_lab_entry_find(const char *name, size_t len, rf_lab_entry *out, size_t *i)
{
    for (*i = 0; rf_lab_entry_at(*i, out); (*i)++)
        if (out->row ? rf_setting_answers(out->row, name, len)
                     : strlen(out->sweep.name) == len &&
                           memcmp(out->sweep.name, name, len) == 0)
            return true;
    return false;
}

bool rf_lab_sweep_at(size_t i, rf_lab_sweep *out)
{
    rf_lab_entry e;
    bool found = rf_lab_entry_at(i, &e);
    *out = e.sweep;
    return found;
}

bool rf_lab_sweep_find(const char *name, rf_lab_sweep *out)
{
    rf_lab_entry e;
    size_t i;
    bool found = rf_lab_entry_find(name, strlen(name), &e, &i);
    *out = e.sweep;
    return found;
}

/* ---- Variants ---------------------------------------------------------------------- */

/* The paper's Table 2, each with one thing more than the one before. */
static bool apply_ablation(const char *what, rf_settings *s)
{
    static const char *const steps[] = {"baseline", "noise", "projection", "ascent"};
    size_t i = 0;
    while (i < 4 && strcmp(what, steps[i]) != 0)
        i++;
    if (i == 4)
        return false;
    if (i == 0)
        s->lambda = 0.0f;
    s->projection = i >= 2;
    s->ascent_steps = i < 3 ? 0 : ASCENT_STEPS;
    s->positive_noise = 0.0f; /* no part of the paper's method */
    return true;
}

bool rf_lab_lognormal(const char *value, double *median, double *spread)
{
    static const char word[] = "lognormal:";
    char *end;
    if (strncmp(value, word, sizeof word - 1) != 0)
        return false;
    value += sizeof word - 1;
    *median = strtod(value, &end);
    if (end == value || *end != ':' || !(*median >= 1.0 && *median <= RF_SPLIT_MAX_ROWS))
        return false;
    value = end + 1;
    *spread = strtod(value, &end);
    return end != value && *end == '\0' && *spread >= 0.0 && *spread <= 10.0;
}

static bool apply_other(const char *name, const char *value, rf_settings *s,
                        rf_split_options *split)
{
    char *end;
    if (strcmp(name, "ablation") == 0)
        return apply_ablation(value, s);
    if (strcmp(name, "rows") == 0 &&
        rf_lab_lognormal(value, &split->rows_median, &split->rows_spread))
        return true;
    double x = strtod(value, &end);
    if (end == value || *end || !(x >= 1.0 && x <= 1e9 && x == floor(x)))
        return false;
    *(strcmp(name, "rows") == 0 ? &split->rows_per_class : &split->n_classes) = (size_t)x;
    return true;
}

/* Every row of that name. "auto" would be a run without the variant. */
static rf_status apply_rows(const char *name, const char *value, rf_settings *s,
                            rf_error *err)
{
    size_t n, len = strlen(name);
    const rf_setting_row *rows = rf_setting_rows(&n);
    rf_status st = RF_OK;
    for (size_t i = 0; i < n && st == RF_OK; i++) {
        if (!rf_setting_answers(&rows[i], name, len))
            continue;
        st = rf_setting_set_text(s, &rows[i], value, name, err);
        if (st == RF_OK && rows[i].info.automatic &&
            rf_setting_get(s, &rows[i]) == rows[i].info.preset)
            st = rf_fail(err, RF_ERR_ARG, 0, "%s is %s, wanted a number of its own", name,
                         value);
    }
    return st;
}

static rf_status refuse(const char *variant, rf_error *err)
{
    char names[200] = "";
    rf_lab_entry e;
    for (size_t i = 0, n = 0; rf_lab_entry_at(i, &e) && n < sizeof names; i++)
        if (e.sweep.title || e.sweep.values)
            n += (size_t)snprintf(names + n, sizeof names - n, "%s, ", e.sweep.name);
    return rf_fail(
        err, RF_ERR_ARG, 0,
        "variant \"%s\": wanted NAME=VALUE with one of %sor another setting; "
        "ablation is baseline, noise, projection or ascent; rows is a number or "
        "lognormal:MEDIAN:SPREAD",
        variant, names);
}

rf_status rf_variant_apply(const char *variant, rf_settings *s, rf_split_options *split,
                           rf_error *err)
{
    const char *value = strchr(variant, '=');
    const size_t layers = s->train_layers;
    rf_lab_entry e;
    rf_error why = {0};
    char name[32];
    size_t i;
    if (!*variant)
        return RF_OK;
    if (!value || !rf_lab_entry_find(variant, (size_t)(value - variant), &e, &i))
        return refuse(variant, err);
    snprintf(name, sizeof name, "%.*s", (int)(value - variant), variant);
    value++;
    if (!e.row)
        return apply_other(name, value, s, split) ? RF_OK : refuse(variant, err);
    if (apply_rows(name, value, s, &why) != RF_OK)
        return rf_fail(err, RF_ERR_ARG, 0, "variant \"%s\": %s", variant, why.msg);
    if (s->train_layers != layers)
        return rf_fail(err, RF_ERR_ARG, 0,
                       "variant \"%s\": runs share the layers that stay frozen; "
                       "wanted --train-layers and another directory for results",
                       variant);
    /* there must be steps for their length to matter */
    if (strcmp(name, "eta") == 0 && s->neg_ascent_steps == 0)
        s->neg_ascent_steps = ASCENT_STEPS;
    return RF_OK;
}
