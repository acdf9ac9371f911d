/* compare_output.h - a comparison of two models, for people and as JSON */
#ifndef RF_CLI_COMPARE_OUTPUT_H
#define RF_CLI_COMPARE_OUTPUT_H

#include "base/error.h"
#include "ringfence_improve.h"

typedef struct compare_output {
    const rf_comparison *c;
    const rf_dataset *data;
    const char *names[2]; /* of the models, as given */
} compare_output;

/* all: every class and every text that changed. */
rf_status compare_put_text(const compare_output *o, bool all, rf_error *err);
void compare_put_json(const compare_output *o);

#endif
