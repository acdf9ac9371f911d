/*
 * tuning_text.h - what the folds of a training showed, for people: candidates and budget
 */
#ifndef RF_CLI_TUNING_TEXT_H
#define RF_CLI_TUNING_TEXT_H

#include "base/json.h"

#include <stdio.h>

/* Candidates and verdict; nothing for NULL. */
void tuning_text_put(FILE *to, const json_t *tuning);

/* What was promised and what is to be expected; nothing for NULL. */
void budget_text_put(FILE *to, const json_t *budget);

#endif
