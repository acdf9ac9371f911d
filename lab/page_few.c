/* page_few.c - few uneven rows: accuracy and F1 of each method by set and draw */
#include "lab/lab_page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One table: a set with a share of known classes, the draws as columns. */
typedef struct few_table {
    const char *set;
    double ratio;
    rf_names draws, methods;
} few_table;

static const rf_metric shown[2] = {RF_ACCURACY, RF_F1};

static rf_place place_of(const few_table *t, size_t draw, size_t method)
{
    return (rf_place){t->set, t->ratio, t->methods.item[method], t->draws.item[draw]};
}

/* The best mean of a column in printed precision; negative if it has no rival. */
static double best_of(const rf_lab *lab, const few_table *t, size_t draw,
                      rf_metric metric)
{
    double best = -1;
    size_t rivals = 0;
    for (size_t i = 0; i < t->methods.n; i++) {
        rf_place place = place_of(t, draw, i);
        rf_record mean = rf_lab_mean(lab, &place, metric);
        rivals += mean.n > 0;
        if (mean.n > 0)
            best = fmax(best, round(100 * mean.value));
    }
    return rivals > 1 ? best : -1;
}

static void put_head(rf_page *p, const few_table *t)
{
    rf_page_add(p, "<div class=\"scroll\" role=\"region\" tabindex=\"0\" "
                   "aria-label=\"Few uneven rows\">\n<table>\n<thead><tr><td></td>");
    for (size_t i = 0; i < t->draws.n; i++) {
        double median = 0.0, spread = 0.0;
        rf_variant_lognormal(t->draws.item[i], &median, &spread);
        rf_page_add(p, "<th scope=\"colgroup\" colspan=\"2\" class=\"n\">median ");
        rf_page_short(p, median, 2);
        rf_page_add(p, ", spread ");
        rf_page_short(p, spread, 2);
        rf_page_add(p, "</th>");
    }
    rf_page_add(p, "</tr>\n<tr><th scope=\"col\">method</th>");
    for (size_t i = 0; i < t->draws.n; i++)
        rf_page_add(p, "<th scope=\"col\" class=\"n\">Accuracy</th><th scope=\"col\" "
                       "class=\"n\">F1</th>");
    rf_page_add(p, "</tr></thead>\n<tbody>\n");
}

static void put_method(rf_page *p, const rf_lab *lab, const few_table *t, size_t method)
{
    rf_page_add(p, "<tr><th scope=\"row\">");
    rf_lab_name(p, t->methods.item[method]);
    rf_page_add(p, "</th>");
    for (size_t i = 0; i < t->draws.n; i++)
        for (size_t k = 0; k < 2; k++) {
            rf_place place = place_of(t, i, method);
            rf_record mean = rf_lab_mean(lab, &place, shown[k]);
            double best = best_of(lab, t, i, shown[k]);
            rf_lab_cell(p, mean.n > 0, mean.value,
                        best >= 0 && round(100 * mean.value) == best);
        }
    rf_page_add(p, "</tr>\n");
}

/* Keeps the draws of uneven rows that were run at a place. */
static void keep_draws(const rf_lab *lab, rf_names *draws, rf_place place)
{
    size_t kept = 0;
    double median, spread;
    for (size_t i = 0; i < draws->n; i++) {
        place.variant = draws->item[i];
        if (rf_variant_lognormal(draws->item[i], &median, &spread) &&
            rf_lab_count(lab, &place))
            draws->item[kept++] = draws->item[i];
    }
    draws->n = kept;
}

/* Keeps the methods that were run with one of the draws. */
static void keep_methods(const rf_lab *lab, few_table *t)
{
    size_t kept = 0;
    for (size_t m = 0; m < t->methods.n; m++) {
        size_t runs = 0;
        for (size_t i = 0; i < t->draws.n; i++) {
            rf_place place = place_of(t, i, m);
            runs += rf_lab_count(lab, &place);
        }
        if (runs)
            t->methods.item[kept++] = t->methods.item[m];
    }
    t->methods.n = kept;
}

static void put_table(rf_lab_page *r, const char *set, double ratio, bool *begun)
{
    few_table t = {.set = set, .ratio = ratio};
    rf_place place = {.set = set, .ratio = ratio};
    rf_lab_names(&r->lab, &t.draws, RF_VARIANTS, &place, NULL);
    rf_lab_names(&r->lab, &t.methods, RF_METHODS, &place, NULL);
    keep_draws(&r->lab, &t.draws, place);
    keep_methods(&r->lab, &t);
    if (t.methods.n > 0) {
        if (!*begun)
            rf_lab_section(r, "Few uneven rows",
                           "Each class keeps its own number of training texts, drawn "
                           "from a lognormal distribution and at least 2, and there are "
                           "no dev texts. Means over seeds; the best of each column is "
                           "bold.");
        *begun = true;
        rf_lab_heading(&r->page, set, ratio);
        put_head(&r->page, &t);
        for (size_t m = 0; m < t.methods.n; m++)
            put_method(&r->page, &r->lab, &t, m);
        rf_page_table_end(&r->page);
    }
    free(t.draws.item);
    free(t.methods.item);
}

void rf_lab_few(rf_lab_page *r)
{
    rf_names sets;
    bool begun = false;
    rf_lab_names(&r->lab, &sets, RF_SETS, &(rf_place){0}, NULL);
    for (size_t s = 0; s < sets.n; s++) {
        size_t n;
        double *ratios = rf_lab_ratios(&r->lab, &(rf_place){.set = sets.item[s]}, &n);
        for (size_t i = 0; ratios && i < n; i++)
            put_table(r, sets.item[s], ratios[i], &begun);
        free(ratios);
    }
    free(sets.item);
    if (begun)
        rf_page_section_end(&r->page);
}
