#include "lab/plan.h"

#include "model/train_settings.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ASCENT_STEPS 10 /* where a variant asks for ascent */

/* ---- Lists ------------------------------------------------------------------------- */

/* The next entry of a list that is separated by one of these characters; false at the
 * end. */
static bool next_entry(const char **at, const char *separators, char *out, size_t room,
                       bool *fits)
{
    const char *from = *at + strspn(*at, separators);
    size_t n = strcspn(from, separators);
    *fits = n < room;
    if (n == 0)
        return false;
    snprintf(out, room, "%.*s", (int)(n < room ? n : room - 1), from);
    *at = from + n;
    return true;
}

static bool read_number(const char *text, double *out)
{
    char *end;
    *out = strtod(text, &end);
    return end != text && *end == '\0' && isfinite(*out);
}

typedef struct lists {
    double *ratios;
    uint64_t *seeds;
    const rf_method **methods;
    char (*variants)[96];
    size_t n_ratios, n_seeds, n_methods, n_variants;
} lists;

static void lists_release(lists *l)
{
    free(l->ratios);
    free(l->seeds);
    free(l->methods);
    free(l->variants);
}

/* One more element at the end of *list. */
static rf_status grow(void *list, size_t size, size_t n, rf_error *err)
{
    void **at = list;
    void *new = realloc(*at, (n + 1) * size);
    if (!new)
        return rf_fail_nomem(err, (n + 1) * size, "the plan");
    *at = new;
    return RF_OK;
}

static rf_status take_sets(rf_plan *plan, const char *text, rf_error *err)
{
    char name[64];
    bool fits;
    while (next_entry(&text, ", ", name, sizeof name, &fits)) {
        if (!fits || strchr(name, '/'))
            return rf_fail(err, RF_ERR_ARG, 0,
                           "set \"%s\": wanted the name of a directory, at most 63 bytes",
                           name);
        bool again = false; /* named before */
        for (size_t i = 0; i < plan->n_sets; i++)
            again |= strcmp(plan->sets[i], name) == 0;
        if (again)
            continue;
        rf_status st = grow(&plan->sets, sizeof *plan->sets, plan->n_sets, err);
        if (st != RF_OK)
            return st;
        memcpy(plan->sets[plan->n_sets++], name, sizeof name);
    }
    return plan->n_sets ? RF_OK : rf_fail(err, RF_ERR_ARG, 0, "no sets, wanted some");
}

static rf_status take_ratios(lists *l, const char *text, rf_error *err)
{
    char entry[32];
    bool fits;
    while (next_entry(&text, ", ", entry, sizeof entry, &fits)) {
        double ratio;
        if (!fits || !read_number(entry, &ratio) || !(ratio > 0.0 && ratio <= 1.0))
            return rf_fail(err, RF_ERR_ARG, 0,
                           "ratio \"%s\": wanted a number above 0, at most 1", entry);
        bool again = false;
        for (size_t i = 0; i < l->n_ratios; i++)
            again |= l->ratios[i] == ratio;
        if (again)
            continue;
        rf_status st = grow(&l->ratios, sizeof *l->ratios, l->n_ratios, err);
        if (st != RF_OK)
            return st;
        l->ratios[l->n_ratios++] = ratio;
    }
    return l->n_ratios ? RF_OK : rf_fail(err, RF_ERR_ARG, 0, "no ratios, wanted some");
}

static rf_status take_seeds(lists *l, const char *text, rf_error *err)
{
    char entry[32];
    bool fits;
    while (next_entry(&text, ", ", entry, sizeof entry, &fits)) {
        unsigned long first, last;
        char *end;
        first = last = strtoul(entry, &end, 10);
        bool good = fits && end != entry && entry[0] != '-';
        if (good && *end == '-') {
            const char *from = end + 1;
            last = strtoul(from, &end, 10);
            good = end != from;
        }
        if (!good || *end || first > last || last > UINT32_MAX || last - first > 10000)
            return rf_fail(err, RF_ERR_ARG, 0,
                           "seeds \"%s\": wanted numbers and ranges such as 0-9", entry);
        for (unsigned long s = first; s <= last; s++) {
            bool again = false;
            for (size_t i = 0; i < l->n_seeds; i++)
                again |= l->seeds[i] == s;
            if (again)
                continue;
            rf_status st = grow(&l->seeds, sizeof *l->seeds, l->n_seeds, err);
            if (st != RF_OK)
                return st;
            l->seeds[l->n_seeds++] = s;
        }
    }
    return l->n_seeds ? RF_OK : rf_fail(err, RF_ERR_ARG, 0, "no seeds, wanted some");
}

static rf_status add_method(lists *l, const rf_method *m, rf_error *err)
{
    for (size_t i = 0; i < l->n_methods; i++)
        if (l->methods[i] == m)
            return RF_OK;
    rf_status st = grow(&l->methods, sizeof *l->methods, l->n_methods, err);
    if (st == RF_OK)
        l->methods[l->n_methods++] = m;
    return st;
}

static rf_status take_methods(lists *l, const rf_lab_options *o, rf_error *err)
{
    char name[32];
    bool fits;
    const char *text = o->methods;
    rf_status st = RF_OK;
    while (st == RF_OK && next_entry(&text, ", ", name, sizeof name, &fits)) {
        bool all = strcmp(name, "all") == 0, shared = strcmp(name, "shared") == 0;
        const rf_method *one = fits ? rf_method_find(name) : NULL;
        if (!all && !shared && !one)
            return rf_fail(err, RF_ERR_ARG, 0,
                           "no method \"%s\"; there are all, shared and those of "
                           "ringfence train --help",
                           name);
        if (one)
            st = add_method(l, one, err);
        for (const rf_method *const *m = rf_methods(); *m && !one && st == RF_OK; m++)
            if (shared ? !(*m)->objective : !(*m)->wants_open_texts || o->open_texts)
                st = add_method(l, *m, err);
    }
    if (st == RF_OK && l->n_methods == 0)
        st = rf_fail(err, RF_ERR_ARG, 0, "no methods, wanted some");
    return st;
}

/* Now, and not when its turn comes, hours later. Encoder and data are not known yet: what
 * depends on them is looked at by the training. */
static rf_status check_variant(const char *variant, rf_error *err)
{
    rf_train_options train = rf_train_options_default();
    rf_split_options split = {0};
    const rf_config any = {.layers = SIZE_MAX, .positions = SIZE_MAX};
    rf_error why = {0};
    rf_status st = rf_variant_apply(variant, &train, &split, err);
    if (st != RF_OK || (st = rf_train_resolve(&train, &any, 1000, 10, &why)) == RF_OK)
        return st;
    return rf_fail(err, st, 0, "variant \"%s\": %s", variant, why.msg);
}

/* "radius=1,4,16 gamma=2": a list of names, each with its values. */
static rf_status take_variants(lists *l, const char *text, rf_error *err)
{
    char entry[1024];
    bool fits;
    while (text && next_entry(&text, " ;", entry, sizeof entry, &fits)) {
        char *values = strchr(entry, '=');
        if (!fits || !values)
            return rf_fail(err, RF_ERR_ARG, 0,
                           "variant \"%.60s\": wanted NAME=VALUE,VALUE,...", entry);
        *values++ = '\0';
        const char *at = values;
        char value[64];
        if (!values[strspn(values, ",")])
            return rf_fail(err, RF_ERR_ARG, 0,
                           "variant \"%.60s=\": wanted NAME=VALUE,VALUE,...", entry);
        while (next_entry(&at, ",", value, sizeof value, &fits)) {
            rf_status st = grow(&l->variants, sizeof *l->variants, l->n_variants, err);
            if (st != RF_OK)
                return st;
            char *to = l->variants[l->n_variants++];
            int n = snprintf(to, sizeof *l->variants, "%s=%s", entry, value);
            if (!fits || n < 0 || (size_t)n >= sizeof *l->variants)
                return rf_fail(err, RF_ERR_ARG, 0, "variant \"%.60s\" is too long", to);
            if ((st = check_variant(to, err)) != RF_OK)
                return st;
            for (size_t i = 0; i + 1 < l->n_variants; i++)
                if (strcmp(l->variants[i], to) == 0) {
                    l->n_variants--;
                    break;
                }
        }
    }
    if (l->n_variants > 0)
        return RF_OK;
    rf_status st = grow(&l->variants, sizeof *l->variants, 0, err);
    if (st == RF_OK)
        l->variants[l->n_variants++][0] = '\0';
    return st;
}

/* ---- Variants ---------------------------------------------------------------------- */

/* The paper's Table 2, each with one thing more than the one before. */
static bool apply_ablation(const char *what, rf_train_options *o)
{
    static const char *const steps[] = {"baseline", "noise", "projection", "ascent"};
    size_t i = 0;
    while (i < 4 && strcmp(what, steps[i]) != 0)
        i++;
    if (i == 4)
        return false;
    if (i == 0)
        o->lambda = 0.0f;
    o->no_projection = i < 2;
    o->ascent_steps = i < 3 ? 0 : ASCENT_STEPS;
    o->positive_noise = 0.0f; /* no part of the paper's method */
    return true;
}

rf_status rf_variant_apply(const char *variant, rf_train_options *o,
                           rf_split_options *split, rf_error *err)
{
    if (!*variant)
        return RF_OK;
    const char *value = strchr(variant, '=');
    size_t len = value ? (size_t)(value - variant) : 0;
    char name[32];
    snprintf(name, sizeof name, "%.*s", (int)(len < 31 ? len : 31), variant);
    if (value && strcmp(name, "ablation") == 0 && apply_ablation(value + 1, o))
        return RF_OK;
    double x = 0.0;
    bool good = value && read_number(value + 1, &x) && x >= 0.0;
    rf_method_options *m = &o->method_options;
    bool whole = good && x == floor(x) && x <= 1e9;
    if (strcmp(name, "radius") == 0 && x > 0.0) /* 0 would leave it to rho */
        o->radius = m->radius = (float)x;
    else if (strcmp(name, "rho") == 0)
        o->rho = m->rho = (float)x;
    else if (strcmp(name, "gamma") == 0)
        o->gamma = m->gamma = (float)x;
    else if (strcmp(name, "lambda") == 0)
        o->lambda = (float)x;
    else if (strcmp(name, "eta") == 0) { /* there must be steps for it to matter */
        o->ascent_rate = m->ascent_rate = (float)x;
        m->ascent_steps = m->ascent_steps == 0 ? ASCENT_STEPS : m->ascent_steps;
    } else if (strcmp(name, "weight") == 0 && x > 0.0) /* 0 would leave it to the data */
        o->negative_weight = (float)x;
    else if ((strcmp(name, "k") == 0 || strcmp(name, "ascent") == 0) && whole)
        o->ascent_steps = m->ascent_steps = (size_t)x;
    else if (strcmp(name, "blend") == 0 && x <= 1.0)
        o->blend = (float)x;
    else if (strcmp(name, "jitter") == 0)
        o->positive_noise = (float)x;
    else if (strcmp(name, "reject") == 0 && x > 0.0 && x <= 1.0)
        o->fence_reject = (float)x;
    else if (strcmp(name, "rows") == 0 && whole && x >= 1.0)
        split->rows_per_class = (size_t)x;
    else if (strcmp(name, "classes") == 0 && whole && x >= 1.0)
        split->n_classes = (size_t)x;
    else if (strcmp(name, "neighbours") == 0 && whole && x >= 1.0)
        m->neighbours = (size_t)x;
    else if (strcmp(name, "textoir") == 0 && whole && x <= 1.0)
        m->textoir = x > 0.0;
    else
        good = false;
    return good ? RF_OK
                : rf_fail(err, RF_ERR_ARG, 0,
                          "variant \"%s\": wanted NAME=VALUE with one of radius, rho, "
                          "gamma, lambda, k or ascent (steps), eta, weight, blend, "
                          "jitter, reject, "
                          "rows, classes, neighbours, textoir (a number), or "
                          "ablation=baseline, noise, "
                          "projection, ascent",
                          variant);
}

/* ---- The plan ---------------------------------------------------------------------- */

static rf_status list_runs(rf_plan *plan, const lists *l, rf_error *err)
{
    size_t most = l->n_seeds * plan->n_sets * l->n_ratios * l->n_methods * l->n_variants;
    plan->runs = calloc(most, sizeof *plan->runs);
    if (!plan->runs)
        return rf_fail_nomem(err, most * sizeof *plan->runs, "the plan");
    for (size_t i = 0; i < most; i++) {
        size_t rest = i;
        rf_planned *p = &plan->runs[plan->n];
        memcpy(p->variant, l->variants[rest % l->n_variants], sizeof p->variant);
        rest /= l->n_variants;
        p->method = l->methods[rest % l->n_methods];
        rest /= l->n_methods;
        p->ratio = l->ratios[rest % l->n_ratios];
        rest /= l->n_ratios;
        p->set = rest % plan->n_sets;
        p->seed = l->seeds[rest / plan->n_sets];
        /* A number of classes stands in for the ratio: once is enough. */
        if (strncmp(p->variant, "classes=", 8) != 0 || p->ratio == l->ratios[0])
            plan->n++;
    }
    return RF_OK;
}

rf_status rf_plan_make(rf_plan *plan, const rf_lab_options *o, rf_error *err)
{
    *plan = (rf_plan){0};
    lists l = {0};
    rf_status st;
    if ((st = take_sets(plan, o->sets, err)) == RF_OK &&
        (st = take_ratios(&l, o->ratios, err)) == RF_OK &&
        (st = take_seeds(&l, o->seeds, err)) == RF_OK &&
        (st = take_methods(&l, o, err)) == RF_OK &&
        (st = take_variants(&l, o->variants, err)) == RF_OK)
        st = list_runs(plan, &l, err);
    lists_release(&l);
    if (st != RF_OK)
        rf_plan_release(plan);
    return st;
}

void rf_plan_release(rf_plan *plan)
{
    free(plan->sets);
    free(plan->runs);
    *plan = (rf_plan){0};
}
