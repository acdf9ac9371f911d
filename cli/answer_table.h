/*
 * answer_table.h - predict -o: the rows of the input with their answers
 *
 * Answers come later than rows, in the same order: a row waits, already written as far as
 * it is known, until its answer completes it. The answer is in the columns "predicted"
 * and "confidence", which replace columns of these names in the input.
 */
#ifndef RF_CLI_ANSWER_TABLE_H
#define RF_CLI_ANSWER_TABLE_H

#include "table_output.h"
#include "waiting_texts.h"

typedef struct answer_table {
    const char *path;
    table_kind kind;
    table_file_out out;
    rf_text line;
    waiting_texts rows;
    rf_buffer bytes; /* the names of the columns, one after another */
    rf_field *names; /* [n]; NULL before the first row, and for JSON Lines */
    size_t n;
} answer_table;

/* On failure there is nothing to release. */
rf_status answer_table_open(answer_table *t, const char *path, rf_error *err);

/* A row waits for its answer. */
rf_status answer_table_row(answer_table *t, const rf_table_row *row, rf_error *err);

/* The answer to the row that waits longest. */
rf_status answer_table_answer(answer_table *t, const char *label, float confidence,
                              rf_error *err);

rf_status answer_table_commit(answer_table *t, rf_error *err);
void answer_table_release(answer_table *t); /* accepts a zeroed struct */

#endif
