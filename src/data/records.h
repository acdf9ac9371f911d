/*
 * records.h - lines and records of fields: TSV, CSV, and plain lines
 *
 * Plain records are lines, cut at the separator (or at none). Quoted records
 * follow RFC 4180: a field that begins with " ends at the next " that is not doubled, and
 * may hold separators and line ends. Lines end at LF or CR LF.
 */
#ifndef RF_DATA_RECORDS_H
#define RF_DATA_RECORDS_H

#include "data/source.h"
#include "ringfence_data.h"

#define RF_MAX_RECORD ((size_t)64 << 20) /* bytes */
#define RF_MAX_COLUMNS 1024
#define RF_NO_SEPARATOR '\n' /* never inside a line */

typedef struct rf_records {
    rf_source *source; /* borrowed */
    char separator;
    bool quoted;

    /* The current record, valid until the next is read */
    size_t line;                     /* where it begins, from 1 */
    size_t n_fields;                 /* 0: an empty line */
    rf_field fields[RF_MAX_COLUMNS]; /* more are counted but not kept */

    size_t at[RF_MAX_COLUMNS]; /* of each field, from the start of the record */
    size_t next_line;
    size_t size; /* of the current record in the source's window */
} rf_records;

/* "tab", "comma", ... */
const char *rf_separator_name(char separator);

void rf_records_init(rf_records *r, rf_source *source, char separator, bool quoted);

/* The next record; *found is false after the last. */
rf_status rf_records_next(rf_records *r, bool *found, rf_error *err);

#endif
