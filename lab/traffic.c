/* traffic.c - cuts the rows of a training file */
#include "lab/traffic.h"

#include "base/error.h"
#include "lab/lab_model.h"
#include "lab/numpy_draw.h"

#include <stdlib.h>
#include <string.h>

/* Rows that the split has, which are those of known classes. */
static bool *mark_known(const rf_split *known, size_t rows)
{
    bool *marks = calloc(rows + 1, sizeof *marks);
    for (size_t i = 0; marks && i < known->train.n; i++)
        marks[known->train.row[i]] = true;
    return marks;
}

/* Lists the traffic in order; clears the marks of known rows that are part of it. */
static void list_traffic(rf_traffic *t, const rf_dataset *train, const uint32_t *order,
                         bool *known, size_t *seen)
{
    for (size_t i = 0; i < rf_dataset_rows(train); i++) {
        uint32_t row = order[i];
        size_t class = rf_dataset_class(train, row);
        if (known[row] && seen[class]++ % RF_TRAFFIC_KNOWN != 0)
            continue;
        known[row] = false;
        t->row[t->n] = row;
        t->truth[t->n++] = (uint32_t) class;
    }
}

rf_status rf_traffic_make(rf_traffic *t, const rf_dataset *train, const rf_split *known,
                          uint64_t seed, rf_error *err)
{
    size_t n = rf_dataset_rows(train);
    uint32_t *order = calloc(n + 1, sizeof *order);
    size_t *seen = calloc(rf_dataset_classes(train) + 1, sizeof *seen);
    bool *stays = mark_known(known, n);
    *t = (rf_traffic){.row = calloc(n + 1, sizeof *t->row),
                      .truth = calloc(n + 1, sizeof *t->truth),
                      .first = rf_dataset_new(err)};
    rf_status st = order && seen && stays && t->row && t->truth && t->first
                       ? RF_OK
                       : rf_fail_nomem(err, n * sizeof *t->row, "traffic");
    if (st == RF_OK) {
        rf_numpy_permutation(order, n, (uint32_t)seed);
        list_traffic(t, train, order, stays, seen);
    }
    for (size_t i = 0; i < n && st == RF_OK; i++)
        if (stays[i])
            st = rf_lab_add_row(t->first, train, i, NULL, err);
    free(order);
    free(seen);
    free(stays);
    if (st != RF_OK)
        rf_traffic_release(t);
    return st;
}

void rf_traffic_release(rf_traffic *t)
{
    rf_dataset_free(t->first);
    free(t->row);
    free(t->truth);
    *t = (rf_traffic){0};
}
