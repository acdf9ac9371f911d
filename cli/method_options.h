/* method_options.h - --method and the settings of methods, for train and lab */
#ifndef RF_CLI_METHOD_OPTIONS_H
#define RF_CLI_METHOD_OPTIONS_H

#include "options.h"
#include "ringfence.h"

#define METHOD_SETTINGS 23 /* a heading and the settings */

/* All names, "msp, doc, ...", for a line of help. */
#define METHOD_NAMES 400
void method_names(char out[METHOD_NAMES]);

/* Options that fill *m, which holds the defaults. */
void method_settings_list(rf_method_options *m, option out[METHOD_SETTINGS]);

#endif
