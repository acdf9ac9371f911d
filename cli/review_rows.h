/*
 * review_rows.h - the lines of an edited review that a person wants to be learnt
 *
 * Nothing is learnt unless a person says so: either whole groups by their numbers, each
 * with a label, or else the lines into whose column "label" someone wrote one.
 */
#ifndef RF_CLI_REVIEW_ROWS_H
#define RF_CLI_REVIEW_ROWS_H

#include "options.h"

/* Group groups->item[i] is learnt as labels->item[i]; none: lines with a label. NULL on
 * failure, with the file and the line in the message. */
rf_dataset *review_rows_read(const char *path, const text_list *groups,
                             const text_list *labels, rf_error *err);

#endif
