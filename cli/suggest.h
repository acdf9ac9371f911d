/* suggest.h - "did you mean": the word of a list that is nearest to a misspelt one */
#ifndef RF_CLI_SUGGEST_H
#define RF_CLI_SUGGEST_H

#include <stdbool.h>
#include <stddef.h>

typedef struct suggestion {
    const char *word; /* misspelt; not NUL-terminated */
    size_t len;
    const char *best; /* NULL: nothing is near */
    size_t distance;
} suggestion;

/* Offers a word that would have been right. */
void suggest(suggestion *s, const char *candidate);

#endif
