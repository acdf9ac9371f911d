/* settings_options.h - options made from the library's settings, and the names of methods
 */
#ifndef RF_CLI_SETTINGS_OPTIONS_H
#define RF_CLI_SETTINGS_OPTIONS_H

#include "options.h"

/* The maximum number of options, headings included. */
#define SETTINGS_OPTIONS_MAX 80

/* Lists an option for each setting that has one, with a heading per topic; the options
 * fill *text. method: only settings that it reads; NULL: all. Returns the count. */
size_t settings_options_list(settings_text *text, const char *method,
                             option out[SETTINGS_OPTIONS_MAX]);

/* The names of all methods, "msp, doc, ...", for help. */
#define METHOD_NAMES 400
void method_names(char out[METHOD_NAMES]);

#endif
