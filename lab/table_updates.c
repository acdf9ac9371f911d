/* table_updates.c - learning after training: a grid per set and first share of the
 * classes, a row per number of classes */
#include "lab/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME 32

/* The points of one row: all seeds with so many classes. */
typedef struct seeds {
    const rf_update_point *at;
    size_t n;
    char *variant; /* "classes=29" */
} seeds;

static const struct {
    const char *title;
    const char *updated, *trained, *difference; /* metrics in CSV */
    size_t at;                                  /* in rf_point_figures */
} shown[] = {
    {"F1", "updated_f1", "trained_f1", "difference_f1", offsetof(rf_point_figures, f1)},
    {"Acc", "updated_accuracy", "trained_accuracy", "difference_accuracy",
     offsetof(rf_point_figures, accuracy)},
};
#define SHOWN (sizeof shown / sizeof *shown)

static double figure(const rf_point_figures *of, size_t at)
{
    double x;
    memcpy(&x, (const char *)of + at, sizeof x);
    return x;
}

static rf_record record(const seeds *s, const char *metric, const rf_summary *of)
{
    return (rf_record){.set = s->at->set,
                       .method = s->at->method,
                       .variant = s->variant,
                       .source = RF_MEASURED,
                       .metric = metric,
                       .ratio = s->at->from,
                       .n = of->n,
                       .value = of->mean,
                       .has_spread = of->n >= 2,
                       .sd = of->sd,
                       .low = of->low,
                       .high = of->high};
}

/* Updated, trained again, and the difference with its standard deviation. */
static void add_figure(const rf_lab *lab, rf_grid *grid, const seeds *s, size_t m)
{
    double *updated = lab->values[0], *trained = lab->values[1];
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++) {
        updated[n] = figure(&s->at[i].updated, shown[m].at);
        trained[n] = figure(&s->at[i].trained, shown[m].at);
        n += updated[n] >= 0.0 && trained[n] >= 0.0;
    }
    if (n == 0) {
        for (size_t i = 0; i < 3; i++)
            rf_grid_empty(grid);
        return;
    }
    char text[64];
    rf_summary u = rf_summarize(updated, n), t = rf_summarize(trained, n);
    rf_paired paired = rf_compare_paired(updated, trained, n);
    rf_record records[3] = {record(s, shown[m].updated, &u),
                            record(s, shown[m].trained, &t),
                            record(s, shown[m].difference, &paired.difference)};
    records[2].has_p = n >= 2;
    records[2].p = paired.p;
    rf_grid_figure(grid, &records[0]);
    rf_grid_figure(grid, &records[1]);
    if (n >= 2)
        snprintf(text, sizeof text, "%+.2f (%.2f)", paired.difference.mean,
                 paired.difference.sd);
    else
        snprintf(text, sizeof text, "%+.2f", paired.difference.mean);
    rf_grid_figure_as(grid, &records[2], text);
}

/* A number about the updates of a row, without a spread. */
static void add_cost(rf_grid *grid, const seeds *s, const char *metric, double value,
                     size_t updates)
{
    char text[32];
    rf_record r = record(s, metric, &(rf_summary){.n = s->n, .mean = value});
    r.has_spread = false;
    snprintf(text, sizeof text, "%.1f", value);
    if (updates > 0)
        rf_grid_figure_as(grid, &r, text);
    else
        rf_grid_empty(grid);
}

static void add_row(const rf_lab *lab, rf_grid *grid, const seeds *s)
{
    size_t updates = 0, heads = 0;
    double seconds = 0.0, cpu = 0.0, longest = 0.0;
    char text[32];
    for (size_t i = 0; i < s->n; i++) {
        const rf_update_point *p = &s->at[i];
        updates += p->updates.n;
        heads += p->updates.heads;
        seconds += p->updates.seconds;
        cpu += p->updates.cpu;
        longest = p->updates.longest > longest ? p->updates.longest : longest;
    }
    snprintf(s->variant, NAME, "classes=%zu", s->at->classes);
    snprintf(text, sizeof text, "%zu", s->at->classes);
    rf_grid_words(grid, text);
    snprintf(text, sizeof text, "%zu", s->n);
    rf_grid_words(grid, text);
    for (size_t m = 0; m < SHOWN; m++)
        add_figure(lab, grid, s, m);
    double n = updates ? (double)updates : 1.0;
    add_cost(grid, s, "seconds_per_update", seconds / n, updates);
    add_cost(grid, s, "longest_update", longest, updates);
    add_cost(grid, s, "cpu_per_update", cpu / n, updates);
    add_cost(grid, s, "heads_per_update", (double)heads / n, updates);
}

static void add_columns(rf_grid *grid)
{
    static const char *const costs[] = {"s/update", "longest", "CPU s", "heads"};
    rf_grid_column(grid, "classes");
    rf_grid_column(grid, "n");
    for (size_t m = 0; m < SHOWN; m++) {
        rf_grid_column(grid, shown[m].title);
        rf_grid_column(grid, "trained again");
        rf_grid_column(grid, "difference");
    }
    for (size_t i = 0; i < sizeof costs / sizeof *costs; i++)
        rf_grid_column(grid, costs[i]);
}

/* Points of one set and first share, sorted by classes and seed. */
static size_t write_set(const rf_lab *lab, const rf_update_point *at, size_t n)
{
    rf_grid grid;
    char percent[RF_RATIO_TEXT], (*variants)[NAME] = calloc(n, sizeof *variants);
    if (!variants) {
        lab->sheet->status =
            rf_fail_nomem(lab->sheet->err, n * sizeof *variants, "a table");
        return 0;
    }
    rf_grid_open(&grid, lab->sheet, "updates", lab->encoder, 1);
    add_columns(&grid);
    for (size_t from = 0, to; from < n; from = to) {
        for (to = from + 1; to < n && at[to].classes == at[from].classes;)
            to++;
        add_row(lab, &grid, &(seeds){at + from, to - from, variants[from]});
    }
    size_t rows = rf_grid_rows(&grid);
    rf_grid_close(&grid,
                  "Learning after training: %s, trained on %zu classes (%s), then one by "
                  "one (encoder %s)",
                  at->set, at->first_classes, rf_percent_text(at->from, percent),
                  lab->encoder);
    free(variants);
    return rows;
}

size_t rf_table_updates(const rf_lab *lab)
{
    size_t rows = 0;
    for (size_t from = 0, to; from < lab->n_points; from = to) {
        const rf_update_point *first = &lab->points[from];
        for (to = from + 1; to < lab->n_points; to++)
            if (strcmp(lab->points[to].set, first->set) != 0 ||
                lab->points[to].from != first->from)
                break;
        rows += write_set(lab, first, to - from);
    }
    if (rows)
        rf_sheet_paragraph(
            lab->sheet,
            "A model is trained on the first classes of the draw and learns the others "
            "with an update each; \"trained again\" is a training on all classes of the "
            "row at once. Both answer the whole test file, where the labels of all other "
            "classes are open. Means over n seeds, differences with their standard "
            "deviation. Seconds, CPU seconds and trained heads are means over the "
            "updates since the point measured before; \"longest\" is the longest of "
            "them.");
    return rows;
}
