/* table_methods.c - methods compared: a grid per set, a row per method and source */
#include "lab/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What one of the three tables shows. */
typedef struct layout {
    const char *table, *title;
    rf_metric metric[RF_METRICS];
    size_t n_metrics;
    bool deviations;        /* standard deviations instead of means */
    const char *sources[3]; /* of published numbers, ends with NULL */
} layout;

static const layout main_layout = {
    "main", "Accuracy and F1", {RF_ACCURACY, RF_F1}, 2, false, {"ans-table1", "textoir"}};
static const layout known_open_layout = {
    "known-open", "F1 of known classes and of open", {RF_F1_KNOWN, RF_F1_OPEN}, 2,
    false,        {"ans-known-open", "textoir"}};
static const layout deviations_layout = {"deviations",
                                         "Standard deviations over seeds",
                                         {RF_ACCURACY, RF_F1, RF_F1_KNOWN, RF_F1_OPEN},
                                         4,
                                         true,
                                         {"ans-deviations"}};

/* The name of a figure in published.tsv and CSV. */
static const char *name_of(const layout *l, rf_metric metric)
{
    static const char *const deviations[RF_METRICS] = {[RF_ACCURACY] = "sd_accuracy",
                                                       [RF_F1] = "sd_f1",
                                                       [RF_F1_KNOWN] = "sd_f1_known",
                                                       [RF_F1_OPEN] = "sd_f1_open"};
    return l->deviations ? deviations[metric] : rf_metric_name(metric);
}

static void add_columns(rf_grid *grid, const layout *l, const double *ratios, size_t n)
{
    rf_grid_column(grid, "method");
    rf_grid_column(grid, "source");
    for (size_t r = 0; r < n; r++) {
        char percent[RF_RATIO_TEXT], title[64];
        rf_percent_text(ratios[r], percent);
        for (size_t m = 0; m < l->n_metrics; m++) {
            snprintf(title, sizeof title, "%s %s", percent,
                     rf_metric_title(l->metric[m]));
            rf_grid_column(grid, title);
        }
        rf_grid_column(grid, "n");
    }
}

/* Our own runs of a method. */
static void add_measured(const rf_lab *lab, rf_grid *grid, const layout *l,
                         rf_place place, const double *ratios, size_t n)
{
    rf_grid_words(grid, place.method);
    rf_grid_words(grid, RF_MEASURED);
    for (size_t r = 0; r < n; r++) {
        char runs[32];
        place.ratio = ratios[r];
        size_t count = rf_lab_count(lab, &place);
        for (size_t m = 0; m < l->n_metrics; m++) {
            rf_record record = rf_lab_mean(lab, &place, l->metric[m]);
            if (l->deviations) {
                record.value = record.sd;
                record.metric = name_of(l, l->metric[m]);
                record.has_spread = false;
            }
            if (count >= (l->deviations ? 2 : 1))
                rf_grid_figure(grid, &record);
            else
                rf_grid_empty(grid);
        }
        snprintf(runs, sizeof runs, "%zu", count);
        rf_grid_words(grid, count ? runs : "-");
    }
}

/* A method's row of published numbers; false if the source has none. */
static bool add_published(const rf_lab *lab, rf_grid *grid, const layout *l,
                          rf_place place, const double *ratios, size_t n,
                          const char *source)
{
    bool any = false;
    for (size_t r = 0; r < n && !any; r++) {
        place.ratio = ratios[r];
        any = rf_lab_published(lab, source, &place, name_of(l, l->metric[0])) != NULL;
    }
    if (!any)
        return false;
    rf_grid_words(grid, place.method);
    rf_grid_words(grid, rf_source_title(source));
    for (size_t r = 0; r < n; r++) {
        place.ratio = ratios[r];
        for (size_t m = 0; m < l->n_metrics; m++) {
            const rf_published *p =
                rf_lab_published(lab, source, &place, name_of(l, l->metric[m]));
            rf_record record = p ? rf_published_record(p) : (rf_record){0};
            if (p)
                rf_grid_figure(grid, &record);
            else
                rf_grid_empty(grid);
        }
        rf_grid_words(grid, "");
    }
    return true;
}

/* The grid of one set; returns its rows. Sets *published if it has published numbers. */
static size_t write_set(const rf_lab *lab, const layout *l, const char *set,
                        bool *published)
{
    rf_grid grid;
    rf_names methods;
    size_t n;
    rf_place place = {.set = set, .variant = ""};
    double *ratios = rf_lab_ratios(lab, &place, &n);
    rf_lab_names(lab, &methods, RF_METHODS, &place, l->sources);
    rf_grid_open(&grid, lab->sheet, l->table, lab->encoder, 2);
    if (ratios && methods.item)
        add_columns(&grid, l, ratios, n);
    for (size_t i = 0; ratios && i < methods.n; i++) {
        place.method = methods.item[i];
        if (rf_lab_count(lab, &place))
            add_measured(lab, &grid, l, place, ratios, n);
        for (const char *const *s = l->sources; *s; s++)
            *published |= add_published(lab, &grid, l, place, ratios, n, *s);
    }
    if (!l->deviations)
        rf_grid_mark_best(&grid, RF_MEASURED);
    size_t rows = rf_grid_rows(&grid);
    rf_grid_close(&grid, "%s: %s (encoder %s)", l->title, set, lab->encoder);
    free(methods.item);
    free(ratios);
    return rows;
}

static size_t write_layout(const rf_lab *lab, const layout *l)
{
    rf_names sets;
    size_t rows = 0;
    bool published = false;
    rf_lab_names(lab, &sets, RF_SETS, &(rf_place){.variant = ""}, NULL);
    for (size_t i = 0; i < sets.n; i++)
        rows += write_set(lab, l, sets.item[i], &published);
    free(sets.item);
    if (rows && !l->deviations)
        rf_sheet_paragraph(lab->sheet,
                           "Percentages in the header are shares of known classes; n is "
                           "the number of seeds; the best measured mean of each "
                           "column is marked.");
    if (published)
        rf_lab_note(lab);
    if (published && strcmp(l->table, "deviations") != 0)
        rf_lab_contradictions(lab);
    return rows;
}

size_t rf_table_main(const rf_lab *lab)
{
    return write_layout(lab, &main_layout);
}

size_t rf_table_known_open(const rf_lab *lab)
{
    return write_layout(lab, &known_open_layout);
}

size_t rf_table_deviations(const rf_lab *lab)
{
    return write_layout(lab, &deviations_layout);
}
