/*
 * table.h - finding runs, their means and published numbers; the tables made from them
 *
 * Each table is a function that adds grids for the runs of one encoder to a sheet.
 * table.c has the list; the lookups are in table_runs.c and serve the page too
 * (lab_page.h).
 */
#ifndef RF_LAB_TABLE_H
#define RF_LAB_TABLE_H

#include "lab/grid.h"
#include "lab/loop_points.h"
#include "lab/published.h"
#include "lab/results.h"
#include "lab/statistics.h"
#include "lab/update_points.h"

#define RF_MEASURED "measured" /* the source of our own figures */

typedef struct rf_lab {
    const rf_run *runs; /* of one encoder */
    size_t n;
    const rf_update_point *points; /* of that encoder, sorted */
    size_t n_points;
    const rf_loop_point *rounds; /* likewise */
    size_t n_rounds;
    const rf_published *published;
    size_t n_published;
    const char *encoder;
    double *values[2]; /* [n or n_points] each, scratch */
    rf_sheet *sheet;
} rf_lab;

typedef enum rf_metric {
    RF_ACCURACY,
    RF_F1,
    RF_F1_KNOWN,
    RF_F1_OPEN,
    /* not in every line of runs.jsonl */
    RF_CLOSED,
    RF_AUROC,
    RF_BEST_F1,
    RF_BEST_ACCURACY
} rf_metric;
#define RF_METRICS 4 /* that every run has */

const char *rf_metric_name(rf_metric metric);  /* "f1_known" */
const char *rf_metric_title(rf_metric metric); /* "F1-known" */
/* Negative if the run does not have it. */
double rf_metric_of(const rf_run *run, rf_metric metric);

/* Which runs: NULL and a ratio of 0 match all. */
typedef struct rf_place {
    const char *set;
    double ratio;
    const char *method, *variant;
} rf_place;

bool rf_lab_matches(const rf_run *run, const rf_place *place);
size_t rf_lab_count(const rf_lab *lab, const rf_place *place);

/* The mean over the matching runs that have the figure, as a record; n is 0 if there are
 * none. Borrows place's strings. */
rf_record rf_lab_mean(const rf_lab *lab, const rf_place *place, rf_metric metric);

/* NULL if there is none. metric is a rf_metric_name, or "sd_" and one. */
const rf_published *rf_lab_published(const rf_lab *lab, const char *source,
                                     const rf_place *place, const char *metric);
rf_record rf_published_record(const rf_published *p);
const char *rf_source_title(const char *source); /* "ANS paper", "TEXTOIR" */

/* Distinct names, in the order of the tables. */
typedef struct rf_names {
    const char **item;
    size_t n;
} rf_names;

typedef enum rf_name_kind { RF_SETS, RF_METHODS, RF_VARIANTS } rf_name_kind;

/* The names of the matching runs and, if sources is not NULL, of the matching published
 * numbers. Released with free(names->item). */
void rf_lab_names(const rf_lab *lab, rf_names *names, rf_name_kind kind,
                  const rf_place *place, const char *const *sources);

/* The ratios of the matching runs, ascending; freed with free(). */
double *rf_lab_ratios(const rf_lab *lab, const rf_place *place, size_t *n);

/* "25 %" */
char *rf_percent_text(double ratio, char out[RF_RATIO_TEXT]);

/* The caveat wherever published numbers are shown beside ours. */
void rf_lab_note(const rf_lab *lab);
/* Contradictions among the published numbers. */
void rf_lab_contradictions(const rf_lab *lab);

/* ans minus the method of place, over the experiments that both did. */
rf_paired rf_lab_compare(const rf_lab *lab, const rf_place *place, rf_metric metric);

/* The number after "name="; false if there is none. */
bool rf_variant_value(const char *variant, double *value);
/* "rows=lognormal:10:0.9": few uneven rows; false for any other variant. */
bool rf_variant_lognormal(const char *variant, double *median, double *spread);

/* The tables. Each returns the number of rows it added. */
size_t rf_table_main(const rf_lab *lab);
size_t rf_table_known_open(const rf_lab *lab);
size_t rf_table_deviations(const rf_lab *lab);
size_t rf_table_ablation(const rf_lab *lab);
size_t rf_table_negatives(const rf_lab *lab);
size_t rf_table_paired(const rf_lab *lab);
size_t rf_table_sweeps(const rf_lab *lab);
size_t rf_table_few(const rf_lab *lab);
size_t rf_table_updates(const rf_lab *lab);
size_t rf_table_loop(const rf_lab *lab);

#endif
