/* table_few.c - runs with few uneven rows: a grid per set, share of known classes and
 * draw, a row per method */
#include "lab/table.h"

#include <stdio.h>
#include <stdlib.h>

static const rf_metric shown[] = {RF_CLOSED, RF_AUROC,         RF_ACCURACY,
                                  RF_F1,     RF_BEST_ACCURACY, RF_BEST_F1};
#define SHOWN (sizeof shown / sizeof *shown)

static void add_method(const rf_lab *lab, rf_grid *grid, const rf_place *place)
{
    char text[32];
    size_t n = rf_lab_count(lab, place);
    if (n == 0)
        return;
    rf_grid_words(grid, place->method);
    snprintf(text, sizeof text, "%zu", n);
    rf_grid_words(grid, text);
    for (size_t m = 0; m < SHOWN; m++) {
        rf_record record = rf_lab_mean(lab, place, shown[m]);
        if (record.n > 0)
            rf_grid_figure(grid, &record);
        else
            rf_grid_empty(grid);
    }
}

static size_t write_draw(const rf_lab *lab, rf_place place)
{
    rf_grid grid;
    rf_names methods;
    char percent[RF_RATIO_TEXT];
    double median = 0.0, spread = 0.0;
    rf_lab_names(lab, &methods, RF_METHODS, &place, NULL);
    rf_grid_open(&grid, lab->sheet, "few", lab->encoder, 1);
    rf_grid_column(&grid, "method");
    rf_grid_column(&grid, "n");
    for (size_t m = 0; m < SHOWN; m++)
        rf_grid_column(&grid, rf_metric_title(shown[m]));
    for (size_t i = 0; i < methods.n; i++) {
        place.method = methods.item[i];
        add_method(lab, &grid, &place);
    }
    rf_grid_mark_best(&grid, RF_MEASURED);
    rf_variant_lognormal(place.variant, &median, &spread);
    size_t rows = rf_grid_rows(&grid);
    rf_grid_close(&grid,
                  "Few uneven rows: %s, %s known, median %g rows per class, spread %g "
                  "(encoder %s)",
                  place.set, rf_percent_text(place.ratio, percent), median, spread,
                  lab->encoder);
    free(methods.item);
    return rows;
}

/* All ratios and draws of a set. */
static size_t write_set(const rf_lab *lab, const char *set)
{
    rf_place place = {.set = set};
    rf_names variants;
    size_t n, rows = 0;
    double *ratios = rf_lab_ratios(lab, &place, &n), median, spread;
    rf_lab_names(lab, &variants, RF_VARIANTS, &place, NULL);
    for (size_t r = 0; ratios && r < n; r++)
        for (size_t v = 0; v < variants.n; v++) {
            place.ratio = ratios[r];
            place.variant = variants.item[v];
            if (rf_variant_lognormal(place.variant, &median, &spread))
                rows += write_draw(lab, place);
        }
    free(variants.item);
    free(ratios);
    return rows;
}

size_t rf_table_few(const rf_lab *lab)
{
    rf_names sets;
    size_t rows = 0;
    rf_lab_names(lab, &sets, RF_SETS, &(rf_place){0}, NULL);
    for (size_t i = 0; i < sets.n; i++)
        rows += write_set(lab, sets.item[i]);
    free(sets.item);
    if (rows)
        rf_sheet_paragraph(
            lab->sheet,
            "Each class keeps its own number of training rows, drawn from a lognormal "
            "distribution; there are no dev rows. Closed is the share of known texts "
            "whose nearest class is right, AUROC that of pairs of a known and an open "
            "text with margins in the right order; \"best\" is with the best common "
            "fence, chosen with the truth known. Means over n seeds.");
    return rows;
}
