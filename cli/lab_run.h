/* lab_run.h - ringfence lab run, sweep and update */
#ifndef RF_CLI_LAB_RUN_H
#define RF_CLI_LAB_RUN_H

#include "settings_options.h"
#include "lab/lab.h"

typedef struct lab_request {
    rf_lab_options o;
    const char *values; /* of a sweep */
    const char *rows;   /* draws of rows, as variants */
    char sweep[1024];   /* variants of a sweep, or with rows: "radius=1,2,4" */
    settings_text settings;
    char variants_help[300], values_help[300];
    bool dry_run, quiet;
    bool updates; /* set by lab_update */
} lab_request;

#define LAB_RUN_OPTIONS (27 + SETTINGS_OPTIONS_MAX)

/* Sets the defaults in r, which must be zeroed, and lists the options that fill it;
 * returns their number. */
size_t lab_run_options(lab_request *r, option out[LAB_RUN_OPTIONS]);

/* Runs the lab; returns the exit code. sweep: NULL, or the setting to sweep. */
int lab_run(lab_request *r, const char *sweep);

/* Measures updates; returns the exit code. */
int lab_update(lab_request *r);

/* Clusters test texts; reviews traffic and learns from it (lab_discover.c). Return the
 * exit code. */
int lab_discover(lab_request *r);
int lab_loop(lab_request *r);

/* Complains and returns false without --data and --out. */
bool lab_has_directories(const lab_request *r);

#endif
