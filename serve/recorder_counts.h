/*
 * recorder_counts.h - answers by hour and class that are not in the store yet
 *
 * Nearly always one block: this hour's, of the current model. While the disk is full
 * there is one per hour.
 */
#ifndef RF_SERVE_RECORDER_COUNTS_H
#define RF_SERVE_RECORDER_COUNTS_H

#include "base/digest.h"
#include "model_slot.h"
#include "store/store.h"

typedef struct count_cell {
    uint64_t n;
    double margin_sum, margin_squares;
} count_cell;

typedef struct count_block {
    int64_t hour;
    char model[RF_SHA256_HEX];
    size_t classes;
    count_cell *cells;   /* [classes + 1], open last */
    const char **labels; /* [classes + 1]; NULL for open */
    struct count_block *next;
} count_block;

/* Counts an answer; false if there is no memory. */
bool count_blocks_add(count_block **all, int64_t hour, const loaded_model *m,
                      const rf_decision *d);

/* The counts as the store takes them: [*n], the caller's to free; they point into the
 * blocks. NULL if there is no memory, or nothing to count (*n is 0 then). */
store_count *count_blocks_list(const count_block *all, size_t *n, bool *no_memory);

void count_blocks_free(count_block *all);

#endif
