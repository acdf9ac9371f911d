/* review_output.h - writes a review as a table to be edited, or as JSON Lines */
#ifndef RF_CLI_REVIEW_OUTPUT_H
#define RF_CLI_REVIEW_OUTPUT_H

#include "ringfence_review.h"

/* Columns group, name, label (empty: for a person to fill in), text, count, margin,
 * nearest, kind. path "-" is standard output; a file appears complete or not at all. */
rf_status review_write_tsv(const rf_review *review, const char *path, rf_error *err);

/* One object per text, with the same and more. */
rf_status review_write_json(const rf_review *review, const char *path, rf_error *err);

/* A few lines for people: what there is, and the first groups. */
void review_put_summary(const rf_review *review, size_t most_groups);

#endif
