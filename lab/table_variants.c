/*
 * table_variants.c - a row per method and variant: the ablation of ANS, negatives added
 * to other methods, and sweeps over a setting
 */
#include "lab/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In the order of the paper's tables. */
static const rf_metric shown[] = {RF_ACCURACY, RF_F1, RF_F1_KNOWN, RF_F1_OPEN};

static void open_grid(const rf_lab *lab, rf_grid *grid, const char *table, bool spread)
{
    static const char *const labels[] = {"known", "method", "variant", "source"};
    rf_grid_open(grid, lab->sheet, table, lab->encoder, 4);
    for (size_t i = 0; i < 4; i++)
        rf_grid_column(grid, labels[i]);
    rf_grid_column(grid, "n");
    for (size_t m = 0; m < RF_METRICS; m++) {
        rf_grid_column(grid, rf_metric_title(shown[m]));
        if (spread)
            rf_grid_column(grid, "sd");
    }
}

static void add_labels(rf_grid *grid, const rf_place *place, const char *source)
{
    char percent[RF_RATIO_TEXT];
    rf_grid_words(grid, rf_percent_text(place->ratio, percent));
    rf_grid_words(grid, place->method);
    rf_grid_words(grid, place->variant[0] ? place->variant : "default");
    rf_grid_words(grid, source);
}

/* The runs of one method and variant, if there are any. */
static void add_measured(const rf_lab *lab, rf_grid *grid, const rf_place *place,
                         bool spread)
{
    char text[32];
    size_t n = rf_lab_count(lab, place);
    if (n == 0)
        return;
    add_labels(grid, place, RF_MEASURED);
    snprintf(text, sizeof text, "%zu", n);
    rf_grid_words(grid, text);
    for (size_t m = 0; m < RF_METRICS; m++) {
        rf_record record = rf_lab_mean(lab, place, shown[m]);
        rf_grid_figure(grid, &record);
        snprintf(text, sizeof text, "%.2f", record.sd);
        if (spread)
            rf_grid_words(grid, n >= 2 ? text : "-");
    }
}

/* The published row, if the source has one. */
static bool add_published(const rf_lab *lab, rf_grid *grid, const rf_place *place,
                          const char *source)
{
    if (!rf_lab_published(lab, source, place, rf_metric_name(RF_ACCURACY)))
        return false;
    add_labels(grid, place, rf_source_title(source));
    rf_grid_words(grid, "");
    for (size_t m = 0; m < RF_METRICS; m++) {
        const rf_published *p =
            rf_lab_published(lab, source, place, rf_metric_name(shown[m]));
        rf_record record = p ? rf_published_record(p) : (rf_record){0};
        if (p)
            rf_grid_figure(grid, &record);
        else
            rf_grid_empty(grid);
    }
    return true;
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* ---- Ablation ---------------------------------------------------------------------- */

#define ABLATION "ablation="

/* The ablation variants of ans, measured and published. */
static bool add_ablation(const rf_lab *lab, rf_grid *grid, rf_place place)
{
    static const char *const sources[] = {"ans-table2", NULL};
    rf_names variants;
    bool published = false, ours = false;
    rf_lab_names(lab, &variants, RF_VARIANTS, &place, NULL);
    for (size_t i = 0; i < variants.n; i++)
        ours |= begins(variants.item[i], ABLATION);
    free(variants.item);
    if (!ours)
        return false;
    rf_lab_names(lab, &variants, RF_VARIANTS, &place, sources);
    for (size_t i = 0; i < variants.n; i++) {
        place.variant = variants.item[i];
        if (!begins(place.variant, ABLATION))
            continue;
        add_measured(lab, grid, &place, false);
        published |= add_published(lab, grid, &place, sources[0]);
    }
    free(variants.item);
    return published;
}

/* ---- Negatives added to other methods ---------------------------------------------- */

/* A method with default settings, then its variants of ascent. */
static bool add_with_ascent(const rf_lab *lab, rf_grid *grid, rf_place place,
                            const char *method)
{
    rf_names variants;
    place.method = method;
    place.variant = "";
    add_measured(lab, grid, &place, false);
    bool published = add_published(lab, grid, &place, "ans-table3");
    place.variant = NULL;
    rf_lab_names(lab, &variants, RF_VARIANTS, &place, NULL);
    for (size_t i = 0; i < variants.n; i++) {
        place.variant = variants.item[i];
        if (begins(place.variant, "ascent="))
            add_measured(lab, grid, &place, false);
    }
    free(variants.item);
    return published;
}

static bool add_negatives(const rf_lab *lab, rf_grid *grid, rf_place place)
{
    static const char *const methods[] = {"msp",     "msp-neg", "adb",
                                          "adb-neg", "ovr",     "ans"};
    bool published = false, ours = false;
    for (size_t i = 1; i < 4 && !ours; i += 2) {
        place.method = methods[i];
        ours = rf_lab_count(lab, &place) > 0;
    }
    for (size_t i = 0; ours && i < 6; i++)
        published |= add_with_ascent(lab, grid, place, methods[i]);
    return published;
}

/* ---- Both: a grid per set, with the rows of each ratio ------------------------------
 */

typedef bool (*add_rows)(const rf_lab *lab, rf_grid *grid, rf_place place);

static size_t write_sets(const rf_lab *lab, const char *table, const char *title,
                         const char *method, add_rows add)
{
    rf_names sets;
    size_t rows = 0;
    bool published = false;
    rf_lab_names(lab, &sets, RF_SETS, &(rf_place){.method = method}, NULL);
    for (size_t i = 0; i < sets.n; i++) {
        rf_place place = {.set = sets.item[i], .method = method};
        size_t n;
        double *ratios = rf_lab_ratios(lab, &place, &n);
        rf_grid grid;
        open_grid(lab, &grid, table, false);
        for (size_t r = 0; ratios && r < n; r++) {
            place.ratio = ratios[r];
            published |= add(lab, &grid, place);
        }
        free(ratios);
        rows += rf_grid_rows(&grid);
        rf_grid_close(&grid, "%s: %s (encoder %s)", title, sets.item[i], lab->encoder);
    }
    free(sets.item);
    if (published)
        rf_lab_note(lab);
    return rows;
}

size_t rf_table_ablation(const rf_lab *lab)
{
    return write_sets(lab, "ablation", "What each part of ANS adds", "ans", add_ablation);
}

size_t rf_table_negatives(const rf_lab *lab)
{
    return write_sets(lab, "negatives", "Synthetic negatives added to other methods",
                      NULL, add_negatives);
}

/* ---- Sweeps ------------------------------------------------------------------------ */

/* Length of the setting's name, before "=". */
static size_t name_length(const char *variant)
{
    return strcspn(variant, "=");
}

static bool same_name(const char *a, const char *b)
{
    return name_length(a) == name_length(b) && strncmp(a, b, name_length(a)) == 0;
}

/* The values of one setting that a method was run with, the default first. */
static void add_values(const rf_lab *lab, rf_grid *grid, rf_place place, const char *name)
{
    rf_names variants;
    bool any = false;
    place.variant = NULL;
    rf_lab_names(lab, &variants, RF_VARIANTS, &place, NULL);
    for (size_t i = 0; i < variants.n; i++)
        any |= variants.item[i][0] && same_name(variants.item[i], name);
    for (size_t i = 0; any && i < variants.n; i++) {
        place.variant = variants.item[i];
        if (place.variant[0] == '\0' || same_name(place.variant, name))
            add_measured(lab, grid, &place, true);
    }
    free(variants.item);
}

/* One setting on one set. */
static size_t write_sweep(const rf_lab *lab, const char *set, const char *name)
{
    rf_grid grid;
    rf_names methods;
    rf_place place = {.set = set};
    size_t n;
    double *ratios = rf_lab_ratios(lab, &place, &n);
    rf_lab_names(lab, &methods, RF_METHODS, &place, NULL);
    open_grid(lab, &grid, "sweeps", true);
    for (size_t r = 0; ratios && r < n; r++)
        for (size_t m = 0; m < methods.n; m++) {
            place.ratio = ratios[r];
            place.method = methods.item[m];
            add_values(lab, &grid, place, name);
        }
    size_t rows = rf_grid_rows(&grid);
    rf_grid_close(&grid, "Sweep over %.*s: %s (encoder %s)", (int)name_length(name), name,
                  set, lab->encoder);
    free(methods.item);
    free(ratios);
    return rows;
}

/* Is variant i the first of its setting? */
static bool is_first(const rf_names *variants, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (variants->item[k][0] && same_name(variants->item[k], variants->item[i]))
            return false;
    return true;
}

size_t rf_table_sweeps(const rf_lab *lab)
{
    rf_names sets, variants;
    size_t rows = 0;
    rf_lab_names(lab, &sets, RF_SETS, &(rf_place){0}, NULL);
    for (size_t s = 0; s < sets.n; s++) {
        rf_place place = {.set = sets.item[s]};
        rf_lab_names(lab, &variants, RF_VARIANTS, &place, NULL);
        for (size_t v = 0; v < variants.n; v++) {
            const char *name = variants.item[v];
            if (name[0] && !begins(name, ABLATION) && is_first(&variants, v))
                rows += write_sweep(lab, sets.item[s], name);
        }
        free(variants.item);
    }
    free(sets.item);
    return rows;
}
