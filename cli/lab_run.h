/* lab_run.h - ringfence lab run and sweep: what they can be asked for, and doing it */
#ifndef RF_CLI_LAB_RUN_H
#define RF_CLI_LAB_RUN_H

#include "method_options.h"
#include "options.h"
#include "ringfence_lab.h"

typedef struct lab_request {
    rf_lab_options o;
    const char *values; /* of a sweep */
    bool dry_run, quiet;
} lab_request;

#define LAB_RUN_OPTIONS (20 + METHOD_SETTINGS)

/* Puts the library's defaults into r, which must start zeroed, and lists the options that
 * fill it; returns their number. */
size_t lab_run_options(lab_request *r, option out[LAB_RUN_OPTIONS]);

/* What runs of these names sweep over, for help: "radius, rho, ...". */
extern const char lab_sweep_names[];

/* Do it; the exit code. sweep: NULL, or what is swept over. */
int lab_run(lab_request *r, const char *sweep);

#endif
