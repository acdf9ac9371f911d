/*
 * blobs.h - classes of random points of known shape, and heads trained on them
 *
 * Class c is N(centre_c, spread^2) in each of 16 dimensions; centres are N(0, 4^2), which
 * is about 23 apart.
 */
#ifndef RF_TEST_BLOBS_H
#define RF_TEST_BLOBS_H

#include "ans/ans.h"

#define WIDTH 16
#define MOST_CLASSES 20

typedef struct blobs {
    size_t classes, rows;
    float *z;
    uint32_t *class_of;
    uint64_t key[MOST_CLASSES];
    rf_class_stats stats;
    rf_fit problem; /* all of the above */
} blobs;

void blobs_make(blobs *b, size_t classes, const size_t *sizes, float spread);

/* Recomputes keys, statistics and problem after a change of z or class_of. */
void blobs_finish(blobs *b);
void blobs_release(blobs *b);

/* Point i of class c; `what` names the set it belongs to. The rows of blobs_make are
 * set 2. */
void blobs_draw(float *x, size_t c, float spread, uint64_t what, size_t i);

/* Settings for very short training. */
rf_settings quick_options(void);

/* Trains all heads of the problem; a failure fails the test. */
void train_heads(rf_heads *heads, const rf_fit *p, const rf_settings *o, size_t threads,
                 rf_class_report *reports);

/* Trains heads [from, to) of the problem with these settings and this team. */
rf_status train_range(rf_heads *heads, const rf_fit *p, const rf_settings *o, size_t from,
                      size_t to, rf_team *team, rf_class_report *reports, rf_error *err);

/* Head m's margin of one point. */
float margin_of(const rf_heads *heads, size_t m, const float *x);

#endif
