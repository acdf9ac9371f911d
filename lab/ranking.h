/*
 * ranking.h - how well a method ranks test texts, whatever its threshold
 *
 * A method answers the nearest class if the deciding margin is at least 0. Closed
 * accuracy ignores the margin, the area under the ROC curve only orders by it, and the
 * best figures are those of the best common fence, with the truth known: no choice of a
 * threshold can do better.
 */
#ifndef RF_LAB_RANKING_H
#define RF_LAB_RANKING_H

#include "base/error.h"

/* A test text. */
typedef struct rf_ranked {
    float margin;     /* the deciding one; finite */
    uint32_t nearest; /* class */
    uint32_t truth;   /* class; the number of classes: open */
} rf_ranked;

/* In percent; negative if not defined. */
typedef struct rf_ranking {
    double closed;  /* share of the known texts whose nearest class is right */
    double auroc;   /* a known text has a larger margin than an open one; ties 1/2 */
    double best_f1; /* mean over the classes and open, the best of all fences */
    double best_accuracy; /* the same; may need another fence */
} rf_ranking;

/* Sorts rows. */
rf_status rf_ranking_make(rf_ranking *out, rf_ranked *rows, size_t n, size_t classes,
                          rf_error *err);

#endif
