/*
 * columns.h - which column holds the text and which the label
 *
 * Given by name or number in the options, or recognised by a usual name in the header, or
 * else, of just two columns, the one that is left. Never guessed among more.
 */
#ifndef RF_DATA_COLUMNS_H
#define RF_DATA_COLUMNS_H

#include "data/records.h"

#define RF_MAX_KEY 255 /* bytes of a key that holds texts or labels */

typedef struct rf_columns {
    size_t text, label; /* from 0; label is SIZE_MAX if only texts are wanted */
    bool header;        /* the first record holds names */
} rf_columns;

/* From the first record of a file; place is for messages ("x.tsv: line 1"), line for the
 * error's pos. */
rf_status rf_columns_of_record(rf_columns *c, const rf_field *fields, size_t n,
                               const rf_data_options *options, const char *place,
                               size_t line, rf_error *err);

/* From the keys of the first object: always by name, their order does not matter. */
rf_status rf_columns_of_keys(rf_columns *c, const rf_field *keys, size_t n,
                             const rf_data_options *options, const char *place,
                             size_t line, rf_error *err);

/* Whether a name is usual for a text column. */
bool rf_column_is_text(rf_field name);

#endif
