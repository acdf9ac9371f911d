/*
 * blocks.h - append-only memory whose bytes never move
 *
 * A million texts in one growing buffer would be copied again and again, and pointers to
 * them would become invalid. Here memory grows block by block. Room is taken in two
 * steps, so that a caller can do something else that may fail in between:
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

/* Room for n bytes, valid until the next call; NULL if there is no memory. */
char *rf_blocks_reserve(rf_blocks *b, size_t n);

/* Keeps the first n bytes of the room reserved last. */
void rf_blocks_keep(rf_blocks *b, size_t n);

void rf_blocks_release(rf_blocks *b); /* accepts a zeroed struct, twice is harmless */

#endif
