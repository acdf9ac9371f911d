/* small_model.h - a model as training would leave it, with random numbers */
#ifndef RF_TEST_SMALL_MODEL_H
#define RF_TEST_SMALL_MODEL_H

#include "model/model.h"

#define TINY_ROWS 3 /* training rows of each class */

/* The encoder is taken from a directory; its `tuned` upper layers are changed. Features,
 * texts and a map of all rows but the second are kept. NULL on failure. */
rf_model *small_model(const char *dir, size_t classes, size_t tuned, rf_error *err);

#endif
