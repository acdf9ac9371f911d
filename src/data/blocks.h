/*
 * blocks.h - bytes that are added and stay where they are
 *
 * A million texts in one growing buffer would be copied again and again, and pointers to
 * them would not hold. Here memory grows block by block. Room is taken in two steps, so
 * that a caller with something else that can fail leaves nothing behind:
 *
 *   char *room = rf_blocks_reserve(&b, len);     // NULL: no memory; nothing has changed
 *   ...
 *   rf_blocks_keep(&b, len);                     // the bytes at room are in use now
 */
#ifndef RF_DATA_BLOCKS_H
#define RF_DATA_BLOCKS_H

#include <stddef.h>

typedef struct rf_block rf_block;

typedef struct rf_blocks {
    rf_block *first; /* the one that has room */
} rf_blocks;

/* Room for n bytes, valid until the next call; NULL if it cannot be had. */
char *rf_blocks_reserve(rf_blocks *b, size_t n);

/* Keep the n bytes at the place that was reserved last, for at least n. */
void rf_blocks_keep(rf_blocks *b, size_t n);

void rf_blocks_release(rf_blocks *b); /* accepts a zeroed struct, twice is harmless */

#endif
