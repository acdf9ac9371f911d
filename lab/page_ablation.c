/* page_ablation.c - what each part of ANS adds, and its negatives in other methods */
#include "lab/lab_page.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ABLATION "ablation="

static const rf_metric shown[RF_METRICS] = {RF_ACCURACY, RF_F1, RF_F1_KNOWN, RF_F1_OPEN};

static const struct {
    const char *name, *means;
} parts[] = {
    {"baseline", "no synthetic negatives"},
    {"noise", "noise around the texts"},
    {"projection", "noise projected into the shell"},
    {"ascent", "and gradient ascent"},
};
#define PARTS (sizeof parts / sizeof *parts)

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* ---- Their tables ------------------------------------------------------------------ */

static void begin_table(rf_page *p, const char *label, const char *what)
{
    const rf_column columns[] = {
        {"known", false},   {what, false}, {"source", false},  {"n", true},
        {"Accuracy", true}, {"F1", true},  {"F1-known", true}, {"F1-open", true}};
    rf_page_add(p, "<details>\n<summary>All four figures</summary>\n");
    rf_page_table(p, label, columns, 8);
}

static void end_table(rf_page *p)
{
    rf_page_table_end(p);
    rf_page_add(p, "</details>\n");
}

static void put_labels(rf_page *p, const rf_place *place, const char *name,
                       const char *source, size_t n)
{
    rf_page_addf(p, "<tr%s><td>", n ? "" : " class=\"soft\"");
    rf_lab_percent(p, place->ratio);
    rf_page_add(p, "</td><th scope=\"row\">");
    rf_lab_name(p, name);
    rf_page_addf(p, "</th><td>%s</td><td class=\"n soft\">", source);
    if (n)
        rf_page_count(p, n);
    rf_page_add(p, "</td>");
}

/* The measured row and the published one. */
static void put_rows(rf_lab_page *r, const rf_place *place, const char *name,
                     const char *source)
{
    rf_page *p = &r->page;
    const rf_lab *lab = &r->lab;
    size_t n = rf_lab_count(lab, place);
    if (n) {
        put_labels(p, place, name, RF_MEASURED, n);
        for (size_t m = 0; m < RF_METRICS; m++)
            rf_lab_cell(p, true, rf_lab_mean(lab, place, shown[m]).value, false);
        rf_page_add(p, "</tr>\n");
    }
    if (!rf_lab_published(lab, source, place, rf_metric_name(RF_ACCURACY)))
        return;
    put_labels(p, place, name, "paper", 0);
    for (size_t m = 0; m < RF_METRICS; m++) {
        const rf_published *q =
            rf_lab_published(lab, source, place, rf_metric_name(shown[m]));
        rf_lab_soft_cell(p, q != NULL, q ? q->value : 0);
    }
    rf_page_add(p, "</tr>\n");
}

/* ---- Ablation ---------------------------------------------------------------------- */

static rf_place part_of(const char *set, double ratio, size_t part, char variant[32])
{
    snprintf(variant, 32, ABLATION "%s", parts[part].name);
    return (rf_place){set, ratio, "ans", variant};
}

/* The ratios of a set that have ablation runs. */
static size_t ablated_ratios(const rf_lab *lab, const char *set, double out[RF_KEYS])
{
    size_t n, kept = 0;
    char variant[32];
    double *ratios = rf_lab_ratios(lab, &(rf_place){.set = set, .method = "ans"}, &n);
    for (size_t i = 0; ratios && i < n && kept < RF_KEYS; i++) {
        size_t runs = 0;
        for (size_t k = 0; k < PARTS; k++) {
            rf_place place = part_of(set, ratios[i], k, variant);
            runs += rf_lab_count(lab, &place);
        }
        if (runs)
            out[kept++] = ratios[i];
    }
    free(ratios);
    return kept;
}

static void put_ablation_chart(rf_lab_page *r, const char *set, const double *ratios,
                               size_t n)
{
    const char *groups[PARTS];
    char names[RF_KEYS][RF_RATIO_TEXT + 8], text[PARTS][80], title[128];
    char percent[RF_RATIO_TEXT], variant[32];
    double value[RF_KEYS][PARTS], low[RF_KEYS][PARTS], high[RF_KEYS][PARTS];
    rf_bars series[RF_KEYS];
    for (size_t k = 0; k < PARTS; k++) {
        snprintf(text[k], sizeof text[k], "%s: %s", parts[k].name, parts[k].means);
        groups[k] = text[k];
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < PARTS; k++) {
            rf_place place = part_of(set, ratios[i], k, variant);
            rf_record mean = rf_lab_mean(&r->lab, &place, RF_F1);
            value[i][k] = mean.n ? mean.value : NAN;
            low[i][k] = mean.has_spread ? fmax(mean.low, 0) : NAN;
            high[i][k] = mean.has_spread ? fmin(mean.high, 100) : NAN;
        }
        snprintf(names[i], sizeof names[i], "%s known",
                 rf_percent_text(ratios[i], percent));
        series[i] = (rf_bars){names[i], value[i], low[i], high[i]};
    }
    snprintf(title, sizeof title, "F1 of the parts of ANS on %s", set);
    rf_svg_bars(&r->page,
                &(rf_bar_chart){.title = title,
                                .description = "Means over seeds with 95 % intervals; "
                                               "the table below has the numbers.",
                                .axis = {"F1, %, and its 95 % interval", 0, 100, false},
                                .groups = groups,
                                .n_groups = PARTS,
                                .series = series,
                                .n_series = n,
                                .decimals = 1});
}

static void put_ablation_set(rf_lab_page *r, const char *set, const double *ratios,
                             size_t n, bool *published)
{
    char variants[PARTS][32];
    rf_matrix_row rows[PARTS];
    rf_lab_heading(&r->page, set, 0);
    put_ablation_chart(r, set, ratios, n);
    for (size_t k = 0; k < PARTS; k++) {
        part_of(set, 0, k, variants[k]);
        rows[k] = (rf_matrix_row){parts[k].name, "ans", variants[k], "ans-table2"};
    }
    *published |= rf_lab_matrix(r, &(rf_matrix){.label = "Parts of ANS",
                                                .what = "part",
                                                .set = set,
                                                .ratios = ratios,
                                                .n_ratios = n,
                                                .rows = rows,
                                                .n_rows = PARTS});
    begin_table(&r->page, "Parts of ANS, all figures", "part");
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < PARTS; k++) {
            rf_place place = part_of(set, ratios[i], k, variants[k]);
            put_rows(r, &place, parts[k].name, "ans-table2");
        }
    end_table(&r->page);
}

void rf_lab_ablation(rf_lab_page *r)
{
    rf_names sets;
    bool begun = false, published = false;
    double ratios[RF_KEYS];
    rf_lab_names(&r->lab, &sets, RF_SETS, &(rf_place){.method = "ans"}, NULL);
    for (size_t i = 0; i < sets.n; i++) {
        size_t n = ablated_ratios(&r->lab, sets.item[i], ratios);
        if (!n)
            continue;
        if (!begun)
            rf_lab_section(
                r, "What each part of ANS adds",
                "ANS built up step by step: each row adds one thing to the row "
                "before it. Ascent takes 10 steps here, on every set.");
        begun = true;
        put_ablation_set(r, sets.item[i], ratios, n, &published);
    }
    free(sets.item);
    if (published)
        rf_page_add(&r->page,
                    "<p class=\"note\">Paper: table 2 of the ANS paper, encoder "
                    "BERT-base-uncased.</p>\n");
    if (begun)
        rf_page_section_end(&r->page);
}

/* ---- Negatives in other methods ---------------------------------------------------- */

static const char *const pairs[] = {"msp", "msp-neg", "adb", "adb-neg", "ovr", "ans"};
#define PAIRS (sizeof pairs / sizeof *pairs)

#define MOST_ROWS 24

/* Each method with default settings, then its variants of ascent; names has room for
 * their names. */
static size_t list_rows(const rf_lab *lab, const char *set, char (*names)[160],
                        rf_matrix_row *out)
{
    size_t n = 0;
    for (size_t m = 0; m < PAIRS; m++) {
        rf_names variants;
        rf_place place = {.set = set, .method = pairs[m]};
        out[n++] = (rf_matrix_row){pairs[m], pairs[m], "", "ans-table3"};
        rf_lab_names(lab, &variants, RF_VARIANTS, &place, NULL);
        /* Leave a row for each remaining method. */
        for (size_t i = 0; i < variants.n && n + PAIRS < MOST_ROWS + m + 1; i++) {
            if (!begins(variants.item[i], "ascent="))
                continue;
            snprintf(names[n], sizeof names[n], "%s, %s", pairs[m], variants.item[i]);
            out[n] = (rf_matrix_row){names[n], pairs[m], variants.item[i], NULL};
            n++;
        }
        free(variants.item);
    }
    return n;
}

/* Keeps the ratios at which negatives were added to another method. */
static size_t negatives_at(const rf_lab *lab, const char *set, double *ratios, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        rf_place msp = {set, ratios[i], "msp-neg", NULL};
        rf_place adb = {set, ratios[i], "adb-neg", NULL};
        if (rf_lab_count(lab, &msp) + rf_lab_count(lab, &adb) > 0)
            ratios[kept++] = ratios[i];
    }
    return kept;
}

static void put_negatives_set(rf_lab_page *r, const char *set, const double *ratios,
                              size_t n, bool *published)
{
    char names[MOST_ROWS][160];
    rf_matrix_row rows[MOST_ROWS];
    size_t n_rows = list_rows(&r->lab, set, names, rows);
    rf_lab_heading(&r->page, set, 0);
    *published |= rf_lab_matrix(r, &(rf_matrix){.label = "Synthetic negatives",
                                                .what = "method",
                                                .set = set,
                                                .ratios = ratios,
                                                .n_ratios = n,
                                                .rows = rows,
                                                .n_rows = n_rows});
    begin_table(&r->page, "Synthetic negatives, all figures", "method");
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < n_rows; i++) {
            rf_place place = {set, ratios[k], rows[i].method, rows[i].variant};
            put_rows(r, &place, rows[i].name, "ans-table3");
        }
    end_table(&r->page);
}

void rf_lab_negatives(rf_lab_page *r)
{
    rf_names sets;
    bool begun = false, published = false;
    rf_lab_names(&r->lab, &sets, RF_SETS, &(rf_place){0}, NULL);
    for (size_t i = 0; i < sets.n; i++) {
        size_t n;
        double *ratios = rf_lab_ratios(&r->lab, &(rf_place){.set = sets.item[i]}, &n);
        n = ratios ? negatives_at(&r->lab, sets.item[i], ratios, n) : 0;
        if (n && !begun)
            rf_lab_section(r, "Synthetic negatives in other methods",
                           "msp and adb without and with synthetic negatives, and "
                           "one-versus-rest heads (ovr), which become ANS with them.");
        begun |= n > 0;
        if (n)
            put_negatives_set(r, sets.item[i], ratios, n, &published);
        free(ratios);
    }
    free(sets.item);
    if (published)
        rf_page_add(&r->page,
                    "<p class=\"note\">Paper: table 3 of the ANS paper, encoder "
                    "BERT-base-uncased.</p>\n");
    if (begun)
        rf_page_section_end(&r->page);
}
