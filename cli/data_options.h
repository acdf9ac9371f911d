/* data_options.h - the options about reading data, which many commands share */
#ifndef RF_CLI_DATA_OPTIONS_H
#define RF_CLI_DATA_OPTIONS_H

#include "options.h"
#include "ringfence_data.h"

typedef struct data_options {
    int format, header; /* as chosen on the command line */
    const char *text_column, *label_column, *delimiter, *encoding, *part;
    bool raw_tsv, skip_bad_rows;
    size_t max_unpacked;
} data_options;

#define DATA_OPTIONS                                                                     \
    11                 /* entries that data_options_list writes, a heading among them    \
                        */
#define DATA_FILES 256 /* that a command takes */

/* What to say of rf_data_summary.swapped; takes the number of classes. */
#define DATA_SWAPPED                                                                     \
    "the labels are longer and more varied than the texts, %zu of them: the columns "    \
    "seem to be swapped; --text-column and --label-column say which is which"

/* Lists the options that fill d, which must be zeroed. */
void data_options_list(data_options *d, option out[DATA_OPTIONS]);

/* The same for the library. */
rf_status data_options_of(const data_options *d, rf_data_options *o, rf_error *err);

/* Reads files, or standard input ("-"), into one set, and reports rows that were skipped.
 */
rf_dataset *data_options_read(const data_options *d, const char *const *paths, size_t n,
                              rf_error *err);

/* Texts without labels, all of them "open". */
rf_dataset *data_options_read_texts(const data_options *d, const char *path,
                                    rf_error *err);

/* The same for a test set; warns of what would make its figures misleading: dropped rows,
 * swapped columns, no label that the model knows. */
rf_dataset *data_options_read_test(const data_options *d, const char *const *paths,
                                   size_t n, const rf_model *model, rf_error *err);

/* That last warning alone, for another model. */
void data_options_check_labels(const rf_dataset *data, const char *name,
                               const rf_model *model);

#define DATA_NAME (RF_PATH_MAX + 32)

/* Says which rows were skipped, if any. */
void data_report_skipped(const char *name, const rf_table_end *end);

/* What files are called in messages: "a.csv and 2 more". Returns out. */
const char *data_name(char out[DATA_NAME], const char *const *paths, size_t n);
/* The same without the directory of a single file. */
const char *data_title(char out[DATA_NAME], const char *const *paths, size_t n);

/* Whether writing to output would destroy one of them. */
bool data_would_be_overwritten(const char *output, const char *const *paths, size_t n);

#endif
