/* plan.c - from the lists of sets, ratios, seeds, methods and variants to the runs */
#include "lab/plan.h"

#include "lab/lab_settings.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* "radius=1,4,16 gamma=2": a list of names, each with its values. */
static rf_status take_variants(lists *l, const char *text, rf_error *err)
{
    rf_settings settings = rf_settings_default();
    rf_split_options split = {0};
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
            /* refused now, and not hours later when its turn comes */
            if ((st = rf_variant_apply(to, &settings, &split, err)) != RF_OK)
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
