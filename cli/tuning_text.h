/* tuning_text.h - prints the results of tuning, of an error budget and of moved fences */
#ifndef RF_CLI_TUNING_TEXT_H
#define RF_CLI_TUNING_TEXT_H

#include "base/json.h"

#include <stdio.h>

/* Prints the candidates and the verdict; nothing for NULL. */
void tuning_text_put(FILE *to, const json_t *tuning);

/* Prints what to expect of new texts; nothing for NULL. */
void expected_text_put(FILE *to, const json_t *expected);

/* Prints the promised and the expected error rates; nothing for NULL. */
void budget_text_put(FILE *to, const json_t *budget);

/* Prints how labelled rows placed the fences; nothing for NULL. */
void fence_text_put(FILE *to, const json_t *fence);

#endif
