/* blocks.c - a list of memory blocks; bytes are appended to the first */
#include "data/blocks.h"

#include "base/memory.h"

#include <stdlib.h>

#define BLOCK ((size_t)256 << 10)

struct rf_block {
    rf_block *next;
    size_t used, size;
    char bytes[];
};

static size_t room_in(const rf_block *b)
{
    return b ? b->size - b->used : 0;
}

char *rf_blocks_reserve(rf_blocks *b, size_t n)
{
    if (room_in(b->first) < n || !b->first) {
        size_t size = n > BLOCK / 4 ? n : BLOCK, all;
        if (!rf_size_add(sizeof(rf_block), size, &all))
            return NULL;
        rf_block *fresh = malloc(all);
        if (!fresh)
            return NULL;
        *fresh = (rf_block){.next = b->first, .size = size};
        b->first = fresh;
    }
    return b->first->bytes + b->first->used;
}

void rf_blocks_keep(rf_blocks *b, size_t n)
{
    rf_block *full = b->first, *next = full->next;
    full->used += n;
    if (room_in(next) >
        room_in(full)) { /* a large text got a block of its own: keep filling the other */
        full->next = next->next;
        next->next = full;
        b->first = next;
    }
}

void rf_blocks_release(rf_blocks *b)
{
    while (b->first) {
        rf_block *next = b->first->next;
        free(b->first);
        b->first = next;
    }
}
