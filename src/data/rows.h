/*
 * rows.h - where the readers of formats put what they find
 *
 * A reader calls rf_rows_take or rf_rows_pair for every row, with the line at which it
 * begins, and rf_rows_bad for one that cannot be read. Here is what they share: the place
 * in error messages, bad rows that are skipped, text that is not UTF-8, parts of a file.
 */
#ifndef RF_DATA_ROWS_H
#define RF_DATA_ROWS_H

#include "base/error.h"
#include "ringfence_data.h"

#define RF_PARTS_SHOWN 300 /* bytes of a list of parts in a message */

typedef struct rf_rows {
    const rf_data_options *options;
    rf_table_sink take;
    void *user;
    const char *file; /* whose rows come now; borrowed */
    rf_table_end end;

    /* Parts, such as the splits of a benchmark or the languages of a bot */
    size_t n_parts;
    bool part_read; /* a row of a part that the options name */
    char first_part[64], parts[RF_PARTS_SHOWN];
} rf_rows;

/* A field of text. */
static inline rf_field rf_text_field(const char *data, size_t len)
{
    return (rf_field){data, len, 0};
}

/* One row of a table; row->file is set here. */
rf_status rf_rows_take(rf_rows *r, rf_table_row *row, rf_error *err);

/* A row of nothing but text and label; the label may have no data if texts are enough. */
rf_status rf_rows_pair(rf_rows *r, rf_field text, rf_field label, size_t line,
                       rf_error *err);

/* Whether rows of this part are read: those that the options name, or else those of the
 * first part; more than one without a choice is an error at the end. */
bool rf_rows_wants(rf_rows *r, rf_field part);

/* A row that cannot be read: skipped and counted, or the error "file: line 7: ...". */
rf_status rf_rows_bad(rf_rows *r, rf_status code, size_t line, rf_error *err,
                      const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/* After the last row: RF_ERR_FORMAT if no row came, or if a part had to be chosen. */
rf_status rf_rows_end(rf_rows *r, const char *name, rf_error *err);

#endif
