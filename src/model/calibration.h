/*
 * calibration.h - from margins to probabilities
 *
 *   P(the text is of a known class) = sigmoid(bias + slope margin)
 *   P(class c | it is of a known one) = softmax(temperature margins)[c]    (with heads)
 */
#ifndef RF_MODEL_CALIBRATION_H
#define RF_MODEL_CALIBRATION_H

typedef struct rf_calibration {
    float slope, bias;
    float temperature; /* factor of the margins; of a method without heads not used */
} rf_calibration;

#define RF_CALIBRATION_NONE ((rf_calibration){1.0f, 0.0f, 1.0f})

#endif
