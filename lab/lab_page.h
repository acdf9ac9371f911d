/*
 * lab_page.h - the page about a lab's runs, section by section
 *
 * lab_page.c puts the page together and has the parts that sections share; each
 * page_*.c writes a section or two. A section covers the runs of one encoder (table.h)
 * and writes nothing without runs for it.
 */
#ifndef RF_LAB_LAB_PAGE_H
#define RF_LAB_LAB_PAGE_H

#include "lab/lab.h"
#include "lab/table.h"
#include "report/svg.h"

typedef struct rf_lab_page {
    rf_page page;
    const rf_lab_report_options *o;
    const char *dir;
    const rf_run *runs; /* all runs on the page, grouped by encoder */
    size_t n;
    const char **encoders; /* most runs first */
    size_t n_encoders;
    bool many;      /* more than one encoder */
    rf_lab lab;     /* the current encoder's runs */
    rf_sheet sheet; /* receives the paragraphs and failures of table.h's functions */
} rf_lab_page;

/* ---- Sections ---------------------------------------------------------------------- */

void rf_lab_headline(
    rf_lab_page *r);                 /* page_summary.c: the result in a sentence or two */
void rf_lab_facts(rf_lab_page *r);   /* page_summary.c: what was run */
void rf_lab_paired(rf_lab_page *r);  /* page_methods.c: ANS minus each method */
void rf_lab_methods(rf_lab_page *r); /* page_methods.c: charts and tables, set by set */
void rf_lab_ablation(rf_lab_page *r);   /* page_ablation.c: what each part of ANS adds */
void rf_lab_negatives(rf_lab_page *r);  /* page_ablation.c: negatives in other methods */
void rf_lab_curves(rf_lab_page *r);     /* lab_curves.c: F1 by one setting */
void rf_lab_few(rf_lab_page *r);        /* page_few.c: few uneven rows */
void rf_lab_confusions(rf_lab_page *r); /* page_confusions.c */
void rf_lab_times(rf_lab_page *r);      /* page_provenance.c */
void rf_lab_provenance(rf_lab_page *r); /* page_provenance.c: of all encoders */
rf_status rf_lab_heads(rf_lab_page *r, rf_error *err); /* page_heads.c */

/* ---- Parts of sections ------------------------------------------------------------- */

/* Begins a section; heading and lead are trusted markup. */
void rf_lab_section(rf_lab_page *r, const char *heading, const char *lead);

/* "<h3>banking, 25 % known</h3>"; a ratio of 0 is left out. */
void rf_lab_heading(rf_page *p, const char *set, double ratio);

/* A name in an element of its own, which isolates its text direction. */
void rf_lab_name(rf_page *p, const char *name);
void rf_lab_percent(rf_page *p, double ratio); /* "25 %" */
/* "+1.23", with a real minus sign */
void rf_lab_signed(rf_page *p, double value, int decimals);

/* A cell with two decimals, or a dash if there is no value. */
void rf_lab_cell(rf_page *p, bool there, double value, bool best);
void rf_lab_soft_cell(rf_page *p, bool there, double value);

/* The paragraphs that a function of table.h writes, as a note on the page. */
void rf_lab_paragraph(rf_lab_page *r, void (*write)(const rf_lab *lab));

/* ---- Accuracy and F1 at every ratio (page_matrix.c) -------------------------------- */

typedef struct rf_matrix_row {
    const char *name, *method, *variant;
    const char *source; /* of published numbers to show below it; may be NULL */
} rf_matrix_row;

typedef struct rf_matrix {
    const char *label; /* for screen readers; trusted markup */
    const char *what;  /* heading of the first column; trusted markup */
    const char *set;
    const double *ratios;
    size_t n_ratios;
    const rf_matrix_row *rows;
    size_t n_rows;
    bool mark_best;
} rf_matrix;

/* Rows without runs are left out. Returns whether it shows published numbers. */
bool rf_lab_matrix(rf_lab_page *r, const rf_matrix *m);

/* ---- A chart of many methods (svg_facets.c) ---------------------------------------- */

/* Facets side by side with thin horizontal bars, one row per name: twenty methods fit on
 * a screen. */
typedef struct rf_facet_chart {
    const char *title, *description;
    const char *const *rows; /* names */
    size_t n_rows;
    const char *const *series; /* up to RF_KEYS */
    size_t n_series;
    const char *const *facets;        /* titles */
    size_t n_facets;                  /* 1 to 3 */
    const double *value, *low, *high; /* [n_facets, n_series, n_rows], 0 to 100; no bar
                                       * or interval where not finite */
} rf_facet_chart;

void rf_svg_facets(rf_page *p, const rf_facet_chart *chart);

#endif
