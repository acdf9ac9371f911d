/* page_methods.c - methods compared: a chart and tables for every set, and pairs */
#include "lab/lab_page.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One table of a set: two figures and the sources of published numbers. */
typedef struct layout {
    const char *label;
    rf_metric metric[2];
    const char *source[2], *source_name[2];
} layout;

static const layout main_layout = {"Accuracy and F1",
                                   {RF_ACCURACY, RF_F1},
                                   {"ans-table1", "textoir"},
                                   {"paper", "TEXTOIR"}};
static const layout known_open_layout = {"F1 of known classes and of open",
                                         {RF_F1_KNOWN, RF_F1_OPEN},
                                         {"ans-known-open", "textoir"},
                                         {"paper", "TEXTOIR"}};

typedef struct table {
    rf_lab_page *r;
    const layout *l;
    const char *set;
    bool has[2]; /* sources that have numbers of this set */
    size_t columns;
} table;

static const char *title_of(rf_metric metric)
{
    return metric == RF_ACCURACY ? "Accuracy" : rf_metric_title(metric);
}

/* ---- Tables ------------------------------------------------------------------------ */

static void begin_table(table *t)
{
    rf_column columns[10] = {{"method", false}, {"n", true}};
    size_t n = 2;
    for (size_t m = 0; m < 2; m++) {
        columns[n++] = (rf_column){title_of(t->l->metric[m]), true};
        columns[n++] = (rf_column){"sd", true};
        for (size_t s = 0; s < 2; s++)
            if (t->has[s])
                columns[n++] = (rf_column){t->l->source_name[s], true};
    }
    t->columns = n;
    rf_page_table(&t->r->page, t->l->label, columns, n);
}

/* The best mean of a column in printed precision; negative if it has no rival. */
static double best_of(const table *t, rf_place place, const rf_names *methods, size_t m)
{
    double best = -1;
    size_t rivals = 0;
    for (size_t i = 0; i < methods->n; i++) {
        place.method = methods->item[i];
        rf_record mean = rf_lab_mean(&t->r->lab, &place, t->l->metric[m]);
        rivals += mean.n > 0;
        if (mean.n > 0)
            best = fmax(best, round(100 * mean.value));
    }
    return rivals > 1 ? best : -1;
}

static void put_row(const table *t, const rf_place *place, const double best[2])
{
    rf_page *p = &t->r->page;
    const rf_lab *lab = &t->r->lab;
    size_t n = rf_lab_count(lab, place);
    rf_page_add(p,
                n ? "<tr><th scope=\"row\">" : "<tr><th scope=\"row\" class=\"soft\">");
    rf_lab_name(p, place->method);
    rf_page_add(p, "</th><td class=\"n soft\">");
    if (n)
        rf_page_count(p, n);
    rf_page_add(p, "</td>");
    for (size_t m = 0; m < 2; m++) {
        rf_record mean = rf_lab_mean(lab, place, t->l->metric[m]);
        rf_lab_cell(p, n > 0, mean.value,
                    best[m] >= 0 && round(100 * mean.value) == best[m]);
        rf_lab_soft_cell(p, n > 1, mean.sd);
        for (size_t s = 0; s < 2; s++) {
            const rf_published *q = rf_lab_published(lab, t->l->source[s], place,
                                                     rf_metric_name(t->l->metric[m]));
            if (t->has[s])
                rf_lab_soft_cell(p, q != NULL, q ? q->value : 0);
        }
    }
    rf_page_add(p, "</tr>\n");
}

static void put_ratio(const table *t, double ratio)
{
    rf_page *p = &t->r->page;
    const rf_lab *lab = &t->r->lab;
    const char *const sources[] = {t->l->source[0], t->l->source[1], NULL};
    rf_names methods;
    rf_place place = {.set = t->set, .ratio = ratio, .variant = ""};
    double best[2];
    size_t known = 0;
    for (size_t i = 0; i < lab->n && !known; i++)
        if (rf_lab_matches(&lab->runs[i], &place))
            known = lab->runs[i].known_classes;
    rf_page_addf(p, "<tr><th scope=\"rowgroup\" colspan=\"%zu\"><b>", t->columns);
    rf_lab_percent(p, ratio);
    rf_page_add(p, " known</b> <span class=\"soft\">");
    rf_page_plural(p, known, "class", "classes");
    rf_page_add(p, "</span></th></tr>\n");
    rf_lab_names(lab, &methods, RF_METHODS, &place, sources);
    for (size_t m = 0; m < 2; m++)
        best[m] = best_of(t, place, &methods, m);
    for (size_t i = 0; i < methods.n; i++) {
        place.method = methods.item[i];
        put_row(t, &place, best);
    }
    free(methods.item);
}

/* Does a source have numbers of this set at a ratio that was run? */
static bool is_published(const table *t, size_t source, const double *ratios, size_t n)
{
    const rf_lab *lab = &t->r->lab;
    for (size_t i = 0; i < lab->n_published; i++) {
        const rf_published *q = &lab->published[i];
        for (size_t k = 0; k < n; k++)
            if (q->ratio == ratios[k] && strcmp(q->set, t->set) == 0 &&
                strcmp(q->source, t->l->source[source]) == 0)
                return true;
    }
    return false;
}

static bool put_table(rf_lab_page *r, const layout *l, const char *set,
                      const double *ratios, size_t n)
{
    table t = {.r = r, .l = l, .set = set};
    for (size_t s = 0; s < 2; s++)
        t.has[s] = is_published(&t, s, ratios, n);
    begin_table(&t);
    for (size_t i = 0; i < n; i++)
        put_ratio(&t, ratios[i]);
    rf_page_table_end(&r->page);
    return t.has[0] || t.has[1];
}

/* ---- The chart --------------------------------------------------------------------- */

typedef struct chart {
    rf_names methods;
    const char *ratio_names[RF_KEYS];
    char ratio_text[RF_KEYS][RF_RATIO_TEXT + 8];
    double *numbers; /* value, low, high */
} chart;

static void fill_chart(const rf_lab *lab, rf_place place, const double *ratios, size_t n,
                       const chart *c)
{
    static const rf_metric shown[] = {RF_F1, RF_ACCURACY};
    size_t rows = c->methods.n, all = 2 * n * rows;
    for (size_t m = 0; m < 2; m++)
        for (size_t i = 0; i < n; i++)
            for (size_t k = 0; k < rows; k++) {
                size_t at = (m * n + i) * rows + k;
                place.ratio = ratios[i];
                place.method = c->methods.item[k];
                rf_record mean = rf_lab_mean(lab, &place, shown[m]);
                c->numbers[at] = mean.n ? mean.value : NAN;
                c->numbers[all + at] = mean.has_spread ? mean.low : NAN;
                c->numbers[2 * all + at] = mean.has_spread ? mean.high : NAN;
            }
}

static void put_chart(rf_lab_page *r, const char *set, const double *ratios, size_t n)
{
    static const char *const facets[] = {"F1, %", "Accuracy, %"};
    rf_place place = {.set = set, .variant = ""};
    chart c = {0};
    char title[128], percent[RF_RATIO_TEXT];
    n = n < RF_KEYS ? n : RF_KEYS;
    rf_lab_names(&r->lab, &c.methods, RF_METHODS, &place, NULL);
    size_t all = 2 * n * c.methods.n;
    c.numbers = calloc(3 * all + 1, sizeof *c.numbers);
    if (c.numbers && c.methods.n) {
        for (size_t i = 0; i < n; i++) {
            snprintf(c.ratio_text[i], sizeof c.ratio_text[i], "%s known",
                     rf_percent_text(ratios[i], percent));
            c.ratio_names[i] = c.ratio_text[i];
        }
        fill_chart(&r->lab, place, ratios, n, &c);
        snprintf(title, sizeof title, "F1 and accuracy by method on %s", set);
        rf_svg_facets(&r->page,
                      &(rf_facet_chart){.title = title,
                                        .description =
                                            "Means over seeds with 95 % intervals; "
                                            "the table below has the numbers.",
                                        .rows = c.methods.item,
                                        .n_rows = c.methods.n,
                                        .series = c.ratio_names,
                                        .n_series = n,
                                        .facets = facets,
                                        .n_facets = 2,
                                        .value = c.numbers,
                                        .low = c.numbers + all,
                                        .high = c.numbers + 2 * all});
    } else if (!c.numbers)
        r->sheet.status =
            rf_fail_nomem(r->sheet.err, 3 * all * sizeof(double), "a chart");
    free(c.numbers);
    free(c.methods.item);
}

/* ---- The short table --------------------------------------------------------------- */

static void put_matrix(rf_lab_page *r, const char *set, const double *ratios, size_t n)
{
    rf_names methods;
    rf_lab_names(&r->lab, &methods, RF_METHODS, &(rf_place){.set = set, .variant = ""},
                 NULL);
    rf_matrix_row *rows = calloc(methods.n + 1, sizeof *rows);
    for (size_t i = 0; rows && i < methods.n; i++) {
        const char *name = methods.item[i];
        const char *source = strcmp(name, "ans") == 0 ? main_layout.source[0] : NULL;
        rows[i] = (rf_matrix_row){name, name, "", source};
    }
    if (rows)
        rf_lab_matrix(r, &(rf_matrix){.label = "Accuracy and F1 of every method",
                                      .what = "method",
                                      .set = set,
                                      .ratios = ratios,
                                      .n_ratios = n,
                                      .rows = rows,
                                      .n_rows = methods.n,
                                      .mark_best = true});
    else
        r->sheet.status =
            rf_fail_nomem(r->sheet.err, methods.n * sizeof *rows, "a table");
    free(rows);
    free(methods.item);
}

/* ---- Sets -------------------------------------------------------------------------- */

static bool put_set(rf_lab_page *r, const char *set)
{
    size_t n;
    bool published = false;
    double *ratios = rf_lab_ratios(&r->lab, &(rf_place){.set = set, .variant = ""}, &n);
    if (ratios) {
        rf_lab_heading(&r->page, set, 0);
        put_chart(r, set, ratios, n);
        put_matrix(r, set, ratios, n);
        rf_page_add(&r->page,
                    "<details>\n<summary>Accuracy and F1 with standard deviations "
                    "and published numbers</summary>\n");
        published = put_table(r, &main_layout, set, ratios, n);
        rf_page_add(&r->page, "</details>\n<details>\n<summary>F1-known and F1-open with "
                              "standard deviations and published numbers</summary>\n");
        put_table(r, &known_open_layout, set, ratios, n);
        rf_page_add(&r->page, "</details>\n");
    }
    free(ratios);
    return published;
}

void rf_lab_methods(rf_lab_page *r)
{
    rf_names sets;
    bool published = false;
    rf_lab_names(&r->lab, &sets, RF_SETS, &(rf_place){.variant = ""}, NULL);
    if (sets.n) {
        rf_lab_section(
            r, "Methods compared",
            "Means over seeds, in per cent. Lines on the bars are 95&nbsp;% intervals. "
            "The best measured mean is bold; n is the number of seeds, sd the standard "
            "deviation over them.");
        for (size_t i = 0; i < sets.n; i++)
            published |= put_set(r, sets.item[i]);
        if (published) {
            rf_page_add(
                &r->page,
                "<p class=\"note\">Grey numbers are published: by the ANS paper, and by "
                "TEXTOIR, an independent platform that repeated most methods. Methods "
                "in grey were not run here.</p>\n");
            if (r->many)
                rf_lab_paragraph(r, rf_lab_note);
            rf_lab_paragraph(r, rf_lab_contradictions);
        }
        rf_page_section_end(&r->page);
    }
    free(sets.item);
}

/* ---- In pairs ---------------------------------------------------------------------- */

static void put_paired(rf_page *p, const rf_paired *c)
{
    const rf_summary *d = &c->difference;
    bool spread = d->n > 1;
    const char *kind = spread && d->low > 0    ? " good"
                       : spread && d->high < 0 ? " bad"
                                               : "";
    rf_page_addf(p, "<td class=\"n%s\">", kind);
    rf_lab_signed(p, d->mean, 2);
    rf_page_add(p, "</td><td class=\"n soft\">");
    if (spread) {
        rf_lab_signed(p, d->low, 2);
        rf_page_add(p, " to ");
        rf_lab_signed(p, d->high, 2);
    }
    rf_page_add(p, "</td><td class=\"n soft\">");
    if (spread && c->p < 0.001)
        rf_page_add(p, "&lt;0.001");
    else if (spread)
        rf_page_number(p, c->p, 3);
    rf_page_add(p, "</td>");
}

void rf_lab_paired(rf_lab_page *r)
{
    static const rf_column columns[] = {
        {"method", false}, {"n", true},        {"F1", true},        {"95&nbsp;%", true},
        {"p", true},       {"Accuracy", true}, {"95&nbsp;%", true}, {"p", true}};
    rf_page *p = &r->page;
    rf_names methods;
    size_t rows = 0;
    rf_lab_names(&r->lab, &methods, RF_METHODS, &(rf_place){.variant = ""}, NULL);
    for (size_t i = 0; i < methods.n; i++) {
        rf_place place = {.method = methods.item[i], .variant = ""};
        rf_paired f1 = rf_lab_compare(&r->lab, &place, RF_F1);
        if (f1.difference.n == 0 || strcmp(place.method, "ans") == 0)
            continue;
        if (rows++ == 0) {
            rf_lab_section(
                r, "ANS against each method",
                "ANS minus the other method, in points, over the n experiments "
                "(set, share of known classes, seed) that both did. Above 0, "
                "ANS is better.");
            rf_page_table(p, "ANS minus each method", columns, 8);
        }
        rf_paired accuracy = rf_lab_compare(&r->lab, &place, RF_ACCURACY);
        rf_page_add(p, "<tr><th scope=\"row\">");
        rf_lab_name(p, place.method);
        rf_page_add(p, "</th><td class=\"n soft\">");
        rf_page_count(p, f1.difference.n);
        rf_page_add(p, "</td>");
        put_paired(p, &f1);
        put_paired(p, &accuracy);
        rf_page_add(p, "</tr>\n");
    }
    if (rows) {
        rf_page_table_end(p);
        rf_page_add(p, "<p class=\"note\">95&nbsp;% intervals and two-sided p of the "
                       "paired t test, each experiment one pair; p is not corrected for "
                       "the number of comparisons. Experiments on the same set share its "
                       "test texts, so they are weaker evidence than as many independent "
                       "sets.</p>\n");
        rf_page_section_end(p);
    }
    free(methods.item);
}
