/* store_export.h - rows of a store as a table or as JSON lines */
#ifndef RF_CLI_STORE_EXPORT_H
#define RF_CLI_STORE_EXPORT_H

#include "store/store.h"

typedef enum export_format { EXPORT_TSV, EXPORT_JSONL } export_format;

/* To a file that appears complete or not at all; output NULL: standard output. A table
 * needs texts: *without counts the rows left out because only their hash was kept. */
rf_status store_export(store *s, const store_filter *filter, export_format format,
                       const char *output, size_t *rows, size_t *without, rf_error *err);

#endif
