/* tsv_field.h - fields of a table that our readers read back to the same bytes */
#ifndef RF_CLI_TSV_FIELD_H
#define RF_CLI_TSV_FIELD_H

#include "base/buffer.h"

/* Adds a field, quoted if need be, of a table with this separator. */
rf_status table_add_field(rf_buffer *line, const char *text, size_t len, char separator,
                          rf_error *err);

/* Adds a field of TSV, and what follows it: '\t' or '\n'. */
rf_status tsv_add_field(rf_buffer *line, const char *text, size_t len, char after,
                        rf_error *err);

#endif
