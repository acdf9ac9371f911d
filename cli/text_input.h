/*
 * text_input.h - texts without labels, all in memory: lines, or a column of a table
 */
#ifndef RF_CLI_TEXT_INPUT_H
#define RF_CLI_TEXT_INPUT_H

#include "base/buffer.h"

typedef struct text_input {
    rf_buffer bytes; /* all texts, one after another */
    rf_buffer ends;  /* of size_t */
    const char **texts;
    size_t *lens;
    size_t n;
} text_input;

/* path "-" is standard input. The lines of a file, as predict reads them; of .jsonl the
 * key, and of .tsv and .csv the column `column`, or one of a usual name if that is NULL.
 * On failure there is nothing to release. */
rf_status text_input_read(text_input *in, const char *path, const char *column,
                          rf_error *err);
void text_input_release(text_input *in); /* accepts a zeroed struct */

#endif
