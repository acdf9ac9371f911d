/* train_options.h - the options of ringfence train and tune */
#ifndef RF_CLI_TRAIN_OPTIONS_H
#define RF_CLI_TRAIN_OPTIONS_H

#include "data_options.h"
#include "settings_options.h"

typedef struct train_request {
    const char *data_paths[DATA_FILES];
    size_t n_data;
    const char *dev_path, *output, *log_path, *open_path, *settings_path;
    data_options data;
    rf_train_options o;
    rf_save_options save;
    /* As parsed; train_options_finish copies them to o. */
    size_t seed, cache_mb, map_points;
    double dev_share; /* below 0: automatic */
    bool no_examples, keep_examples;
    text_list open_labels;
    int tune; /* an rf_tune_effort */
    settings_text given;
    char settings[2 * sizeof(settings_text)]; /* those of the file, then those given */
    bool strict, quiet;
    char method_help[METHOD_NAMES + 80];
} train_request;

#define TRAIN_OPTIONS_MAX (40 + SETTINGS_OPTIONS_MAX)

/* Sets the defaults in r, which must be zeroed, and lists the options that fill it;
 * returns their number. method: only the settings that it reads; NULL: all. */
size_t train_options_list(train_request *r, const char *method,
                          option out[TRAIN_OPTIONS_MAX]);

/* Completes r->o from the parsed options and the settings file, if there is one. Options
 * override the file. */
rf_status train_options_finish(train_request *r, rf_error *err);

/* What is wrong with the options taken together, NULL if nothing is. */
const char *train_options_wrong(const train_request *r);

/* How many of its inputs are standard input. */
size_t train_options_stdins(const train_request *r);

#endif
