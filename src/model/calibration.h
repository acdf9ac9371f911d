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
 * Both fits are functions of their arguments alone; on failure c is as it was.
 */
#ifndef RF_MODEL_CALIBRATION_H
#define RF_MODEL_CALIBRATION_H

#include "base/error.h"

#include <stdint.h>

/* Where slope and bias are from; part of the model file. */
typedef enum rf_calibration_source {
    RF_CALIBRATION_FROM_NOTHING = 0, /* never calibrated: 1, 0, 1 */
    RF_CALIBRATION_FROM_DEFAULTS = 1,
    RF_CALIBRATION_FROM_PSEUDO_OPEN = 2 /* classes that were hidden in folds */
} rf_calibration_source;

typedef struct rf_calibration {
    float slope, bias;
    float temperature; /* factor of the margins; of a method without heads not used */
    rf_calibration_source from;
} rf_calibration;

/* The margins of a head are what the logistic loss made of them. */
#define RF_CALIBRATION_NONE                                                              \
    ((rf_calibration){1.0f, 0.0f, 1.0f, RF_CALIBRATION_FROM_NOTHING})
/* Of a model with heads, if nothing was measured for it. */
#define RF_CALIBRATION_DEFAULT                                                           \
    ((rf_calibration){0.83f, 0.24f, 1.0f, RF_CALIBRATION_FROM_DEFAULTS})

#define RF_CALIBRATION_LEAST                                                             \
    0.01f                        /* slope and temperature that a fit gives, at least     \
                                  */
#define RF_CALIBRATION_MOST 1e6f /* temperature, at most */

/* Slope and bias by logistic regression of known on margin [n], the best margin of each
 * text at the fence as it will stand. known[i] is 1 for a text of a known class, 0 for an
 * open one; each kind weighs one half, however many there are of it, so the probability
 * is for a stream in which every other text is open. The slope is held towards 1 as if by
 * one observation with a standard deviation of 1: data that a line separates, or a
 * handful of texts, give finite numbers. RF_ERR_ARG if either kind is missing,
 * RF_ERR_NUMERIC for a margin that is not finite. */
rf_status rf_calibration_fit_known(rf_calibration *c, const float *margin,
                                   const uint8_t *known, size_t n, rf_error *err);

/* The temperature with the least negative log likelihood of the classes truth [n] given
 * margins [n, classes], held towards 1 in the same way; no rows give 1. */
rf_status rf_calibration_fit_classes(rf_calibration *c, const float *margins,
                                     const uint32_t *truth, size_t n, size_t classes,
                                     rf_error *err);

/* RF_ERR_NUMERIC, naming the number, unless all are finite, the slope above 0 and the
 * temperature above 0 and at most RF_CALIBRATION_MOST. */
rf_status rf_calibration_check(const rf_calibration *c, rf_error *err);

/* "defaults", "pseudo-open"; NULL for RF_CALIBRATION_FROM_NOTHING. */
const char *rf_calibration_source_name(rf_calibration_source from);

#endif
