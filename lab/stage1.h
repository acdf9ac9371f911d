/*
 * stage1.h - the result of stage 1: features and the classifier of known classes
 *
 * Stage 1 takes most of a run's time, and it is the same for every method that trains on
 * plain cross entropy. Its result is cached in a sealed file,
 *
 *   CACHE/stage1-HASH.st      tensors "known", "train", "dev", "test"
 *                             and "blended.train", ... for methods that blend layers
 *
 * named by a hash of everything it depends on. A method with its own objective has its
 * own file.
 */
#ifndef RF_LAB_STAGE1_H
#define RF_LAB_STAGE1_H

#include "lab/lab_set.h"
#include "lab/split.h"
#include "stages/training.h"

typedef struct rf_stage1 {
    size_t width, known_classes;
    const float *known; /* the classifier's block (known/known.h) */
    const float *z[3];  /* train, dev, test features; dev NULL if none */
    size_t rows[3];
    double seconds; /* it took */
    bool found;     /* in the cache */
    rf_container file;
} rf_stage1;

typedef struct rf_stage1_problem {
    const rf_lab_set *set; /* encoded */
    const rf_split *split;
    const char *encoder;      /* name or directory */
    const char *encoder_hash; /* rf_model_encoder_hash */
    const rf_config *config;  /* of the encoder */
    const rf_method *method;
    rf_train_options o; /* not resolved; with seed and progress */
    rf_settings s;      /* not resolved */
    const char *cache;
    rf_team *team;
} rf_stage1_problem;

/* Everything that stage 1 depends on, with resolved options and settings; NULL without
 * memory. */
json_t *rf_stage1_identity(const rf_stage1_problem *p, const rf_train_options *o,
                           const rf_settings *s);

/* Gives a training the rows of the split with their frozen activations. */
rf_status rf_stage1_rows(const rf_stage1_problem *p, rf_training *t);

/* Reads it from the cache, or trains it and fills the cache. */
rf_status rf_stage1_get(rf_stage1 *s, const rf_stage1_problem *p, rf_error *err);
void rf_stage1_release(rf_stage1 *s); /* accepts a zeroed struct */

#endif
