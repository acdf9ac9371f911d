/*
 * table.h - what the tables of the lab have in common: which runs there are, their
 * means, the published numbers
 *
 * Each table is a function that looks at the runs of one encoder and adds grids to a
 * sheet; table.c has the list of them.
 */
#ifndef RF_LAB_TABLE_H
#define RF_LAB_TABLE_H

#include "lab/grid.h"
#include "lab/published.h"
#include "lab/results.h"
#include "lab/statistics.h"

#define RF_MEASURED "measured" /* the source of our own figures */

typedef struct rf_lab {
    const rf_run *runs; /* of one encoder */
    size_t n;
    const rf_published *published;
    size_t n_published;
    const char *encoder;
    double *values[2]; /* [n] each, scratch */
    rf_sheet *sheet;
} rf_lab;

typedef enum rf_metric { RF_ACCURACY, RF_F1, RF_F1_KNOWN, RF_F1_OPEN } rf_metric;
#define RF_METRICS 4

const char *rf_metric_name(rf_metric metric);  /* "f1_known" */
const char *rf_metric_title(rf_metric metric); /* "F1-known" */
double rf_metric_of(const rf_run *run, rf_metric metric);

/* A place in a table: NULL or a ratio of 0 matches everything. */
typedef struct rf_place {
    const char *set;
    double ratio;
    const char *method, *variant;
} rf_place;

bool rf_lab_matches(const rf_run *run, const rf_place *place);
size_t rf_lab_count(const rf_lab *lab, const rf_place *place);

/* The mean over seeds as a record; n is 0 if there are no such runs. Borrows place's
 * strings. */
rf_record rf_lab_mean(const rf_lab *lab, const rf_place *place, rf_metric metric);

/* NULL if there is none; metric is a name, also with "sd_" before it. */
const rf_published *rf_lab_published(const rf_lab *lab, const char *source,
                                     const rf_place *place, const char *metric);
rf_record rf_published_record(const rf_published *p);
const char *rf_source_title(const char *source); /* "ANS paper", "TEXTOIR" */

/* Names without repetition, in order. */
typedef struct rf_names {
    const char **item;
    size_t n;
} rf_names;

typedef enum rf_name_kind { RF_SETS, RF_METHODS, RF_VARIANTS } rf_name_kind;

/* The names that the runs at a place have, and, if source is not NULL, that the numbers
 * published there have. Released with free(names->item). */
void rf_lab_names(const rf_lab *lab, rf_names *names, rf_name_kind kind,
                  const rf_place *place, const char *const *sources);

/* Ratios of the runs at a place, ascending; freed with free(). */
double *rf_lab_ratios(const rf_lab *lab, const rf_place *place, size_t *n);

/* "25 %" */
char *rf_percent_text(double ratio, char out[RF_RATIO_TEXT]);

/* What has to be said wherever published numbers stand beside ours. */
void rf_lab_note(const rf_lab *lab);
/* Where the published numbers contradict each other. */
void rf_lab_slips(const rf_lab *lab);

/* ans minus the method of a place, on the same experiments. */
rf_paired rf_lab_compare(const rf_lab *lab, const rf_place *place, rf_metric metric);

/* The number after "name=", if there is one. */
bool rf_variant_value(const char *variant, double *value);

/* The tables. Each returns the number of rows it has added. */
size_t rf_table_main(const rf_lab *lab);
size_t rf_table_known_open(const rf_lab *lab);
size_t rf_table_deviations(const rf_lab *lab);
size_t rf_table_ablation(const rf_lab *lab);
size_t rf_table_negatives(const rf_lab *lab);
size_t rf_table_paired(const rf_lab *lab);
size_t rf_table_sweeps(const rf_lab *lab);

#endif
