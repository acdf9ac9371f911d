/*
 * table_paired.c - ANS against every other method on the same experiments
 *
 * A seed decides which classes are known, and some draws are harder than others.
 * Differences within the same (set, ratio, seed) cancel that out.
 */
#include "lab/table.h"

#include "base/plural.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Are two runs the same experiment? Same seed, and the same classes were drawn. */
static bool is_pair(const rf_run *a, const rf_run *b)
{
    return a->seed == b->seed && a->ratio == b->ratio && strcmp(a->set, b->set) == 0 &&
           (!a->classes_sha256[0] || !b->classes_sha256[0] ||
            strcmp(a->classes_sha256, b->classes_sha256) == 0);
}

/* The run of ans in the same experiment, NULL if there is none. */
static const rf_run *partner_of(const rf_lab *lab, const rf_run *run)
{
    rf_place ans = {run->set, run->ratio, "ans", ""};
    for (size_t i = 0; i < lab->n; i++)
        if (rf_lab_matches(&lab->runs[i], &ans) && is_pair(&lab->runs[i], run))
            return &lab->runs[i];
    return NULL;
}

rf_paired rf_lab_compare(const rf_lab *lab, const rf_place *place, rf_metric metric)
{
    size_t n = 0;
    for (size_t i = 0; i < lab->n; i++) {
        const rf_run *run = &lab->runs[i];
        const rf_run *ans = rf_lab_matches(run, place) ? partner_of(lab, run) : NULL;
        if (!ans)
            continue;
        lab->values[0][n] = rf_metric_of(ans, metric);
        lab->values[1][n++] = rf_metric_of(run, metric);
    }
    return rf_compare_paired(lab->values[0], lab->values[1], n);
}

static void add_comparison(rf_grid *grid, const rf_place *place, const rf_paired *c,
                           rf_metric metric)
{
    char text[64];
    const rf_summary *d = &c->difference;
    /* Differences that are all equal come from coarse figures and say nothing about
     * confidence. */
    bool spread = d->n >= 2 && d->sd > 0.0;
    rf_record record = {.set = place->set ? place->set : "all",
                        .method = place->method,
                        .variant = "",
                        .source = "difference",
                        .metric = rf_metric_name(metric),
                        .ratio = place->ratio,
                        .n = d->n,
                        .value = d->mean,
                        .has_spread = spread,
                        .sd = d->sd,
                        .low = d->low,
                        .high = d->high,
                        .has_p = spread,
                        .p = c->p};
    snprintf(text, sizeof text, "%+.2f", d->mean);
    rf_grid_figure_as(grid, &record, text);
    snprintf(text, sizeof text, "[%+.2f, %+.2f]", d->low, d->high);
    rf_grid_words(grid, spread ? text : "-");
    snprintf(text, sizeof text, "%.3f", c->p);
    rf_grid_words(grid, !spread ? "-" : c->p < 0.001 ? "<0.001" : text);
}

/* One set and ratio, or all where set is NULL and ratio 0. */
static bool add_row(const rf_lab *lab, rf_grid *grid, const rf_place *place)
{
    static const rf_metric compared[] = {RF_ACCURACY, RF_F1};
    char text[RF_RATIO_TEXT];
    rf_paired first = rf_lab_compare(lab, place, compared[0]);
    if (first.difference.n == 0)
        return false;
    rf_grid_words(grid, place->method);
    rf_grid_words(grid, place->set ? place->set : "all");
    rf_grid_words(grid, place->ratio > 0.0 ? rf_percent_text(place->ratio, text) : "all");
    snprintf(text, sizeof text, "%zu", first.difference.n);
    rf_grid_words(grid, text);
    for (size_t i = 0; i < 2; i++) {
        rf_paired c = rf_lab_compare(lab, place, compared[i]);
        add_comparison(grid, place, &c, compared[i]);
    }
    return true;
}

static void add_method(const rf_lab *lab, rf_grid *grid, const char *method)
{
    rf_names sets;
    size_t cells = 0;
    rf_place place = {.method = method, .variant = ""};
    rf_lab_names(lab, &sets, RF_SETS, &place, NULL);
    for (size_t s = 0; s < sets.n; s++) {
        size_t n;
        rf_place cell = {sets.item[s], 0.0, method, ""};
        double *ratios = rf_lab_ratios(lab, &cell, &n);
        for (size_t r = 0; ratios && r < n; r++) {
            cell.ratio = ratios[r];
            cells += add_row(lab, grid, &cell);
        }
        free(ratios);
    }
    free(sets.item);
    if (cells > 1)
        add_row(lab, grid, &place);
}

/* Runs with the seed of a run of ans but different known classes. */
static size_t count_mismatched(const rf_lab *lab)
{
    size_t n = 0;
    for (size_t i = 0; i < lab->n; i++) {
        const rf_run *run = &lab->runs[i];
        rf_run like = *run;
        memcpy(like.method, "ans", sizeof "ans");
        if (run->variant[0] == '\0' && rf_runs_find(lab->runs, lab->n, &like) &&
            !partner_of(lab, run))
            n++;
    }
    return n;
}

size_t rf_table_paired(const rf_lab *lab)
{
    static const char *const columns[] = {"method", "set", "known", "n",    "Acc",
                                          "95 %",   "p",   "F1",    "95 %", "p"};
    rf_grid grid;
    rf_names methods;
    rf_lab_names(lab, &methods, RF_METHODS, &(rf_place){.variant = ""}, NULL);
    rf_grid_open(&grid, lab->sheet, "paired", lab->encoder, 3);
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++)
        rf_grid_column(&grid, columns[i]);
    for (size_t i = 0; i < methods.n; i++)
        if (strcmp(methods.item[i], "ans") != 0)
            add_method(lab, &grid, methods.item[i]);
    free(methods.item);
    size_t rows = rf_grid_rows(&grid), mismatched = count_mismatched(lab);
    rf_grid_close(&grid, "ANS minus each method, same experiments (encoder %s)",
                  lab->encoder);
    if (rows)
        rf_sheet_paragraph(
            lab->sheet,
            "Mean difference in points over the n experiments (set, share, seed) that "
            "both "
            "methods did; above 0, ans is better. 95 %% is its interval and p the "
            "two-sided p of the paired t test, not corrected for the number of "
            "comparisons. \"all\" takes every experiment as one pair.");
    if (mismatched)
        rf_sheet_paragraph(
            lab->sheet,
            "%zu %s left out of the pairs: same set, share and seed as a run of ans, but "
            "different known classes.",
            mismatched, rf_plural(mismatched, "run was", "runs were"));
    return rows;
}
