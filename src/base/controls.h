/*
 * controls.h - text from files and strangers on its way to a terminal
 *
 * Terminals obey control characters: they set titles, move the cursor, hide what was
 * printed. A line end makes one line look like two.
 */
#ifndef RF_BASE_CONTROLS_H
#define RF_BASE_CONTROLS_H

#include <stddef.h>

/* Every byte of a control character becomes `with`: up to U+001F, U+007F, and U+0080 to
 * U+009F, which have two bytes. Returns text. */
char *rf_replace_controls(char *text, size_t len, char with);

#endif
