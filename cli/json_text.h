/* json_text.h - writes JSON values to a stream, without building them in memory first */
#ifndef RF_CLI_JSON_TEXT_H
#define RF_CLI_JSON_TEXT_H

#include <stddef.h>
#include <stdio.h>

/* Writes any bytes as a JSON string, quotes included (rf_json_escape). */
void json_put_string(FILE *to, const char *bytes, size_t len);

/* The same for a NUL-terminated string. */
void json_put_name(FILE *to, const char *name);

/* Writes a number that reads back to the same bits; null if it is not finite. */
void json_put_double(FILE *to, double v);

#endif
