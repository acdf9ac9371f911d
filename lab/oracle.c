/* oracle.c - reads a few texts of a group, names it, or halves it */
#include "lab/oracle.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

#define SHOWN (RF_ORACLE_CENTRAL + RF_ORACLE_DIFFERENT)

rf_status rf_oracle_init(rf_oracle *o, const uint32_t *truth, size_t n, size_t budget,
                         rf_error *err)
{
    *o = (rf_oracle){.n = n, .truth = truth, .budget = budget};
    o->label = malloc((n + 1) * sizeof *o->label);
    if (!o->label)
        return rf_fail_nomem(err, n * sizeof *o->label, "labels");
    memset(o->label, 0xff, n * sizeof *o->label);
    return RF_OK;
}

void rf_oracle_release(rf_oracle *o)
{
    free(o->label);
    *o = (rf_oracle){0};
}

/* A group, or the part of it that fits best. */
typedef struct part {
    const rf_review *review;
    const uint32_t *text; /* numbers of the texts reviewed */
    size_t first, n;
} part;

/* The number of the i-th text of a part. */
static uint32_t text_at(const part *p, size_t i)
{
    return p->text[rf_review_text_at(p->review, p->first + i)->rows[0]];
}

/* The texts that are shown; returns how many. */
static size_t show(const part *p, size_t shown[SHOWN])
{
    size_t n = 0;
    for (size_t i = 0; i < p->n; i++)
        if (i < RF_ORACLE_CENTRAL || i + RF_ORACLE_DIFFERENT >= p->n)
            shown[n++] = i;
    return n;
}

/* Gives a text with its copies a label, unless it has one. */
static void give(rf_oracle *o, const part *p, size_t i, uint32_t label)
{
    const rf_review_text *t = rf_review_text_at(p->review, p->first + i);
    for (size_t k = 0; k < t->count; k++)
        if (o->label[p->text[t->rows[k]]] == RF_NO_LABEL)
            o->label[p->text[t->rows[k]]] = label;
}

/* Reads the shown texts that have no label yet; false if the budget does not suffice. */
static bool read_texts(rf_oracle *o, const part *p, const size_t *shown, size_t n)
{
    size_t cost = 0;
    for (size_t i = 0; i < n; i++)
        cost += o->label[text_at(p, shown[i])] == RF_NO_LABEL;
    if (cost > o->budget - o->labels)
        return false;
    o->labels += cost;
    for (size_t i = 0; i < n; i++)
        give(o, p, shown[i], o->truth[text_at(p, shown[i])]);
    return true;
}

/* The label that all shown texts but one have at least, else RF_NO_LABEL. */
static uint32_t common_label(const rf_oracle *o, const part *p, const size_t *shown,
                             size_t n)
{
    for (size_t i = 0; i < 2 && i < n; i++) {
        uint32_t label = o->truth[text_at(p, shown[i])];
        size_t same = 0;
        for (size_t j = 0; j < n; j++)
            same += o->truth[text_at(p, shown[j])] == label;
        if (same + 1 >= n)
            return label;
    }
    return RF_NO_LABEL;
}

/* False if the budget does not suffice. */
static bool name_group(rf_oracle *o, part p)
{
    size_t shown[SHOWN];
    for (; p.n >= RF_ORACLE_LEAST; p.n /= 2) {
        size_t n = show(&p, shown);
        if (!read_texts(o, &p, shown, n))
            return false;
        uint32_t label = common_label(o, &p, shown, n);
        for (size_t i = 0; i < p.n && label != RF_NO_LABEL; i++)
            give(o, &p, i, label);
        if (label != RF_NO_LABEL) {
            o->named++;
            return true;
        }
    }
    o->skipped++;
    return true;
}

bool rf_oracle_look(rf_oracle *o, const rf_review *review, const uint32_t *text)
{
    bool enough = true;
    for (size_t k = 0; k < rf_review_groups(review) && enough; k++) {
        const rf_review_group *g = rf_review_group_at(review, k);
        size_t cost = g->n_texts < SHOWN ? g->n_texts : SHOWN;
        if (g->worth >= (double)cost)
            enough = name_group(o, (part){review, text, g->first, g->n_texts});
    }
    return enough;
}
