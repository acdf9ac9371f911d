/* signals.h - outputs of the known classifier for many rows */
#ifndef RF_KNOWN_SIGNALS_H
#define RF_KNOWN_SIGNALS_H

#include "base/team.h"
#include "known/known.h"

/* The known classifier's hidden layer [n, width] and logits [n, known->classes] of
 * features z [n, width]; either may be NULL. RF_ERR_NUMERIC if z holds a NaN. */
rf_status rf_known_signals(const rf_known *known, const float *z, size_t n, float *hidden,
                           float *logits, rf_team *team, rf_error *err);

#endif
