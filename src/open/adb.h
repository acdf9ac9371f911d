/*
 * adb.h - adaptive decision boundaries (Zhang et al. 2021) as a part of a method: a ball
 * around each class, whose radius settles at the median distance of the class's rows
 *
 *   radius_k = softplus(raw_k), loss = mean |d_i - radius_(class of i)|
 *
 * d_i is a row's distance to its class's centroid, its features dropped out as when the
 * classifier learnt. The authors' code does so, though the paper does not say it, and the
 * method lives by it: dropped-out features lie farther off, so that their median distance
 * holds most of the texts that are judged without dropout. (The authors drop out inside
 * the encoder too; our features are computed once.) A text is open if it lies outside of
 * the ball of the nearest centroid: margin_k = radius_k - d_k. The paper calls a text on
 * the surface itself open, we call it known.
 *
 * A method that uses it declares RF_ADB_ARRAYS among its arrays, from `first` on, and
 * calls the three functions below with features of its own.
 */
#ifndef RF_OPEN_ADB_H
#define RF_OPEN_ADB_H

#include "base/team.h"
#include "open/fence.h"
#include "open/method.h"

#define RF_ADB_ARRAYS                                                                    \
    {"centroids", 2, {RF_DIM_CLASSES, RF_DIM_WIDTH}},                                    \
    {                                                                                    \
        "radius", 1,                                                                     \
        {                                                                                \
            RF_DIM_CLASSES, 1                                                            \
        }                                                                                \
    }
#define RF_ADB_N_ARRAYS 2

typedef struct rf_adb_data {
    size_t rows;
    const float *x;           /* [rows, f->width] */
    const uint32_t *class_of; /* [rows] below f->classes */
    size_t dev_rows;          /* 0: all epochs are run, the last result counts */
    const float *dev_x;
    const uint32_t *dev_class;
    const float *centroids; /* [f->classes, f->width]; NULL: the means of the rows */
    size_t epochs;          /* at most; 0 counts as 1 */
    float rate;
    float dropout; /* of the features while the radii learn */
    uint64_t seed;
} rf_adb_data;

/* Fills f's arrays first and first + 1. With dev rows the radii of the epoch with the
 * best macro-F1 of the open-set decision are kept, and learning stops when 10 epochs were
 * no better. */
rf_status rf_adb_fit(rf_fence *f, size_t first, const rf_adb_data *in, rf_error *err);

/* The usual case: rows and dev rows of `in` with features x and dev_x, options from
 * in->o. */
rf_status rf_adb_fit_to(rf_fence *f, size_t first, const rf_fit *in, const float *x,
                        const float *dev_x, const float *centroids, rf_error *err);

rf_status rf_adb_check(const rf_fence *f, size_t first, rf_error *err); /* prepare() */

/* The answers for x [n, width]: nearest and fence are the class of the nearest
 * centroid. */
void rf_adb_judge(const rf_fence *f, size_t first, const float *x, size_t n,
                  rf_verdict *out, float *margins);

/* All of the method, for others that put its balls into the hidden layer. */
extern const rf_fence_array rf_adb_arrays[RF_ADB_N_ARRAYS];
rf_status rf_adb_fit_hidden(rf_fence *f, const rf_fit *in, rf_error *err);
rf_status rf_adb_prepare(rf_fence *f, rf_error *err);
void rf_adb_judge_hidden(const rf_fence *f, const rf_signals *s, rf_verdict *out,
                         float *margins, float *scratch);

/* ---- Inside, for tests ---- */

typedef struct rf_adb_boundary {
    size_t classes, steps; /* taken so far */
    float *block;
    float *raw, *gradient, *m, *v; /* [classes] */
    float *radius;                 /* [classes] as of the last step, before it */
} rf_adb_boundary;

rf_status rf_adb_boundary_init(rf_adb_boundary *b, size_t classes, rf_error *err);
void rf_adb_boundary_release(rf_adb_boundary *b);

/* One step of Adam on n rows, rows[i] an index into distance and class_of; returns the
 * loss before it. */
double rf_adb_step(rf_adb_boundary *b, const float *distance, const uint32_t *class_of,
                   const uint32_t *rows, size_t n, float rate);

#endif
