/*
 * method_state.h - what an open-set method has learnt: a few named arrays of floats
 *
 * A method declares its arrays (open/method.h); fitting fills them, the model file stores
 * them under "open.NAME", loading restores them. Anything derived from them
 * (packed copies, norms) goes into `prepared` and is never stored.
 */
#ifndef RF_OPEN_METHOD_STATE_H
#define RF_OPEN_METHOD_STATE_H

#include "base/error.h"

#include <stdint.h>

#define RF_METHOD_ARRAYS 20

typedef enum rf_dim_kind {
    RF_DIM_KIND_FIXED,
    RF_DIM_KIND_CLASSES, /* the number of classes */
    RF_DIM_KIND_HELD,    /* of those in the block */
    RF_DIM_KIND_WIDTH,   /* of the features */
    RF_DIM_KIND_ANY,     /* 1 or more: fitting decides */
} rf_dim_kind;

typedef struct rf_dim {
    rf_dim_kind kind;
    size_t size; /* if fixed */
} rf_dim;

/* Initialisers of an rf_dim. */
#define RF_DIM(n)                                                                        \
    {                                                                                    \
        RF_DIM_KIND_FIXED, (n)                                                           \
    }
#define RF_DIM_CLASSES                                                                   \
    {                                                                                    \
        RF_DIM_KIND_CLASSES, 0                                                           \
    }
#define RF_DIM_HELD                                                                      \
    {                                                                                    \
        RF_DIM_KIND_HELD, 0                                                              \
    }
#define RF_DIM_WIDTH                                                                     \
    {                                                                                    \
        RF_DIM_KIND_WIDTH, 0                                                             \
    }
#define RF_DIM_ANY                                                                       \
    {                                                                                    \
        RF_DIM_KIND_ANY, 0                                                               \
    }

/* An array that a method declares. Rank 3 is allowed only in a block: one matrix per
 * class, with a multiple of RF_PANEL rows; panels in memory (num/panels.h), rows in
 * files. Files have ranks 2 and 3 in half precision if that loses nothing. */
typedef struct rf_method_array {
    const char *name;
    size_t rank; /* 1 to 3 */
    rf_dim dims[3];
} rf_method_array;

#define RF_NOT_HELD UINT32_MAX
typedef struct rf_method_state {
    size_t width, classes;
    struct {
        size_t shape[3]; /* 1 beyond the rank */
        float *data;
    } arrays[RF_METHOD_ARRAYS]; /* in the order in which the method declares them */
    /* The first in_block arrays are parts of one block in which the numbers of a class
     * are contiguous, [held][class_floats]; their data points into the first class.
     * Each further array is allocated separately. */
    float *block;
    size_t in_block, class_floats;
    size_t held;     /* classes in the block */
    uint32_t *place; /* [classes] of a class among them, ascending, or RF_NOT_HELD; NULL:
                      * every class is there */
    void *prepared;
} rf_method_state;

size_t rf_dim_size(const rf_method_state *s, rf_dim dim); /* SIZE_MAX: any */

/* Allocates array i, contents undefined; n1 is 1 for rank 1. */
rf_status rf_method_state_room(rf_method_state *s, size_t i, size_t n0, size_t n1,
                               rf_error *err);

/* The place of a class in the block, or RF_NOT_HELD. */
static inline size_t rf_method_state_place(const rf_method_state *s, size_t class_index)
{
    return s->place ? s->place[class_index] : class_index;
}

/* An array is one piece of memory; in a block, one piece per class held. */
size_t rf_method_state_pieces(const rf_method_state *s, size_t i);
float *rf_method_state_piece(const rf_method_state *s, size_t i, size_t piece,
                             size_t *floats);

/* Frees the arrays; accepts a zeroed struct. prepared must have been released. */
void rf_method_state_release(rf_method_state *s);

#endif
