/*
 * prior.h - what a few texts of a class say: a score per class without a network
 *
 * With five texts a class a network cannot be trained, but three simple things are known:
 *
 *   where the class lies   how much likelier the text is under "one more text of this
 *                          class" than under "the first text of a class never seen"
 *                          (two-covariance model, PLDA), in a space in which classes are
 *                          round
 *   its single texts       the log of the mean similarity to them, for classes that are
 *                          several groups of texts
 *   its mean               the cosine of the plain features
 *
 * Each is scaled so that, for a training text left out of its own class, its class is one
 * unit above the other classes on average; the score is their weighted mean. Everything
 * is a closed formula: the same rows give the same bits, in any number of threads.
 * docs/MODEL.md, "Stage 2: the prior", has the formulas and docs/RESULTS.md what was
 * measured.
 */
#ifndef RF_ANS_PRIOR_H
#define RF_ANS_PRIOR_H

#include "open/method.h"

/* The arrays of a method's state that hold it, as initialisers of rf_method_array. */
#define RF_PRIOR_ARRAYS 12
#define RF_PRIOR_OPTIONAL 3 /* of them, the last ones */
#define RF_PRIOR_NUMBERS 7
/* clang-format off */
#define RF_PRIOR_ARRAY_ROWS                                                              \
    {"prior.centre", 1, {RF_DIM_WIDTH}},                                                 \
    {"prior.rotate", 2, {RF_DIM_WIDTH, RF_DIM_WIDTH}},                                   \
    {"prior.linear", 2, {RF_DIM_CLASSES, RF_DIM_WIDTH}},                                 \
    {"prior.square", 2, {RF_DIM_CLASSES, RF_DIM_WIDTH}},                                 \
    {"prior.means", 2, {RF_DIM_CLASSES, RF_DIM_WIDTH}},                                  \
    {"prior.constant", 1, {RF_DIM_CLASSES}},                                             \
    {"prior.texts", 2, {RF_DIM_ANY, RF_DIM_WIDTH}},                                      \
    {"prior.counts", 1, {RF_DIM_CLASSES}},                                               \
    {"prior.texts_weight", 1, {RF_DIM_CLASSES}},                                         \
    {"prior.space", 2, {RF_DIM(2), RF_DIM_WIDTH}},                                       \
    {"prior.scale", 1, {RF_DIM(RF_PRIOR_NUMBERS)}},                                      \
    {"prior.fence", 1, {RF_DIM_CLASSES}}
/* clang-format on */

/* A training text left out of its own class scores this much in it, on average, and 0 in
 * the other classes. */
#define RF_PRIOR_UNIT 10.0f

/* Fits arrays [first, first + RF_PRIOR_ARRAYS) of the state. */
rf_status rf_prior_fit(rf_method_state *state, size_t first, const rf_fit *in,
                       rf_error *err);

/* The same, but classes that u keeps have the numbers of u->old. The space of the prior
 * (whitening, rotation, variances, scales) stays too, unless half as many rows as it was
 * fitted to have changed, or u->old is too old to tell: then everything is fitted, and
 * u->refitted is true. */
rf_status rf_prior_update(rf_method_state *state, size_t first, const rf_fit *in,
                          rf_fit_update *u, rf_error *err);

/* Rounds the kept texts to half precision, as files store them. */
void rf_prior_round(rf_method_state *state, size_t first);

/* What rf_prior_add added to a class, and to a typical one: the median. If the state is
 * too old to tell, *known is false and *fence as it was. */
float rf_prior_fence_of(const rf_method_state *state, size_t first, size_t class_index);
rf_status rf_prior_fence(const rf_method_state *state, size_t first, float *fence,
                         bool *known, rf_error *err);

const float *rf_prior_fences(const rf_method_state *state, size_t first); /* or NULL */

/* Multiplies the scores of a class, or adds to them. */
void rf_prior_scale(rf_method_state *state, size_t first, size_t class_index,
                    float factor);
void rf_prior_add(rf_method_state *state, size_t first, size_t class_index, float offset);

/* The arrays in the form that scoring wants. Checks that they make sense
 * (RF_ERR_FORMAT). NULL on failure. */
typedef struct rf_prior rf_prior;
rf_prior *rf_prior_new(const rf_method_state *state, size_t first, rf_error *err);
void rf_prior_free(rf_prior *p); /* accepts NULL */

/* Scores [n, classes] of n rows z [n, width], at most RF_JUDGE_ROWS; a row's scores do
 * not depend on the other rows. */
size_t rf_prior_scratch(size_t width);
void rf_prior_score(const rf_prior *p, const float *z, size_t n, float *scores,
                    float *scratch);

#endif
