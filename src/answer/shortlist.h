/*
 * shortlist.h - which fences are worth asking about a text, if there are many
 *
 * Where a method has a cheap base for all fences and an expensive score on top (ANS: the
 * prior, and a network per class), a text needs the scores of few classes. Asked are the
 * RF_ASKED fences that would have the largest margins if their score agreed with their
 * base (rf_method.hope), and then, one at a time, any that has the largest margin of the
 * text without having been asked. So the class of an answer always has its whole margin;
 * fences not asked keep their base. docs/MODEL.md, "Many classes", has what was measured.
 *
 *   base: margins [n, C] --> pick: pairs (row, fence) --> by fence --> score --> pick
 * again until nothing is new
 *
 * What is asked about a row depends on that row alone.
 */
#ifndef RF_ANSWER_SHORTLIST_H
#define RF_ANSWER_SHORTLIST_H

#include "base/team.h"
#include "model/model.h"

/* Fences per text. */
#define RF_ASKED 8

typedef struct rf_shortlist {
    size_t max_rows, classes;
    float *hopes;     /* [threads][C] */
    uint64_t *asked;  /* [max_rows][words] a bit per class */
    size_t words;     /* of a row */
    uint32_t *picked; /* [max_rows][RF_ASKED] */
    uint32_t *n_picked;
    uint32_t *rows;   /* [max_rows * RF_ASKED] of the pairs, by fence */
    uint32_t *fences; /* [C] those with rows */
    size_t n_fences;
    uint32_t *ends; /* [C + 1] of the rows of each fence */
} rf_shortlist;

/* Whether a model has so many fences that it pays. */
bool rf_shortlist_wanted(const rf_model *m);

rf_status rf_shortlist_init(rf_shortlist *s, const rf_model *m, size_t max_rows,
                            size_t threads, rf_error *err);
void rf_shortlist_release(rf_shortlist *s); /* accepts a zeroed struct */

/* Completes margins [n, C], which hold the base, with the scores of what is asked; z is
 * [n, width]. scratch: [threads][scratch_size], as in rf_judge. */
void rf_shortlist_run(rf_shortlist *s, const rf_model *m, const float *z, size_t n,
                      float *margins, float *scratch, size_t scratch_size, rf_team *team);

#endif
