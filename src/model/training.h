/*
 * training.h - the stages of training, one function each
 *
 *   encode    texts -> frozen layers (once)
 *   known     stage 1: upper layers and classifier of known classes
 *   features  of all texts, from the tuned encoder
 *   open      stage 2: what the method fits to the features
 *   map       of the training rows
 *
 * rf_train runs them all, from labelled texts to a model; the lab shares the results of
 * the first four between runs, and draws no map. Each takes what the one before has left
 * in the struct.
 */
#ifndef RF_MODEL_TRAINING_H
#define RF_MODEL_TRAINING_H

#include "encoder/activations.h"
#include "model/checkpoint.h"
#include "model/model.h"
#include "model/upper_layers.h"

/* Some texts, by class of the model. */
typedef struct rf_part {
    size_t n;
    size_t n_open;      /* the last of them are of no class: their class is `classes` */
    const char **texts; /* borrowed, the list is not; not needed once encoded */
    size_t *lens;
    uint32_t *class_of;
    rf_activations a;
    float *z; /* [n, width] */
} rf_part;

rf_status rf_part_room(rf_part *p, size_t most, rf_error *err);
void rf_part_release(rf_part *p); /* accepts a zeroed struct */

typedef struct rf_training {
    rf_train_options o; /* resolved; method_options too */
    rf_model *model;    /* has its method, labels and encoder */
    rf_team *team;
    rf_part train, dev;
    size_t n_cut;                 /* training texts longer than max_tokens */
    size_t dev_unknown;           /* dev rows whose label is not in the training set */
    bool held_out;                /* dev was taken from the training rows */
    rf_checkpoint checkpoint;     /* may stay zeroed */
    rf_tune_state known;          /* how stage 1 ended */
    rf_upper_layers first, tuned; /* of the encoder, before and after stage 1 */
    rf_ans_report *reports;       /* [classes] of a method with heads, else NULL */
    float loosened; /* added to every margin for the sake of the dev texts */

    double start, stage_start; /* seconds */
    rf_stage stage;
    size_t stage_first, stage_total; /* done before this run began; in all */
    rf_train_event last;
    rf_error *err; /* not NULL */
} rf_training;

rf_status rf_training_encode(rf_training *t);
rf_status rf_training_known(rf_training *t);
rf_status rf_training_features(rf_training *t); /* releases the activations */
rf_status rf_training_open(rf_training *t);
rf_status rf_training_map(rf_training *t); /* of the rows that the model keeps by now */

/* After stage 1: the encoder with another share of what it learnt. rf_training_known has
 * done it with the share that the options ask for. */
rf_status rf_training_blend(rf_training *t, float share);

/* What the dev texts say about heads whose fences have been moved: the temperature of the
 * classes, and dev_recall of the reports. rf_training_open has done it. */
rf_status rf_training_look_at_dev(rf_training *t);

void rf_training_release(rf_training *t); /* all but the model and the team */

/* The order in which n texts of no class are taken, as many as there are rows. */
void rf_open_text_order(uint32_t *order, size_t n, uint64_t seed);

/* Names the random streams of a class, so it is part of the result: it must stay as it
 * is, which the hash of the data sets' tables need not. */
uint64_t rf_label_key(const char *label);

double rf_seconds(void); /* of a clock that only goes forward */

#endif
