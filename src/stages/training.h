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
 * the first four between runs and draws no map. Each stage reads what the previous one
 * left in the struct.
 */
#ifndef RF_STAGES_TRAINING_H
#define RF_STAGES_TRAINING_H

#include "encoder/activations.h"
#include "stages/checkpoint.h"
#include "model/model.h"
#include "stages/upper_layers.h"
#include "settings/settings.h"

/* Texts with their classes in the model. */
typedef struct rf_part {
    size_t n;
    size_t n_open;      /* texts of no class, at the end; their class_of is `classes` */
    const char **texts; /* owned array of borrowed texts; not needed once encoded */
    size_t *lens;
    uint32_t *class_of;
    rf_activations a;
    float *z; /* [n, width] */
} rf_part;

rf_status rf_part_room(rf_part *p, size_t most, rf_error *err);
void rf_part_release(rf_part *p); /* accepts a zeroed struct */

typedef struct rf_training {
    rf_train_options o; /* options and settings are resolved */
    rf_settings s;
    rf_model *model; /* has its method, labels and encoder */
    rf_team *team;
    rf_part train, dev;
    size_t n_cut;                 /* training texts longer than max_tokens */
    size_t dev_unknown;           /* dev rows whose label is not in the training set */
    bool held_out;                /* dev was taken from the training rows */
    rf_checkpoint checkpoint;     /* may stay zeroed */
    rf_fine_tune_state known;     /* final state of stage 1 */
    rf_upper_layers first, tuned; /* of the encoder, before and after stage 1 */
    rf_class_report *reports;     /* [classes] from stage 2 on */
    bool quick;                   /* stage 2 fits only what needs no optimiser (rf_fit) */
    rf_fit_update *update; /* stage 2 keeps classes of an older model; NULL: none */
    float fence;    /* added to every margin: the fence that folds found; 0: none */
    float loosened; /* added to every margin so that the dev texts are accepted */

    double start, stage_start; /* seconds */
    rf_stage stage;
    size_t stage_first, stage_total; /* steps done before this run; steps in total */
    rf_train_event last;
    rf_error *err; /* not NULL */
} rf_training;

rf_status rf_training_encode(rf_training *t);
/* Goes on with the encoder as it came, as with train_layers 0. Before stage 1. */
rf_status rf_training_freeze(rf_training *t);
rf_status rf_training_known(rf_training *t);
rf_status rf_training_features(rf_training *t); /* releases the activations */
rf_status rf_training_open(rf_training *t);
rf_status rf_training_map(rf_training *t); /* of the rows that the model stores */

/* After stage 1: blends the tuned layers into the encoder with another share.
 * rf_training_known has already used the share in the settings. */
rf_status rf_training_blend(rf_training *t, float share);

/* Measures the dev texts again after fences were moved: the temperature, and
 * dev_recall of the reports. rf_training_open has already called it once. */
rf_status rf_training_measure_dev(rf_training *t);

void rf_training_release(rf_training *t); /* not the model, not the team */

/* The random order in which n texts of no class are used. */
void rf_open_text_order(uint32_t *order, size_t n, uint64_t seed);

/* Key of a class's random streams. Trained models depend on it: it must never change. */
uint64_t rf_label_key(const char *label);

#endif
