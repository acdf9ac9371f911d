/* groups.c - sorts items by counting */
#include "check/groups.h"

#include <stdlib.h>

rf_status rf_groups_init(rf_groups *g, const uint32_t *of, size_t items, size_t groups,
                         rf_error *err)
{
    *g = (rf_groups){.n = groups,
                     .start = calloc(groups + 2, sizeof *g->start),
                     .member = calloc(items + 1, sizeof *g->member)};
    if (!g->start || !g->member) {
        rf_groups_release(g);
        return rf_fail_nomem(err, (groups + items) * sizeof *g->start, "lists of rows");
    }
    /* start[i + 2] counts group i, then start[i + 1] is where its next item goes. */
    for (size_t i = 0; i < items; i++)
        g->start[of[i] + 2]++;
    for (size_t i = 2; i < groups + 2; i++)
        g->start[i] += g->start[i - 1];
    for (size_t i = 0; i < items; i++)
        g->member[g->start[of[i] + 1]++] = (uint32_t)i;
    return RF_OK;
}

void rf_groups_release(rf_groups *g)
{
    free(g->start);
    free(g->member);
    *g = (rf_groups){0};
}
