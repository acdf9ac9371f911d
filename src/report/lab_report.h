/*
 * lab_report.h - the page about a lab's runs, section by section
 *
 * Each section looks at the runs of one encoder (lab/table.h), writes what it finds to
 * the page, and writes nothing at all if there is nothing.
 */
#ifndef RF_REPORT_LAB_REPORT_H
#define RF_REPORT_LAB_REPORT_H

#include "lab/table.h"
#include "report/svg.h"
#include "ringfence_lab.h"

typedef struct rf_lab_page {
    rf_page page;
    const rf_lab_report_options *o;
    const char *dir;
    const rf_run *runs; /* all that are shown, an encoder's side by side */
    size_t n;
    const char **encoders; /* most runs first */
    size_t n_encoders;
    bool many;      /* more than one */
    rf_lab lab;     /* the encoder in hand */
    rf_sheet sheet; /* where lab/table.h leaves words and failures */
} rf_lab_page;

/* ---- Sections ---------------------------------------------------------------------- */

void rf_lab_verdict(rf_lab_page *r);
void rf_lab_facts(rf_lab_page *r);
void rf_lab_methods(rf_lab_page *r);   /* charts and tables, set by set */
void rf_lab_versus(rf_lab_page *r);    /* ans against each, in pairs */
void rf_lab_ablation(rf_lab_page *r);  /* what each part of ans adds */
void rf_lab_negatives(rf_lab_page *r); /* negatives added to other methods */
void rf_lab_curves(rf_lab_page *r);    /* sweeps */
void rf_lab_confusions(rf_lab_page *r);
void rf_lab_times(rf_lab_page *r);
void rf_lab_making(rf_lab_page *r); /* of all encoders */
rf_status rf_lab_portraits(rf_lab_page *r, rf_error *err);

/* ---- Parts ------------------------------------------------------------------------- */

/* A section's beginning: heading and lead are markup of ours. */
void rf_lab_section(rf_lab_page *r, const char *heading, const char *lead);

/* "<h3>banking, 25 % known</h3>"; a ratio of 0 is left out. */
void rf_lab_heading(rf_page *p, const char *set, double ratio);

/* Words in an element of their own, so that their direction stays theirs. */
void rf_lab_name(rf_page *p, const char *name);
void rf_lab_percent(rf_page *p, double ratio); /* "25 %" */
/* "+1.23", with a real minus */
void rf_lab_signed(rf_page *p, double value, int decimals);
/* "3 runs" */
void rf_lab_plural(rf_page *p, size_t n, const char *one, const char *many);

/* A cell with a number of two digits, or a dash. */
void rf_lab_cell(rf_page *p, bool there, double value, bool best);
void rf_lab_soft_cell(rf_page *p, bool there, double value);

/* Paragraphs that the tables of lab/table.h have too: those that `write` adds. */
void rf_lab_words(rf_lab_page *r, void (*write)(const rf_lab *lab));

/* ---- Accuracy and F1 at every ratio ------------------------------------------------ */

typedef struct rf_matrix_row {
    const char *name, *method, *variant;
    const char *source; /* of published numbers below it; may be NULL */
} rf_matrix_row;

typedef struct rf_matrix {
    const char *label; /* markup of ours, for those who do not see it */
    const char *what;  /* the rows are; markup of ours */
    const char *set;
    const double *ratios;
    size_t n_ratios;
    const rf_matrix_row *rows;
    size_t n_rows;
    bool mark_best;
} rf_matrix;

/* Rows without runs are left out. Returns whether published numbers are in it. */
bool rf_lab_matrix(rf_lab_page *r, const rf_matrix *m);

/* ---- A chart of many methods ------------------------------------------------------- */

/* Thin bars in panels side by side, a row for each name: some twenty methods stay on one
 * screen. */
typedef struct rf_panels {
    const char *title, *description;
    const char *const *rows; /* names */
    size_t n_rows;
    const char *const *series; /* up to RF_KEYS */
    size_t n_series;
    const char *const *panels;
    size_t n_panels;                  /* 1 to 3 */
    const double *value, *low, *high; /* [n_panels, n_series, n_rows], 0 to 100; not
                                       * finite: none */
} rf_panels;

void rf_svg_panels(rf_page *p, const rf_panels *chart);

#endif
