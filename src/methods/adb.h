/*
 * adb.h - adaptive decision boundaries (Zhang et al. 2021): a ball around each class,
 * whose radius converges to the median distance of the class's rows
 *
 *   radius_k = softplus(raw_k), loss = mean |d_i - radius_(class of i)|
 *
 * d_i is a row's distance to its class's centroid, with the dropout the classifier was
 * trained with. The authors' code does this, though the paper does not say so, and the
 * method depends on it: features with dropout lie farther out, so that a ball of their
 * median distance contains most texts, which are judged without dropout. (The authors
 * use dropout inside the encoder too; our features are computed once.) A text is open if
 * it lies outside the ball of the nearest centroid: margin_k = radius_k - d_k. The paper
 * counts a text on the surface as open, we count it as known.
 */
#ifndef RF_METHODS_ADB_H
#define RF_METHODS_ADB_H

#include "open/method.h"

#define RF_ADB_N_ARRAYS 2

extern const rf_method_array rf_adb_arrays[RF_ADB_N_ARRAYS];

/* Fits the arrays to in->z, which may be any features. centroids is [classes, width];
 * NULL: the means of the rows. With dev rows, the radii are those of the epoch with the
 * best macro-F1 of the open-set decision, and learning stops after 10 epochs that were no
 * better. */
rf_status rf_adb_fit(rf_method_state *state, const rf_fit *in, const float *centroids,
                     rf_error *err);

/* The functions of the method, shared by others with balls in the hidden layer. */
rf_status rf_adb_fit_hidden(rf_method_state *state, const rf_fit *in, rf_error *err);
rf_status rf_adb_prepare(rf_method_state *state, rf_error *err);
void rf_adb_judge(const rf_method_state *state, const rf_signals *s, rf_verdict *out,
                  float *margins, float *scratch);

/* ---- Internal, for tests ---- */

typedef struct rf_adb_boundary {
    size_t classes, steps; /* taken so far */
    float *block;
    float *raw, *gradient, *m, *v; /* [classes] */
    float *radius;                 /* [classes] before the last step */
} rf_adb_boundary;

rf_status rf_adb_boundary_init(rf_adb_boundary *b, size_t classes, rf_error *err);
void rf_adb_boundary_release(rf_adb_boundary *b);

/* One step of Adam on n rows, rows[i] an index into distance and class_of; returns the
 * loss before it. */
double rf_adb_step(rf_adb_boundary *b, const float *distance, const uint32_t *class_of,
                   const uint32_t *rows, size_t n, float rate);

#endif
