/*
 * table_file.h - reads a table with a header, as spreadsheets write them
 *
 *   table_file t;
 *   rf_status st = table_file_open(&t, "review.tsv", err);
 *   size_t text = table_file_column(&t, "text");              TABLE_NONE: not there
 *   while (st == RF_OK && (st = table_file_next(&t, &found, err)) == RF_OK && found)
 *       use(t.fields[text].data, t.fields[text].len, t.line);
 *   table_file_close(&t);
 *
 * Fields are separated by tabs, or by commas or semicolons if the header has no tab; they
 * may be quoted as in RFC 4180. A byte order mark and CR LF are handled, empty lines are
 * skipped, and missing fields at the end of a line are empty.
 */
#ifndef RF_CLI_TABLE_FILE_H
#define RF_CLI_TABLE_FILE_H

#include "base/buffer.h"

#define TABLE_COLUMNS 256
#define TABLE_NONE SIZE_MAX

typedef struct table_field {
    const char *data; /* not NUL-terminated */
    size_t len;
} table_field;

typedef struct table_file {
    const char *path; /* borrowed */
    rf_buffer bytes;
    size_t at;
    char separator;
    size_t n_columns;
    table_field names[TABLE_COLUMNS];
    size_t line;                       /* where the current row begins, from 1 */
    size_t n_fields;                   /* that the row has; at least n_columns are set */
    table_field fields[TABLE_COLUMNS]; /* valid until the file is closed */
    size_t next_line;
} table_file;

/* Reads the whole file, and its header. On failure there is nothing to close. */
rf_status table_file_open(table_file *t, const char *path, rf_error *err);
void table_file_close(table_file *t); /* accepts a zeroed struct */

/* The column of this name; case does not count. */
size_t table_file_column(const table_file *t, const char *name);

rf_status table_file_next(table_file *t, bool *found, rf_error *err);

#endif
