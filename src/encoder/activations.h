/*
 * activations.h - the input of the upper layers for all texts, computed once for training
 *
 * Tokenizes all texts, runs the frozen layers over them and keeps every token's vector:
 * in memory, or in an unlinked file when there is more than the caller allows. With all
 * layers frozen only each text's pooled vector is kept, as a text of one token.
 */
#ifndef RF_ENCODER_ACTIVATIONS_H
#define RF_ENCODER_ACTIVATIONS_H

#include "base/team.h"
#include "encoder/encoder.h"

typedef struct rf_activations {
    size_t n_texts;
    size_t width;
    size_t layer;    /* layers run: the vectors are the output of this one */
    size_t *offsets; /* [n_texts + 1] text i has the vectors offsets[i]..offsets[i+1] */
    float *states;   /* [offsets[n_texts], width] */
    size_t bytes;    /* of states */
    size_t n_tokens; /* of all texts, specials included */
    size_t n_cut;    /* texts that were longer than max_tokens */
    size_t longest;  /* vectors of the longest text */
    bool on_disk;
} rf_activations;

/* Called between blocks of texts with the number done; anything but 0 stops with
 * RF_ERR_STOPPED. */
typedef int (*rf_texts_done)(void *user, size_t done);

typedef struct rf_activation_options {
    size_t layer;          /* frozen layers to run */
    size_t max_tokens;     /* per text */
    size_t cache_bytes;    /* larger sets go to a file */
    const char *cache_dir; /* for that file */
    rf_texts_done done;    /* may be NULL */
    void *user;
} rf_activation_options;

rf_status rf_activations_init(rf_activations *a, const rf_encoder *e,
                              const char *const *texts, const size_t *lens, size_t n,
                              const rf_activation_options *o, rf_team *team,
                              rf_error *err);
void rf_activations_release(rf_activations *a); /* accepts a zeroed struct */

/* The features of all texts: the layers above, then the mean over tokens. z is
 * [n_texts, width]. */
rf_status rf_activations_features(const rf_activations *a, const rf_encoder *e, float *z,
                                  rf_team *team, rf_texts_done done, void *user,
                                  rf_error *err);

/* The same for n of its texts, in the given order: z is [n, width]. */
rf_status rf_activations_features_of(const rf_activations *a, const rf_encoder *e,
                                     const uint32_t *rows, size_t n, float *z,
                                     rf_team *team, rf_error *err);

/* Runs the layers above for good: every text becomes one vector, its feature, as if all
 * layers had been frozen from the start. On failure nothing has changed. */
rf_status rf_activations_pool(rf_activations *a, const rf_encoder *e, rf_team *team,
                              rf_error *err);

/* Copies rows of `all`, in the given order, into a new set in memory. A row may occur
 * more than once. */
rf_status rf_activations_select(rf_activations *a, const rf_activations *all,
                                const uint32_t *rows, size_t n, rf_error *err);

#endif
