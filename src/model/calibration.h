/*
 * calibration.h - from margins to probabilities
 *
 *   P(the text is of a known class) = sigmoid(bias + slope margin)
 *   P(class c | it is of a known one) = softmax(temperature margins)[c]    (with heads)
 *
 *   rf_calibration c = RF_CALIBRATION_DEFAULT;
 *   if (rf_calibration_fit_known(&c, margin, known, n, err) != RF_OK) ...
 *   if (rf_calibration_fit_classes(&c, margins, truth, n_dev, classes, err) != RF_OK) ...
 *
 * Both fits depend only on their arguments; on failure c is unchanged.
 */
#ifndef RF_MODEL_CALIBRATION_H
#define RF_MODEL_CALIBRATION_H

#include "base/error.h"

#include <stdint.h>

/* The source of slope and bias; part of the model file. */
typedef enum rf_calibration_source {
    RF_CALIBRATION_FROM_NOTHING = 0, /* never calibrated: 1, 0, 1 */
    RF_CALIBRATION_FROM_DEFAULTS = 1,
    RF_CALIBRATION_FROM_PSEUDO_OPEN = 2, /* fitted to classes hidden in folds */
    RF_CALIBRATION_FROM_LABELLED = 3     /* to labelled rows, open ones among them */
} rf_calibration_source;

typedef struct rf_calibration {
    float slope, bias;
    float temperature; /* factor of the margins; unused by methods without heads */
    rf_calibration_source from;
} rf_calibration;

/* Margins of a head as logits, the way the logistic loss trained them. */
#define RF_CALIBRATION_NONE                                                              \
    ((rf_calibration){1.0f, 0.0f, 1.0f, RF_CALIBRATION_FROM_NOTHING})
/* For a model with heads, if nothing was measured. */
#define RF_CALIBRATION_DEFAULT                                                           \
    ((rf_calibration){0.83f, 0.24f, 1.0f, RF_CALIBRATION_FROM_DEFAULTS})

#define RF_CALIBRATION_MIN 0.01f /* lower limit of a fitted slope or temperature */
#define RF_CALIBRATION_MAX 1e6f  /* upper limit of the temperature */

/* Slope and bias by logistic regression of known on margin [n], the best margin of
 * each text at the final fence. known[i] is 1 for a text of a known class, 0 for an
 * open one; each kind weighs one half, whatever its count, so the probability is for a
 * stream in which every second text is open. A penalty worth one observation pulls the
 * slope towards 1, so that separable data or a handful of texts give finite numbers.
 * RF_ERR_ARG if either kind is missing, RF_ERR_NUMERIC for a margin that is not
 * finite. */
rf_status rf_calibration_fit_known(rf_calibration *c, const float *margin,
                                   const uint8_t *known, size_t n, rf_error *err);

/* The temperature that minimises the negative log likelihood of the classes truth [n]
 * given margins [n, classes], pulled towards 1 in the same way; no rows give 1. */
rf_status rf_calibration_fit_classes(rf_calibration *c, const float *margins,
                                     const uint32_t *truth, size_t n, size_t classes,
                                     rf_error *err);

/* RF_ERR_NUMERIC, naming the number, unless all are finite, the slope above 0 and the
 * temperature above 0 and at most RF_CALIBRATION_MAX. */
rf_status rf_calibration_check(const rf_calibration *c, rf_error *err);

/* "defaults", "pseudo-open", "labelled"; NULL for RF_CALIBRATION_FROM_NOTHING. */
const char *rf_calibration_source_name(rf_calibration_source from);

#endif
