/* token_cases.h - texts and the ids that they must become */
#ifndef RF_TEST_TOKEN_CASES_H
#define RF_TEST_TOKEN_CASES_H

#include "base/buffer.h"
#include "text/vocab.h"

/* A sink: adds the id to an rf_buffer as a number, a space before it unless it is the
 * first. */
rf_status token_put(void *user, int32_t id, rf_error *err);

/* The ids of a text as a line, fed in pieces of `step` bytes; 0: at once. */
const char *token_ids(const rf_vocab *v, const char *text, size_t len, size_t step,
                      size_t max_tokens, rf_buffer *out);

/* Whole, byte by byte, and two bytes at a time a text has these ids. */
void token_check(const rf_vocab *v, const char *text, size_t len, const char *want,
                 const char *file, size_t line);

typedef struct token_lines {
    rf_buffer file;
    char **line;
    size_t n;
} token_lines;

bool token_lines_load(token_lines *l, const char *path);
void token_lines_release(token_lines *l);

/* Strings as JSON, one a line, and their ids. `exception` is a line (from 1) to which
 * the caller's own rule applies, or 0. */
void token_check_strings(const rf_vocab *v, const char *strings, const char *ids,
                         size_t least, size_t exception, const char *exception_ids);

#endif
