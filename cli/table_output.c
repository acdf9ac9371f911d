/* table_output.c - cells and rows of TSV, CSV and JSON Lines */
#include "table_output.h"

#include "tsv_field.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

table_kind table_kind_of(const char *path)
{
    const char *dot = strrchr(path, '.');
    if (strcmp(path, "-") == 0 || (dot && strcasecmp(dot, ".tsv") == 0))
        return TABLE_TSV;
    return !dot                              ? TABLE_UNKNOWN
           : strcasecmp(dot, ".csv") == 0    ? TABLE_CSV
           : strcasecmp(dot, ".jsonl") == 0  ? TABLE_JSONL
           : strcasecmp(dot, ".ndjson") == 0 ? TABLE_JSONL
                                             : TABLE_UNKNOWN;
}

rf_field table_text(const char *text)
{
    return (rf_field){text, strlen(text), 0};
}

static void json_cell(rf_text *line, bool first, rf_field name, rf_field value)
{
    rf_text_put(line, first ? "{" : ", ");
    rf_text_string(line, name.data, name.len);
    rf_text_put(line, ": ");
    if (value.kind == 0)
        rf_text_string(line, value.data, value.len);
    else
        rf_text_add(line, value.data, value.len); /* it was JSON before */
}

void table_cell(rf_text *line, table_kind kind, bool first, rf_field name, rf_field value)
{
    char separator = kind == TABLE_CSV ? ',' : '\t';
    if (kind == TABLE_JSONL) {
        json_cell(line, first, name, value);
        return;
    }
    if (!first)
        rf_text_add(line, &separator, 1);
    if (line->status == RF_OK)
        line->status =
            table_add_field(&line->buffer, value.data, value.len, separator, NULL);
}

void table_row_end(rf_text *line, table_kind kind)
{
    rf_text_put(line, kind == TABLE_JSONL ? "}\n" : "\n");
}

/* ---- Files ------------------------------------------------------------------------- */

rf_status table_out_open(table_file_out *t, const char *path, rf_error *err)
{
    *t = (table_file_out){.to_stdout = strcmp(path, "-") == 0};
    return t->to_stdout ? RF_OK : rf_new_file_open(&t->file, path, err);
}

rf_status table_out_add(table_file_out *t, rf_text *line, rf_error *err)
{
    rf_status st = line->status;
    if (st != RF_OK)
        return rf_fail_nomem(err, line->buffer.len, "a row");
    if (!t->to_stdout)
        st = rf_new_file_add(&t->file, line->buffer.data, line->buffer.len, err);
    else if (fwrite(line->buffer.data, 1, line->buffer.len, stdout) != line->buffer.len)
        st = rf_fail_errno(err, "standard output: cannot write");
    rf_buffer_clear(&line->buffer);
    return st;
}

rf_status table_out_commit(table_file_out *t, rf_error *err)
{
    return t->to_stdout ? RF_OK : rf_new_file_commit(&t->file, err);
}

void table_out_abandon(table_file_out *t)
{
    rf_new_file_abandon(&t->file);
}
