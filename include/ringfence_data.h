/*
 * ringfence_data.h - data in the formats that people have, row by row
 *
 *   static rf_status show(void *user, const rf_table_row *row, rf_error *err)
 *   {
 *       const rf_field *text = &row->fields[row->text];
 *       printf("%s:%zu %.*s\n", row->file, row->line, (int)text->len, text->data);
 *       return RF_OK;
 *   }
 *   rf_data_options o = rf_data_options_default();
 *   o.texts_only = true;
 *   rf_table_read("messages.csv", &o, show, NULL, &err);
 *
 * rf_dataset_read (ringfence.h) keeps text and label of all rows in memory; here every
 * column is seen, and nothing is kept. docs/FORMATS.md describes the formats.
 */
#ifndef RINGFENCE_DATA_H
#define RINGFENCE_DATA_H

#include "ringfence.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rf_field {
    const char *data; /* not NUL-terminated */
    size_t len;
    char kind; /* 0: text. Otherwise a value of JSON, data is how it was written: '0' an
                * integer, '.' a fraction, 't' true or false, 'n' null, '{' or '[' */
} rf_field;

typedef struct rf_table_row {
    const char *file;       /* name of the file, or of the member of a directory or zip */
    size_t line;            /* at which the row begins, from 1 */
    size_t n;               /* columns */
    const rf_field *names;  /* [n]; NULL if the file does not name its columns */
    const rf_field *fields; /* [n] */
    size_t text, label;     /* columns; label is SIZE_MAX if there is none */
} rf_table_row;

/* Receives the rows of a file in order; what it points to is valid during the call. Any
 * other return value than RF_OK ends the reading, which returns it. */
typedef rf_status (*rf_table_sink)(void *user, const rf_table_row *row, rf_error *err);

/* What a reading left out. */
typedef struct rf_table_end {
    size_t rows;
    size_t dropped;        /* by raw_tsv */
    size_t skipped;        /* by skip_bad_rows */
    char skipped_why[512]; /* the first of these, with its place */
} rf_table_end;

/* Reads path ("-" or NULL: standard input) and passes every row to the sink. Labels are
 * not looked at, except for their column. end may be NULL. */
RF_API rf_status rf_table_read(const char *path, const rf_data_options *options,
                               rf_table_sink sink, void *user, rf_table_end *end,
                               rf_error *err);

/* The format in which a file would be read, without reading it all. *plain, if not NULL,
 * says whether its bytes are text as they are: not packed, and in UTF-8. */
RF_API rf_status rf_data_detect(const char *path, const rf_data_options *options,
                                rf_data_format *format, bool *plain, rf_error *err);

/* The name of a format, as in --format: "rasa-yaml". *title, if not NULL, says what it
 * is. NULL past the last. */
RF_API const char *rf_data_format_name(rf_data_format format, const char **title);

/* Reads several files into one set, in this order. Each has its own format and columns.
 */
RF_API rf_dataset *rf_dataset_read_files(const char *const *paths, size_t n_paths,
                                         const rf_data_options *options, rf_error *err);

/* The file that a row was read from; NULL for a row that was added and past the end.
 * Lives as long as data. */
RF_API const char *rf_dataset_file(const rf_dataset *data, size_t row);

#ifdef __cplusplus
}
#endif

#endif /* RINGFENCE_DATA_H */
