/* msp.h - the threshold of MSP, for methods that share it */
#ifndef RF_METHODS_MSP_H
#define RF_METHODS_MSP_H

#include "open/method.h"

extern const rf_method_array rf_msp_arrays[1];
rf_status rf_msp_fit(rf_method_state *state, const rf_fit *in, rf_error *err);
rf_status rf_msp_prepare(rf_method_state *state, rf_error *err);

#endif
