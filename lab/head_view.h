/*
 * head_view.h - what the network of one class sees: its last hidden layer for test texts
 * and for synthetic negatives, as in the paper's t-SNE figure
 *
 *   rf_head_view v;
 *   if (rf_head_view_make(&v, &experiment, m, class_index, 600, err) != RF_OK) ...
 *   v.h [v.n, v.width], v.kind[i], v.row[i]
 *   rf_head_view_release(&v);
 */
#ifndef RF_LAB_HEAD_VIEW_H
#define RF_LAB_HEAD_VIEW_H

#include "lab/experiment.h"

typedef enum rf_head_view_kind {
    RF_VIEW_OWN = 0,       /* test texts of the class */
    RF_VIEW_OTHER = 1,     /* test texts of other known classes */
    RF_VIEW_OPEN = 2,      /* open test texts */
    RF_VIEW_SYNTHETIC = 3, /* negatives generated for the head as trained */
} rf_head_view_kind;
#define RF_VIEW_KINDS 4

typedef struct rf_head_view {
    const char *label; /* of the class; lives as long as the experiment */
    size_t n;
    size_t width;
    float *h;      /* [n, width] */
    float *margin; /* [n] */
    uint8_t *kind; /* [n] */
    uint32_t *row; /* [n] of the test file; UINT32_MAX for a synthetic negative */
} rf_head_view;

/* The view of one class's head. m is the result of rf_experiment_fit. At most
 * max_points of a kind, evenly spaced; one synthetic negative per training text of the
 * class up to that, none if all its texts are the same point. */
rf_status rf_head_view_make(rf_head_view *v, const rf_experiment *e, const rf_model *m,
                            size_t class_index, size_t max_points, rf_error *err);
void rf_head_view_release(rf_head_view *v); /* accepts a zeroed struct */

#endif
