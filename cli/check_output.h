/* check_output.h - the findings of ringfence check as text, JSON and a table */
#ifndef RF_CLI_CHECK_OUTPUT_H
#define RF_CLI_CHECK_OUTPUT_H

#include "ringfence_improve.h"

typedef struct check_result {
    const char *path; /* of the data */
    bool several;     /* files, so that a line alone says too little */
    const rf_dataset *data;
    const rf_findings *found;
    size_t limit; /* findings of a kind; SIZE_MAX: all */
} check_result;

/* Both to standard output. */
void check_put_text(const check_result *r);
void check_put_json(const check_result *r);

/* A row for every row to mend: line, kind, text, label, suggestion. The file appears
 * complete or not at all. */
rf_status check_write_tsv(const check_result *r, const char *path, rf_error *err);

#endif
