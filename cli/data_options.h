/*
 * data_options.h - how labelled data is to be read: the options that commands share
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

/* The options that fill d, which must start zeroed; the names tell where they end. */
void data_options_list(data_options *d, option out[DATA_OPTIONS]);

/* Reads a file or standard input ("-") in the way that d says. */
rf_dataset *data_options_read(const data_options *d, const char *path, rf_error *err);

/* The same for texts that a model is to be tried on; warns of what would make its figures
 * mean little: rows that were dropped, no label that the model knows. */
rf_dataset *data_options_read_test(const data_options *d, const char *path,
                                   const rf_model *model, rf_error *err);

#endif
