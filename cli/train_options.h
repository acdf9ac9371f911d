/*
 * train_options.h - what ringfence train can be asked for
 */
#ifndef RF_CLI_TRAIN_OPTIONS_H
#define RF_CLI_TRAIN_OPTIONS_H

#include "data_options.h"
#include "method_options.h"

typedef struct train_request {
    const char *data_path, *dev_path, *output, *log_path, *open_path, *settings_path;
    data_options data;
    rf_train_options o;
    rf_save_options save;
    size_t seed; /* goes to o.seed */
    int tune;    /* goes to o.tune */
    bool has_base;
    rf_train_options base; /* instead of the library's defaults */
    bool strict, quiet;
    char method_help[METHOD_NAMES + 80];
} train_request;

#define TRAIN_OPTIONS_MAX 96

/* Puts the library's defaults into r, which must start zeroed, and lists the options that
 * fill it; returns their number. */
size_t train_options_list(train_request *r, option out[TRAIN_OPTIONS_MAX]);

/* Reads r->settings_path. What the command line says counts more: list and parse the
 * options again afterwards. */
rf_status train_options_settings(train_request *r, rf_error *err);

/* What is wrong with what the options say together, NULL if nothing is. */
const char *train_options_wrong(const train_request *r);

#endif
