/* when.h - times as people write them: 24h, 7d, 2026-11-18, 2026-11-18T10:00:00Z */
#ifndef RF_CLI_WHEN_H
#define RF_CLI_WHEN_H

#include <stdbool.h>
#include <stdint.h>

/* A length of time in milliseconds: a whole number and s, m, h, d or w. At most 100
 * years. */
bool when_length(const char *text, int64_t *ms);

/* A time in milliseconds since 1970: a day or a time of day, UTC. */
bool when_date(const char *text, int64_t *ms);

/* Either; a length counts back from now. */
bool when_since(const char *text, int64_t now_ms, int64_t *ms);

#define WHEN_TEXT 32
/* "2026-11-18T10:00:00.123Z" */
char *when_write(char out[WHEN_TEXT], int64_t ms);

#endif
