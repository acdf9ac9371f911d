/*
 * feature_output.h - writes rows of features to stdout, as TSV or as a NumPy array
 *
 * The header of a .npy file states the number of rows, which is known only at the end. In
 * a file the header is rewritten at the end; for a pipe the rows are collected in a
 * temporary file (unlinked, on disk, so memory stays constant).
 */
#ifndef RF_CLI_FEATURE_OUTPUT_H
#define RF_CLI_FEATURE_OUTPUT_H

#include "base/error.h"

#include <stdint.h>
#include <stdio.h>

typedef enum feature_format { FEATURES_TSV, FEATURES_NPY } feature_format;

typedef struct feature_output {
    feature_format format;
    size_t width, rows;
    char *line;    /* room for one row as text */
    FILE *to;      /* stdout or the temporary file */
    int64_t start; /* offset of the npy header in stdout, -1 if it cannot be rewritten */
} feature_output;

rf_status feature_output_open(feature_output *o, feature_format format, size_t width,
                              rf_error *err);
rf_status feature_output_add(feature_output *o, const float *row, rf_error *err);
rf_status feature_output_flush(feature_output *o, rf_error *err);
rf_status feature_output_close(feature_output *o, rf_error *err); /* after the last row */
void feature_output_release(feature_output *o);

#endif
