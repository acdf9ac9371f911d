/*
 * table_output.h - rows written as TSV, CSV or JSON Lines, by the name of the file
 *
 *   table_cell(&line, kind, true, name, value);
 *   table_cell(&line, kind, false, name, value);
 *   table_row_end(&line, kind);
 *   if (line.status == RF_OK) rf_new_file_add(&file, line.buffer.data, ...);
 */
#ifndef RF_CLI_TABLE_OUTPUT_H
#define RF_CLI_TABLE_OUTPUT_H

#include "base/file.h"
#include "base/json_text.h"
#include "ringfence_data.h"

typedef enum table_kind { TABLE_TSV, TABLE_CSV, TABLE_JSONL, TABLE_UNKNOWN } table_kind;

/* By the ending: .tsv, .csv, .jsonl. "-" is TSV. */
table_kind table_kind_of(const char *path);

/* Adds a cell of a row; the first one begins it. In a table only the value is written,
 * in JSON also the name. */
void table_cell(rf_text *line, table_kind kind, bool first, rf_field name,
                rf_field value);
void table_row_end(rf_text *line, table_kind kind);

/* A string as a cell's name or value. */
rf_field table_text(const char *text);

/* A file that appears complete or not at all; "-" is standard output. */
typedef struct table_file_out {
    rf_new_file file;
    bool to_stdout;
} table_file_out;

rf_status table_out_open(table_file_out *t, const char *path, rf_error *err);
/* Writes the line and clears it. */
rf_status table_out_add(table_file_out *t, rf_text *line, rf_error *err);
rf_status table_out_commit(table_file_out *t, rf_error *err);
void table_out_abandon(table_file_out *t); /* harmless after commit */

#endif
