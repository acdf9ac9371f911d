/*
 * desk.h - where one experiment after another is worked on: the set in hand, its frozen
 * layers, and the steps from a split to a fitted method
 */
#ifndef RF_LAB_DESK_H
#define RF_LAB_DESK_H

#include "lab/material.h"
#include "lab/split.h"
#include "lab/stage1.h"
#include "ringfence_lab.h"

typedef struct rf_desk {
    const rf_lab_options *o;
    const char *encoder;
    char cache[RF_PATH_MAX];
    rf_team *team;
    rf_train_progress progress; /* may be NULL */
    void *user;

    char set[64]; /* in hand, "": none */
    rf_material material;
    rf_config config;                 /* of the encoder */
    char encoder_hash[RF_SHA256_HEX]; /* of its files; "": not looked at yet */
} rf_desk;

/* Borrows o. Frees nothing that it did not make. */
rf_status rf_desk_open(rf_desk *d, const rf_lab_options *o, rf_train_progress progress,
                       void *user, rf_error *err);
void rf_desk_close(rf_desk *d); /* accepts a zeroed struct */

/* Takes a set in hand: reads its files. */
rf_status rf_desk_take(rf_desk *d, const char *set, rf_error *err);

/* One experiment on the set in hand. */
typedef struct rf_trial {
    double ratio;
    uint64_t seed;
    const rf_method *method;
    const char *variant; /* as in rf_run */

    rf_split split;
    rf_stage1 stage1;
    rf_train_options o; /* resolved */
} rf_trial;

/* From ratio, seed, method and variant to the features: the frozen layers and stage 1,
 * computed or found. */
rf_status rf_trial_begin(rf_desk *d, rf_trial *t, rf_error *err);
void rf_trial_end(rf_trial *t); /* accepts one that did not begin */

/* A model without an encoder, its method fitted to the features. NULL on failure. */
rf_model *rf_trial_fit(const rf_desk *d, const rf_trial *t, rf_error *err);

#endif
