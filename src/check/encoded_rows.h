/*
 * encoded_rows.h - features of the rows, from the encoder as it is
 */
#ifndef RF_CHECK_ENCODED_ROWS_H
#define RF_CHECK_ENCODED_ROWS_H

#include "check/findings.h"

typedef struct rf_encoded {
    size_t n, width;
    uint32_t *rows;     /* [n] of the dataset, class by class */
    uint32_t *class_of; /* [n] numbers below classes */
    uint32_t *text_of;  /* [n] rows with the same number have the same text */
    float *z;           /* [n, width] */
    size_t classes;     /* that have rows here */
    uint32_t *class_at; /* [classes] their numbers in the dataset */
} rf_encoded;

/* All rows with a text whose label is not open, or max_rows of them: the same share of
 * each class, and at least one row. */
rf_status rf_encoded_init(rf_encoded *e, const rf_checked *c, rf_error *err);
void rf_encoded_release(rf_encoded *e); /* accepts a zeroed struct */

#endif
