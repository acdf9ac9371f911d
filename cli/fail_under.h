/* fail_under.h - eval --fail-under: the least that figures must reach */
#ifndef RF_CLI_FAIL_UNDER_H
#define RF_CLI_FAIL_UNDER_H

#include "options.h"

#define FAIL_UNDER_FIGURES 7

/* By figure: the least value, NaN if none is asked for. */
typedef struct fail_under {
    double least[FAIL_UNDER_FIGURES];
} fail_under;

/* Reads "f1=80" and "accuracy=85,mcc=0.8"; of two limits of a figure the later counts.
 * Complains in the name of the program and returns false about an unknown figure or a
 * number out of range. */
bool fail_under_read(fail_under *f, const char *program, const text_list *given);

/* Complains about each figure that fell short; true if none did. */
bool fail_under_check(const fail_under *f, const rf_evaluation *e);

#endif
