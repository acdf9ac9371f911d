/*
 * text_input.h - texts without labels, all in memory: lines, or a column of a table
 */
#ifndef RF_CLI_TEXT_INPUT_H
#define RF_CLI_TEXT_INPUT_H

#include "base/buffer.h"
#include "data_options.h"

typedef struct text_input {
    rf_buffer bytes; /* all texts, one after another */
    rf_buffer ends;  /* of size_t */
    const char **texts;
    size_t *lens;
    size_t n;
} text_input;

/* path "-" is standard input. The lines of a file, or the texts of another format, which
 * is recognised or told by d. On failure there is nothing to release. */
rf_status text_input_read(text_input *in, const char *path, const data_options *d,
                          rf_error *err);
void text_input_release(text_input *in); /* accepts a zeroed struct */

#endif
