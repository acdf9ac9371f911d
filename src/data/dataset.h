/*
 * dataset.h - the inside of rf_dataset: rows of text and label
 *
 * Memory per row: the text with its NUL and 16 bytes (up to 24 while the table of rows
 * has room to grow). Texts never move.
 */
#ifndef RF_DATA_DATASET_H
#define RF_DATA_DATASET_H

#include "base/buffer.h"
#include "data/blocks.h"
#include "data/labels.h"
#include "data/source.h"
#include "ringfence_data.h"

typedef struct rf_row {
    const char *text; /* NUL-terminated */
    uint32_t len;
    uint32_t label; /* id in labels */
} rf_row;

struct rf_dataset {
    rf_blocks texts;
    rf_buffer rows;  /* [rows] of rf_row */
    rf_buffer lines; /* of rf_line_run */
    rf_labels *labels;
    rf_buffer files;  /* of rf_file_run */
    rf_table_end end; /* what was left out */
};

/* From this row on, up to the next run, every row is one line further down: most files
 * need one run. line is 0 for rows that were added. */
typedef struct rf_line_run {
    size_t row, line;
} rf_line_run;

/* From this row on, up to the next run, rows are of this file. NULL: of none. */
typedef struct rf_file_run {
    size_t row;
    const char *name; /* in texts */
} rf_file_run;

/* rf_dataset_add for a row that begins at this line of a file. */
rf_status rf_dataset_add_at(rf_dataset *data, const char *text, size_t text_len,
                            const char *label, size_t label_len, size_t line,
                            rf_error *err);

/* The rows that are added next are of this file, whose name is copied, or of none. */
rf_status rf_dataset_set_file(rf_dataset *data, const char *name, rf_error *err);

static inline const rf_row *rf_dataset_row(const rf_dataset *data, size_t row)
{
    return (const rf_row *)(const void *)data->rows.data + row;
}

/* rf_dataset_read from an open source; file_name implies the format, or is NULL. */
rf_dataset *rf_dataset_read_from(rf_source *source, const char *file_name,
                                 const rf_data_options *options, rf_error *err);

/* The format that the ending of a file name implies, one for compression ignored;
 * RF_DATA_AUTO if none. name may be NULL. */
rf_data_format rf_format_of_name(const char *name);

#endif
