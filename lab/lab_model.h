/*
 * lab_model.h - models as the program makes them: rf_train on rows of the loaded set
 *
 *   rf_lab_trainer t;
 *   rf_lab_trainer_init(&t, &context, rf_method_find("ans"), seed, "loop", err);
 *   rf_model *m = rf_lab_train(&t, rows, NULL, err);
 */
#ifndef RF_LAB_LAB_MODEL_H
#define RF_LAB_LAB_MODEL_H

#include "lab/experiment.h"

typedef struct rf_lab_trainer {
    const rf_lab_context *c; /* with the set; borrowed */
    const rf_method *method;
    uint64_t seed;
    size_t max_tokens;         /* per text */
    char asked[RF_SHA256_HEX]; /* rf_lab_asked */
    char hash[RF_SHA256_HEX];  /* of what a model depends on, for names of files */
} rf_lab_trainer;

/* `what`: what else the models depend on. */
rf_status rf_lab_trainer_init(rf_lab_trainer *t, const rf_lab_context *c,
                              const rf_method *method, uint64_t seed, const char *what,
                              rf_error *err);

/* dev may be NULL; NULL on failure. */
rf_model *rf_lab_train(const rf_lab_trainer *t, const rf_dataset *train,
                       const rf_dataset *dev, rf_error *err);

/* Adds a row under a label; NULL: its own. */
rf_status rf_lab_add_row(rf_dataset *to, const rf_dataset *from, size_t row,
                         const char *label, rf_error *err);

#endif
