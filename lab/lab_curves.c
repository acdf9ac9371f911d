/* lab_curves.c - sweeps: how F1 depends on one setting */
#include "lab/lab_page.h"
#include "lab/lab_settings.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_SEEDS 3 /* for a band: of two seeds it would cover everything */

/* One setting, as bytes before "=". */
typedef struct sweep {
    rf_lab_page *r;
    const char *name;
    size_t len;
    rf_names sets, methods, variants; /* variants: of this setting */
} sweep;

static bool is_of(const char *variant, const char *name, size_t len)
{
    return strncmp(variant, name, len) == 0 && variant[len] == '=';
}

/* ---- Lines ------------------------------------------------------------------------- */

typedef struct curve {
    rf_place place;
    char name[192];
    size_t n;
    double *numbers; /* [4, most]: x, y, low, high */
} curve;

/* Fills the curve of a place; false unless it has two values or more. */
static bool fill(const sweep *s, curve *c)
{
    size_t most = s->variants.n;
    rf_place place = c->place;
    c->n = 0;
    for (size_t v = 0; v < most; v++) {
        double x;
        place.variant = s->variants.item[v];
        rf_record mean = rf_lab_mean(&s->r->lab, &place, RF_F1);
        if (!mean.n || !rf_variant_value(place.variant, &x))
            continue;
        c->numbers[c->n] = x;
        c->numbers[most + c->n] = mean.value;
        c->numbers[2 * most + c->n] = mean.n >= LEAST_SEEDS ? mean.low : NAN;
        c->numbers[3 * most + c->n] = mean.n >= LEAST_SEEDS ? mean.high : NAN;
        c->n++;
    }
    return c->n > 1;
}

static void name_curve(const sweep *s, curve *c)
{
    char percent[RF_RATIO_TEXT];
    const char *method = s->methods.n > 1 ? c->place.method : "";
    rf_percent_text(c->place.ratio, percent);
    /* A number of classes stands in place of the share. */
    bool share = !is_of("classes=", s->name, s->len);
    snprintf(c->name, sizeof c->name, "%s%s%s%s%s", method, method[0] ? ", " : "",
             c->place.set, share ? ", " : "", share ? percent : "");
}

static size_t most_curves(const sweep *s)
{
    size_t n = 0, k;
    for (size_t i = 0; i < s->sets.n; i++) {
        free(rf_lab_ratios(&s->r->lab, &(rf_place){.set = s->sets.item[i]}, &k));
        n += k * s->methods.n;
    }
    return n;
}

/* Of every method, set and ratio. Memory for all is one piece, which curve 0 has. */
static size_t find_curves(const sweep *s, curve *out, double *numbers)
{
    size_t n = 0, k;
    for (size_t m = 0; m < s->methods.n; m++)
        for (size_t i = 0; i < s->sets.n; i++) {
            rf_place place = {.set = s->sets.item[i], .method = s->methods.item[m]};
            double *ratios = rf_lab_ratios(&s->r->lab, &place, &k);
            for (size_t q = 0; ratios && q < k; q++) {
                curve *c = &out[n];
                place.ratio = ratios[q];
                *c = (curve){.place = place, .numbers = numbers + 4 * n * s->variants.n};
                if (!fill(s, c))
                    continue;
                name_curve(s, c);
                n++;
            }
            free(ratios);
        }
    return n;
}

/* ---- The chart --------------------------------------------------------------------- */

/* Limits of y: around the means, not the intervals, which of few seeds are wide. */
static rf_axis f1_axis(const curve *curves, size_t n, size_t most)
{
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < curves[i].n; k++) {
            low = fmin(low, curves[i].numbers[most + k]);
            high = fmax(high, curves[i].numbers[most + k]);
        }
    return (rf_axis){"F1, %", fmax(0, floor((low - 4) / 10) * 10),
                     fmin(100, ceil((high + 4) / 10) * 10), false};
}

/* Powers of ten, if everything is above 0 and far apart. */
static bool is_log(const curve *curves, size_t n)
{
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < curves[i].n; k++) {
            low = fmin(low, curves[i].numbers[k]);
            high = fmax(high, curves[i].numbers[k]);
        }
    return low > 0 && high / low >= 8;
}

static void put_lines(const sweep *s, const curve *curves, size_t n, const char *axis)
{
    rf_line lines[RF_KEYS];
    char title[160];
    size_t most = s->variants.n;
    for (size_t i = 0; i < n; i++) {
        double *v = curves[i].numbers;
        lines[i] = (rf_line){curves[i].name, curves[i].n,  v,
                             v + most,       v + 2 * most, v + 3 * most};
    }
    snprintf(title, sizeof title, "F1 by %.*s", (int)s->len, s->name);
    if (n == 1) { /* one line has no legend */
        size_t used = strlen(title);
        snprintf(title + used, sizeof title - used, ": %s", curves[0].name);
    }
    rf_svg_lines(&s->r->page,
                 &(rf_line_chart){.title = title,
                                  .description = "Means over seeds; bands are 95 % "
                                                 "intervals. The numbers stand in the "
                                                 "table below.",
                                  .x = {axis, 0, 0, is_log(curves, n)},
                                  .y = f1_axis(curves, n, most),
                                  .lines = lines,
                                  .n_lines = n});
    if (n == 1) {
        rf_page_add(&s->r->page, "<p class=\"note\">");
        rf_lab_name(&s->r->page, curves[0].name);
        rf_page_add(&s->r->page, "</p>\n");
    }
}

/* Eight lines to a chart at most. */
static void put_charts(const sweep *s, const char *axis)
{
    size_t most = most_curves(s);
    curve *curves = calloc(most + 1, sizeof *curves);
    double *numbers = calloc(4 * (most + 1) * s->variants.n + 1, sizeof *numbers);
    if (curves && numbers) {
        size_t n = find_curves(s, curves, numbers);
        for (size_t i = 0; i < n; i += RF_KEYS)
            put_lines(s, curves + i, n - i < RF_KEYS ? n - i : RF_KEYS, axis);
    } else
        s->r->sheet.status =
            rf_fail_nomem(s->r->sheet.err, most * sizeof *curves, "the curves");
    free(numbers);
    free(curves);
}

/* ---- The table --------------------------------------------------------------------- */

static void put_row(const sweep *s, const rf_place *place)
{
    static const rf_metric shown[] = {RF_ACCURACY, RF_F1, RF_F1_KNOWN, RF_F1_OPEN};
    rf_page *p = &s->r->page;
    size_t n = rf_lab_count(&s->r->lab, place);
    if (!n)
        return;
    rf_page_add(p, "<tr><td>");
    rf_lab_name(p, place->set);
    rf_page_add(p, "</td><td>");
    rf_lab_percent(p, place->ratio);
    rf_page_add(p, "</td><td>");
    rf_lab_name(p, place->method);
    rf_page_add(p, "</td><th scope=\"row\">");
    rf_lab_name(p, place->variant[0] ? place->variant + s->len + 1 : "default");
    rf_page_add(p, "</th><td class=\"n soft\">");
    rf_page_count(p, n);
    rf_page_add(p, "</td>");
    for (size_t m = 0; m < RF_METRICS; m++) {
        rf_record mean = rf_lab_mean(&s->r->lab, place, shown[m]);
        rf_lab_cell(p, true, mean.value, false);
        if (m < 2)
            rf_lab_soft_cell(p, n > 1, mean.sd);
    }
    rf_page_add(p, "</tr>\n");
}

/* The default and the values that were tried at a place. */
static void put_place(const sweep *s, rf_place place)
{
    size_t n = 0;
    for (size_t v = 0; v < s->variants.n; v++) {
        place.variant = s->variants.item[v];
        n += rf_lab_count(&s->r->lab, &place);
    }
    if (!n)
        return;
    place.variant = "";
    put_row(s, &place);
    for (size_t v = 0; v < s->variants.n; v++) {
        place.variant = s->variants.item[v];
        put_row(s, &place);
    }
}

static void put_table(const sweep *s)
{
    static const rf_column columns[] = {
        {"set", false}, {"known", false},   {"method", false}, {"value", false},
        {"n", true},    {"Accuracy", true}, {"sd", true},      {"F1", true},
        {"sd", true},   {"F1-known", true}, {"F1-open", true}};
    rf_page_add(&s->r->page, "<details>\n<summary>The numbers</summary>\n");
    rf_page_table(&s->r->page, "Figures by value", columns,
                  sizeof columns / sizeof *columns);
    for (size_t i = 0; i < s->sets.n; i++)
        for (size_t m = 0; m < s->methods.n; m++) {
            rf_place place = {.set = s->sets.item[i], .method = s->methods.item[m]};
            size_t n;
            double *ratios = rf_lab_ratios(&s->r->lab, &place, &n);
            for (size_t k = 0; ratios && k < n; k++) {
                place.ratio = ratios[k];
                put_place(s, place);
            }
            free(ratios);
        }
    rf_page_table_end(&s->r->page);
    rf_page_add(&s->r->page, "</details>\n");
}

/* ---- Settings ---------------------------------------------------------------------- */

/* Methods that have runs of this setting. */
static void keep_methods(sweep *s)
{
    size_t kept = 0;
    for (size_t m = 0; m < s->methods.n; m++) {
        bool any = false;
        for (size_t v = 0; v < s->variants.n && !any; v++)
            any = rf_lab_count(&s->r->lab, &(rf_place){.method = s->methods.item[m],
                                                       .variant = s->variants.item[v]});
        if (any)
            s->methods.item[kept++] = s->methods.item[m];
    }
    s->methods.n = kept;
}

/* What the setting does, and its default. */
static void put_help(rf_page *p, const rf_setting *info)
{
    rf_page_add(p, "<p class=\"lead\">");
    rf_page_text(p, info->help, strlen(info->help));
    rf_page_add(p, " (default: ");
    if (info->automatic)
        rf_page_text(p, info->automatic, strlen(info->automatic));
    else
        rf_page_addf(p, "%g", info->preset);
    rf_page_add(p, ").</p>\n");
}

/* e: NULL for a name that is not in the table. */
static void put_setting(rf_lab_page *r, const rf_names *all, const char *name, size_t len,
                        const rf_lab_entry *e)
{
    sweep s = {.r = r, .name = name, .len = len};
    rf_place any = {0};
    rf_lab_names(&r->lab, &s.sets, RF_SETS, &any, NULL);
    rf_lab_names(&r->lab, &s.methods, RF_METHODS, &any, NULL);
    rf_lab_names(&r->lab, &s.variants, RF_VARIANTS, &any, NULL);
    s.variants.n = 0; /* there is room for all */
    for (size_t v = 0; s.variants.item && v < all->n; v++)
        if (is_of(all->item[v], name, len))
            s.variants.item[s.variants.n++] = all->item[v];
    keep_methods(&s);
    rf_page_add(&r->page, "<h3>");
    if (e && e->sweep.title)
        rf_page_text(&r->page, e->sweep.title, strlen(e->sweep.title));
    else
        rf_page_text(&r->page, name, len);
    rf_page_add(&r->page, "</h3>\n");
    if (e && e->row)
        put_help(&r->page, &e->row->info);
    put_charts(&s, e && e->sweep.axis ? e->sweep.axis : "value");
    put_table(&s);
    free(s.sets.item);
    free(s.methods.item);
    free(s.variants.item);
}

/* Which entry of the table a variant is of; one past the end if there is none. */
static size_t place_of(const char *variant)
{
    rf_lab_entry e;
    size_t i;
    rf_lab_entry_find(variant, strcspn(variant, "="), &e, &i);
    return i;
}

/* Did a variant before number v have the same setting? */
static bool is_repeated(const rf_names *all, size_t v)
{
    size_t len = strcspn(all->item[v], "=");
    for (size_t k = 0; k < v; k++)
        if (is_of(all->item[k], all->item[v], len))
            return true;
    return false;
}

/* Draws of uneven rows have a section of their own. */
static void drop_draws(rf_names *variants)
{
    size_t kept = 0;
    double median, spread;
    for (size_t v = 0; v < variants->n; v++)
        if (!rf_variant_lognormal(variants->item[v], &median, &spread))
            variants->item[kept++] = variants->item[v];
    variants->n = kept;
}

void rf_lab_curves(rf_lab_page *r)
{
    rf_names all;
    rf_lab_entry e;
    bool begun = false, more = true;
    rf_lab_names(&r->lab, &all, RF_VARIANTS, &(rf_place){0}, NULL);
    drop_draws(&all);
    for (size_t place = 0; more; place++) { /* the table's in its order, then the rest */
        more = rf_lab_entry_at(place, &e);
        for (size_t v = 0; v < all.n; v++) {
            const char *variant = all.item[v];
            size_t len = strcspn(variant, "=");
            if (!variant[0] || variant[len] != '=' || is_of(variant, "ablation", 8) ||
                place_of(variant) != place || is_repeated(&all, v))
                continue;
            if (!begun)
                rf_lab_section(
                    r, "One setting at a time",
                    "F1 by the value of one setting, all others at their "
                    "defaults; bands are 95&nbsp;% intervals where there are three "
                    "seeds or more.");
            begun = true;
            put_setting(r, &all, variant, len, more ? &e : NULL);
        }
    }
    free(all.item);
    if (begun)
        rf_page_section_end(&r->page);
}
