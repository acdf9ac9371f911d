/*
 * label_errors.h - rows that look like another class, and classes that cannot be told
 * apart, both from the views of out_of_fold.h
 */
#ifndef RF_CHECK_LABEL_ERRORS_H
#define RF_CHECK_LABEL_ERRORS_H

#include "check/out_of_fold.h"

typedef struct rf_label_error {
    uint32_t row;   /* of the encoded rows */
    uint32_t class; /* that it looks like */
    float gap;      /* how much higher that class scores than its own */
} rf_label_error;

/* Writes the suspected rows, most suspicious first, to out [e->n] and their number to *n.
 * views [e->n] are those of rf_out_of_fold with no row left out. */
rf_status rf_label_errors(const rf_encoded *e, const rf_outside_view *views,
                          rf_team *team, rf_label_error *out, size_t *n, rf_error *err);

/* Adds them as findings. */
rf_status rf_label_errors_report(const rf_checked *c, const rf_encoded *e,
                                 const rf_outside_view *views, rf_error *err);

/* Adds pairs of classes whose rows are often taken for the other's. (classes_alike.c) */
rf_status rf_classes_alike_report(const rf_checked *c, const rf_encoded *e,
                                  const rf_outside_view *views, rf_error *err);

#endif
