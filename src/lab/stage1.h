/*
 * stage1.h - what stage 1 leaves to the methods: features and the known classifier
 *
 * Stage 1 is most of a run's time, and it is the same for every method that learns known
 * classes by plain cross entropy. Its result is kept in a sealed file,
 *
 *   CACHE/stage1-HASH.st      tensors "known", "train", "dev", "test"
 *                             and "blended.train", ... for methods with heads
 *
 * named by everything it depends on; methods with an objective of their own have files of
 * their own.
 */
#ifndef RF_LAB_STAGE1_H
#define RF_LAB_STAGE1_H

#include "lab/material.h"
#include "lab/split.h"
#include "model/training.h"

typedef struct rf_stage1 {
    size_t width, known_classes;
    const float *known; /* the classifier's block (known/known.h) */
    const float *z[3];  /* train, dev, test features; dev NULL if none */
    size_t rows[3];
    double seconds; /* that it took */
    bool found;     /* it was in the cache */
    rf_container file;
} rf_stage1;

typedef struct rf_stage1_problem {
    const rf_material *material; /* frozen */
    const rf_split *split;
    const char *encoder;      /* name or directory */
    const char *encoder_hash; /* rf_model_encoder_hash */
    const rf_config *config;  /* of it */
    const rf_method *method;
    rf_train_options o; /* not resolved; seed and progress included */
    const char *cache;
    rf_team *team;
} rf_stage1_problem;

/* From the cache, or trained and put there. */
rf_status rf_stage1_get(rf_stage1 *s, const rf_stage1_problem *p, rf_error *err);
void rf_stage1_release(rf_stage1 *s); /* accepts a zeroed struct */

#endif
