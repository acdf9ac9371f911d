/* training_rows.h - a training with rows of given classes and no texts */
#ifndef RF_TEST_TRAINING_ROWS_H
#define RF_TEST_TRAINING_ROWS_H

#include "methods/methods.h"
#include "scratch.h"
#include "stages/training.h"

#include <stdlib.h>

typedef struct rows {
    rf_training t;
    uint32_t class_of[2000];
    size_t count[40];
} rows;

/* Rows of all classes in turn until they run out, then some open texts. */
static inline void rows_make(rows *r, const size_t *sizes, size_t classes, size_t open,
                             uint64_t seed)
{
    *r = (rows){0};
    r->t.o.seed = seed;
    r->t.model = rf_model_new(NULL);
    assert_non_null(r->t.model);
    r->t.model->classes = classes;
    r->t.train.class_of = r->class_of;
    for (size_t i = 0, left = 1; left > 0; i++)
        for (size_t c = left = 0; c < classes; c++)
            if (i < sizes[c]) {
                r->class_of[r->t.train.n++] = (uint32_t)c;
                r->count[c]++;
                left++;
            }
    for (size_t i = 0; i < open; i++)
        r->class_of[r->t.train.n++] = (uint32_t)classes;
    r->t.train.n_open = open;
}

static inline void rows_release(rows *r)
{
    r->t.model->classes = 0;
    rf_model_free(r->t.model);
}

#endif
