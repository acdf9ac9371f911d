/* recorder_counts.c - blocks of counts, with their own copies of the labels */
#include "recorder_counts.h"

#include <stdlib.h>
#include <string.h>

/* One piece of memory for each: the block, cells, pointers to labels, labels. */
static count_block *block_new(int64_t hour, const loaded_model *m)
{
    size_t n = rf_model_classes(m->model) + 1, bytes = 0;
    for (size_t i = 0; i + 1 < n; i++)
        bytes += strlen(rf_model_label(m->model, i)) + 1;
    count_block *b = calloc(1, sizeof *b);
    if (!b)
        return NULL;
    b->cells = calloc(n, sizeof *b->cells);
    b->labels = malloc(n * sizeof *b->labels + bytes);
    if (!b->cells || !b->labels) {
        count_blocks_free(b);
        return NULL;
    }
    char *at = (char *)(b->labels + n);
    for (size_t i = 0; i + 1 < n; i++) {
        const char *label = rf_model_label(m->model, i);
        b->labels[i] = strcpy(at, label);
        at += strlen(label) + 1;
    }
    b->labels[n - 1] = NULL;
    b->hour = hour;
    b->classes = n - 1;
    strcpy(b->model, m->sha256);
    return b;
}

bool count_blocks_add(count_block **all, int64_t hour, const loaded_model *m,
                      const rf_decision *d)
{
    count_block *b = *all;
    while (b && (b->hour != hour || strcmp(b->model, m->sha256) != 0))
        b = b->next;
    if (!b) {
        b = block_new(hour, m);
        if (!b)
            return false;
        b->next = *all;
        *all = b;
    }
    count_cell *c = &b->cells[d->class_index == RF_OPEN ? b->classes : d->class_index];
    c->n++;
    c->margin_sum += (double)d->margin;
    c->margin_squares += (double)d->margin * (double)d->margin;
    return true;
}

store_count *count_blocks_list(const count_block *all, size_t *n, bool *no_memory)
{
    size_t max = 0;
    *n = 0;
    *no_memory = false;
    for (const count_block *b = all; b; b = b->next)
        max += b->classes + 1;
    store_count *list = max ? calloc(max, sizeof *list) : NULL;
    *no_memory = max && !list;
    if (!list)
        return NULL;
    for (const count_block *b = all; b; b = b->next)
        for (size_t i = 0; i <= b->classes; i++)
            if (b->cells[i].n)
                list[(*n)++] = (store_count){b->hour,
                                             b->model,
                                             b->labels[i],
                                             b->cells[i].n,
                                             b->cells[i].margin_sum,
                                             b->cells[i].margin_squares};
    return list;
}

void count_blocks_free(count_block *all)
{
    for (count_block *next; all; all = next) {
        next = all->next;
        free(all->cells);
        free(all->labels);
        free(all);
    }
}
