/*
 * tiny_model.h - a model in memory: the golden tiny encoder and random weights
 *
 *   rf_model *m = tiny_model_new(13, -0.5f);
 *   tiny_model_keep(m, 100, true);           training rows, for explanations
 *   rf_model_free(m);
 *
 * Classes are called "c0000", "c0001", ... Whatever goes wrong here fails the running
 * test.
 */
#ifndef RF_TEST_TINY_MODEL_H
#define RF_TEST_TINY_MODEL_H

#include "model/model.h"

/* shift is added to every margin: the lower, the more texts are open. */
rf_model *tiny_model_new(size_t classes, float shift);

/* Random training rows. Every tenth is a copy of the one before it. */
void tiny_model_keep(rf_model *m, size_t rows, bool with_texts);

/* A map of every `step`-th row, at random places; distances of the classes 2, 2.5, ... */
void tiny_model_map(rf_model *m, size_t step);

/* W[j][i] of a matrix in panels, W being [out, in]: [ceil(out / 16)][in][16]. */
float *tiny_panel(float *panels, size_t in, size_t j, size_t i);

/* A text of `len` letters and spaces; the same for the same number. */
void tiny_text(char *text, size_t len, uint64_t number);

#endif
