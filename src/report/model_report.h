/* model_report.h - the report of a model, one function per section */
#ifndef RF_REPORT_MODEL_REPORT_H
#define RF_REPORT_MODEL_REPORT_H

#include "report/html.h"
#include "report/model_rows.h"

typedef struct rf_report {
    rf_page page;
    const rf_model *model;
    const rf_dataset *data;
    rf_answers a;
    double *map;        /* [a.n_sampled, 2] */
    const char **names; /* [classes + 1] of the model, "open" last */
    size_t known, open; /* texts of the test set */
} rf_report;

/* model_figures.c */
void rf_report_verdict(rf_report *r);
rf_status rf_report_figures(rf_report *r, rf_error *err);
rf_status rf_report_margins(rf_report *r, rf_error *err);
rf_status rf_report_map(rf_report *r, rf_error *err);

/* model_reliability.c */
rf_status rf_report_reliability(rf_report *r, rf_error *err);

/* model_tables.c */
rf_status rf_report_classes(rf_report *r, rf_error *err);
rf_status rf_report_confusions(rf_report *r, rf_error *err);
rf_status rf_report_examples(rf_report *r, rf_error *err);
rf_status rf_report_facts(rf_report *r, rf_error *err);

#endif
