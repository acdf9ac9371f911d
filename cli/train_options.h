/*
 * train_options.h - what ringfence train can be asked for
 */
#ifndef RF_CLI_TRAIN_OPTIONS_H
#define RF_CLI_TRAIN_OPTIONS_H

#include "data_options.h"
#include "method_options.h"

typedef struct train_request {
    const char *data_path, *dev_path, *output, *log_path, *open_path;
    data_options data;
    rf_train_options o;
    rf_save_options save;
    size_t seed; /* goes to o.seed */
    bool strict, quiet;
    char method_help[METHOD_NAMES + 80];
} train_request;

#define TRAIN_OPTIONS_MAX 96

/* Puts the library's defaults into r, which must start zeroed, and lists the options that
 * fill it; returns their number. */
size_t train_options_list(train_request *r, option out[TRAIN_OPTIONS_MAX]);

/* What is wrong with what the options say together, NULL if nothing is. */
const char *train_options_wrong(const train_request *r);

#endif
