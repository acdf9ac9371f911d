/*
 * portrait.h - what one head of ANS sees: the second hidden layer of real and synthetic
 * texts (the paper's t-SNE figure)
 *
 *   rf_portrait p;
 *   if (rf_portrait_make(&p, &desk, &trial, class_index, 1500, err) != RF_OK) ...
 *   p.h [p.n, RF_HEAD_2], p.kind[i], p.row[i]
 *   rf_portrait_release(&p);
 */
#ifndef RF_LAB_PORTRAIT_H
#define RF_LAB_PORTRAIT_H

#include "lab/desk.h"
#include "open/heads.h"

typedef enum rf_portrait_kind {
    RF_PORTRAIT_OWN = 0,       /* test texts of the class */
    RF_PORTRAIT_OTHER = 1,     /* test texts of other known classes */
    RF_PORTRAIT_OPEN = 2,      /* test texts of no known class */
    RF_PORTRAIT_SYNTHETIC = 3, /* negatives as the trained head would be given them */
} rf_portrait_kind;
#define RF_PORTRAIT_KINDS 4

typedef struct rf_portrait {
    const char *label; /* of the class; lives as long as the trial */
    size_t n;
    float *h;      /* [n, RF_HEAD_2] */
    float *margin; /* [n] the head's output */
    uint8_t *kind; /* [n] */
    uint32_t *row; /* [n] of the test file; UINT32_MAX for a synthetic one */
} rf_portrait;

/* Of the head of one class; m is what the trial was fitted to (rf_trial_fit). At most
 * `most` points of a kind, evenly chosen; as many synthetic ones as there are training
 * texts of the class, up to that; none for a class that is one point. */
rf_status rf_portrait_make(rf_portrait *p, const rf_trial *t, const rf_model *m,
                           size_t class_index, size_t most, rf_error *err);
void rf_portrait_release(rf_portrait *p); /* accepts a zeroed struct */

#endif
