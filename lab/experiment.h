/*
 * experiment.h - one experiment of the lab, from a split to a fitted method
 *
 * The context holds what consecutive experiments share: options, threads, the loaded data
 * set and its frozen layers.
 *
 *   rf_lab_context c;
 *   rf_experiment e = {.ratio = 0.25, .method = rf_method_find("ans"), .variant = ""};
 *   rf_lab_context_open(&c, &options, NULL, NULL, err);
 *   rf_lab_context_use(&c, "banking", err);
 *   rf_experiment_begin(&c, &e, err);
 *   rf_model *m = rf_experiment_fit(&c, &e, err);
 */
#ifndef RF_LAB_EXPERIMENT_H
#define RF_LAB_EXPERIMENT_H

#include "lab/lab.h"
#include "lab/lab_set.h"
#include "lab/split.h"
#include "lab/lab_folds.h"

typedef struct rf_lab_context {
    const rf_lab_options *o; /* borrowed */
    const char *encoder;
    char cache[RF_PATH_MAX];
    rf_team *team;
    rf_settings settings;       /* of every experiment, before its variant */
    rf_train_progress progress; /* may be NULL */
    void *user;

    char set_name[64]; /* of the loaded set; "": none */
    rf_lab_set set;
    rf_config config;                 /* of the encoder */
    char encoder_hash[RF_SHA256_HEX]; /* of its files; "": not computed yet */
} rf_lab_context;

rf_status rf_lab_context_open(rf_lab_context *c, const rf_lab_options *o,
                              rf_train_progress progress, void *user, rf_error *err);
void rf_lab_context_close(rf_lab_context *c); /* accepts a zeroed struct */

/* Loads the files of a set, unless it is the one already loaded. */
rf_status rf_lab_context_use(rf_lab_context *c, const char *set, rf_error *err);

/* A hash of what is asked of an experiment with the loaded set: settings as given, and
 * the texts. Settings chosen from the data follow from these. */
rf_status rf_lab_asked(const rf_lab_context *c, const rf_method *method, uint64_t seed,
                       const char *variant, char hex[RF_SHA256_HEX], rf_error *err);

typedef struct rf_experiment {
    /* Set by the caller. */
    double ratio;
    uint64_t seed;
    const rf_method *method;
    const char *variant; /* as in rf_run */

    /* Set by rf_experiment_begin. */
    rf_split split;
    rf_lab_folds folds;
    rf_stage1 stage1;
    rf_train_options o; /* resolved, and so are the settings */
    rf_settings s;
} rf_experiment;

/* Splits the loaded set and gets its features: frozen layers and stage 1, each from the
 * cache or computed. */
rf_status rf_experiment_begin(rf_lab_context *c, rf_experiment *e, rf_error *err);
void rf_experiment_end(rf_experiment *e); /* harmless after a failed begin */

/* Fits the method to the features: a model without an encoder. NULL on failure. */
rf_model *rf_experiment_fit(const rf_lab_context *c, const rf_experiment *e,
                            rf_error *err);

#endif
