/*
 * suggest.c - edit distance: letters that are wrong, missing, too many or exchanged with
 * the next
 */
#include "suggest.h"

#include <string.h>

#define WORD 48 /* bytes; longer words are not compared */

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* d[i][j]: from the first i letters of a to the first j of b (optimal string alignment).
 */
static size_t distance(const char *a, size_t n, const char *b, size_t m)
{
    size_t d[WORD + 1][WORD + 1];
    for (size_t i = 0; i <= n; i++)
        for (size_t j = 0; j <= m; j++) {
            if (i == 0 || j == 0) {
                d[i][j] = i + j;
                continue;
            }
            bool same = a[i - 1] == b[j - 1];
            d[i][j] = least(least(d[i - 1][j], d[i][j - 1]) + 1, d[i - 1][j - 1] + !same);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                d[i][j] = least(d[i][j], d[i - 2][j - 2] + 1);
        }
    return d[n][m];
}

void suggest(suggestion *s, const char *candidate)
{
    size_t m = strlen(candidate);
    if (s->len > WORD || m > WORD || s->len == 0)
        return;
    /* The start of a word counts as near, one slip in three letters otherwise. */
    bool start = s->len >= 3 && m > s->len && memcmp(candidate, s->word, s->len) == 0;
    size_t far = start ? 1 : distance(s->word, s->len, candidate, m);
    if (far > (s->len + 2) / 3 || (s->best && far >= s->distance))
        return;
    s->best = candidate;
    s->distance = far;
}
