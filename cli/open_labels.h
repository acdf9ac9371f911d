/* open_labels.h - rows of labelled data that are examples of "none of the classes" */
#ifndef RF_CLI_OPEN_LABELS_H
#define RF_CLI_OPEN_LABELS_H

#include "options.h"

/* Moves the rows with these labels from *data to *open, which may be NULL and is then
 * made. RF_ERR_ARG if a label has no rows; path names the data in messages. */
rf_status open_labels_move(rf_dataset **data, rf_dataset **open, const text_list *labels,
                           const char *path, rf_error *err);

#endif
