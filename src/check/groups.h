/*
 * groups.h - items in lists by a number: rows of each class, rows of each text
 */
#ifndef RF_CHECK_GROUPS_H
#define RF_CHECK_GROUPS_H

#include "base/error.h"

typedef struct rf_groups {
    size_t n;        /* groups, empty ones included */
    uint32_t *start; /* [n + 1] of each in member */
    uint32_t *member;
} rf_groups;

/* Item i belongs to group of[i] < groups; items keep their order. */
rf_status rf_groups_init(rf_groups *g, const uint32_t *of, size_t items, size_t groups,
                         rf_error *err);
void rf_groups_release(rf_groups *g); /* accepts a zeroed struct */

static inline size_t rf_groups_size(const rf_groups *g, size_t i)
{
    return g->start[i + 1] - g->start[i];
}

static inline uint32_t *rf_groups_at(const rf_groups *g, size_t i)
{
    return g->member + g->start[i];
}

#endif
