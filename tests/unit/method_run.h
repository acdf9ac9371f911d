/*
 * method_run.h - runs an open-set method alone: rows and a known classifier in, fence and
 * verdicts out
 */
#ifndef RF_TEST_METHOD_RUN_H
#define RF_TEST_METHOD_RUN_H

#include "methods/methods.h"

/* A copy on the heap, so that out-of-bounds accesses are detected. */
float *copy_floats(const float *x, size_t n);

/* A known classifier of small random weights. */
void random_known(rf_known *k, size_t width, size_t classes, uint64_t seed);

/* rows [rows, width]: class c around its own centre, with this spread. */
void random_rows(float *z, uint32_t *class_of, size_t rows, size_t width, size_t classes,
                 float spread, uint64_t seed);

/* Fit and prepare; a failure fails the test. The fence must match the method's declared
 * arrays. */
void fit_method(rf_method_state *state, const rf_method *m, const rf_fit *in);
void drop_state(rf_method_state *state, const rf_method *m);

/* Judges z [n, width], at most `block` rows at a time. */
void judge_rows(const rf_method_state *state, const rf_method *m, const rf_known *known,
                const float *z, size_t n, size_t block, rf_verdict *out, float *margins);

#endif
