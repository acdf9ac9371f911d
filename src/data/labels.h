/*
 * labels.h - the set of labels of a dataset
 *
 * A label has an id, given in order of appearance, and a rank, its place in byte order
 * among all labels: the class number. A new label may move every rank, so ranks are
 * computed on demand, once for all labels added since; a million labels cost one sort and
 * not a million insertions.
 *
 * Threads: any number may read at the same time, as long as none adds.
 */
#ifndef RF_DATA_LABELS_H
#define RF_DATA_LABELS_H

#include "base/error.h"

typedef struct rf_labels rf_labels;

rf_labels *rf_labels_new(rf_error *err);
void rf_labels_free(rf_labels *l); /* accepts NULL */

/* Trims spaces, then checks for 1 to RF_MAX_LABEL_BYTES of UTF-8 without control
 * characters. */
rf_status rf_label_check(const char **label, size_t *len, rf_error *err);

/* The id of a checked label, which is added with no rows if it is new. A failure leaves
 * the set as it was. */
rf_status rf_labels_add(rf_labels *l, const char *label, size_t len, uint32_t *id,
                        rf_error *err);

/* One more row has this label. */
void rf_labels_count(rf_labels *l, uint32_t id);

size_t rf_labels_size(const rf_labels *l);
size_t rf_labels_rank(rf_labels *l, uint32_t id);

/* The label of a rank below the size; *rows receives its number of rows. */
const char *rf_labels_at(rf_labels *l, size_t rank, size_t *rows);

#endif
