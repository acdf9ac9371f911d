/* copies.c - texts that are equal, or nearly, count once: the checks of check/ */
#include "check/near_duplicates.h"
#include "check/same_texts.h"
#include "review/reviewing.h"

#include <stdlib.h>

/* Nearly equal texts, among the first of each equal ones. */
static rf_status join_near(rf_reviewing *r, const rf_checked *c, const uint32_t *rows,
                           size_t n, uint32_t *group, float *lowest)
{
    rf_status st = rf_near_duplicates(c, rows, n, group, lowest, r->err);
    for (size_t i = 0; i < n && st == RF_OK; i++)
        r->same[rows[i]] = rows[group[i]];
    for (size_t i = 0; i < r->n && st == RF_OK; i++)
        r->same[i] = r->same[r->same[i]];
    return st;
}

/* Texts without any characters are one text, and in no group. */
static void join_empty(rf_reviewing *r)
{
    uint32_t first = UINT32_MAX;
    for (uint32_t i = 0; i < r->n; i++) {
        if (!r->empty[i])
            continue;
        first = first == UINT32_MAX ? i : first;
        r->same[i] = first;
    }
}

rf_status rf_reviewing_find_copies(rf_reviewing *r)
{
    size_t n = 0;
    r->same = calloc(r->n + 1, sizeof *r->same);
    r->empty = calloc(r->n + 1, sizeof *r->empty);
    r->point = calloc(r->n + 1, sizeof *r->point);
    uint32_t *rows = calloc(r->n + 1, sizeof *rows);
    uint32_t *group = calloc(r->n + 1, sizeof *group);
    float *lowest = calloc(r->n + 1, sizeof *lowest);
    rf_checked c = {.data = r->out->data,
                    .rows = r->n,
                    .same_text = r->same,
                    .empty = r->empty,
                    .team = r->team};
    rf_status st = r->same && r->empty && r->point && rows && group && lowest
                       ? rf_same_texts(&c, r->err)
                       : rf_fail_nomem(r->err, 4 * r->n * sizeof *rows, "equal texts");
    for (uint32_t i = 0; i < r->n && st == RF_OK; i++)
        if (r->same[i] == i && !r->empty[i])
            rows[n++] = i;
    if (st == RF_OK)
        st = join_near(r, &c, rows, n, group, lowest);
    for (uint32_t i = 0; i < r->n && st == RF_OK; i++)
        if (r->same[i] == i && !r->empty[i])
            r->point[r->points++] = i;
    if (st == RF_OK)
        join_empty(r);
    free(rows);
    free(group);
    free(lowest);
    return st;
}
