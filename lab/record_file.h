/*
 * record_file.h - a file of records in a directory: a line of JSON each (line_file.h), by
 * a table of fields (record_json.h)
 *
 * A record has a key. Of several lines with the same key the last counts.
 */
#ifndef RF_LAB_RECORD_FILE_H
#define RF_LAB_RECORD_FILE_H

#include "lab/record_json.h"

typedef struct rf_record_file {
    const char *name; /* in the directory */
    rf_record_form form;
    size_t size; /* bytes of a record */
    /* Orders records by encoder and key; 0 if the keys are equal. */
    int (*compare)(const void *a, const void *b);
} rf_record_file;

/* Appends a record to DIR/NAME, creating both if needed. A failure leaves the existing
 * lines unchanged. */
rf_status rf_record_append(const rf_record_file *f, const char *dir, const void *record,
                           rf_error *err);

/* All records of DIR/NAME in the order of their first lines; none without a file. *list
 * is freed with free(). */
rf_status rf_records_load(const rf_record_file *f, const char *dir, void **list,
                          size_t *n, rf_error *err);

#endif
