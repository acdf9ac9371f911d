/* table_loop.c - rounds of review, labels and update: a grid per loop, a row per round */
#include "lab/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME 48

/* A round and its name in CSV: "seed=0 round=3". */
typedef struct row {
    const rf_loop_point *p;
    char *variant;
} row;

static void add_number(rf_grid *grid, const row *r, const char *metric, double value,
                       int decimals)
{
    char text[32];
    const rf_record record = {.set = r->p->set,
                              .method = r->p->method,
                              .variant = r->variant,
                              .source = RF_MEASURED,
                              .metric = metric,
                              .ratio = r->p->ratio,
                              .n = 1,
                              .value = value};
    snprintf(text, sizeof text, "%.*f", decimals, value);
    if (value >= 0.0)
        rf_grid_figure_as(grid, &record, text);
    else
        rf_grid_empty(grid);
}

/* Negative if F1 did not rise. */
static double labels_per_point(const rf_loop_point *p)
{
    double gain = p->updated.f1 - p->first_f1;
    return p->labels > 0 && gain > 0.0 ? (double)p->labels / gain : -1.0;
}

static void add_row(rf_grid *grid, const row *r)
{
    const rf_loop_point *p = r->p;
    char text[32];
    snprintf(r->variant, NAME, "seed=%llu round=%zu", (unsigned long long)p->seed,
             p->round);
    snprintf(text, sizeof text, "%zu", p->round);
    rf_grid_words(grid, text);
    add_number(grid, r, "texts", (double)p->texts, 0);
    add_number(grid, r, "labels", (double)p->labels, 0);
    add_number(grid, r, "groups", (double)p->named, 0);
    add_number(grid, r, "rows", (double)p->rows, 0);
    add_number(grid, r, "wrong", (double)p->wrong, 0);
    add_number(grid, r, "classes", (double)p->classes, 0);
    add_number(grid, r, "f1", p->updated.f1, 2);
    add_number(grid, r, "accuracy", p->updated.accuracy, 2);
    add_number(grid, r, "labels_per_point", labels_per_point(p), 1);
    add_number(grid, r, "seconds", p->review_seconds + p->update_seconds, 1);
    add_number(grid, r, "trained_f1", p->trained.f1, 2);
    add_number(grid, r, "trained_accuracy", p->trained.accuracy, 2);
}

/* The rounds of one loop, in order. */
static size_t write_loop(const rf_lab *lab, const rf_loop_point *at, size_t n)
{
    static const char *const columns[] = {
        "round", "texts", "labels",       "groups",  "rows",          "wrong", "classes",
        "F1",    "Acc",   "labels/point", "seconds", "trained again", "Acc"};
    rf_grid grid;
    char percent[RF_RATIO_TEXT], (*variants)[NAME] = calloc(n, sizeof *variants);
    if (!variants) {
        lab->sheet->status =
            rf_fail_nomem(lab->sheet->err, n * sizeof *variants, "a table");
        return 0;
    }
    rf_grid_open(&grid, lab->sheet, "loop", lab->encoder, 1);
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        rf_grid_column(&grid, columns[i]);
    for (size_t i = 0; i < n; i++)
        add_row(&grid, &(row){&at[i], variants[i]});
    rf_grid_close(&grid,
                  "Review, label, learn: %s, trained on %zu of %zu classes (%s), seed "
                  "%llu%s (encoder %s)",
                  at->set, at->first_classes, at->all_classes,
                  rf_percent_text(at->ratio, percent), (unsigned long long)at->seed,
                  at[n - 1].last ? "" : ", not finished", lab->encoder);
    free(variants);
    return n;
}

size_t rf_table_loop(const rf_lab *lab)
{
    size_t rows = 0;
    for (size_t from = 0, to; from < lab->n_rounds; from = to) {
        for (to = from + 1; to < lab->n_rounds; to++)
            if (!rf_loop_point_same(&lab->rounds[from], &lab->rounds[to]))
                break;
        rows += write_loop(lab, &lab->rounds[from], to - from);
    }
    if (rows)
        rf_sheet_paragraph(
            lab->sheet,
            "Texts that came so far, labels spent on reading some of them, groups that "
            "got a name, rows learnt and how many of them under a wrong label. F1 is the "
            "mean over all classes of the set, known or not, on the whole test file. "
            "labels/point: labels spent for each point of F1 gained since round 0. "
            "Seconds of the round: review and update. \"trained again\" is a training "
            "on the first rows and all rows learnt since, at once: its F1 and accuracy.");
    return rows;
}
