/* plain_objective.h - cross entropy of the known classifier, written as an objective:
 * what stage 1 does without one, so both ways must agree */
#ifndef RF_TEST_PLAIN_OBJECTIVE_H
#define RF_TEST_PLAIN_OBJECTIVE_H

#include "known/known.h"
#include "known/objective.h"

/* Borrows known; batches of at most max_rows. NULL without memory. */
rf_objective *plain_objective(rf_known *known, size_t max_rows);

#endif
