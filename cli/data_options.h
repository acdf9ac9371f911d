/* data_options.h - the options about reading labelled data, which several commands share
 */
#ifndef RF_CLI_DATA_OPTIONS_H
#define RF_CLI_DATA_OPTIONS_H

#include "options.h"
#include "ringfence.h"

typedef struct data_options {
    int format, header; /* as chosen on the command line */
    const char *text_column, *label_column;
    bool raw_tsv;
} data_options;

#define DATA_OPTIONS 6 /* entries that data_options_list writes, a heading among them */

/* Lists the options that fill d, which must be zeroed. */
void data_options_list(data_options *d, option out[DATA_OPTIONS]);

/* Reads a file, or standard input ("-"), as d says. */
rf_dataset *data_options_read(const data_options *d, const char *path, rf_error *err);

/* The same for a test set; warns of what would make its figures misleading: dropped rows,
 * no label that the model knows. */
rf_dataset *data_options_read_test(const data_options *d, const char *path,
                                   const rf_model *model, rf_error *err);

/* That warning alone, for another model. */
void data_options_check_labels(const rf_dataset *data, const char *path,
                               const rf_model *model);

#endif
